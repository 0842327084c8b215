/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top_looks - looks at a target in a thread of its own, so that a screen never waits for a look.
 *
 *   gg_top_looks_start(&looks, source, &view, 2, error);
 *   poll() looks->ready_fd; then:
 *           if (gg_top_looks_take(looks, &snapshot, &error)) ...
 *   gg_top_looks_stop(looks);
 *
 * A look comes every `delay`, and earlier after a change of the view or of the mark.  Looks use a
 * fifth of a processor at most, over all threads: after an expensive look, the next one comes later
 *, and the snapshot says so (top_cost.h).
 *
 * Threads  One thread calls these functions.  The thread of the looks owns the source until
 *          gg_top_looks_stop() returns.
 */
#pragma once

#include <stdbool.h>

#include "top/top_source.h"
#include "top/top_state.h"

struct gg_top_looks;

/* The source belongs to the looks, which free it, unless this fails. */
GG_MUST_CHECK int gg_top_looks_start(struct gg_top_looks **ret_looks, struct gg_top_source *source,
                                     const struct gg_top_view *view, double delay_seconds,
                                     struct gg_error *error);
void gg_top_looks_stop(struct gg_top_looks *looks);

/* A descriptor that is readable when gg_top_looks_take() has something. */
int gg_top_looks_fd(const struct gg_top_looks *looks);

/*
 * Takes the newest snapshot, which the caller frees.  Returns false if no look succeeded since the
 * last call.  *ret_error has the error of the last look; its status is 0 if that look succeeded.
 */
bool gg_top_looks_take(struct gg_top_looks *looks, struct gg_top_snapshot **ret_snapshot,
                       struct gg_error *ret_error);

/*
 * Changes what the next looks show; `focus` must outlive them, `opened` is copied.  Without memory
 * for the copy, no row is open.
 */
void gg_top_looks_set_view(struct gg_top_looks *looks, const struct gg_top_view *view);
/* Changes the time between looks. */
void gg_top_looks_set_delay(struct gg_top_looks *looks, double delay_seconds);
/*
 * Writes a profile of the process to that file, as `geiger control PID snapshot` does, before the
 * next look.  The answer is ready when gg_top_looks_take() has something.
 */
void gg_top_looks_write(struct gg_top_looks *looks, const char *path);
/* Requests other settings of the process, before the next look; the answer comes as above. */
void gg_top_looks_change(struct gg_top_looks *looks, const struct gg_region_change *change);
/* Takes the answer to the last write or request.  False: nothing was answered. */
bool gg_top_looks_take_answer(struct gg_top_looks *looks, char answer[GG_TOP_MESSAGE_MAX]);
/* Sets the mark to the last look. */
void gg_top_looks_mark(struct gg_top_looks *looks);
