/* SPDX-License-Identifier: Apache-2.0 */
/*
 * why_advice - what would make the rows of RSS smaller, and by how much (query/why.h).
 *
 * Threads  Any; the function only changes the rows.
 */
#pragma once

#include "base/compiler.h"
#include "query/why_rows.h"

/* Begins of details of the row "mappings". */
#define GG_WHY_PYTHON_ARENAS "object arenas of Python"
#define GG_WHY_UNNAMED       "without a sample or a name"

/* Gives large rows an advice where there is one.  False: out of memory. */
GG_MUST_CHECK bool gg_why_advise(struct gg_why *why, const struct gg_why_input *input);
