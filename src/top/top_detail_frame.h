/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top_detail_frame - draws the pieces of an open row, each part under a heading of its own.
 *
 *   gg_top_detail_draw(grid, &state, detail, first_line);
 *
 * The cursor is on piece `state->piece`, or on the last one if there are fewer.
 *
 * Threads  Any; it depends on nothing but its arguments.
 */
#pragma once

#include "top/top_detail.h"
#include "top/top_grid.h"
#include "top/top_state.h"

/* Draws the detail from that line of the grid on, up to the last line but one. */
void gg_top_detail_draw(struct gg_top_grid *grid, const struct gg_top_state *state,
                        const struct gg_top_detail *detail, size_t first_line);
