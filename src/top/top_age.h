/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top_age - the age of blocks and of processes, in one unit.
 *
 *   gg_top_age_append(42e9, GG_TOP_AGE_SECONDS, &text)    "42 s"
 *
 * An age has at most seven cells.
 */
#pragma once

#include "base/buf.h"

/* How an age below ten seconds is shown; a longer one has whole units. */
enum gg_top_age { GG_TOP_AGE_SECONDS, GG_TOP_AGE_TENTHS };

/* Appends "4.2 s", "42 s", "17 min", "5 h" or "12 d"; nothing for NAN, which is an unknown age. */
void gg_top_age_append(double age_ns, enum gg_top_age detail, struct gg_buf *out);
