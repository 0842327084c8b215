/* SPDX-License-Identifier: Apache-2.0 */
/*
 * suppressions - which leaks somebody knows of and does not want to hear about again, in the syntax of
 * LeakSanitizer:
 *
 *   # the parser keeps its tables
 *   leak:parse_tables
 *   leak:libfontconfig.so
 *   leak:^init_*$
 *
 * A pattern matches if it is found in the name of any function on the stack (short, with arguments, or
 * the linker's), of its module or its source file.  '*' stands for any text; '^' and '$', at the ends
 * of a pattern, for the ends of the name.  Empty lines and lines that begin with '#' are comments.
 *
 * Threads   one owner at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/compiler.h"
#include "model/model.h"

struct gg_suppressions {
	GG_ARRAY(char *) patterns;
};

/* -EINVAL, naming `place` and the line, for what is no suppression; -ENOMEM. */
GG_MUST_CHECK int gg_suppressions_parse(struct gg_suppressions *ret_suppressions, const char *text,
                                        const char *place, struct gg_error *error);
/* The same of a file's text. */
GG_MUST_CHECK int gg_suppressions_read(struct gg_suppressions *ret_suppressions, const char *path,
                                       struct gg_error *error);
void gg_suppressions_done(struct gg_suppressions *suppressions);

bool gg_suppression_matches(const char *pattern, const char *name);

/*
 * Sets (*ret_of_stacks)[stack], for every stack of the model, to 1 + the number of a pattern that
 * matches it or one of its callers, or to 0.  The array is the caller's, to be freed; NULL where there
 * are no patterns.  Each name is matched once, however many stacks it is on.
 */
GG_MUST_CHECK int gg_suppressions_apply(const struct gg_suppressions *suppressions,
                                        const struct gg_model *model, uint32_t **ret_of_stacks,
                                        struct gg_error *error);
