/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top_keys - what each key does to the state of `geiger top`.
 *
 *   gg_top_keys_press(&state, snapshot, 'm');
 *   if (state.wants_mark)
 *           ...
 *
 * A key is a character, or one of the names below.  While a text is typed, characters belong to
 * the text.
 *
 * Threads  One owner at a time.  The function is pure: it knows no terminal and no clock.
 */
#pragma once

#include "top/top_key.h"
#include "top/top_snapshot.h"
#include "top/top_state.h"

/* Before the first look, `snapshot` is NULL. */
void gg_top_keys_press(struct gg_top_state *state, const struct gg_top_snapshot *snapshot, int key);
