/* SPDX-License-Identifier: Apache-2.0 */
/*
 * records - what a profile consists of; one struct a table.
 *
 * Times are ns since the session's start, GG_TIME_NONE where there is none.  Ids are from 1 on, 0 is
 * "none".  Texts may be NULL where nothing is known.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "region/fixed.h"
#include "stats/sampling/scheme.h"

#define GG_TIME_NONE INT64_MAX /* has not ended: sorts after every moment */

struct gg_profile_session {
	const char *command;                          /* as a shell would read it */
	const char *host, *kernel, *machine, *geiger; /* names and versions */
	uint64_t start_wall_ns;                       /* since 1970 */
	int64_t end_ns;        /* GG_TIME_NONE: the recorder was killed, or goes on */
	double interval_bytes; /* the sampling interval that was asked for */
	enum gg_scheme scheme;
	int exit_status;  /* of the command, as a shell has it; -1: unknown */
	bool has_history; /* a recorder drained it: samples have times and ends */
};

struct gg_profile_process {
	uint32_t id;
	uint32_t parent; /* id; 0: not in the session */
	uint32_t pid;
	int64_t start_ns;
	int64_t end_ns;
	const char *exe, *command;
	const char
		*ending; /* "exited 0", "killed by signal 9", "exec", "lived on"; NULL: unknown */
	double interval_bytes; /* the largest that it was asked to sample with */
	enum gg_scheme scheme;
};

struct gg_profile_thread {
	uint32_t id;
	uint32_t process;
	uint32_t tid;
	int64_t start_ns, end_ns;
	const char *name;
};

struct gg_profile_module {
	uint32_t id;
	const char *path;
	const uint8_t *build_id;
	size_t build_id_bytes;
	const char *status; /* of its symbols; NULL: not tried yet */
};

/* Where a process had a module. */
struct gg_profile_mapping {
	uint32_t process, module;
	uint64_t start, end; /* addresses */
	uint64_t file_offset;
	uint64_t bias; /* address = bias + address in the file */
	int64_t load_ns, unload_ns;
};

/* A place in code: the address of the call, that is the return address less 1. */
struct gg_profile_frame {
	uint32_t id;
	uint32_t module;  /* 0: in none */
	uint64_t address; /* in the module's file as its ELF headers number it; absolute in none */
};

/* What a frame is in the source: one for each inlined call, the innermost first, and the function. */
struct gg_profile_line {
	uint32_t frame;
	uint32_t depth;           /* 0: innermost */
	const char *function;     /* demangled, short form */
	const char *full_name;    /* demangled, with arguments */
	const char *linkage_name; /* as the linker knows it */
	const char *file;
	uint32_t line; /* 0: unknown */
	bool inlined;
};

/* A frame called by the stack `parent`, whose id is smaller. */
struct gg_profile_stack {
	uint32_t id, parent, frame;
};

enum gg_name_kind { GG_NAME_HEAP, GG_NAME_TYPE };

enum {
	GG_PROFILE_SAMPLE_MAPPING = 1,   /* mmap, not an allocator */
	GG_PROFILE_SAMPLE_LATE_FREE = 2, /* its end was noticed late: free_ns is an upper bound */
	GG_PROFILE_SAMPLE_OLD = 4,       /* in the old generation of its heap, at its end */
	/*
	 * Beside GG_PROFILE_SAMPLE_LATE_FREE: the event of its free was lost, and the process's event "lost"
	 * before the reconciliation that found it ended is a lower bound of free_ns.
	 */
	GG_PROFILE_SAMPLE_LOST_FREE = 8,
};

struct gg_profile_sample_end {
	int64_t free_ns;
	uint32_t thread; /* that freed it */
	uint32_t stack;  /* where, if that was recorded */
	bool missed;     /* GG_PROFILE_SAMPLE_LATE_FREE */
	bool is_old;     /* GG_PROFILE_SAMPLE_OLD */
	bool lost;       /* GG_PROFILE_SAMPLE_LOST_FREE */
};

struct gg_profile_sample {
	uint64_t id;
	int64_t alloc_ns, free_ns; /* free_ns: GG_TIME_NONE while it is live */
	uint32_t process, thread, stack, heap, type;
	uint32_t free_thread, free_stack;
	uint64_t size_bytes, usable_bytes, address;
	struct gg_draw draw;
	uint32_t flags; /* GG_SAMPLE_... */
	/*
	 * Not 0: the process inherited it by fork; the id of the sample that its ancestor allocated,
	 * which is one block of memory until somebody writes to it; its own id where that one is unknown.  Reports on more than one process
	 * count a block once, while any of them holds it.
	 */
	uint64_t origin;
};

/*
 * Sums of samples that are not kept one by one: history that was lost, or that the retention rule
 * folded; rows of a file that was imported, or of profiles that were merged.  All were allocated and
 * freed in [from_ns, to_ns], or, where to_ns is GG_TIME_NONE, allocated from from_ns on and never freed.
 *
 * What was folded was allocated in [from_ns, from_ns + bucket_ns) and freed in
 * [to_ns - bucket_ns, to_ns): live at each multiple of bucket_ns from from_ns + bucket_ns to
 * to_ns - bucket_ns, and not live at any other multiple.
 */
struct gg_profile_coarse {
	uint32_t process, thread, stack;
	int64_t from_ns, to_ns;
	int64_t bucket_ns;             /* 0: nothing is known but [from_ns, to_ns] */
	uint32_t size_class;           /* the sizes are in (2^(n-1), 2^n]; 255: mixed */
	double interval_bytes;         /* the largest sampling interval among them */
	struct gg_sums sums;           /* samples, bytes, estimates and variances */
	double count_skew, bytes_skew; /* third cumulants (stats/estimate/tally.h); 0: not known */
	double lifetime_ns_sum;        /* over the samples, unscaled; 0: not known */
	uint32_t unknown_errors;       /* 1 << enum gg_quantity: its variance is not known */
	bool lost;                     /* history was lost; else folded by age */
	/*
	 * Never freed (to_ns is GG_TIME_NONE) by processes that ended before the last one of their session:
	 * left at exit, but not live at the end.
	 */
	bool is_left;
	/*
	 * Its process was forked, and what it inherited and freed may be among them: they may have been
	 * allocated by an ancestor, which counts them, too.
	 */
	bool is_shared;
};

struct gg_profile_total {
	uint32_t process, thread, stack;
	struct gg_sums allocated, freed;
	uint32_t lifetimes[32]; /* gg_lifetime_index() of what was freed */
};

/* Bytes, at a moment; -1: not known. */
struct gg_profile_memory {
	uint32_t process; /* 0: the whole session (its cgroup) */
	int64_t time_ns;
	int64_t rss_bytes, pss_bytes;
	int64_t anonymous_bytes, file_bytes, shared_bytes, swap_bytes;
	int64_t heap_bytes, stack_bytes; /* [heap] and [stack] of the kernel's map */
	int64_t cgroup_bytes;
	double live_bytes; /* what the profile estimated then */
	/* From time_ns until all of this was read; the readings of one round share time_ns. */
	int64_t span_ns;
	/*
	 * The kernel's own maximum up to then (VmHWM).  Where rss_bytes is not known: ru_maxrss, as
	 * wait4() told it at the end, which is the largest of all programs that the process executed
	 * and of all children that it waited for.
	 */
	int64_t max_rss_bytes;
	/*
	 * Of geiger in the process: resident pages of its region, its tables and its library, and how
	 * much of that is in file_bytes and shared_bytes.
	 */
	int64_t geiger_bytes, geiger_file_bytes;
	/*
	 * Proportional, as pss_bytes: pages of files and shared ones without geiger's, the stack, and
	 * geiger.  Read in this round; -1 where the process was not walked in it.
	 */
	int64_t pss_file_bytes, pss_stack_bytes, pss_geiger_bytes;
};

/* A reading of which nothing is known yet. */
static inline struct gg_profile_memory gg_memory_unknown(uint32_t process, int64_t time_ns)
{
	return (struct gg_profile_memory){ process, time_ns, -1, -1, -1, -1, -1, -1, -1, -1,
		                           -1,      -1,      -1, -1, -1, -1, -1, -1, -1 };
}

struct gg_profile_event {
	int64_t time_ns;
	uint32_t process;
	const char *kind;   /* "fork", "exec", "exit", "drop", "interval", "on", "off" ... */
	const char *detail; /* for people */
};
