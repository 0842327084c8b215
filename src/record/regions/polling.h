/* SPDX-License-Identifier: Apache-2.0 */
/*
 * polling - a process that nobody records, as a profile: its region is looked at again and again, and what has
 * changed between two looks is the history that the region has not.
 *
 *   gg_polling_open(&looks, path, error);
 *   now and then:
 *     gg_polling_take(looks, &view, error);
 *     gg_model_load(&model, &(struct gg_profile *){ gg_polling_profile(looks) }, 1, NULL, error);
 *   gg_polling_free(looks);
 *
 * Samples    that were there at a look have the time of their allocation; that of their end is the first look
 *            without them.
 * Sums       what came and went between two looks is a coarse row for each stack, with the second of the later
 *            look: (s - 1, s].  What did before the first look has no time but that: its rows end there.
 * So         between multiples of GG_POLLING_GRID_NS after gg_polling_first_ns(), what was allocated and freed is
 *            what the looks have seen, to the last bit; nothing says when in between two looks.
 * Session    has_history is false: reports on the whole say what they say of the region.
 *
 * Cost       a pass over the live samples and rows of the view, and a write of what has changed.
 * Memory     the profile is in memory; from FOLD_FROM rows on, those that ended long ago are joined
 *            (gg_profile_compact), in times that are 1/128 of their age at most.
 * Threads    one owner.
 */
#pragma once

#include "base/time_units.h"
#include "profile/profile.h"
#include "region/reader/view.h"

#define GG_POLLING_GRID_NS GG_NS_PER_S

struct gg_polling;

/* path: of the region, which is held open.  -EBADMSG: it is none; what open() says. */
GG_MUST_CHECK int gg_polling_open(struct gg_polling **ret_polling, const char *path,
                                  struct gg_error *error);
void gg_polling_free(struct gg_polling *polling); /* NULL is fine */

/* One look.  After it failed once it fails always: what there is stays. */
GG_MUST_CHECK int gg_polling_take(struct gg_polling *polling, const struct gg_region_view *view,
                                  struct gg_error *error);

struct gg_profile *gg_polling_profile(const struct gg_polling *polling);

/* Since when there is a history, in the session's time: a multiple of the grid.  0: not yet. */
int64_t gg_polling_first_ns(const struct gg_polling *polling);
