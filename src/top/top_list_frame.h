/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top_list_frame - draws a list of processes (top_list.h) into a grid, and prints it as JSON.
 *
 * Threads  Any; the functions depend on nothing but their arguments.
 */
#pragma once

#include "top/top_grid.h"
#include "top/top_snapshot.h"
#include "top/top_state.h"

/* The snapshot has entries.  `order` has the `count` rows that the state lets pass. */
void gg_top_list_frame_draw(struct gg_top_grid *grid, const struct gg_top_state *state,
                            const struct gg_top_snapshot *snapshot, const size_t *order,
                            size_t count);

/* The height of a frame with `row_count` rows. */
size_t gg_top_list_frame_height(size_t row_count);

/* Appends the `count` entries with these indices, in this order, as one line. */
void gg_top_list_json(const struct gg_top_snapshot *snapshot, const size_t *order, size_t count,
                      struct gg_buf *out);
