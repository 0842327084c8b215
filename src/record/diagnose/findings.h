/* SPDX-License-Identifier: Apache-2.0 */
/*
 * findings - what the recorder has found out about programs that it cannot see, or not all of.
 *
 * The session's set of processes has one.  diagnostics.c and unprofiled.c fill it in.
 */
#pragma once

#include <stdint.h>

#include "base/map.h"

enum { GG_FINDINGS_TEXT_MAX = 400 };

struct gg_findings {
	uint32_t hint_count;             /* of explanations, also those that got no note */
	char hint[GG_FINDINGS_TEXT_MAX]; /* the first explanation; "": nothing was explained */
	/* An advice on the hint, "to see all of NAME: ...", or "" */
	char advice[GG_FINDINGS_TEXT_MAX];
	struct gg_map unseen;    /* programs without a region that a note reports */
	uint64_t next_search_ns; /* CLOCK_MONOTONIC: when unprofiled.c searches again */
	uint64_t searched_ns;    /* ... and when it last did */
	uint64_t last_pid;       /* the newest process or thread of the machine then; 0: unknown */
	struct gg_map examined;  /* programs whose files were searched for an allocator */
};

static inline void gg_findings_done(struct gg_findings *findings)
{
	gg_map_done(&findings->unseen);
	gg_map_done(&findings->examined);
}
