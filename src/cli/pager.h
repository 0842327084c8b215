/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pager - prints the output of a command, through a pager if it is longer than the screen.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/error.h"

/*
 * Prints a text.  If standard output is a terminal and the text is longer than the screen, it goes
 * through $GEIGER_PAGER, $PAGER or less.  Fails if the text could not be built.
 */
GG_MUST_CHECK int gg_cli_print(const struct gg_buf *text, bool no_pager, struct gg_error *error);
