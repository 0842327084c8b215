/* SPDX-License-Identifier: Apache-2.0 */
/*
 * style - the few styles of terminal output, and whether it has colors.
 *
 *   struct gg_style style = gg_style_for(GG_COLOR_AUTO, STDOUT_FILENO);
 *   printf("%s%s%s\n", style.heading, "Usage", style.reset);
 *
 * Without colors every style is the empty text, so that printing code needs no cases.
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

/* The styles for `color`; GG_COLOR_AUTO checks the file descriptor and the environment. */
struct gg_style gg_style_for(enum gg_color color, int fd);
