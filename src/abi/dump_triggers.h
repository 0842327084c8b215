/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump_triggers - when the agent writes dumps by itself, and how it names them.
 *
 * docs/AGENT.md, "Dumps", has the variables that set them.  Members that are zero or false trigger
 * nothing.
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

	uint64_t allocated_bytes; /* kind i: each time so much was allocated, as estimated */
	uint64_t freed_bytes;     /* kind i: each time so much was freed, as estimated */
	uint64_t time_ns;         /* kind i: each time so long has passed; checked at samples */
	/* Kind u: each time the live bytes exceed the last high-water mark by both of these. */
	uint64_t growth_bytes;
	uint32_t growth_percent; /* of the mark */
	uint32_t cgroup_percent; /* kind u: while the control group uses this part of its limit */
	uint64_t rss_bytes;      /* kind u: while so much is resident ... */
	uint64_t every_ns;       /* ... but not more often than this */
	int32_t signal;          /* kind m: at this signal */
	bool final;              /* kind f: at the exit */
	bool leak;               /* logs the live memory at the exit ... */
	bool leak_error;         /* ... and makes the exit status 1 if there is any */
	bool is_off;             /* suspends kinds i and u */

	uint32_t keep;                    /* dumps to keep; 0: all */
	char prefix[GG_AGENT_PREFIX_MAX]; /* "": no file is written */
};
