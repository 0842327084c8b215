/* SPDX-License-Identifier: Apache-2.0 */
/*
 * string_table - gives each distinct text a number; number 0 is "".
 *
 *   struct gg_string_table strings = { 0 };
 *
 *   number = gg_string_table_put(&strings, "main");        equal texts get the same number
 *   strings.texts.items[number]
 *   gg_string_table_done(&strings);
 *
 * The table holds copies in valid UTF-8, because readers refuse other encodings.  If memory runs
 * out, put returns 0 and sets `failed`.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/map.h"

struct gg_string_table {
	GG_ARRAY(char *) texts;
	struct gg_map map;
	bool failed;
};

uint32_t gg_string_table_put(struct gg_string_table *strings, const char *text); /* NULL is "" */
uint32_t gg_string_table_printf(struct gg_string_table *strings, const char *format, ...)
	GG_PRINTF(2, 3);
/* Appends a text in which U+FFFD replaces each byte that is not part of valid UTF-8; NULL is "". */
void gg_string_table_mend(struct gg_buf *out, const char *text);
void gg_string_table_done(struct gg_string_table *strings);
