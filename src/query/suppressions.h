/* SPDX-License-Identifier: Apache-2.0 */
/*
 * suppressions - patterns of known leaks that reports leave out, in the syntax of LeakSanitizer:
 *
 *   # the parser keeps its tables
 *   leak:parse_tables
 *   leak:libfontconfig.so
 *   leak:^init_*$
 *
 * A pattern matches a stack if it occurs in the name of a function on it (short, with arguments, or
 * the linkage name), of the function's module, or of its source file.  '*' matches any text; '^'
 * and '$' at the ends of a pattern match the ends of the name.  Empty lines and lines that begin
 * with '#' are comments.
 *
 * Threads   One thread at a time.
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

/* -EINVAL: a line is no suppression; the error names `place` and the line.  -ENOMEM. */
GG_MUST_CHECK int gg_suppressions_parse(struct gg_suppressions *ret_suppressions, const char *text,
                                        const char *place, struct gg_error *error);
/* Parses the text of a file. */
GG_MUST_CHECK int gg_suppressions_read(struct gg_suppressions *ret_suppressions, const char *path,
                                       struct gg_error *error);
void gg_suppressions_done(struct gg_suppressions *suppressions);

bool gg_suppression_matches(const char *pattern, const char *name);

/*
 * Sets (*ret_of_stacks)[stack], for every stack of the model, to 1 + the number of a pattern that
 * matches it or one of its callers, or to 0.  The caller frees the array, which is NULL if there
 * are no patterns.  Each name is matched once, however many stacks have it.
 */
GG_MUST_CHECK int gg_suppressions_apply(const struct gg_suppressions *suppressions,
                                        const struct gg_model *model, uint32_t **ret_of_stacks,
                                        struct gg_error *error);
