/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otlp_tables - the dictionary of an OTLP file, to which its samples refer by index.
 *
 * One pass over the file finds the elements; the tables keep where they are.  A file in which the
 * dictionary is in several parts has the parts' elements one after the other, as protocol buffers
 * define it.
 *
 *   gg_otlp_tables_read(&tables, import, bytes, length, false);
 *   stack = gg_otlp_tables_get(&tables, GG_OTLP_TABLE_STACK, index, at, &message);
 *   gg_otlp_tables_done(&tables);
 *
 * Memory   16 bytes for each element.
 * Threads  one owner.
 */
#pragma once

#include "base/array.h"
#include "format/codec/otlp_schema.h"
#include "format/codec/wire.h"
#include "format/import/import.h"

struct gg_otlp_elements {
	GG_ARRAY(struct gg_wire);
};

struct gg_otlp_tables {
	struct gg_import *import;
	const uint8_t *bytes;
	size_t length;
	bool is_converted; /* the file is JSON, so offsets in `bytes` mean nothing in it */
	struct gg_otlp_elements tables[GG_OTLP_TABLE_STACK + 1]; /* by field number */
};

/* Reads the tables of the message ProfilesData.  Call gg_otlp_tables_done() in any case. */
GG_MUST_CHECK int gg_otlp_tables_read(struct gg_otlp_tables *ret_tables, struct gg_import *import,
                                      const uint8_t *bytes, size_t length, bool is_converted);
void gg_otlp_tables_done(struct gg_otlp_tables *tables);

/* Returns an element; an error if the table ends before names the offset of `at`. */
GG_MUST_CHECK int gg_otlp_tables_get(const struct gg_otlp_tables *tables, uint32_t table,
                                     uint64_t index, const uint8_t *at,
                                     struct gg_wire *ret_element);

/* An attribute: its key, and its value as a text or a number. */
struct gg_otlp_attribute {
	struct gg_wire key, text; /* text: empty if the value is no text */
	int64_t number;           /* 0 if the value is no whole number */
};

/* Reads an attribute of the table, or one of a resource (the message KeyValue). */
GG_MUST_CHECK int gg_otlp_tables_attribute(const struct gg_otlp_tables *tables, uint64_t index,
                                           const uint8_t *at, struct gg_otlp_attribute *ret);
GG_MUST_CHECK int gg_otlp_tables_key_value(const struct gg_otlp_tables *tables,
                                           struct gg_wire message, struct gg_otlp_attribute *ret);

static inline bool gg_otlp_tables_is(struct gg_wire text, const char *wanted)
{
	return gg_wire_length(&text) == strlen(wanted) &&
	       memcmp(text.at, wanted, gg_wire_length(&text)) == 0;
}

/* Sets the error "FILE: offset N: TEXT", where N is the offset of `at`; 0 if the file is JSON. */
int gg_otlp_tables_wrong(const struct gg_otlp_tables *tables, const uint8_t *at, const char *format,
                         ...) GG_PRINTF(3, 4);
