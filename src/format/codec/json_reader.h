/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_reader - takes JSON apart as it comes, without a tree in memory.
 *
 *   struct gg_json_read json = { bytes, bytes + length };
 *
 *   gg_json_read_open(&json, '{');
 *   while (gg_json_read_member(&json, key, sizeof(key)))
 *           if (strcmp(key, "id") == 0) gg_json_read_number(&json, &id);
 *           else gg_json_read_skip(&json);
 *
 * The first thing that is not as it should be sets `failed`, and from there on nothing is found; `at` is
 * where.  Depth is the caller's: gg_json_read_skip() goes 10 000 deep, without recursion.
 *
 * Threads  any; it reads the bytes alone.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gg_json_read {
	const char *at, *end;
	bool failed;
	bool is_first; /* nothing of what was opened last has been read */
};

/* Enters an object '{' or a list '['; false if the value is none. */
bool gg_json_read_open(struct gg_json_read *json, char bracket);
/* The next member's key, cut to fit; false at the end of the object, which is left. */
bool gg_json_read_member(struct gg_json_read *json, char *key, size_t size);
/* Is there another item?  False at the end of the list, which is left. */
bool gg_json_read_item(struct gg_json_read *json);
/* A text as UTF-8, cut to fit; false if the value is none. */
bool gg_json_read_text(struct gg_json_read *json, char *text, size_t size);
bool gg_json_read_number(struct gg_json_read *json, double *ret_number);
/* Any value. */
void gg_json_read_skip(struct gg_json_read *json);
