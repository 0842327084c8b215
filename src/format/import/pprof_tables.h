/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pprof_tables - the tables of a profile.proto to which its samples refer.
 *
 * One pass over the file finds the records; the tables keep their offsets.
 *
 * Memory   4 bytes for each text, 8 for a function, 24 for a location, and 24 more for each id that
 *          differs from the number of its record.
 * Threads  one owner.
 */
#pragma once

#include "base/array.h"
#include "format/codec/wire.h"
#include "format/import/import.h"

/* The file chooses the ids of its records. In most files the n-th record has the id n. */
struct gg_pprof_ids {
	size_t dense_count;  /* ids 1 to dense_count are the records 0 to dense_count - 1 */
	struct gg_map by_id; /* index of the record with any other id */
};

struct gg_pprof_function {
	uint32_t name, system_name, file; /* texts */
};

struct gg_pprof_mapping {
	uint64_t start, end, offset;
	uint32_t path, build_id; /* texts */
	bool is_interned, has_build_id;
	uint32_t module; /* id, once it is interned */
	uint64_t bias;
};

struct gg_pprof_location {
	uint32_t message; /* its offset in the file, at its length */
	uint32_t frame;   /* id, once it is interned */
	bool is_interned;
};

struct gg_pprof_value {
	uint32_t type, unit; /* texts */
};

enum { GG_PPROF_VALUES_MAX = 16 };

struct gg_pprof_tables {
	struct gg_import *import;
	const uint8_t *file;
	size_t file_bytes;
	GG_ARRAY(uint32_t) texts; /* offsets in the file, at their lengths */
	GG_ARRAY(struct gg_pprof_function) functions;
	GG_ARRAY(struct gg_pprof_mapping) mappings;
	GG_ARRAY(struct gg_pprof_location) locations;
	struct gg_pprof_ids function_ids, mapping_ids, location_ids;
	struct gg_pprof_value values[GG_PPROF_VALUES_MAX], period_type;
	size_t value_count;
	uint64_t period, time_ns, duration_ns;
	uint32_t default_type;  /* text */
	bool written_by_geiger; /* a comment names geiger as the exporter */
};

/* Reads all fields except the samples.  Errors have offsets in the file. */
GG_MUST_CHECK int gg_pprof_tables_read(struct gg_pprof_tables *pprof, struct gg_import *import,
                                       const uint8_t *file, size_t length);
void gg_pprof_tables_done(struct gg_pprof_tables *pprof);

/* Sets the error "FILE: offset N: TEXT", where N is the offset of `at`. */
int gg_pprof_tables_wrong(const struct gg_pprof_tables *pprof, const uint8_t *at,
                          const char *format, ...) GG_PRINTF(3, 4);
/* Reports an error if the string table does not have that text; `record` is what refers to it. */
GG_MUST_CHECK int gg_pprof_tables_check_text(const struct gg_pprof_tables *pprof, uint64_t text,
                                             const uint8_t *at, const char *record);
/* Returns the index of the record with that id; SIZE_MAX: no record has it. */
size_t gg_pprof_tables_find(const struct gg_pprof_ids *ids, uint64_t id);
/* Returns a text's bytes; length 0: the text is empty. */
struct gg_text_line gg_pprof_tables_text(const struct gg_pprof_tables *pprof, uint32_t text);
bool gg_pprof_tables_is(const struct gg_pprof_tables *pprof, uint32_t text, const char *wanted);
