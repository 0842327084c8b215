/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import_otlp - OpenTelemetry's profiles, as protocol buffers or JSON (otlp_schema.h).
 *
 * A profile of OTLP has one type of values, and a heap has four profiles.  The importer joins the
 * samples of one resource, stack and set of attributes, and writes the result as a profile.proto,
 * which import_pprof.c then reads: types, sampling intervals and labels mean the same there.
 *
 * Resources   become processes: process.pid and process.executable.name are theirs, and other
 *             texts are their labels.  thread.name and thread.id of a sample make a thread.
 * Several     profiles of one resource and type add up if they count allocations.  Live memory is
 *             a state, so only the latest of them counts, and a note says so.
 * Rows        A caller that takes rows (import.h) stores them beside those of other requests.  So
 *             each row has the time of its own resource, and says whether that counts allocations
 *             from the start of the process (a duration of 0: a state as well) or of a span.
 *             Equal resources of a request are one, as collectors batch messages of one process.
 * Hostile     Every index is checked before it is used.  Samples may refer to long stacks again and
 *             again, so the output has a limit as well as the input.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/path.h"
#include "format/codec/wire_writer.h"
#include "format/import/import_pprof.h"
#include "format/import/otlp_tables.h"

enum {
	OTLP_BYTES_MAX = 256 << 20,
	OTLP_OUTPUT_MAX = 512 << 20,
	OTLP_ROWS_OUTPUT_MAX = 64 << 20, /* for a caller that takes rows: a server */
	OTLP_ROWS_MAX = 4 << 20,
	OTLP_COLUMNS_MAX = 16,
	NOT_KEPT = -1,
};

struct otlp_profile {
	struct gg_wire message;
	uint32_t resource;
	int column; /* NOT_KEPT: a later profile has the same state */
	uint64_t time_ns, end_ns;
};

struct otlp_resource {
	struct gg_wire message;
	uint64_t end_ns; /* of its latest heap profile */
	bool has_spans, has_totals;
};

/* Samples of one resource, stack and set of attributes. */
struct otlp_row {
	uint32_t resource;
	uint64_t stack;
	struct gg_wire sample; /* one of them, which has the attributes */
};

/* The place of an attribute's label in otlp_import.labels, once a sample has used it. */
struct otlp_label {
	size_t offset, length;
	bool is_made;
};

struct otlp_import {
	struct gg_import *import;
	struct gg_otlp_tables tables;
	GG_ARRAY(struct otlp_resource) resources;
	uint32_t resource;         /* the one that is being read */
	struct gg_map resource_of; /* hash of a resource's attributes -> its number */
	GG_ARRAY(struct otlp_profile) profiles;
	struct gg_map latest; /* hash of resource and column -> the profile that counts */
	struct {
		uint64_t type, unit; /* numbers of texts */
	} columns[OTLP_COLUMNS_MAX];
	int column_count;
	uint64_t period, start_ns, end_ns;
	uint32_t superseded_count; /* profiles of a state that is not the latest one */
	GG_ARRAY(struct otlp_row) rows;
	GG_ARRAY(uint64_t) values; /* column_count for each row */
	struct gg_map row_of;
	struct gg_buf out;                     /* a profile.proto */
	uint64_t text_count;                   /* its texts: those of the dictionary, and more */
	struct gg_buf labels;                  /* those of attributes of samples */
	GG_ARRAY(struct otlp_label) label_of;  /* by attribute */
	const struct gg_import_options *given; /* options of the caller that takes rows */
	size_t given_count;                    /* rows that it has */
	uint64_t frame_count;                  /* of the rows */
};

static int wrong(struct otlp_import *job, const uint8_t *at, const char *what)
{
	return gg_otlp_tables_wrong(&job->tables, at, "%s", what);
}

/* --- profiles ------------------------------------------------------------------------------- */

struct otlp_value_type {
	uint64_t type, unit;
};

static int read_value_type(struct otlp_import *job, struct gg_wire message,
                           struct otlp_value_type *ret)
{
	static const struct gg_wire_member members[] = {
		GG_WIRE_NUMBER(struct otlp_value_type, GG_OTLP_VALUE_TYPE_TYPE, type),
		GG_WIRE_NUMBER(struct otlp_value_type, GG_OTLP_VALUE_TYPE_UNIT, unit),
	};
	struct gg_wire text;

	*ret = (struct otlp_value_type){ 0 };
	if (gg_wire_read(&message, members, GG_COUNT(members), ret) < 0)
		return wrong(job, message.at, "a type of values is damaged");
	return gg_otlp_tables_get(&job->tables, GG_OTLP_TABLE_STRING, ret->type, message.at,
	                          &text) < 0 ||
	                       gg_otlp_tables_get(&job->tables, GG_OTLP_TABLE_STRING, ret->unit,
	                                          message.at, &text) < 0
	               ? -EBADMSG
	               : 0;
}

static struct gg_wire string_of(const struct otlp_import *job, uint64_t number)
{
	const struct gg_wire none = { 0 };

	return number == 0 ? none : job->tables.tables[GG_OTLP_TABLE_STRING].items[number];
}

static bool is_same_text(const struct otlp_import *job, uint64_t a, uint64_t b)
{
	struct gg_wire left = string_of(job, a), right = string_of(job, b);
	size_t length = gg_wire_length(&left);

	/* An empty text may have no address, which memcmp() must not get. */
	return a == b || (length == gg_wire_length(&right) &&
	                  (length == 0 || memcmp(left.at, right.at, length) == 0));
}

static int find_column(struct otlp_import *job, const struct otlp_value_type *type,
                       const uint8_t *at, int *ret_column)
{
	for (int i = 0; i < job->column_count; i++)
		if (is_same_text(job, job->columns[i].type, type->type) &&
		    is_same_text(job, job->columns[i].unit, type->unit)) {
			*ret_column = i;
			return 0;
		}
	if (job->column_count == OTLP_COLUMNS_MAX)
		return wrong(job, at, "the file has more than 16 types of values");
	job->columns[job->column_count].type = type->type;
	job->columns[job->column_count].unit = type->unit;
	*ret_column = job->column_count++;
	return 0;
}

/* True for values that count events (alloc_space).  Others are states (inuse_space). */
static bool counts_events(const struct otlp_import *job, int column)
{
	struct gg_wire type = string_of(job, job->columns[column].type);

	return gg_wire_length(&type) >= 5 && memcmp(type.at, "alloc", 5) == 0;
}

static bool gives_rows(const struct otlp_import *job)
{
	return job->import->options->take_row != NULL;
}

/* True for values of a heap.  A profile of time must not say how the heap counts. */
static bool is_of_heap(const struct otlp_import *job, int column)
{
	static const char *const prefixes[] = { "alloc", "inuse_", "live_" };
	struct gg_wire type = string_of(job, job->columns[column].type);

	for (size_t i = 0; i < GG_COUNT(prefixes); i++)
		if (gg_wire_length(&type) >= strlen(prefixes[i]) &&
		    memcmp(type.at, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return gg_otlp_tables_is(type, "space") || gg_otlp_tables_is(type, "objects");
}

/* Notes the time of a resource, and how it counts allocations. */
static void note_span(struct otlp_import *job, const struct otlp_profile *profile)
{
	struct otlp_resource *resource = &job->resources.items[profile->resource];

	if (!is_of_heap(job, profile->column))
		return;
	if (profile->end_ns > resource->end_ns)
		resource->end_ns = profile->end_ns;
	if (!counts_events(job, profile->column))
		return;
	if (profile->end_ns > profile->time_ns)
		resource->has_spans = true;
	else
		resource->has_totals = true;
}

/* Keeps only the latest of several profiles of one state. */
static int supersede(struct otlp_import *job, struct otlp_profile *added)
{
	uint64_t seed = gg_map_seed(&job->latest), index;
	uint64_t key = gg_hash_integer((uint64_t)added->column,
	                               gg_hash_integer(added->resource, seed));
	bool is_total = gives_rows(job) && added->end_ns == added->time_ns;
	struct otlp_profile *other;

	if (counts_events(job, added->column) && !is_total)
		return 0;
	index = gg_map_get(&job->latest, key);
	if (index != GG_MAP_NONE) {
		other = &job->profiles.items[index];
		job->superseded_count++;
		if (other->end_ns > added->end_ns) {
			added->column = NOT_KEPT;
			return 0;
		}
		other->column = NOT_KEPT;
	}
	return gg_map_put(&job->latest, key, job->profiles.count) < 0
	               ? gg_import_no_memory(job->import)
	               : 0;
}

static int read_profile(struct otlp_import *job, struct gg_wire message)
{
	struct gg_wire rest = message, text;
	struct gg_wire_field field;
	struct otlp_value_type type = { 0 }, period_type = { 0 };
	struct otlp_profile profile = { .message = message, .resource = job->resource };
	uint64_t duration_ns = 0, period = 0;
	int more, status = 0;

	while (status == 0 && (more = gg_wire_next(&rest, &field)) > 0) {
		bool is_bytes = field.type == GG_WIRE_BYTES;

		if (field.number == GG_OTLP_PROFILE_SAMPLE_TYPE && is_bytes)
			status = read_value_type(job, field.bytes, &type);
		else if (field.number == GG_OTLP_PROFILE_PERIOD_TYPE && is_bytes)
			status = read_value_type(job, field.bytes, &period_type);
		else if (field.number == GG_OTLP_PROFILE_TIME_NS && field.type == GG_WIRE_64)
			profile.time_ns = field.value;
		else if (field.number == GG_OTLP_PROFILE_DURATION_NS &&
		         field.type == GG_WIRE_VARINT)
			duration_ns = field.value;
		else if (field.number == GG_OTLP_PROFILE_PERIOD && field.type == GG_WIRE_VARINT)
			period = field.value;
	}
	if (status < 0)
		return status;
	if (more < 0)
		return wrong(job, rest.at, "a profile is damaged");
	if (__builtin_add_overflow(profile.time_ns, duration_ns, &profile.end_ns))
		profile.end_ns = profile.time_ns;
	status = find_column(job, &type, message.at, &profile.column);
	if (status < 0)
		return status;
	text = string_of(job, period_type.unit);
	if (gg_otlp_tables_is(text, "bytes") && period > job->period && period <= INT64_MAX)
		job->period = period;
	if (profile.time_ns > 0 && (job->start_ns == 0 || profile.time_ns < job->start_ns))
		job->start_ns = profile.time_ns;
	if (profile.end_ns > job->end_ns)
		job->end_ns = profile.end_ns;
	note_span(job, &profile);
	status = supersede(job, &profile);
	if (status < 0)
		return status;
	return gg_array_push(&job->profiles, profile) ? 0 : gg_import_no_memory(job->import);
}

/* Calls `read` for each message in a field of `wire`. */
static int each_message(struct otlp_import *job, struct gg_wire wire, uint32_t number,
                        int (*read)(struct otlp_import *, struct gg_wire))
{
	struct gg_wire_field field;
	int more, status = 0;

	while (status == 0 && (more = gg_wire_next(&wire, &field)) > 0)
		if (field.number == number && field.type == GG_WIRE_BYTES)
			status = read(job, field.bytes);
	if (status == 0 && more < 0)
		status = wrong(job, wire.at, "a message is damaged");
	return status;
}

static int read_scope(struct otlp_import *job, struct gg_wire message)
{
	return each_message(job, message, GG_OTLP_SCOPE_PROFILES_PROFILE, read_profile);
}

/* Finds the number of an equal resource of the request, or the next one. */
static int find_resource(struct otlp_import *job, struct gg_wire message, uint32_t *ret_number)
{
	uint64_t key = gg_map_seed(&job->resource_of), known;
	struct gg_wire_field field;

	while (gg_wire_next(&message, &field) > 0)
		if (field.number == GG_OTLP_RESOURCE_PROFILES_RESOURCE &&
		    field.type == GG_WIRE_BYTES)
			key = gg_hash_bytes(field.bytes.at, gg_wire_length(&field.bytes), key);
	known = gg_map_get(&job->resource_of, key);
	*ret_number = known != GG_MAP_NONE ? (uint32_t)known : (uint32_t)job->resources.count;
	return known == GG_MAP_NONE && gg_map_put(&job->resource_of, key, *ret_number) < 0
	               ? gg_import_no_memory(job->import)
	               : 0;
}

static int read_resource(struct otlp_import *job, struct gg_wire message)
{
	const struct otlp_resource resource = { .message = message };

	job->resource = (uint32_t)job->resources.count;
	if (gives_rows(job) && find_resource(job, message, &job->resource) < 0)
		return -ENOMEM;
	if (job->resource == job->resources.count && !gg_array_push(&job->resources, resource))
		return gg_import_no_memory(job->import);
	return each_message(job, message, GG_OTLP_RESOURCE_PROFILES_SCOPE_PROFILES, read_scope);
}

/* --- samples -------------------------------------------------------------------------------- */

struct otlp_read_sample {
	uint64_t stack, value;
	uint64_t attributes; /* a hash of the set */
};

/* Adds up a sample's values, or counts its times if it has no values. */
static int read_sample(struct otlp_import *job, struct gg_wire message,
                       struct otlp_read_sample *ret)
{
	uint64_t seed = gg_map_seed(&job->row_of), value, times = 0;
	struct gg_wire_field field;
	bool is_wrong = false, has_values = false;
	int more;

	*ret = (struct otlp_read_sample){ 0 };
	while ((more = gg_wire_next(&message, &field)) > 0 && !is_wrong) {
		if (field.number == GG_OTLP_SAMPLE_STACK && field.type == GG_WIRE_VARINT)
			ret->stack = field.value;
		else if (field.number == GG_OTLP_SAMPLE_ATTRIBUTE)
			while (gg_wire_numbers(&field, &value, &is_wrong))
				ret->attributes += gg_hash_integer(value, seed);
		else if (field.number == GG_OTLP_SAMPLE_VALUE)
			for (has_values = true; gg_wire_numbers(&field, &value, &is_wrong);)
				is_wrong |= value > INT64_MAX ||
				            __builtin_add_overflow(ret->value, value, &ret->value);
		else if (field.number == GG_OTLP_SAMPLE_TIME_NS)
			times += field.type == GG_WIRE_BYTES ? gg_wire_length(&field.bytes) / 8 : 1;
	}
	if (more < 0 || is_wrong || ret->value > INT64_MAX)
		return wrong(job, message.at,
		             "the numbers of a sample are damaged, negative or too large");
	if (!has_values)
		ret->value = times;
	return 0;
}

static int add_sample(struct otlp_import *job, const struct otlp_profile *profile,
                      struct gg_wire message)
{
	struct otlp_read_sample sample;
	uint64_t seed = gg_map_seed(&job->row_of), key, row, *sum;
	int status = read_sample(job, message, &sample);

	if (status < 0)
		return status;
	key = gg_hash_integer(sample.stack, gg_hash_integer(profile->resource, seed)) ^
	      sample.attributes;
	row = gg_map_get(&job->row_of, key);
	if (row == GG_MAP_NONE) {
		row = job->rows.count;
		if (row == OTLP_ROWS_MAX)
			return wrong(job, message.at, "the file has more than 4 million samples");
		if (!gg_array_push(&job->rows,
		                   (struct otlp_row){ profile->resource, sample.stack, message }) ||
		    !gg_array_extend(&job->values, (row + 1) * (size_t)job->column_count) ||
		    gg_map_put(&job->row_of, key, row) < 0)
			return gg_import_no_memory(job->import);
	}
	sum = &job->values.items[row * (size_t)job->column_count + (size_t)profile->column];
	if (__builtin_add_overflow(*sum, sample.value, sum) || *sum > INT64_MAX)
		return wrong(job, message.at, "the values of samples are too large");
	return 0;
}

static int join_samples(struct otlp_import *job)
{
	int status = 0;

	for (size_t i = 0; i < job->profiles.count && status == 0; i++) {
		const struct otlp_profile *profile = &job->profiles.items[i];
		struct gg_wire rest = profile->message;
		struct gg_wire_field field;

		if (profile->column == NOT_KEPT)
			continue;
		while (status == 0 && gg_wire_next(&rest, &field) > 0)
			if (field.number == GG_OTLP_PROFILE_SAMPLE && field.type == GG_WIRE_BYTES)
				status = add_sample(job, profile, field.bytes);
	}
	return status;
}

/* --- profile.proto: tables ------------------------------------------------------------------ */

/* Field numbers of profile.proto; export_pprof.c and pprof_locations.c explain them. */
enum {
	TO_SAMPLE_TYPE = 1,
	TO_SAMPLE = 2,
	TO_MAPPING = 3,
	TO_LOCATION = 4,
	TO_FUNCTION = 5,
	TO_STRING = 6,
	TO_TIME_NS = 9,
	TO_DURATION_NS = 10,
	TO_PERIOD_TYPE = 11,
	TO_PERIOD = 12,
};

/* Adds a text to those of the dictionary. */
static uint64_t put_text(struct otlp_import *job, struct gg_wire text)
{
	if (gg_wire_length(&text) == 0)
		return 0;
	gg_wire_put_bytes(&job->out, TO_STRING, text.at, gg_wire_length(&text));
	return job->text_count++;
}

static uint64_t put_word(struct otlp_import *job, const char *word)
{
	return put_text(job, gg_wire_of(word, strlen(word)));
}

static int check_string(struct otlp_import *job, uint64_t number, const uint8_t *at)
{
	struct gg_wire text;

	return gg_otlp_tables_get(&job->tables, GG_OTLP_TABLE_STRING, number, at, &text);
}

static int put_strings(struct otlp_import *job)
{
	const struct gg_otlp_elements *strings = &job->tables.tables[GG_OTLP_TABLE_STRING];

	if (strings->count > 0 && gg_wire_length(&strings->items[0]) > 0)
		return wrong(job, strings->items[0].at,
		             "the first string of the string table is not empty");
	gg_wire_put_text(&job->out, TO_STRING, "");
	for (size_t i = 1; i < strings->count; i++)
		gg_wire_put_bytes(&job->out, TO_STRING, strings->items[i].at,
		                  gg_wire_length(&strings->items[i]));
	job->text_count = strings->count > 0 ? strings->count : 1;
	return 0;
}

static int put_functions(struct otlp_import *job)
{
	struct otlp_function {
		uint64_t name, system_name, file;
	};
	static const struct gg_wire_member members[] = {
		GG_WIRE_NUMBER(struct otlp_function, GG_OTLP_FUNCTION_NAME, name),
		GG_WIRE_NUMBER(struct otlp_function, GG_OTLP_FUNCTION_SYSTEM_NAME, system_name),
		GG_WIRE_NUMBER(struct otlp_function, GG_OTLP_FUNCTION_FILE, file),
	};
	const struct gg_otlp_elements *functions = &job->tables.tables[GG_OTLP_TABLE_FUNCTION];

	for (size_t i = 1; i < functions->count; i++) {
		struct otlp_function record = { 0 };
		struct gg_wire message = functions->items[i];
		size_t start;

		if (gg_wire_read(&message, members, GG_COUNT(members), &record) < 0)
			return wrong(job, message.at, "a function is damaged");
		if (check_string(job, record.name, message.at) < 0 ||
		    check_string(job, record.system_name, message.at) < 0 ||
		    check_string(job, record.file, message.at) < 0)
			return -EBADMSG;
		start = gg_wire_begin(&job->out, TO_FUNCTION);
		gg_wire_put_number(&job->out, 1, i);
		gg_wire_put_nonzero(&job->out, 2, record.name);
		gg_wire_put_nonzero(&job->out, 3, record.system_name);
		gg_wire_put_nonzero(&job->out, 4, record.file);
		gg_wire_end(&job->out, start);
	}
	return 0;
}

/* Finds the build-id among the attributes of a mapping. */
static int find_build_id(struct otlp_import *job, struct gg_wire_field *indices, const uint8_t *at,
                         struct gg_wire *ret_build_id)
{
	bool is_wrong = false;
	uint64_t index;

	while (gg_wire_numbers(indices, &index, &is_wrong)) {
		struct gg_otlp_attribute attribute;

		if (gg_otlp_tables_attribute(&job->tables, index, at, &attribute) < 0)
			return -EBADMSG;
		if (gg_otlp_tables_is(attribute.key, "process.executable.build_id.gnu"))
			*ret_build_id = attribute.text;
	}
	return is_wrong ? wrong(job, at, "the attributes of a mapping are damaged") : 0;
}

static int put_mapping(struct otlp_import *job, size_t number)
{
	static const uint32_t fields[] = {
		[GG_OTLP_MAPPING_START] = 2,
		[GG_OTLP_MAPPING_LIMIT] = 3,
		[GG_OTLP_MAPPING_FILE_OFFSET] = 4,
		[GG_OTLP_MAPPING_FILE] = 5,
	};
	struct gg_wire message = job->tables.tables[GG_OTLP_TABLE_MAPPING].items[number];
	struct gg_wire build_id = { 0 };
	struct gg_wire_field field;
	uint64_t numbers[GG_COUNT(fields)] = { 0 };
	size_t start;
	int more, status = 0;

	while (status == 0 && (more = gg_wire_next(&message, &field)) > 0) {
		if (field.number == GG_OTLP_MAPPING_ATTRIBUTE)
			status = find_build_id(job, &field, message.at, &build_id);
		else if (field.number < GG_COUNT(fields) && field.type == GG_WIRE_VARINT)
			numbers[field.number] = field.value;
	}
	if (status == 0 && more < 0)
		status = wrong(job, message.at, "a mapping is damaged");
	if (status == 0)
		status = check_string(job, numbers[GG_OTLP_MAPPING_FILE], message.at);
	if (status < 0)
		return status;
	numbers[0] = put_text(job, build_id);
	start = gg_wire_begin(&job->out, TO_MAPPING);
	gg_wire_put_number(&job->out, 1, number);
	for (size_t i = 1; i < GG_COUNT(fields); i++)
		gg_wire_put_nonzero(&job->out, fields[i], numbers[i]);
	gg_wire_put_nonzero(&job->out, 6, numbers[0]);
	gg_wire_end(&job->out, start);
	return 0;
}

static int put_line(struct otlp_import *job, struct gg_wire message)
{
	struct otlp_line {
		uint64_t function, number;
	} record = { 0 };
	static const struct gg_wire_member members[] = {
		GG_WIRE_NUMBER(struct otlp_line, GG_OTLP_LINE_FUNCTION, function),
		GG_WIRE_NUMBER(struct otlp_line, GG_OTLP_LINE_NUMBER, number),
	};
	struct gg_wire function;
	size_t start;

	if (gg_wire_read(&message, members, GG_COUNT(members), &record) < 0)
		return wrong(job, message.at, "a line of a location is damaged");
	if (gg_otlp_tables_get(&job->tables, GG_OTLP_TABLE_FUNCTION, record.function, message.at,
	                       &function) < 0)
		return -EBADMSG;
	if (record.function == 0) /* nothing is known */
		return 0;
	start = gg_wire_begin(&job->out, 4);
	gg_wire_put_number(&job->out, 1, record.function);
	gg_wire_put_nonzero(&job->out, 2, record.number);
	gg_wire_end(&job->out, start);
	return 0;
}

static int put_location(struct otlp_import *job, size_t number)
{
	struct gg_wire message = job->tables.tables[GG_OTLP_TABLE_LOCATION].items[number];
	struct gg_wire_field field;
	struct gg_wire mapping;
	size_t start = gg_wire_begin(&job->out, TO_LOCATION);
	int more, status = 0;

	gg_wire_put_number(&job->out, 1, number);
	while (status == 0 && (more = gg_wire_next(&message, &field)) > 0) {
		if (field.number == GG_OTLP_LOCATION_MAPPING && field.type == GG_WIRE_VARINT) {
			status = gg_otlp_tables_get(&job->tables, GG_OTLP_TABLE_MAPPING,
			                            field.value, message.at, &mapping);
			gg_wire_put_nonzero(&job->out, 2, field.value);
		} else if (field.number == GG_OTLP_LOCATION_ADDRESS &&
		           field.type == GG_WIRE_VARINT) {
			gg_wire_put_nonzero(&job->out, 3, field.value);
		} else if (field.number == GG_OTLP_LOCATION_LINE && field.type == GG_WIRE_BYTES) {
			status = put_line(job, field.bytes);
		}
	}
	if (status == 0 && more < 0)
		status = wrong(job, message.at, "a location is damaged");
	gg_wire_end(&job->out, start);
	return status;
}

/* --- profile.proto: samples ----------------------------------------------------------------- */

static void put_label(struct otlp_import *job, struct gg_buf *out, const char *word,
                      const struct gg_otlp_attribute *attribute)
{
	uint64_t key = word != NULL ? put_word(job, word) : put_text(job, attribute->key);
	uint64_t text = put_text(job, attribute->text);
	size_t start = gg_wire_begin(out, 3);

	gg_wire_put_nonzero(out, 1, key);
	gg_wire_put_nonzero(out, 2, text);
	if (text == 0 && attribute->number > 0)
		gg_wire_put_number(out, 3, (uint64_t)attribute->number);
	gg_wire_end(out, start);
}

/* Appends an attribute of a resource or a sample as a label of profile.proto. */
static void put_attribute(struct otlp_import *job, struct gg_buf *out,
                          const struct gg_otlp_attribute *attribute)
{
	static const struct {
		const char *key, *word; /* word NULL: left out */
	} known[] = {
		{ "process.pid", "pid" },
		{ "process.executable.name", "process" },
		{ "process.executable.path", NULL }, /* mappings have it */
		{ "thread.name", "thread" },
		{ "thread.id", "tid" },
		{ "geiger.heap", "heap" },
		{ "geiger.type", "type" },
	};

	for (size_t i = 0; i < GG_COUNT(known); i++)
		if (gg_otlp_tables_is(attribute->key, known[i].key)) {
			if (known[i].word != NULL)
				put_label(job, out, known[i].word, attribute);
			return;
		}
	if (gg_wire_length(&attribute->text) > 0 && gg_wire_length(&attribute->key) > 0)
		put_label(job, out, NULL, attribute);
}

/*
 * Makes the labels of a resource's samples, without a service.name that only repeats the name of
 * the program.  Exporters write that if nobody named the service.
 */
static int resource_labels(struct otlp_import *job, uint32_t number, struct gg_buf *out)
{
	struct gg_otlp_attribute attribute, service = { 0 };
	struct gg_wire rest = job->resources.items[number].message, name = { 0 };
	struct gg_wire_field field, inner;
	int status = 0;

	while (status == 0 && gg_wire_next(&rest, &field) > 0) {
		if (field.number != GG_OTLP_RESOURCE_PROFILES_RESOURCE ||
		    field.type != GG_WIRE_BYTES)
			continue;
		while (status == 0 && gg_wire_next(&field.bytes, &inner) > 0) {
			if (inner.number != GG_OTLP_RESOURCE_ATTRIBUTE ||
			    inner.type != GG_WIRE_BYTES)
				continue;
			status = gg_otlp_tables_key_value(&job->tables, inner.bytes, &attribute);
			if (status < 0)
				break;
			if (gg_otlp_tables_is(attribute.key, "process.executable.name"))
				name = attribute.text;
			if (gg_otlp_tables_is(attribute.key, "service.name"))
				service = attribute;
			else
				put_attribute(job, out, &attribute);
		}
	}
	if (status == 0 && gg_wire_length(&service.text) > 0 &&
	    (gg_wire_length(&service.text) != gg_wire_length(&name) ||
	     memcmp(service.text.at, name.at, gg_wire_length(&name)) != 0))
		put_attribute(job, out, &service);
	return status;
}

static bool is_of_thread(struct gg_wire key)
{
	return gg_otlp_tables_is(key, "thread.name") || gg_otlp_tables_is(key, "thread.id") ||
	       gg_otlp_tables_is(key, "process.executable.name");
}

/* Finds the label of an attribute, and makes it at the first use. */
static int find_label(struct otlp_import *job, uint64_t index, const uint8_t *at,
                      struct otlp_label *ret_label)
{
	struct gg_otlp_attribute attribute;
	struct otlp_label *label;
	size_t offset = job->labels.length;

	*ret_label = (struct otlp_label){ 0 };
	if (index < job->label_of.count && job->label_of.items[index].is_made) {
		*ret_label = job->label_of.items[index];
		return 0;
	}
	if (gg_otlp_tables_attribute(&job->tables, index, at, &attribute) < 0)
		return -EBADMSG;
	if (!gg_array_extend(&job->label_of, job->tables.tables[GG_OTLP_TABLE_ATTRIBUTE].count))
		return gg_import_no_memory(job->import);
	if (index == 0) /* no attribute */
		return 0;
	label = &job->label_of.items[index];
	if (!gives_rows(job) || is_of_thread(attribute.key) ||
	    gg_import_pprof_is_of_process((const char *)attribute.key.at,
	                                  gg_wire_length(&attribute.key)))
		put_attribute(job, &job->labels, &attribute);
	*label = (struct otlp_label){ offset, job->labels.length - offset, true };
	*ret_label = *label;
	return job->labels.failed ? gg_import_no_memory(job->import) : 0;
}

static int put_sample_labels(struct otlp_import *job, struct gg_wire sample, struct gg_buf *out)
{
	struct gg_wire_field field;
	bool is_wrong = false;
	uint64_t index;

	while (gg_wire_next(&sample, &field) > 0) {
		if (field.number != GG_OTLP_SAMPLE_ATTRIBUTE)
			continue;
		while (gg_wire_numbers(&field, &index, &is_wrong)) {
			struct otlp_label label;
			int status = find_label(job, index, sample.at, &label);

			if (status < 0)
				return status;
			if (label.length > 0)
				gg_buf_append(out, job->labels.data + label.offset, label.length);
		}
	}
	return 0;
}

/* Appends the locations of a stack, innermost first. */
static int put_stack(struct otlp_import *job, const struct otlp_row *row, struct gg_buf *out)
{
	struct gg_wire message, location;
	struct gg_wire_field field;
	bool is_wrong = false;
	uint64_t index;
	size_t packed = gg_wire_begin(out, 1);
	const uint64_t *frames_left = job->import->options->frames_left;
	int more = 0, status = gg_otlp_tables_get(&job->tables, GG_OTLP_TABLE_STACK, row->stack,
	                                          row->sample.at, &message);

	while (status == 0 && (more = gg_wire_next(&message, &field)) > 0) {
		if (field.number != GG_OTLP_STACK_LOCATION)
			continue;
		while (status == 0 && gg_wire_numbers(&field, &index, &is_wrong)) {
			status = gg_otlp_tables_get(&job->tables, GG_OTLP_TABLE_LOCATION, index,
			                            message.at, &location);
			if (status == 0 && frames_left != NULL &&
			    job->frame_count++ >= *frames_left)
				status = gg_import_too_many_frames(job->import);
			if (status == 0 && index != 0)
				gg_varint_append(out, index);
		}
	}
	gg_wire_end(out, packed);
	if (status == 0 && (more < 0 || is_wrong))
		status = wrong(job, message.at, "a stack is damaged");
	return status;
}

static int put_row(struct otlp_import *job, size_t number, const struct gg_buf *labels)
{
	const struct otlp_row *row = &job->rows.items[number];
	const uint64_t *values = job->values.items + number * (size_t)job->column_count;
	GG_CLEANUP(gg_buf_done) struct gg_buf sample = { 0 };
	size_t packed;
	int status = put_stack(job, row, &sample);

	if (status < 0)
		return status;
	packed = gg_wire_begin(&sample, 2);
	for (int i = 0; i < job->column_count; i++)
		gg_varint_append(&sample, values[i]);
	gg_wire_end(&sample, packed);
	gg_buf_append(&sample, labels->data, labels->length);
	status = put_sample_labels(job, row->sample, &sample);
	gg_wire_put_bytes(&job->out, TO_SAMPLE, sample.data, sample.length);
	if (status < 0)
		return status;
	if (sample.failed || job->out.failed)
		return gg_import_no_memory(job->import);
	if (gives_rows(job) && job->out.length > OTLP_ROWS_OUTPUT_MAX)
		return wrong(job, row->sample.at,
		             "the stacks and attributes of the samples have more than 64 MiB");
	if (job->out.length > OTLP_OUTPUT_MAX)
		return wrong(job, row->sample.at,
		             "the stacks and attributes of the samples have more than 512 MiB");
	return 0;
}

static int put_rows(struct otlp_import *job)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf labels = { 0 };
	uint32_t resource = UINT32_MAX;
	int status = 0;

	for (size_t i = 0; i < job->rows.count && status == 0; i++) {
		if (job->rows.items[i].resource != resource) {
			resource = job->rows.items[i].resource;
			gg_buf_clear(&labels);
			status = resource_labels(job, resource, &labels);
		}
		if (status == 0)
			status = put_row(job, i, &labels);
	}
	return status;
}

/* --- the file ------------------------------------------------------------------------------- */

static void put_head(struct otlp_import *job)
{
	uint64_t space, bytes;
	size_t start;

	for (int i = 0; i < job->column_count; i++) {
		start = gg_wire_begin(&job->out, TO_SAMPLE_TYPE);
		gg_wire_put_nonzero(&job->out, 1, job->columns[i].type);
		gg_wire_put_nonzero(&job->out, 2, job->columns[i].unit);
		gg_wire_end(&job->out, start);
	}
	if (job->period > 0) {
		space = put_word(job, "space");
		bytes = put_word(job, "bytes");
		start = gg_wire_begin(&job->out, TO_PERIOD_TYPE);
		gg_wire_put_number(&job->out, 1, space);
		gg_wire_put_number(&job->out, 2, bytes);
		gg_wire_end(&job->out, start);
		gg_wire_put_number(&job->out, TO_PERIOD, job->period);
	}
	gg_wire_put_nonzero(&job->out, TO_TIME_NS, job->start_ns);
	if (job->end_ns > job->start_ns)
		gg_wire_put_number(&job->out, TO_DURATION_NS, job->end_ns - job->start_ns);
}

/* Writes the joined samples as a profile.proto. */
static int convert(struct otlp_import *job)
{
	int status = put_strings(job);

	put_head(job);
	if (status == 0)
		status = put_functions(job);
	for (size_t i = 1; i < job->tables.tables[GG_OTLP_TABLE_MAPPING].count && status == 0; i++)
		status = put_mapping(job, i);
	for (size_t i = 1; i < job->tables.tables[GG_OTLP_TABLE_LOCATION].count && status == 0; i++)
		status = put_location(job, i);
	if (status == 0)
		status = put_rows(job);
	return status == 0 && job->out.failed ? gg_import_no_memory(job->import) : status;
}

/* A sum of both would be neither. */
static int check_spans(struct otlp_import *job)
{
	for (size_t i = 0; i < job->resources.count; i++)
		if (job->resources.items[i].has_spans && job->resources.items[i].has_totals)
			return wrong(job, job->resources.items[i].message.at,
			             "a resource has allocations of a span of time, and others "
			             "without a duration, which count from the start");
	return 0;
}

/* Adds to a row which resource it has, and gives it to the caller.  Rows come in their order. */
static int take_row(struct gg_import *import, const struct gg_import_row_values *row)
{
	const struct gg_import_options *own = import->options;
	struct otlp_import *job = own->row_context;
	uint32_t number = job->rows.items[job->given_count++].resource;
	const struct otlp_resource *resource = &job->resources.items[number];
	struct gg_import_row_values whole = *row;
	int status;

	whole.resource = number + 1;
	whole.has_allocated = resource->has_spans || resource->has_totals;
	whole.is_delta = resource->has_spans;
	whole.end_ns = resource->end_ns;
	import->options = job->given; /* which has the context of the caller */
	status = job->given->take_row(import, &whole);
	import->options = own;
	return status;
}

static int give_rows(struct otlp_import *job)
{
	struct gg_import *import = job->import;
	struct gg_import_options own = *import->options;
	int status = check_spans(job);

	if (status < 0)
		return status;
	job->given = import->options;
	own.take_row = take_row;
	own.row_context = job;
	own.all_labels_are_of_processes = true; /* those of samples are left out already */
	import->options = &own;
	status = gg_import_pprof_bytes(import, (const uint8_t *)job->out.data, job->out.length);
	import->options = job->given;
	return status;
}

/* True if there is a profile, or damaged bytes, which the reader of profiles refuses. */
static bool has_profile(struct gg_wire data)
{
	static const uint32_t path[] = { GG_OTLP_DATA_RESOURCE_PROFILES,
		                         GG_OTLP_RESOURCE_PROFILES_SCOPE_PROFILES,
		                         GG_OTLP_SCOPE_PROFILES_PROFILE };
	struct gg_wire rest[GG_COUNT(path)] = { data };
	struct gg_wire_field field;
	size_t depth = 0;

	for (;;) {
		int more = gg_wire_next(&rest[depth], &field);

		if (more < 0)
			return true;
		if (more == 0 && depth == 0)
			return false;
		if (more == 0) {
			depth--;
		} else if (field.number == path[depth] && field.type == GG_WIRE_BYTES) {
			if (++depth == GG_COUNT(path))
				return true;
			rest[depth] = field.bytes;
		}
	}
}

static int no_profile(struct otlp_import *job)
{
	return gg_error_set(job->import->error, -ENOMSG, "profile", NULL,
	                    "the request has no profile");
}

static int read_data(struct otlp_import *job, const uint8_t *bytes, size_t length,
                     bool is_converted)
{
	int status;

	/* A collector's request may be empty.  It need not have a dictionary then. */
	if (gives_rows(job) && !has_profile(gg_wire_of(bytes, length)))
		return no_profile(job);
	status = gg_otlp_tables_read(&job->tables, job->import, bytes, length, is_converted);
	if (status == 0)
		status = each_message(job, gg_wire_of(bytes, length),
		                      GG_OTLP_DATA_RESOURCE_PROFILES, read_resource);
	if (status == 0 && job->profiles.count == 0)
		status = wrong(job, bytes, "the file has no profile");
	if (status == 0)
		status = join_samples(job);
	if (status == 0)
		status = convert(job);
	if (status == 0 && gives_rows(job))
		status = give_rows(job);
	else if (status == 0)
		status = gg_import_pprof_bytes(job->import, (const uint8_t *)job->out.data,
		                               job->out.length);
	if (status == 0 && job->superseded_count > 0)
		status = gg_import_note(job->import,
		                        "The file has several profiles of live memory of one "
		                        "process: the latest counts, and %u others do not.",
		                        job->superseded_count);
	return status;
}

static bool is_json(const uint8_t *bytes, size_t length)
{
	size_t i = 0;

	while (i < length && (bytes[i] == ' ' || (bytes[i] >= '\t' && bytes[i] <= '\r')))
		i++;
	return i < length && bytes[i] == '{';
}

static int read_otlp(struct gg_import *import)
{
	struct otlp_import job = { .import = import };
	GG_CLEANUP(gg_buf_done) struct gg_buf converted = { 0 };
	const uint8_t *bytes;
	size_t length, wrong_at = 0;
	bool has_json;
	int status = gg_input_all(import->input, OTLP_BYTES_MAX, &bytes, &length, import->error);

	if (status < 0)
		return status;
	has_json = is_json(bytes, length);
	if (has_json) {
		status = gg_otlp_schema_from_json(&converted, GG_OTLP_DATA, (const char *)bytes,
		                                  length, &wrong_at);
		if (status == -EBADMSG)
			return gg_input_wrong(import->input, wrong_at, import->error,
			                      "the file is truncated, or no JSON of OTLP profiles");
		if (status < 0)
			return gg_import_no_memory(import);
		bytes = (const uint8_t *)gg_buf_text(&converted);
		length = converted.length;
	}
	status = read_data(&job, bytes, length, has_json);
	gg_otlp_tables_done(&job.tables);
	gg_array_done(&job.resources);
	gg_map_done(&job.resource_of);
	gg_map_done(&job.latest);
	gg_array_done(&job.profiles);
	gg_array_done(&job.rows);
	gg_array_done(&job.values);
	gg_map_done(&job.row_of);
	gg_buf_done(&job.out);
	gg_buf_done(&job.labels);
	gg_array_done(&job.label_of);
	return status;
}

/*
 * Reads a field whose bytes may go on after the end of the head.  Returns false at the end, or if
 * the field is no message.
 */
static bool next_message(struct gg_wire *head, uint32_t *ret_number, struct gg_wire *ret_bytes)
{
	uint64_t key, length;

	if (!gg_wire_varint(head, &key) || (key & 7) != GG_WIRE_BYTES || key >> 3 > 16 ||
	    !gg_wire_varint(head, &length))
		return false;
	if (length > gg_wire_length(head))
		length = gg_wire_length(head);
	*ret_number = (uint32_t)(key >> 3);
	*ret_bytes = (struct gg_wire){ head->at, head->at + length };
	head->at += length;
	return true;
}

/* True if the message has only messages in fields 1 to `last`, and at least one of them. */
static bool has_messages_only(struct gg_wire message, uint32_t last)
{
	uint32_t number;
	struct gg_wire bytes;
	bool has_any = false;

	while (gg_wire_length(&message) > 0) {
		/* The head may end within the key or the length of a field. */
		bool is_cut = gg_wire_length(&message) < 4;

		if (!next_message(&message, &number, &bytes))
			return is_cut && has_any;
		if (number == 0 || number > last)
			return false;
		has_any = true;
	}
	return has_any;
}

/* A Perfetto trace has fields beyond 3 in its packets, and pprof has numbers in its first one. */
static bool knows_otlp(const uint8_t *head, size_t length)
{
	struct gg_wire wire = gg_wire_of(head, length), bytes;
	uint32_t number;
	bool has_any = false;

	if (head != NULL && is_json(head, length))
		return memmem(head, length, "\"resourceProfiles\"", 18) != NULL ||
		       (memmem(head, length, "\"dictionary\"", 12) != NULL &&
		        memmem(head, length, "Table\"", 6) != NULL);
	while (next_message(&wire, &number, &bytes)) {
		if (number != GG_OTLP_DATA_RESOURCE_PROFILES && number != GG_OTLP_DATA_DICTIONARY)
			return false;
		if (!has_messages_only(bytes,
		                       number == GG_OTLP_DATA_DICTIONARY ? GG_OTLP_TABLE_STACK : 3))
			return false;
		has_any = true;
	}
	return has_any && gg_wire_length(&wire) < 4;
}

const struct gg_importer gg_importer_otlp = {
	.name = "OTLP",
	.knows = knows_otlp,
	.read = read_otlp,
};
