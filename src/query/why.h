/* SPDX-License-Identifier: Apache-2.0 */
/*
 * why - divides the RSS of a process at the moment of a look into rows with names.
 *
 *   struct gg_why why;
 *
 *   if (gg_why_of_look(&why, &input, error) == 0) {
 *           for (size_t i = 0; i < why.rows.count; i++)
 *                   ... why.rows.items[i].name, .bytes ...
 *           gg_why_done(&why);
 *   }
 *
 * Sum       Bytes are whole numbers, and those of the rows add up to rss_bytes exactly.  RSS and
 *           the live samples are of one moment, that of the look.
 * Heap      The mappings of the allocator have a known number of resident bytes.  Estimates from
 *           samples divide them: live, rounding, pinned, and so on.  The row "rest" has what these
 *           leave, so its interval is that of the difference.
 * Chance    Estimates may add up to more than is resident.  They are then reduced inside their
 *           intervals, and the rest is 0 with an upper bound.
 * Units     Bytes.
 * Threads   Any; the functions only read the input.
 */
#pragma once

#include "base/compiler.h"
#include "base/error.h"
#include "query/why_rows.h"

/* "exact", "interval", "bound". */
const char *gg_why_certainty_name(enum gg_why_certainty certainty);

/* -ENOMEM.  Only a filled *ret_why needs gg_why_done(). */
GG_MUST_CHECK int gg_why_of_look(struct gg_why *ret_why, const struct gg_why_input *input,
                                 struct gg_error *error);
void gg_why_done(struct gg_why *why);
