/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump_triggers - when the agent writes dumps by itself, and under which names.
 *
 * docs/AGENT.md, "Dumps", has the environment that sets them.  Zeros and false: not at all.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum gg_agent_dump_names {
	GG_AGENT_NAMES_JEMALLOC,           /* PREFIX.PID.SEQ.i0.heap, PREFIX.PID.SEQ.f.heap */
	GG_AGENT_NAMES_JEMALLOC_NAMESPACE, /* PREFIX.NAMESPACE.PID.SEQ... */
	GG_AGENT_NAMES_GPERFTOOLS /* PREFIX.0001.heap; forked children PREFIX_PID.0001.heap */
};

enum { GG_AGENT_PREFIX_MAX = 1024, GG_AGENT_DUMPS_KEPT_MAX = 1024 };

struct gg_agent_triggers {
	uint32_t form;  /* enum gg_agent_dump_form; 0: GG_AGENT_DUMP_HEAP_V2 */
	uint32_t names; /* enum gg_agent_dump_names */

	uint64_t allocated_bytes; /* i: whenever so much was allocated, as estimated */
	uint64_t freed_bytes;     /* i: whenever so much was freed, as estimated */
	uint64_t time_ns;         /* i: whenever so long has passed; noticed at a sample */
	uint64_t
		growth_bytes; /* u: whenever what is live has grown by so much over the last such ... */
	uint32_t growth_percent; /* ... and by so much of it */
	uint32_t cgroup_percent; /* u: while the control group has so much of its limit */
	uint64_t rss_bytes;      /* u: while so much is resident ... */
	uint64_t every_ns;       /* ... but not more often than that */
	int32_t signal;          /* m: at the signal */
	bool final;              /* f: at the exit */
	bool leak;               /* a line at the exit on what is live then ... */
	bool leak_error;         /* ... and the exit status 1 if anything is */
	bool is_off;             /* for the time being none of i and u */

	uint32_t keep;                    /* the last so many of those that it names; 0: all */
	char prefix[GG_AGENT_PREFIX_MAX]; /* "": no file at all */
};
