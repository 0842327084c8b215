/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top_snapshot - everything that a frame of `geiger top` shows, computed from one look.
 *
 *   struct gg_top_snapshot *snapshot;
 *
 *   if (gg_top_snapshot_make(&snapshot, model, &request, &process, error) < 0)
 *           return error->status;
 *   ... snapshot->rows[0..row_count), the largest first ...
 *   gg_top_snapshot_free(snapshot);
 *
 * The figures are those of `geiger report --json` on the same model: the rows come from
 * gg_query_rows(), and their figures from gg_figure_of().
 *
 * Significance  `geiger top` tests the change since the mark at every look.  With a fixed level,
 *               some look would mark a steady row sooner or later.  Look k of a run therefore tests
 *               at the level GG_TOP_FALSE_SHARE / (2 k (k + 1)), the rows and the total each.  All
 *               levels sum to GG_TOP_FALSE_SHARE, so a steady program shows any change in at most
 *               that share of all runs, however long somebody watches (a union bound over the
 *               looks).  A new mark, other rows, and another program begin no new count.
 *
 * Ownership  A snapshot owns its texts, so it outlives the model.
 * Threads    Any; a snapshot does not change once it is made.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "query/query.h"
#include "query/why_profile.h"
#include "report/chart.h"
#include "report/figure.h"
#include "report/report_held.h"
#include "top/top_row.h"

#define GG_TOP_FALSE_SHARE 0.05

struct gg_top_detail;

/* The quantity of the first column. */
enum gg_top_metric {
	GG_TOP_LIVE,
	GG_TOP_GROWTH, /* live memory, sorted by its change */
	GG_TOP_ALLOCATED,
	GG_TOP_TEMPORARY,
	GG_TOP_PINNED, /* free memory that live blocks keep resident, as of the last look at it */
	GG_TOP_METRIC_COUNT
};

const char *gg_top_metric_name(enum gg_top_metric metric);

/* The contents of a snapshot. */
struct gg_top_request {
	enum gg_top_metric metric;
	enum gg_grouping by;
	bool is_tree;            /* rows are those of top_tree.h, without changes and rates */
	const char *focus;       /* POSIX extended, or NULL (struct gg_query) */
	const char *opened;      /* the label of the row with a detail; NULL: none */
	bool has_why;            /* the rows of RSS belong to the snapshot */
	double confidence;       /* 0 < confidence < 1 */
	int64_t mark_ns;         /* changes are since this moment; GG_TIME_NONE: no changes */
	uint64_t look_count;     /* looks since the mark, this one included; at least 1 */
	uint64_t test_count;     /* looks of the whole run; at least as many */
	int64_t rate_from_ns;    /* begin of the period of rates; GG_TIME_NONE: the process's */
	bool aggregates_between; /* aggregates have no block of either moment (change_since.h) */
};

enum { GG_TOP_END_MAX = 96 };

/* Facts on the target that its model lacks. */
struct gg_top_process {
	uint32_t pid; /* 0: several, or unknown */
	bool is_process, is_alive, is_active;
	bool is_exact; /* every allocation is counted; the interval says nothing then */
	uint64_t interval_bytes;
	double rss_bytes;  /* negative: unknown */
	int64_t now_ns;    /* of the look, since the start of the process */
	double peak_bytes; /* the largest live estimate of all looks; negative: unknown */
	/* Live memory and RSS over time, the newest last; they belong to the caller. */
	const struct gg_chart_column *columns;
	size_t column_count;
	/* The time from look to look if looks take too long for the wanted one; else 0. */
	double look_every_ns;
	char end[GG_TOP_END_MAX]; /* of a process that is not alive: "was killed by SIGKILL" */
	const char *news; /* a text on the target, such as the end of a program; NULL: none */
};

/* A process of the list (top_list.h); its row has the live memory, and the time since its begin. */
struct gg_top_entry {
	uint32_t pid;
	char *target; /* the region's path, or the pid of a process that has no region */
	bool has_region, is_alive;
	bool has_live;     /* false: the row has no figures, or not yet */
	const char *state; /* a static word */
	double rss_bytes;  /* negative: unknown */
};

struct gg_top_snapshot {
	/* By row, in a list of processes; NULL: the rows are of one target. */
	struct gg_top_entry *entries;
	size_t hidden_count; /* in a list: regions of ended processes that it leaves out */
	enum gg_top_metric metric;
	enum gg_grouping by;
	bool is_tree;
	struct gg_top_process process;
	struct gg_chart_column *columns; /* a copy of those of the process */
	size_t column_count;
	char *command;
	/* The overhead and error to hold, and as they are; `error` is that of `live`. */
	struct gg_report_held held;
	bool is_attached; /* the agent was attached to the process */
	/* Valid if is_attached; -1: unknown. */
	int64_t attached_age_ns; /* of the process then */
	int64_t older_bytes;     /* that its allocator had in use then */
	char **notes;            /* of the recording, the most important first */
	size_t note_count;
	uint64_t sample_count, dropped_count;
	double confidence;
	int64_t mark_ns;     /* GG_TIME_NONE: no changes */
	uint64_t look_count; /* since the mark */
	double level;        /* the false discovery rate of this look's changes */
	int64_t rate_ns;     /* length of the period of rates */
	/* All rows together: live memory, the metric, and the change of live memory. */
	struct gg_figure live;
	struct gg_top_row total;
	/*
	 * The largest estimate first; then those that significantly lost all of their memory.  In a
	 * tree, callers precede their callees.
	 */
	struct gg_top_row *rows;
	size_t row_count;
	const char *lack;             /* why there are no rows, a static text; NULL: there may be */
	struct gg_top_detail *detail; /* NULL: no row is open */
	/* RSS by the last look at the memory of each process.  Without looks, it has no table. */
	bool has_why;
	struct gg_why_list why;
};

/* Fails as gg_query_rows() does. */
GG_MUST_CHECK int gg_top_snapshot_make(struct gg_top_snapshot **ret_snapshot,
                                       const struct gg_model *model,
                                       const struct gg_top_request *request,
                                       const struct gg_top_process *process,
                                       struct gg_error *error);
/* True if both show the same rows of the same metric, and the same open row. */
bool gg_top_snapshot_is_of_one_view(const struct gg_top_snapshot *one,
                                    const struct gg_top_snapshot *other);
void gg_top_snapshot_free(struct gg_top_snapshot *snapshot); /* NULL is fine */
