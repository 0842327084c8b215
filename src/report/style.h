/* SPDX-License-Identifier: Apache-2.0 */
/*
 * style - whether what we print to a terminal has colour, and the few styles there are.
 *
 *   struct gg_style style = gg_style_for(GG_COLOR_AUTO, STDOUT_FILENO);
 *   printf("%s%s%s\n", style.heading, "Usage", style.reset);
 *
 * Without colour every style is the empty text, so the printing code has one form.
 */
#pragma once

#include "base/compiler.h"

enum gg_color {
	GG_COLOR_AUTO, /* on a terminal, unless NO_COLOR is set or TERM is "dumb" */
	GG_COLOR_ALWAYS,
	GG_COLOR_NEVER,
};

/* Escape sequences, each a static text. */
struct gg_style {
	const char *heading;
	const char *strong;
	const char *error;
	const char *reset;
};

/* `color` decides; asked to decide by itself it looks at the file descriptor and environment. */
struct gg_style gg_style_for(enum gg_color color, int fd);
