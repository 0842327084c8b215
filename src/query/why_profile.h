/* SPDX-License-Identifier: Apache-2.0 */
/*
 * why_profile - divides the RSS of a profile's processes, a table each (query/why.h).
 *
 *   struct gg_why_list list;
 *
 *   if (gg_why_of(&list, model, &options, error) == 0) {
 *           ... list.tables[0 .. list.table_count) ...
 *           gg_why_list_done(&list);
 *   }
 *
 * Threads  Any; it only reads the model.
 */
#pragma once

#include "model/model.h"
#include "query/why.h"

enum gg_why_moment {
	GG_WHY_LAST, /* the last look at each process */
	GG_WHY_PEAK, /* the look with the largest RSS */
};

struct gg_why_options {
	uint32_t pid; /* 0: all processes */
	enum gg_why_moment moment;
	double confidence;
};

struct gg_why_table {
	uint32_t process, pid;
	char *command; /* NULL: unknown */
	struct gg_why why;
	int64_t ended_after_ns; /* the process ended so long after the look; -1: it ran on */
	/* The last RSS that the recorder read after the look, and when; -1: it read none. */
	int64_t last_rss_bytes, last_rss_ns;
};

/* Tables of processes, the largest RSS first. */
struct gg_why_list {
	struct gg_why_table *tables;
	size_t table_count;
	size_t unseen_count; /* processes that no look saw */
	/* The kernel's maximum RSS of one process; 0: a look at a process saw about as much. */
	double highest_bytes;
};

/* -ENOMEM.  A model without looks has no tables. */
GG_MUST_CHECK int gg_why_of(struct gg_why_list *ret_list, const struct gg_model *model,
                            const struct gg_why_options *options, struct gg_error *error);
void gg_why_list_done(struct gg_why_list *list);
