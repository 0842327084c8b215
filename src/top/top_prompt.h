/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top_prompt - the keys of `geiger top` that need an answer: a name, a number, or yes.
 *
 *   if (gg_top_prompt_begin(&state, snapshot, 'w'))
 *           ... state.mode is GG_TOP_MODE_TYPE or GG_TOP_MODE_QUESTION ...
 *   gg_top_prompt_press(&state, key);
 *   if (state.wish == GG_TOP_WRITE)
 *           ... write the profile state.typed ...
 *
 * A change of the process needs a yes, and so does the replacement of a file.
 *
 * Threads  One owner at a time.  The functions are pure: they know no terminal, file, or process.
 */
#pragma once

#include "base/buf.h"
#include "top/top_snapshot.h"
#include "top/top_state.h"

/* True if the key asks something, or says why it does not. */
bool gg_top_prompt_begin(struct gg_top_state *state, const struct gg_top_snapshot *snapshot,
                         int key);
/* A key while a text is typed, or while a question stands. */
void gg_top_prompt_press(struct gg_top_state *state, int key);
/* A key while the text is typed: a character, Backspace, or Ctrl-U.  Other keys do nothing. */
void gg_top_prompt_type(char text[GG_TOP_TEXT_MAX], int key);
/* Asks whether the file `typed`, which exists, shall be replaced. */
void gg_top_prompt_ask_to_replace(struct gg_top_state *state);
/* Asks whether the agent shall be brought into that process; --readonly forbids it. */
void gg_top_prompt_ask_to_attach(struct gg_top_state *state, uint32_t pid);
/* Appends the line of the prompt. */
void gg_top_prompt_append(const struct gg_top_state *state, const struct gg_top_snapshot *snapshot,
                          struct gg_buf *out);
