/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top_mouse - what the mouse does to the state of `geiger top`.
 *
 *   gg_top_mouse_press(&state, snapshot, &grid, &event);
 *
 * The wheel moves the cursor, or scrolls a text.  A click on a heading sorts by that column, and a
 * second one reverses the order.  A click on a row of a table moves the cursor there.  The frame
 * that the user sees tells what stands under the mouse: headings and the row of the cursor have
 * styles of their own.
 *
 * Threads  One owner at a time.  The function is pure: it knows no terminal.
 */
#pragma once

#include <stddef.h>

#include "top/top_grid.h"
#include "top/top_snapshot.h"
#include "top/top_state.h"

enum gg_top_mouse_kind { GG_TOP_MOUSE_CLICK, GG_TOP_MOUSE_WHEEL_UP, GG_TOP_MOUSE_WHEEL_DOWN };

struct gg_top_mouse {
	enum gg_top_mouse_kind kind;
	size_t row, column; /* of the grid, from 0 */
};

/* `grid` has the frame of this state and snapshot, which is NULL before the first look. */
void gg_top_mouse_press(struct gg_top_state *state, const struct gg_top_snapshot *snapshot,
                        const struct gg_top_grid *grid, const struct gg_top_mouse *mouse);
