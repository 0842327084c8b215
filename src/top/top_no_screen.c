/* SPDX-License-Identifier: Apache-2.0 */
/* top_no_screen - stands in for top_screen.c where ncurses is missing. */
#include <errno.h>

#include "top/top_screen.h"

bool gg_top_screen_is_possible(int input_fd, int output_fd)
{
	(void)input_fd;
	(void)output_fd;
	return false;
}

int gg_top_screen_run(const struct gg_top_screen *screen, struct gg_error *error)
{
	(void)screen;
	return gg_error_set(error, -ENOTSUP, "top", "Use --batch.",
	                    "this geiger was built without ncurses");
}
