/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top_terminal - the terminal of `geiger top`.  Only top_terminal.c knows ncurses.
 *
 *   if (!gg_top_terminal_open(has_color, has_mouse))
 *           ... the terminal is unknown ...
 *   gg_top_terminal_put(&grid);
 *   while ((key = gg_top_terminal_key(&mouse)) != 0)
 *           ...
 *   gg_top_terminal_close();
 *
 * Terminal  It is as before after gg_top_terminal_close(), after a crash, and while the program is
 *           suspended.
 * Signals   INT, TERM, HUP and QUIT are only noted in gg_top_terminal_signal, even after
 *           gg_top_terminal_close().
 * Threads   One; handlers of crashes may run in any.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "top/top_grid.h"
#include "top/top_mouse.h"

/* The signal that came last and asks this program to end; 0: none. */
extern volatile sig_atomic_t gg_top_terminal_signal;

/* False: the terminal is unknown. */
bool gg_top_terminal_open(bool has_color, bool has_mouse);
void gg_top_terminal_close(void);

void gg_top_terminal_size(size_t *ret_width, size_t *ret_height);
/* Sends the cells that changed. */
void gg_top_terminal_put(const struct gg_top_grid *grid);
/* The next frame is sent whole. */
void gg_top_terminal_redraw(void);

/*
 * The next key, as top_keys.h has them; 0: none waits.  GG_TOP_KEY_NONE: a key without a meaning.
 * GG_TOP_KEY_MOUSE: *ret_mouse has the event.
 */
int gg_top_terminal_key(struct gg_top_mouse *ret_mouse);
