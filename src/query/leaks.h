/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leaks - what each process of a profile left at its exit, by stack, and whether it grows (stats/estimate/leak.h,
 * docs/LEAKS.md).  With one process that is what was live at the end.
 *
 *   struct gg_leaks *leaks;
 *
 *   if (gg_leaks_run(model, &(struct gg_leaks_query){ .confidence = 0.95 }, &leaks, error) < 0)
 *           return error->code;
 *   ... leaks->rows ...
 *   gg_leaks_free(leaks);
 *
 * Each process is looked at until its own end; a block counts once for all of its holders, and
 * its times are shares of the life of the process that allocated it (or of its last holder).  With at_ns the
 * run is taken to end then, for who gives all back before the real end: what came later is not looked at.
 *
 * Cost      1 us a sample and 5 us a stack; 400 bytes a row.
 * Threads   any number of runs on one model, each with threads of its own; a result has one owner.
 */
#pragma once

#include "model/model.h"
#include "query/suppressions.h"
#include "stats/estimate/interval.h"
#include "stats/estimate/leak.h"

/* What is told of an estimate: the number and its confidence interval. */
struct gg_range {
	double estimate, low, high;
};

struct gg_leaks_query {
	uint32_t pid;                               /* only processes with this pid; 0: all */
	double confidence;                          /* of all intervals; 0 < confidence < 1 */
	const struct gg_suppressions *suppressions; /* NULL: none */
	size_t limit;  /* of the rows so many get their intervals; 0: all */
	int64_t at_ns; /* what was live then, judged by what came before; 0: at the end */
};

struct gg_leak_row {
	uint32_t stack; /* gg_model_stack_top() */
	enum gg_leak_class class;
	double p_value, q_value; /* that it does not grow; NaN: too few samples to test */
	/* Beyond the limit only the estimate of live_bytes is there. */
	struct gg_range live_bytes, live_count, old_bytes;
	struct gg_range growth_bytes; /* of the old in the last third of the run */
	double kept_share;            /* of what could be old by now, what is; NaN: nothing could */
	int64_t oldest_ns;            /* age of the oldest live sample */
	uint64_t sample_count;        /* live ones */
	double cohorts[GG_LEAK_COHORTS]; /* live bytes by when they were allocated, start to end */
};

/* Rows that a suppression took out. */
struct gg_leak_suppressed {
	const char *pattern; /* the caller's */
	size_t row_count;
	uint64_t sample_count;
	double live_bytes;
};

struct gg_leaks {
	struct gg_leak_row *rows; /* by class, then by growth or by size; none that is suppressed */
	size_t row_count;
	size_t class_row_count[GG_LEAK_CLASS_COUNT];
	double class_bytes[GG_LEAK_CLASS_COUNT]; /* live, estimated */
	struct gg_range live_bytes, live_count;  /* of all rows */
	struct gg_range old_bytes;               /* what is older than a tenth of the run */
	uint64_t sample_count;                   /* live ones, suppressed ones left out */
	struct gg_leak_suppressed *suppressed;   /* one for each pattern */
	size_t suppressed_count;
	double unseen_bytes; /* a stack that is not listed holds less */
	bool has_history;    /* frees have times; else a stack that freed some is not judged */
	int64_t at_ns;       /* as it was asked for; GG_TIME_NONE: the end */
};

/* -EINVAL for an unknown pid; -ENOTSUP without the times that it takes; -ENOMEM. */
GG_MUST_CHECK int gg_leaks_run(const struct gg_model *model, const struct gg_leaks_query *query,
                               struct gg_leaks **ret_leaks, struct gg_error *error);
void gg_leaks_free(struct gg_leaks *leaks); /* NULL is fine */
