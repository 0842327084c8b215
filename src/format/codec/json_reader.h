/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_reader - parses JSON value by value, without a tree in memory.
 *
 *   struct gg_json_reader json = { bytes, bytes + length };
 *
 *   gg_json_reader_open(&json, '{');
 *   while (gg_json_reader_member(&json, key, sizeof(key)))
 *           if (strcmp(key, "id") == 0) gg_json_reader_number(&json, &id);
 *           else gg_json_reader_skip(&json);
 *
 * The first syntax error sets `failed`; from there on all functions find nothing, and `at` is the
 * position of the error.  The caller limits the depth of the values that it opens;
 * gg_json_reader_skip() skips up to 10 000 levels without recursion.
 *
 * Threads  any; the functions only read the bytes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gg_json_reader {
	const char *at, *end;
	bool failed;
	bool is_first; /* no item of the innermost open value has been read */
};

/* Enters an object '{' or a list '['; returns false for any other value. */
bool gg_json_reader_open(struct gg_json_reader *json, char bracket);
/* Reads the next member's key, truncated to fit; leaves the object at its end and returns false. */
bool gg_json_reader_member(struct gg_json_reader *json, char *key, size_t size);
/* Moves to the next item of a list; leaves the list at its end and returns false. */
bool gg_json_reader_item(struct gg_json_reader *json);
/* Reads a text as UTF-8, truncated to fit; returns false for any other value. */
bool gg_json_reader_text(struct gg_json_reader *json, char *text, size_t size);
bool gg_json_reader_number(struct gg_json_reader *json, double *ret_number);
/* Skips a value of any type. */
void gg_json_reader_skip(struct gg_json_reader *json);
