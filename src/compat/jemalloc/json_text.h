/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_text - writes JSON and other text in pieces, without an allocation.
 *
 *   struct gg_json_text text;
 *
 *   gg_json_text_begin(&text, write_cb, opaque);
 *   gg_json_text_add(&text, "{\"size\":");
 *   gg_json_text_number(&text, 4711);
 *   gg_json_text_flush(&text);
 *
 * When the buffer is full, and at a flush, write() receives its content, which ends with a 0 byte.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { GG_JSON_TEXT_BUFFER = 4096 };

struct gg_json_text {
	void (*write)(void *context, const char *piece);
	void *context;
	size_t used;
	char last; /* the last character that was added */
	char buffer[GG_JSON_TEXT_BUFFER];
};

void gg_json_text_begin(struct gg_json_text *text, void (*write)(void *context, const char *piece),
                        void *context);
void gg_json_text_add(struct gg_json_text *text, const char *piece);
void gg_json_text_number(struct gg_json_text *text, uint64_t number);
void gg_json_text_signed(struct gg_json_text *text, int64_t number);

/* Adds "0x..." as a JSON string. */
void gg_json_text_address(struct gg_json_text *text, uint64_t address);

/* Adds a JSON string.  Control characters become '?'. */
void gg_json_text_string(struct gg_json_text *text, const char *string);

/* Adds "key": of a JSON object, after a comma unless the key is the object's first one. */
void gg_json_text_key(struct gg_json_text *text, const char *key);

void gg_json_text_flush(struct gg_json_text *text);
