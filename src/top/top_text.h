/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top_text - draws the texts that fill the screen: the help, notes of a recording, rows of RSS, and
 * the end of what a recorded command printed.
 *
 * A text that is longer than the screen scrolls: the state has the first line that is shown
 * (first_text_line).
 *
 * Threads  Any; the functions depend on nothing but their arguments.
 */
#pragma once

#include "top/top_grid.h"
#include "top/top_snapshot.h"
#include "top/top_state.h"

/* Draws the text of the state's mode: GG_TOP_MODE_HELP, _NOTES, _WHY or _OUTPUT. */
void gg_top_text_draw(struct gg_top_grid *grid, const struct gg_top_state *state,
                      const struct gg_top_snapshot *snapshot);
/*
 * The first line that is shown when the end of that text is on the screen; 0 if the whole text
 * fits.  Before the first look, `snapshot` is NULL.
 */
size_t gg_top_text_last_first_line(const struct gg_top_state *state,
                                   const struct gg_top_snapshot *snapshot);
/* The height of a frame of batch mode that has the whole text. */
size_t gg_top_text_height(const struct gg_top_state *state, const struct gg_top_snapshot *snapshot);
