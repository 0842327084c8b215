/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top_source - looks at a running process, at a region, or at a profile, again and again.
 *
 *   struct gg_top_source *source;
 *   struct gg_top_view view = { .by = GG_BY_FUNCTION, .confidence = 0.95 };
 *
 *   if (gg_top_source_open(&source, "4711", 0.95, error) < 0)
 *           return error->status;
 *   if (gg_top_source_look(source, &view, &snapshot, error) == 0)
 *           ... draw the snapshot, and free it ...
 *   gg_top_source_free(source);
 *
 * A process is not stopped (serve/watch.h).  The last look of a process that ended stays.
 *
 * Mark     Changes are since the first look, or since the last gg_top_source_mark().
 * Threads  One owner at a time.
 */
#pragma once

#include "region/control.h"
#include "top/top_snapshot.h"

struct gg_top_source;

/* The contents of a look. */
struct gg_top_view {
	bool lists_all; /* a list has processes that have ended, or have no agent, as well */
	enum gg_top_metric metric;
	enum gg_grouping by;
	bool is_tree;
	bool has_why;       /* snapshots have the rows of RSS */
	const char *focus;  /* or NULL */
	const char *opened; /* the label of the row with a detail; or NULL */
	double confidence;
};

/* Opens a pid, the path of a region, or the path of a profile; NULL: the list of processes. */
GG_MUST_CHECK int gg_top_source_open(struct gg_top_source **ret_source, const char *target,
                                     double confidence, struct gg_error *error);
void gg_top_source_free(struct gg_top_source *source); /* NULL is fine */

/* Looks, and makes a snapshot, which the caller frees.  The process may have ended. */
GG_MUST_CHECK int gg_top_source_look(struct gg_top_source *source, const struct gg_top_view *view,
                                     struct gg_top_snapshot **ret_snapshot, struct gg_error *error);

/*
 * Writes a profile of the process as it is now, over an existing one.  Fails as
 * gg_region_profile_salvage() does; -ENOTSUP: the target is a profile.
 */
GG_MUST_CHECK int gg_top_source_write(struct gg_top_source *source, const char *path,
                                      uint64_t *ret_sample_count, struct gg_error *error);

/* Requests settings of the process.  Fails as gg_change_region() does; -ENOTSUP: a profile. */
GG_MUST_CHECK int gg_top_source_change(struct gg_top_source *source,
                                       const struct gg_region_change *change,
                                       struct gg_error *error);

/* Sets the mark to the last look. */
void gg_top_source_mark(struct gg_top_source *source);

/* True if later looks can show something new. */
bool gg_top_source_is_live(const struct gg_top_source *source);
