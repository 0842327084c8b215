/* SPDX-License-Identifier: Apache-2.0 */
/*
 * polling - a profile of a process that no recorder records, from repeated views of its region.
 *
 *   gg_polling_open(&polling, path, error);
 *   now and then:
 *     gg_polling_take(polling, &view, error);
 *     gg_model_load(&model, &(struct gg_profile *){ gg_polling_profile(polling) }, 1, NULL, error);
 *   gg_polling_free(polling);
 *
 * The changes between two views are the history that the region itself lacks.
 *
 * Samples    a sample in a view has the time of its allocation; its end is the first view without
 *            it.
 * Sums       blocks that came and went between two views become an aggregate for each stack, in the
 *            second that ends with the later view: (s - 1, s].  Blocks that did so before the first
 *            view have no other time; their aggregates end at the first view.
 * Exactness  between multiples of GG_POLLING_GRID_NS after gg_polling_first_ns() the amounts equal
 *            those of the views exactly.  Times between two views are unknown.
 * Session    has_history is false, so reports on the whole run equal reports on the region.
 * Cost       a pass over the live samples and totals of the view, and a write for each change.
 * Memory     the profile is in memory.  From COMPACT_FROM samples on, gg_profile_compact() joins
 *            those that ended long ago, with times rounded to 1/128 of their age at most.
 * Managed    after gg_polling_follow_runtime(), each view also takes the managed memory of a .NET
 *            process (dotnet/managed_watch.h).
 * Looks      the profile keeps those of gg_polling_look(): the last one, and the one at the largest
 *            RSS.
 * Threads    one owner at a time.
 */
#pragma once

#include "base/time_units.h"
#include "profile/profile.h"
#include "region/reader/view.h"
#include "stats/estimate/tally.h"

#define GG_POLLING_GRID_NS GG_NS_PER_S

struct gg_polling;

/* Opens the region at `path` and keeps it open.  -EBADMSG: not a region; or an error of open(). */
GG_MUST_CHECK int gg_polling_open(struct gg_polling **ret_polling, const char *path,
                                  struct gg_error *error);
void gg_polling_free(struct gg_polling *polling); /* NULL does nothing */

/* Adds the changes since the last view.  After one failure every call fails; the profile stays. */
GG_MUST_CHECK int gg_polling_take(struct gg_polling *polling, const struct gg_region_view *view,
                                  struct gg_error *error);

/*
 * Sets the wall time of the session's start, for the profile of the next view: the region has that
 * of a clock which may have been set since.
 */
void gg_polling_set_start_wall(struct gg_polling *polling, uint64_t start_wall_ns);

/*
 * Looks at the running process, after gg_polling_take(), whose samples it knows.  Returns false
 * if the look was not possible, for example because the caller may not read the process's memory;
 * the profile then stays as it is.
 */
bool gg_polling_look(struct gg_polling *polling);

/*
 * Follows a .NET runtime in the process, now or when it starts.  Without the call, a note says that
 * managed memory is missing.
 */
GG_MUST_CHECK int gg_polling_follow_runtime(struct gg_polling *polling, struct gg_error *error);

/* True if managed memory is followed, so that the profile has more than the region. */
bool gg_polling_has_managed(const struct gg_polling *polling);

/* Adds managed memory as gg_managed_watch_tally() does, if there is any. */
void gg_polling_tally_managed(const struct gg_polling *polling, struct gg_tally *live,
                              double *allocated_bytes);

struct gg_profile *gg_polling_profile(const struct gg_polling *polling);

/*
 * Writes where the modules are mapped, for formats that have addresses.  Call it once, after
 * gg_polling_take().
 */
GG_MUST_CHECK int gg_polling_put_mappings(struct gg_polling *polling, struct gg_error *error);

/* The id of a stack of the last view in the profile; 0: no record of the view has that stack. */
uint32_t gg_polling_stack(struct gg_polling *polling, uint32_t node);

/*
 * True if samples of blocks that a view had were joined into aggregates.  Until then, an aggregate
 * has only blocks that came and went between two views.
 */
bool gg_polling_is_compacted(const struct gg_polling *polling);

/* Returns the session time of the first view, a multiple of the grid; 0: no view yet. */
int64_t gg_polling_first_ns(const struct gg_polling *polling);

/*
 * Returns the session time just after the last view was read; 0: no view yet.  Blocks that the view
 * lacks were freed by then.
 */
int64_t gg_polling_view_ns(const struct gg_polling *polling);

/*
 * Returns the time of an earlier view, from which on the profile has the allocations up to the last
 * view: the newest one that was at least `length_ns` before it, or else the oldest one that is
 * known.  GG_TIME_NONE: there was only one view.  Blocks that had come and gone by that view are
 * outside of the period, and count in upper bounds alone.
 */
int64_t gg_polling_view_before(const struct gg_polling *polling, int64_t length_ns);
