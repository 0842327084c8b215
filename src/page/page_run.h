/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_run - one run of gg_page_data(): what its parts share.
 *
 * page_picks.h fills the picks, page_owners.h the owners, page_pinned_cells.h the looks,
 * page_why.h the tables of RSS, and page_bins.h the bins.  Each other part appends one or more
 * members to the JSON; page_data.c puts them together.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "model/model.h"
#include "page/page.h"
#include "page/page_names.h"
#include "query/pinned.h"
#include "query/why_profile.h"

/* The owners that cells name. */
enum gg_page_owners_kept {
	GG_PAGE_OWNERS_THREADS,
	GG_PAGE_OWNERS_PROCESSES,
	GG_PAGE_OWNERS_NONE,
};

/* How detailed the data are.  page_data.c has the steps. */
struct gg_page_detail {
	uint32_t node_limit;
	uint32_t size_steps; /* steps per octave; 0: exact sizes */
	uint32_t bins;
	uint32_t light_bins; /* bins of light nodes; 0: the same as `bins` */
	enum gg_page_owners_kept owners;
};

enum { GG_PAGE_BINS_MAX = 100, GG_PAGE_PEAKS_MAX = 16 };

/* The peak of the processes with one pid. */
struct gg_page_peak {
	uint32_t pid;
	int64_t time_ns;
	int32_t edge;
};

struct gg_page_bins {
	int64_t edges[GG_PAGE_BINS_MAX + GG_PAGE_PEAKS_MAX + 2];
	uint32_t count;    /* number of bins; there is one more edge */
	int32_t peak_edge; /* -1: the profile has no peak */
};

/* The lifetime limits for temporary memory that the page offers, ascending. */
enum { GG_PAGE_BRIEF_COUNT = 4 };
extern const int64_t gg_page_brief_ns[GG_PAGE_BRIEF_COUNT];

/* The part of a block that a pick stands for, if processes share blocks. */
enum gg_page_share {
	GG_PAGE_SHARE_ALONE, /* only one process ever held the block */
	GG_PAGE_SHARE_BLOCK, /* several processes held it; this pick counts the block once */
	GG_PAGE_SHARE_HELD,  /* the part that one of these processes held */
};

/* A sample or an aggregate, in the terms of the page. */
struct gg_page_pick {
	uint32_t top; /* the top of its stack */
	uint32_t kind, process, thread;
	uint32_t brief; /* how many of the longest gg_page_brief_ns it did not outlive */
	enum gg_page_share share;
	int64_t born_ns, gone_ns; /* gone_ns: GG_TIME_NONE if it is live at the end */
	/* The possible range of the times, if times were lost or the profile has only sums. */
	int64_t born_least_ns, gone_least_ns, gone_most_ns;
	int64_t own_most_ns;        /* gone_most_ns without heirs */
	uint32_t brief_most;        /* `brief` for the shortest possible lifetime */
	bool is_inherited, is_left; /* is_left: at least one holder never freed it */
	bool has_heirs; /* its end is known, but not for certain: unseen heirs, or stopped counts */
	int64_t left_ns; /* when the last holder that never freed it ended; GG_TIME_NONE: gone_ns */
	bool has_left_heirs; /* an unseen heir may have left it between these times */
	int64_t left_least_ns, left_most_ns;
	const struct gg_model_sample *sample; /* either sample or aggregate is set */
	const struct gg_profile_aggregate *aggregate;
};

/* The page's numbers of processes and threads; 0 means unknown (page_owners.h). */
struct gg_page_owners {
	uint32_t *process_of, *thread_of; /* by number in the model */
	uint32_t process_count, thread_count;
};

/* The blocks of the looks of a moment, or of both moments if the looks are the same. */
struct gg_page_look {
	struct gg_pinned pinned;
	uint32_t moments; /* GG_LOOK_* */
};

enum { GG_PAGE_LOOKS_MAX = 2 };

/* Why RSS is what it is, at two looks at each process: the last, and the one at the largest RSS. */
struct gg_page_why {
	struct gg_why_list last, peak;
	struct gg_why_list last_before, peak_before; /* of the profile before */
};

struct gg_page_run {
	const struct gg_model *model, *before;
	const struct gg_page_options *options;
	struct gg_page_detail detail;
	uint32_t rows;   /* the most rows of a table */
	int64_t peak_ns; /* -1: the profile has no peak */
	/* A session of several processes has the peaks of those with most samples, by time. */
	struct gg_page_peak peaks[GG_PAGE_PEAKS_MAX];
	uint32_t peak_count;
	double excess; /* how many times too many cells the last detail had that did not fit */
	struct gg_page_names names;
	struct gg_page_bins bins;
	struct gg_page_pick *picks;
	size_t pick_count;
	struct gg_page_pick *held; /* the holders of shared blocks */
	size_t held_count;
	bool without_held; /* the holders did not fit */
	struct gg_page_look looks[GG_PAGE_LOOKS_MAX];
	uint32_t look_count;
	struct gg_page_why why;
	struct gg_page_owners owners;
	struct gg_error *error;
};

/* Fails for want of memory. */
GG_MUST_CHECK static inline int gg_page_out_of_memory(struct gg_page_run *run)
{
	return gg_error_memory(run->error, "page");
}

/* Reports about how much of the page is there, in percent. */
static inline void gg_page_report_progress(const struct gg_page_run *run, uint64_t percent)
{
	gg_progress_report(run->options->progress, percent, 100, "computing the page");
}
