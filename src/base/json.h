/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json - writes JSON (RFC 8259) into a buffer, with correct commas and nesting.
 *
 *   struct gg_json json = { .out = &buf };
 *   gg_json_open(&json, NULL, '{');
 *   gg_json_integer(&json, "version", 1);
 *   gg_json_open(&json, "rows", '[');
 *   gg_json_number(&json, NULL, 0.5);         values in a list have no names
 *   gg_json_close(&json);
 *   gg_json_close(&json);                     {"version":1,"rows":[0.5]}
 *
 * Texts may be any bytes.  A byte that is not UTF-8 becomes U+FFFD, so a reader always gets valid
 * JSON. Each number has the fewest digits that read back as the same double.  Numbers that are not
 * finite become null.
 *
 * Threads  One owner at a time.  A lack of memory sets out->failed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

enum { GG_JSON_MAX_DEPTH = 32 };

struct gg_json {
	struct gg_buf *out;
	int depth;
	char closers[GG_JSON_MAX_DEPTH]; /* the brackets that close the open objects and lists */
	bool has_items[GG_JSON_MAX_DEPTH];
};

/* Opens an object ('{') or a list ('[').  Each call needs its gg_json_close(). */
void gg_json_open(struct gg_json *json, const char *name, char bracket);
void gg_json_close(struct gg_json *json);

void gg_json_number(struct gg_json *json, const char *name, double value);
void gg_json_integer(struct gg_json *json, const char *name, uint64_t value);
/* Writes value / 10^digits exactly; digits at most 18. */
void gg_json_decimal(struct gg_json *json, const char *name, int64_t value, int digits);
void gg_json_bool(struct gg_json *json, const char *name, bool value);
void gg_json_text(struct gg_json *json, const char *name, const char *value); /* NULL: null */
