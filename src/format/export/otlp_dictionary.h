/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otlp_dictionary - the tables that all profiles of an OTLP file share.
 *
 *   gg_otlp_dictionary_init(&dictionary, extract, error);
 *   stack = gg_otlp_dictionary_stack(&dictionary, row->stack);
 *   attribute = gg_otlp_dictionary_text(&dictionary, "thread.name", "worker");
 *   gg_otlp_dictionary_put(&dictionary, &out);            when all samples are made
 *   gg_otlp_dictionary_done(&dictionary);
 *
 * Element 0 of each table is its zero value, which means "none".  No element occurs twice: a table
 * finds an element by its encoded bytes.  No element is unused, because elements are made only for
 * samples.
 *
 * Locations  are those of pprof (pprof_locations.h): an address with its inlined calls, innermost
 *            first.  A frame without a name has a function named by module and offset.  The
 *            attribute profile.frame.type is "native" in a mapped file, and the language of a
 *            runtime's frame where the file's name tells it.
 * Errors     if memory runs out, functions return 0, and gg_otlp_dictionary_put() returns false.
 * Threads    one owner.
 */
#pragma once

#include <stdbool.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/map.h"
#include "format/codec/string_table.h"
#include "format/export/address_space.h"

struct gg_otlp_table_element {
	size_t offset, length; /* in the bytes of its table */
};

/* Distinct sequences of bytes, numbered from 0. */
struct gg_otlp_table {
	struct gg_buf bytes;
	GG_ARRAY(struct gg_otlp_table_element) elements;
	struct gg_map map;
};

/* A function of the model, with the file that it had last. */
struct gg_otlp_known_function {
	const char *file;
	uint32_t index; /* 0: not made yet */
};

struct gg_otlp_dictionary {
	const struct gg_extract *extract;
	struct gg_address_space space;
	struct gg_string_table strings;
	struct gg_otlp_table mappings, locations, functions, attributes, stacks;
	uint32_t *location_of_stack;                    /* by stack of the model; 0: not made yet */
	uint32_t *mapping_of_module;                    /* likewise */
	struct gg_otlp_known_function *known_functions; /* by function of the model */
	const char *last_type;                          /* of a frame, and its attribute */
	uint32_t last_type_index;
	uint32_t last_stack, last_stack_index;
	bool failed;
};

GG_MUST_CHECK int gg_otlp_dictionary_init(struct gg_otlp_dictionary *ret_dictionary,
                                          const struct gg_extract *extract, struct gg_error *error);
/* Also frees the memory of a dictionary whose gg_otlp_dictionary_init() failed. */
void gg_otlp_dictionary_done(struct gg_otlp_dictionary *dictionary);

/* These return indices in the tables. */
uint32_t gg_otlp_dictionary_stack(struct gg_otlp_dictionary *dictionary, uint32_t stack);
uint32_t gg_otlp_dictionary_string(struct gg_otlp_dictionary *dictionary, const char *text);
/* Attributes; a unit is in the words of UCUM, or NULL. */
uint32_t gg_otlp_dictionary_text(struct gg_otlp_dictionary *dictionary, const char *key,
                                 const char *value);
uint32_t gg_otlp_dictionary_integer(struct gg_otlp_dictionary *dictionary, const char *key,
                                    int64_t value, const char *unit);
uint32_t gg_otlp_dictionary_double(struct gg_otlp_dictionary *dictionary, const char *key,
                                   double value, const char *unit);

/* Appends all tables, as the fields of the message ProfilesDictionary. */
GG_MUST_CHECK bool gg_otlp_dictionary_put(const struct gg_otlp_dictionary *dictionary,
                                          struct gg_buf *out);
/* The same fields in two pieces: the tables without the attributes, and the attributes. */
GG_MUST_CHECK bool gg_otlp_dictionary_put_apart(const struct gg_otlp_dictionary *dictionary,
                                                struct gg_buf *tables, struct gg_buf *attributes);

/* Returns the number of an element, and adds it if it is new; UINT32_MAX: memory ran out. */
uint32_t gg_otlp_table_put(struct gg_otlp_table *table, const struct gg_buf *element);
void gg_otlp_table_done(struct gg_otlp_table *table);
