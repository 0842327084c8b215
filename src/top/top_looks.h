/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top_looks - looks at a target in a thread of its own, so that a screen never waits for a look.
 *
 *   gg_top_looks_start(&looks, source, &view, 2, error);
 *   poll() looks->ready_fd; then:
 *           if (gg_top_looks_take(looks, &snapshot, &error)) ...
 *   gg_top_looks_stop(looks);
 *
 * A look comes every `delay`, and earlier after a change of the view or of the mark.  After each
 * look the thread rests four times as long as it took: it uses a fifth of a processor at most.
 *
 * Threads  One thread calls these functions.  The thread of the looks owns the source until
 *          gg_top_looks_stop() returns.
 */
#pragma once

#include <stdbool.h>

#include "top/top_source.h"

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
/* Sets the mark to the last look. */
void gg_top_looks_mark(struct gg_top_looks *looks);
