/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top_notes - draws all notes of a recording, each as a paragraph.
 *
 * The state tells the first line that is shown (first_note_line).
 *
 * Threads  Any; the function depends on nothing but its arguments.
 */
#pragma once

#include "top/top_grid.h"
#include "top/top_snapshot.h"
#include "top/top_state.h"

void gg_top_notes_draw(struct gg_top_grid *grid, const struct gg_top_state *state,
                       const struct gg_top_snapshot *snapshot);
