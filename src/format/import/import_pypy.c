/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import_pypy - PyPy's heap dumps, from gc.dump_rpy_heap("heap.dump").
 *
 *   [address] [type] [size] [address of an object that it refers to]... [-1]
 *
 * The file is a list of such objects, in machine words of the program: first what the collector
 * begins with, then 0 0 0 -1, then all other objects that are reachable.  So counts and sizes are
 * exact.  A type is a number of RPython.  PyPy writes the names of all types into typeids.txt in
 * the same folder, one line each: "member38   GcArray of Char".
 *
 * A dump has no stacks.  The type is the only frame of its objects, so that every report has a row
 * for it.  References are not used.
 *
 * Memory  16 bytes for each type and the text of typeids.txt.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/path.h"
#include "format/codec/line_parser.h"
#include "format/import/import.h"

enum {
	DUMP_WORD_BYTES = 8,
	TYPES_MAX = 1 << 20,       /* PyPy 7.3 has 6418 */
	TYPE_NAMES_MAX = 64 << 20, /* bytes; 400 KiB in PyPy 7.3 */
	TYPE_NAME_BYTES = 512,
};
#define SIZE_MAX_BYTES (INT64_C(1) << 47)

/* The places of words in an object. */
enum { WORD_ADDRESS, WORD_TYPE, WORD_SIZE, WORD_REFERENCES };

struct type_sum {
	double count, bytes;
};

struct pypy_import {
	struct gg_import *import;
	GG_ARRAY(struct type_sum) sums; /* by type */
	struct gg_buf names;            /* the names, each with a 0 byte */
	GG_ARRAY(size_t) name_at;       /* by type, in `names` */
	int place;                      /* WORD_*: of the next word */
	int64_t address, type, size;    /* of the object that is being read */
	uint64_t object_count;
};

static int64_t word_at(const uint8_t *bytes, size_t number)
{
	int64_t word;

	memcpy(&word, bytes + number * DUMP_WORD_BYTES, sizeof(word));
	return word;
}

static int wrong(const struct pypy_import *job, size_t word, const char *what)
{
	struct gg_import *import = job->import;

	return gg_input_wrong(import->input,
	                      gg_input_offset(import->input) + word * DUMP_WORD_BYTES,
	                      import->error, "%s", what);
}

/* --- objects ---------------------------------------------------------------------------------- */

static int end_object(struct pypy_import *job)
{
	struct type_sum *sum;

	job->place = WORD_ADDRESS;
	if (job->address == 0 && job->size == 0)
		return 0; /* the end of the collector's roots */
	if (!gg_array_extend(&job->sums, (size_t)job->type + 1))
		return gg_import_no_memory(job->import);
	sum = &job->sums.items[job->type];
	sum->count++;
	sum->bytes += (double)job->size;
	job->object_count++;
	return 0;
}

/* `at` is the number of the word in its part of the file. */
static int take_word(struct pypy_import *job, int64_t word, size_t at)
{
	switch (job->place) {
	case WORD_ADDRESS:
		if (word < 0 || word % DUMP_WORD_BYTES != 0)
			return wrong(job, at, "this is not the address of an object");
		job->address = word;
		break;
	case WORD_TYPE:
		if (word < 0 || word >= TYPES_MAX)
			return wrong(job, at, "this is not the number of a type");
		job->type = word;
		break;
	case WORD_SIZE:
		if (word < 0 || word > SIZE_MAX_BYTES)
			return wrong(job, at, "this is not the size of an object");
		job->size = word;
		break;
	default:
		if (word == -1)
			return end_object(job);
		return 0;
	}
	job->place++;
	return 0;
}

static int read_objects(struct pypy_import *job)
{
	struct gg_import *import = job->import;
	const uint8_t *part;
	size_t length;
	int status;

	while ((status = gg_input_units(import->input, DUMP_WORD_BYTES, &part, &length,
	                                import->error)) > 0) {
		gg_import_progress(import);
		if (length % DUMP_WORD_BYTES != 0)
			return wrong(job, 0, "the file ends within a word: it is truncated");
		for (size_t i = 0; i < length / DUMP_WORD_BYTES && status >= 0; i++)
			status = take_word(job, word_at(part, i), i);
		if (status < 0)
			return status;
	}
	if (status == 0 && job->place != WORD_ADDRESS)
		return wrong(job, 0, "the file ends within an object: it is truncated");
	return status;
}

/* --- types ------------------------------------------------------------------------------------ */

/* Copies "GcArray of * GcStruct list" from "GcArray of * GcStruct list { length, items }". */
static void copy_without_fields(char *to, size_t size, const char *from, size_t length)
{
	size_t used = 0;
	int depth = 0;

	for (size_t i = 0; i < length && used + 1 < size; i++) {
		depth += from[i] == '{';
		if (depth == 0 && !(from[i] == ' ' && used > 0 && to[used - 1] == ' '))
			to[used++] = from[i];
		depth -= from[i] == '}' && depth > 0;
	}
	while (used > 0 && to[used - 1] == ' ')
		used--;
	to[used] = '\0';
}

static int read_type(struct pypy_import *job, struct gg_text_line line)
{
	char name[TYPE_NAME_BYTES] = "";
	size_t *at = gg_array_add(&job->name_at);
	uint64_t number;

	if (gg_text_line_literal(&line, "member") && gg_text_line_decimal(&line, &number)) {
		while (gg_text_line_literal(&line, " "))
			;
		gg_text_line_literal(&line, "GcStruct ");
		copy_without_fields(name, sizeof(name), line.at, line.length);
	}
	if (at == NULL)
		return gg_import_no_memory(job->import);
	*at = job->names.length;
	gg_buf_append(&job->names, name, strlen(name) + 1);
	return job->names.failed ? gg_import_no_memory(job->import) : 0;
}

/* Reads the names of types from the file of that path. */
static int read_types(struct pypy_import *job, const char *path, struct gg_error *error)
{
	struct gg_text_line line;
	struct gg_input *input;
	int status = gg_input_open(&input, path, error);

	if (status < 0)
		return status;
	while ((status = gg_input_line(input, &line, error)) > 0) {
		if (job->name_at.count >= TYPES_MAX || job->names.length > TYPE_NAMES_MAX)
			break;
		status = read_type(job, line);
		if (status < 0)
			break;
	}
	gg_input_close(input);
	return status < 0 ? status : 0;
}

static int find_types(struct pypy_import *job)
{
	struct gg_import *import = job->import;
	const char *name = gg_input_name(import->input), *base = gg_path_base(name);
	GG_CLEANUP(gg_buf_done) struct gg_buf path = { 0 };
	struct gg_error error = { 0 };

	if (import->options->ignore_files)
		return 0;
	if (gg_input_is_standard(import->input))
		return gg_import_note(import, "Types have numbers: a dump from standard input "
		                              "comes without typeids.txt.");
	gg_buf_append(&path, name, (size_t)(base - name));
	gg_buf_append_text(&path, "typeids.txt");
	if (path.failed)
		return gg_import_no_memory(import);
	if (read_types(job, gg_buf_text(&path), &error) < 0)
		return gg_import_note(import,
		                      "%s: %s. Types have numbers therefore. PyPy writes their "
		                      "names when gc.dump_rpy_heap() gets the name of a file.",
		                      gg_buf_text(&path), error.message);
	if (job->sums.count <= job->name_at.count)
		return 0;
	job->name_at.count = 0;
	return gg_import_note(import,
	                      "%s is of another PyPy: it has fewer types than the dump. Types have "
	                      "numbers therefore.",
	                      gg_buf_text(&path));
}

static void name_type(const struct pypy_import *job, size_t type, char *name, size_t size)
{
	const char *known = type < job->name_at.count ? job->names.data + job->name_at.items[type]
	                                              : "";

	if (known[0] != '\0' && strcmp(known, "?") != 0)
		snprintf(name, size, "%s", known);
	else
		snprintf(name, size, "type %zu", type);
}

/* --- rows ------------------------------------------------------------------------------------- */

static int write_type(struct pypy_import *job, size_t type)
{
	const struct gg_row_weighing how = { GG_ROW_WEIGHING_EXACT, 1, true };
	const struct type_sum *sum = &job->sums.items[type];
	struct gg_row_sums live = gg_row_weighing(&how, sum->count, sum->bytes), none = { 0 };
	struct gg_import *import = job->import;
	char name[TYPE_NAME_BYTES + 32];
	uint32_t frame, stack = 0;
	int status;

	name_type(job, type, name, sizeof(name));
	status = gg_import_name(import, name, strlen(name), &frame);
	if (status == 0)
		status = gg_profile_intern_stack(import->profile, 0, frame, &stack, import->error);
	if (status == 0)
		status = gg_import_kind(import, "pypy", name);
	return status == 0 ? gg_import_row(import, 0, stack, &live, &none) : status;
}

static int write_types(struct pypy_import *job)
{
	int status = 0;

	for (size_t type = 0; type < job->sums.count && status == 0; type++)
		if (job->sums.items[type].count > 0)
			status = write_type(job, type);
	return status;
}

static int read_pypy(struct gg_import *import)
{
	struct pypy_import job = { .import = import };
	int status = read_objects(&job);

	import->result->interval_bytes = 1;
	import->result->row_count = job.object_count;
	if (status == 0)
		status = find_types(&job);
	if (status == 0)
		status = write_types(&job);
	if (status == 0)
		status = gg_import_note(import, "A heap dump of PyPy has all objects that are "
		                                "reachable, those that PyPy itself begins with "
		                                "included.");
	gg_array_done(&job.sums);
	gg_array_done(&job.name_at);
	gg_buf_done(&job.names);
	return status;
}

/* The first object: an address, small numbers, addresses, and -1. */
static bool knows_pypy(const uint8_t *head, size_t length)
{
	int64_t address, type, size;

	if (length < 4 * DUMP_WORD_BYTES)
		return false;
	address = word_at(head, WORD_ADDRESS);
	type = word_at(head, WORD_TYPE);
	size = word_at(head, WORD_SIZE);
	if (address <= 0 || address % DUMP_WORD_BYTES != 0 || address >> 48 != 0 || type < 0 ||
	    type >= TYPES_MAX || size <= 0 || size > SIZE_MAX_BYTES)
		return false;
	for (size_t i = WORD_REFERENCES; i < length / DUMP_WORD_BYTES; i++) {
		int64_t word = word_at(head, i);

		if (word == -1)
			return true;
		if (word <= 0 || word >> 48 != 0)
			return false;
	}
	return true; /* one object with more references than the head has words */
}

const struct gg_importer gg_importer_pypy = {
	.name = "heap dump of PyPy",
	.knows = knows_pypy,
	.read = read_pypy,
};
