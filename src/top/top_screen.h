/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top_screen - shows a target on a terminal until the user quits.
 *
 * Terminal  It is as before afterwards: after the end, SIGINT, SIGTERM, SIGHUP and SIGQUIT, after
 *           a crash, and while the program is suspended.  Then the last state stands there in
 *           one line.
 * Threads   The thread that calls it draws and reads keys; another one looks (top_looks.h).
 */
#pragma once

#include <stdbool.h>

#include "base/compiler.h"
#include "base/error.h"
#include "top/top_command.h"
#include "top/top_source.h"
#include "top/top_state.h"

struct gg_top_screen {
	const char *target;      /* NULL: begins with the list of processes */
	struct gg_top_view view; /* the first one */
	bool ascii, has_color;
	bool has_no_mouse;
	bool is_readonly; /* keys do not change the process */
	/* A recorded command, instead of `target`; or NULL.  The caller frees it. */
	struct gg_top_command *command;
	double delay_seconds;
};

/* True if this build has ncurses, and both descriptors are terminals that it can move about on. */
bool gg_top_screen_is_possible(int input_fd, int output_fd);

/*
 * Fails with the errors of gg_top_source_open(), or -ENOTSUP: built without ncurses.  A signal that
 * ends programs ends this one by the same signal, after the terminal is restored.  With a command,
 * it waits for its end, prints its output, and returns its exit status; Ctrl-C goes to the command.
 */
GG_MUST_CHECK int gg_top_screen_run(const struct gg_top_screen *screen, struct gg_error *error);
