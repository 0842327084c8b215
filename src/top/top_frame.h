/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top_frame - draws a snapshot as a state asks, into a grid.
 *
 *   struct gg_top_grid grid = { 0 };
 *
 *   gg_top_frame_draw(&grid, &state, snapshot);
 *   gg_top_grid_append(&grid, &style, &out);
 *   gg_top_grid_done(&grid);
 *
 * The head has the process and its memory as a whole, the table a line for each row.  Columns that
 * would leave less than NAME_CELLS_LEAST cells for names are left out: first allocation counts and
 * ages, then rates.  A terminal below GG_TOP_LEAST_WIDTH by GG_TOP_LEAST_HEIGHT gets one line that
 * says so.
 *
 * Threads  Any; a frame depends on nothing but its arguments.
 */
#pragma once

#include "top/top_grid.h"
#include "top/top_snapshot.h"
#include "top/top_state.h"

/* The grid gets the size of the state.  grid->failed: out of memory. */
void gg_top_frame_draw(struct gg_top_grid *grid, const struct gg_top_state *state,
                       const struct gg_top_snapshot *snapshot);

/* Draws a text while there is no snapshot, with the line of a prompt below it. */
void gg_top_frame_draw_waiting(struct gg_top_grid *grid, const struct gg_top_state *state,
                               const char *text);

/* The height of a frame with all of the rows that the state lets pass, at most `rows_max`. */
size_t gg_top_frame_height(const struct gg_top_state *state, const struct gg_top_snapshot *snapshot,
                           size_t rows_max);
