/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leaks - lists by stack what each process left at its exit, and tests whether it grows
 * (stats/estimate/leak.h, docs/LEAKS.md).  With one process this is what was live at the end.
 *
 *   struct gg_leaks *leaks;
 *
 *   if (gg_leaks_run(model, &(struct gg_leaks_query){ .confidence = 0.95 }, &leaks, error) < 0)
 *           return error->status;
 *   ... leaks->rows ...
 *   gg_leaks_free(leaks);
 *
 * Each process counts until its own end.  A block counts once for all of its holders; its times are
 * shares of the life of the process that allocated it, or of its last holder.  With at_ns, the run
 * ends at that moment and later events do not count: this serves programs that free everything
 * before they exit.
 *
 * Java      A sampled object that died is live until a collection finds it.  So objects of the heap
 *           "java" count if they survived the last full collection of their process, by its begin:
 *           younger ones are left out, and the run of the heap ends there.  Without a full
 *           collection all count (struct gg_leak_collections).
 * Cost      1 us a sample and 5 us a stack; 400 bytes a row.
 * Threads   Any number of runs on one model; each starts threads of its own.  One thread owns a
 *           result.
 */
#pragma once

#include "model/model.h"
#include "query/leak_types.h"
#include "query/suppressions.h"
#include "stats/estimate/interval.h"
#include "stats/estimate/leak.h"

/* An estimate and its confidence interval. */
struct gg_range {
	double estimate, low, high;
};

struct gg_leaks_query {
	uint32_t pid;                               /* only processes with this pid; 0: all */
	double confidence;                          /* of each interval; 0 < confidence < 1 */
	const struct gg_suppressions *suppressions; /* NULL: none */
	size_t limit;                               /* how many rows get intervals; 0: all */
	int64_t at_ns;           /* the run ends at this moment; 0: at its real end */
	bool counts_uncollected; /* also objects that no full collection has seen */
};

/* Full collections of the processes that have live objects of Java. */
struct gg_leak_collections {
	size_t process_count, collected_count; /* processes with such objects; with a collection */
	int64_t first_ns, last_ns; /* the last collection of each process: earliest, latest */
	double younger_bytes;      /* live, estimated, and allocated after it: left out */
	uint64_t younger_sample_count;
	double uncollected_bytes; /* live, estimated, of processes without one: counted */
};

struct gg_leak_row {
	uint32_t stack; /* its top */
	uint32_t via;   /* the hidden function through which it allocated; 0: none */
	enum gg_leak_class class;
	double p_value, q_value; /* of the hypothesis that it does not grow; NaN: too few samples */
	/* Rows beyond the limit have only the estimate of live_bytes. */
	struct gg_range live_bytes, live_count, old_bytes;
	struct gg_range growth_bytes; /* growth of old memory in the last third of the run */
	double kept_share; /* share of the memory old enough to be old that is live; NaN: none is */
	int64_t oldest_ns; /* age of the oldest live sample */
	uint64_t sample_count;           /* live samples */
	double cohorts[GG_LEAK_COHORTS]; /* live bytes by time of allocation, start to end */
	/*
	 * The live memory by the type of the object, the largest first; it adds up to live_bytes.
	 * NULL: the profile has no types, or the row is beyond the limit.
	 */
	struct gg_leak_type *types;
	size_t type_count;
};

/* The rows that one suppression removed. */
struct gg_leak_suppressed {
	const char *pattern; /* belongs to the caller */
	size_t row_count;
	uint64_t sample_count;
	double live_bytes;
};

struct gg_leaks {
	struct gg_leak_row *rows; /* by class, then by growth or by size; without suppressed rows */
	size_t row_count;
	size_t class_row_count[GG_LEAK_CLASS_COUNT];
	double class_bytes[GG_LEAK_CLASS_COUNT]; /* live, estimated */
	struct gg_range live_bytes, live_count;  /* of all rows */
	struct gg_range old_bytes;               /* live and older than a tenth of the run */
	uint64_t sample_count;                   /* live samples without suppressed ones */
	struct gg_leak_suppressed *suppressed;   /* one for each pattern */
	size_t suppressed_count;
	double unseen_bytes; /* upper bound for a stack that is not listed */
	bool has_history;    /* frees have times; false: stacks that freed blocks are not tested */
	int64_t at_ns;       /* at_ns of the query; GG_TIME_NONE: the end */
	struct gg_leak_collections collections; /* all-zero: no process has objects of Java */
};

/* -EINVAL: an unknown pid; -ENOTSUP: the profile has no times; -ENOMEM. */
GG_MUST_CHECK int gg_leaks_run(const struct gg_model *model, const struct gg_leaks_query *query,
                               struct gg_leaks **ret_leaks, struct gg_error *error);
void gg_leaks_free(struct gg_leaks *leaks); /* NULL is fine */
