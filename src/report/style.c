/* SPDX-License-Identifier: Apache-2.0 */
#include "report/style.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool wants_color(int fd)
{
	const char *no_color = getenv("NO_COLOR"); /* https://no-color.org: set and not empty */
	const char *term = getenv("TERM");

	if (no_color != NULL && no_color[0] != '\0')
		return false;
	return term != NULL && strcmp(term, "dumb") != 0 && isatty(fd);
}

struct gg_style gg_style_for(enum gg_color color, int fd)
{
	if (color == GG_COLOR_NEVER || (color == GG_COLOR_AUTO && !wants_color(fd)))
		return (struct gg_style){ "", "", "", "" };
	return (struct gg_style){
		.heading = "\033[1;36m",
		.strong = "\033[1m",
		.error = "\033[1;31m",
		.reset = "\033[0m",
	};
}
