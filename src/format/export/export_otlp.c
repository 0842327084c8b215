/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export_otlp - OpenTelemetry's profiles, as protocol buffers or JSON.
 *
 * A process is a resource.  It has four profiles, because a profile of OTLP has one type of values:
 * inuse_space, inuse_objects, alloc_space, alloc_objects, as Go names them.  All profiles of the
 * file share one dictionary (otlp_dictionary.h).
 *
 * Period      Its type is ("memory", "bytes"); it is the mean sampling interval.  Receivers that
 *             need a name for a profile take the period's type.
 * Samples     A sample is a stack with a thread, heap and type.  OTLP wants one sample for each set
 *             of attributes, so rows that differ in nothing else add up.
 * Confidence  The interval of a profile's total is in attributes of the profile.  Attributes of
 *             samples would keep receivers from adding samples up.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "format/codec/otlp_schema.h"
#include "format/codec/wire_writer.h"
#include "format/export/export.h"
#include "format/export/otlp_dictionary.h"
#include "format/export/otlp_outline.h"

enum { VALUE_COUNT = GG_OTLP_VALUE_COUNT };

static const struct {
	const char *name, *unit, *total_unit;
	bool is_allocated;
	enum gg_quantity quantity;
} value_types[VALUE_COUNT] = {
	{ "inuse_space", "bytes", "By", false, GG_BYTES },
	{ "inuse_objects", "count", "{allocation}", false, GG_ALLOCATIONS },
	{ "alloc_space", "bytes", "By", true, GG_BYTES },
	{ "alloc_objects", "count", "{allocation}", true, GG_ALLOCATIONS },
};

struct otlp_sample {
	uint32_t stack, attributes; /* an index in the dictionary, and in `sets` */
	uint64_t values[VALUE_COUNT];
};

struct otlp_export {
	const struct gg_export *job;
	const struct gg_extract *extract;
	struct gg_otlp_dictionary dictionary;
	struct gg_otlp_table sets; /* packed indices of attributes, which samples have in common */
	GG_ARRAY(struct otlp_sample) samples; /* of one process */
	/* Indices of attributes by the number of what they name; 0: not made yet. */
	uint32_t *thread_name, *thread_id, *heap_name, *type_name;
	struct gg_buf data; /* the message */
	bool failed;
};

/* --- samples -------------------------------------------------------------------------------- */

static void append_thread(struct otlp_export *writer, uint32_t thread, struct gg_buf *set)
{
	uint32_t tid = writer->extract->model->threads[thread].tid;

	if (writer->thread_name[thread] == 0) {
		GG_CLEANUP(gg_buf_done) struct gg_buf name = { 0 };

		gg_extract_thread_name(writer->extract, thread, &name);
		writer->thread_name[thread] = gg_otlp_dictionary_text(
			&writer->dictionary, "thread.name", gg_buf_text(&name));
		if (tid != 0)
			writer->thread_id[thread] = gg_otlp_dictionary_integer(
				&writer->dictionary, "thread.id", tid, NULL);
	}
	gg_varint_append(set, writer->thread_name[thread]);
	if (tid != 0)
		gg_varint_append(set, writer->thread_id[thread]);
}

static void append_kind(struct otlp_export *writer, uint32_t kind, struct gg_buf *set)
{
	const struct gg_model *model = writer->extract->model;
	uint32_t heap = gg_extract_heap(writer->extract, kind);
	uint32_t type = kind < model->kind_count ? model->kinds[kind].type : 0;

	if (writer->heap_name[heap] == 0)
		writer->heap_name[heap] = gg_otlp_dictionary_text(
			&writer->dictionary, "geiger.heap",
			gg_extract_heap_name(writer->extract, heap));
	gg_varint_append(set, writer->heap_name[heap]);
	if (type == 0)
		return;
	if (writer->type_name[type] == 0)
		writer->type_name[type] = gg_otlp_dictionary_text(
			&writer->dictionary, "geiger.type", model->types[type]);
	gg_varint_append(set, writer->type_name[type]);
}

static void add_row(struct otlp_export *writer, const struct gg_extract_row *row)
{
	struct otlp_sample sample = {
		.values = { row->live.bytes, row->live.count, row->allocated.bytes,
		            row->allocated.count },
	};
	struct gg_buf set = { 0 };

	/* A stack that no sample refers to has no place in the dictionary. */
	if ((sample.values[0] | sample.values[1] | sample.values[2] | sample.values[3]) == 0)
		return;
	sample.stack = gg_otlp_dictionary_stack(&writer->dictionary, row->stack);
	if (!writer->job->sums_only) {
		append_thread(writer, row->thread, &set);
		append_kind(writer, row->kind, &set);
	}
	sample.attributes = gg_otlp_table_put(&writer->sets, &set);
	gg_buf_done(&set);
	writer->failed |= sample.attributes == UINT32_MAX ||
	                  !gg_array_push(&writer->samples, sample);
}

static int compare_samples(const void *a, const void *b)
{
	const struct otlp_sample *left = a, *right = b;

	if (left->stack != right->stack)
		return left->stack < right->stack ? -1 : 1;
	return (left->attributes > right->attributes) - (left->attributes < right->attributes);
}

/* Adds up the samples of one stack and one set of attributes. */
static void combine_samples(struct otlp_export *writer)
{
	struct otlp_sample *samples = writer->samples.items;
	size_t count = 0;

	if (writer->samples.count == 0)
		return;
	qsort(samples, writer->samples.count, sizeof(*samples), compare_samples);
	for (size_t i = 1; i < writer->samples.count; i++) {
		if (compare_samples(&samples[count], &samples[i]) != 0) {
			samples[++count] = samples[i];
			continue;
		}
		for (size_t k = 0; k < VALUE_COUNT; k++)
			samples[count].values[k] += samples[i].values[k];
	}
	writer->samples.count = count + 1;
}

static void put_samples(struct otlp_export *writer, size_t value)
{
	struct gg_buf *out = &writer->data;

	for (size_t i = 0; i < writer->samples.count; i++) {
		const struct otlp_sample *sample = &writer->samples.items[i];
		const struct gg_otlp_table_element *set =
			&writer->sets.elements.items[sample->attributes];
		size_t message, packed;

		if (sample->values[value] == 0)
			continue;
		message = gg_wire_begin(out, GG_OTLP_PROFILE_SAMPLE);
		gg_wire_put_nonzero(out, GG_OTLP_SAMPLE_STACK, sample->stack);
		if (set->length > 0)
			gg_wire_put_bytes(out, GG_OTLP_SAMPLE_ATTRIBUTE,
			                  writer->sets.bytes.data + set->offset, set->length);
		packed = gg_wire_begin(out, GG_OTLP_SAMPLE_VALUE);
		gg_varint_append(out, sample->values[value]);
		gg_wire_end(out, packed);
		gg_wire_end(out, message);
	}
}

/* --- profiles ------------------------------------------------------------------------------- */

static void put_type(struct otlp_export *writer, uint32_t field, const char *name, const char *unit)
{
	struct gg_buf *out = &writer->data;
	size_t message = gg_wire_begin(out, field);

	gg_wire_put_nonzero(out, GG_OTLP_VALUE_TYPE_TYPE,
	                    gg_otlp_dictionary_string(&writer->dictionary, name));
	gg_wire_put_nonzero(out, GG_OTLP_VALUE_TYPE_UNIT,
	                    gg_otlp_dictionary_string(&writer->dictionary, unit));
	gg_wire_end(out, message);
}

/* Writes the confidence interval of a profile's total, and how the profile was sampled. */
static void put_profile_attributes(struct otlp_export *writer, size_t value,
                                   const struct gg_plain_tally *total)
{
	struct gg_otlp_dictionary *dictionary = &writer->dictionary;
	const struct gg_extract *extract = writer->extract;
	const char *unit = value_types[value].total_unit;
	struct gg_buf *out = &writer->data;
	struct gg_tally tally;
	struct gg_interval interval;
	size_t packed;

	gg_plain_tally_tally(total, &tally);
	gg_extract_expose_sum(extract, value_types[value].is_allocated, &tally);
	interval = gg_interval_of(&tally, value_types[value].quantity, extract->confidence, false);
	packed = gg_wire_begin(out, GG_OTLP_PROFILE_ATTRIBUTE);
	/* An end that is unknown, or that does not exist, has no attribute. */
	if (isfinite(interval.low))
		gg_varint_append(out, gg_otlp_dictionary_double(dictionary, "geiger.total.low",
		                                                interval.low, unit));
	if (isfinite(interval.high))
		gg_varint_append(out, gg_otlp_dictionary_double(dictionary, "geiger.total.high",
		                                                interval.high, unit));
	gg_varint_append(out, gg_otlp_dictionary_double(dictionary, "geiger.confidence",
	                                                extract->confidence, "1"));
	gg_varint_append(out, gg_otlp_dictionary_text(dictionary, "geiger.metric",
	                                              gg_metric_name(extract->metric)));
	gg_wire_end(out, packed);
}

/* Writes an id that is the same whenever the same profile is sent again. */
static void put_identity(struct otlp_export *writer, size_t value)
{
	uint64_t halves[2] = { writer->job->identity,
		               gg_hash_integer(writer->job->identity, value + 1) };

	gg_wire_put_bytes(&writer->data, GG_OTLP_PROFILE_ID, halves, sizeof(halves));
}

static void put_period(struct otlp_export *writer)
{
	double bytes = writer->extract->interval_bytes;

	put_type(writer, GG_OTLP_PROFILE_PERIOD_TYPE, "memory", "bytes");
	gg_wire_put_number(&writer->data, GG_OTLP_PROFILE_PERIOD,
	                   bytes > 1 ? gg_extract_whole(bytes) : 1);
}

static void put_profile(struct otlp_export *writer, size_t value,
                        const struct gg_plain_tally *total)
{
	const struct gg_extract *extract = writer->extract;
	struct gg_buf *out = &writer->data;
	size_t message = gg_wire_begin(out, GG_OTLP_SCOPE_PROFILES_PROFILE);
	int64_t start_ns = extract->start_ns;

	put_type(writer, GG_OTLP_PROFILE_SAMPLE_TYPE, value_types[value].name,
	         value_types[value].unit);
	put_samples(writer, value);
	if (extract->model->session_count > 0) {
		start_ns += (int64_t)extract->model->sessions[0].start_wall_ns;
		gg_wire_put_fixed(out, GG_OTLP_PROFILE_TIME_NS, (uint64_t)start_ns);
	}
	gg_wire_put_nonzero(out, GG_OTLP_PROFILE_DURATION_NS,
	                    (uint64_t)(extract->end_ns - extract->start_ns));
	put_period(writer);
	if (writer->job->identity != 0)
		put_identity(writer, value);
	put_profile_attributes(writer, value, total);
	gg_wire_end(out, message);
}

/* --- resources ------------------------------------------------------------------------------ */

static void put_resource_text(struct otlp_export *writer, const char *key, const char *text)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf valid = { 0 };
	struct gg_buf *out = &writer->data;
	size_t message, value;

	if (text == NULL || text[0] == '\0')
		return;
	message = gg_wire_begin(out, GG_OTLP_RESOURCE_ATTRIBUTE);
	gg_string_table_mend(&valid, key);
	gg_wire_put_text(out, GG_OTLP_KEY_VALUE_KEY, gg_buf_text(&valid));
	gg_buf_clear(&valid);
	gg_string_table_mend(&valid, text);
	value = gg_wire_begin(out, GG_OTLP_KEY_VALUE_VALUE);
	gg_wire_put_text(out, GG_OTLP_ANY_STRING, gg_buf_text(&valid));
	gg_wire_end(out, value);
	gg_wire_end(out, message);
	writer->failed |= valid.failed;
}

static void put_resource_integer(struct otlp_export *writer, const char *key, uint64_t number)
{
	struct gg_buf *out = &writer->data;
	size_t message = gg_wire_begin(out, GG_OTLP_RESOURCE_ATTRIBUTE), value;

	gg_wire_put_text(out, GG_OTLP_KEY_VALUE_KEY, key);
	value = gg_wire_begin(out, GG_OTLP_KEY_VALUE_VALUE);
	gg_wire_put_number(out, GG_OTLP_ANY_INT, number);
	gg_wire_end(out, value);
	gg_wire_end(out, message);
}

static const char *label_of(const struct gg_model *model, uint32_t process, const char *key)
{
	for (size_t i = 0; i < model->label_count; i++)
		if (model->labels[i].process == process && strcmp(model->labels[i].key, key) == 0)
			return model->labels[i].value;
	return NULL;
}

static bool is_given(const struct otlp_export *writer, const char *key)
{
	for (size_t i = 0; i < writer->job->attribute_count; i++)
		if (strcmp(writer->job->attributes[i].key, key) == 0)
			return true;
	return false;
}

/* True if the process has a label of that key, or its user gave one. */
static bool is_replaced(const struct otlp_export *writer, uint32_t process, const char *key)
{
	return is_given(writer, key) || label_of(writer->extract->model, process, key) != NULL;
}

/* Labels of the process replace facts under their keys, and the user's attributes replace both. */
static void put_resource(struct otlp_export *writer, uint32_t number)
{
	const struct gg_model *model = writer->extract->model;
	const struct gg_profile_process *process = &model->processes[number];
	GG_CLEANUP(gg_buf_done) struct gg_buf name = { 0 };
	const char *host = model->session_count > 0
	                           ? model->sessions[model->process_sessions[number]].host
	                           : NULL;
	size_t message = gg_wire_begin(&writer->data, GG_OTLP_RESOURCE_PROFILES_RESOURCE);
	struct {
		const char *key, *value;
	} texts[] = {
		{ "service.name", NULL },
		{ "host.name", host },
		{ "process.executable.name", NULL },
		{ "process.executable.path", process->exe },
	};

	gg_extract_process_name(writer->extract, number, &name);
	texts[0].value = texts[2].value = gg_buf_text(&name);
	for (size_t i = 0; i < GG_COUNT(texts); i++)
		if (!is_replaced(writer, number, texts[i].key))
			put_resource_text(writer, texts[i].key, texts[i].value);
	if (process->pid != 0 && !is_replaced(writer, number, "process.pid"))
		put_resource_integer(writer, "process.pid", process->pid);
	for (size_t i = 0; i < writer->job->attribute_count; i++)
		put_resource_text(writer, writer->job->attributes[i].key,
		                  writer->job->attributes[i].value);
	for (size_t i = 0; i < model->label_count; i++)
		if (model->labels[i].process == number && !is_given(writer, model->labels[i].key))
			put_resource_text(writer, model->labels[i].key, model->labels[i].value);
	gg_wire_end(&writer->data, message);
	writer->failed |= name.failed;
}

static void put_scope(struct gg_buf *out)
{
	size_t message = gg_wire_begin(out, GG_OTLP_SCOPE_PROFILES_SCOPE);

	gg_wire_put_text(out, GG_OTLP_SCOPE_NAME, "geiger");
	gg_wire_put_text(out, GG_OTLP_SCOPE_VERSION, GG_VERSION);
	gg_wire_end(out, message);
}

/* Writes the rows [first, end), which belong to one process. */
static void put_process(struct otlp_export *writer, size_t first, size_t end)
{
	const struct gg_extract_row *rows = writer->extract->rows;
	struct gg_buf *out = &writer->data;
	struct gg_plain_tally live = { 0 }, allocated = { 0 };
	size_t resource, scope;

	writer->samples.count = 0;
	for (size_t i = first; i < end && !writer->failed; i++) {
		gg_export_progress(writer->job, i, writer->extract->row_count);
		add_row(writer, &rows[i]);
		gg_plain_tally_add(&live, &rows[i].live.tally);
		gg_plain_tally_add(&allocated, &rows[i].allocated.tally);
	}
	combine_samples(writer);
	resource = gg_wire_begin(out, GG_OTLP_DATA_RESOURCE_PROFILES);
	put_resource(writer, rows[first].process);
	scope = gg_wire_begin(out, GG_OTLP_RESOURCE_PROFILES_SCOPE_PROFILES);
	put_scope(out);
	for (size_t value = 0; value < VALUE_COUNT; value++)
		put_profile(writer, value, value_types[value].is_allocated ? &allocated : &live);
	gg_wire_end(out, scope);
	gg_wire_end(out, resource);
}

/* --- the file ------------------------------------------------------------------------------- */

static bool begin(struct otlp_export *writer)
{
	const struct gg_model *model = writer->extract->model;

	writer->thread_name = calloc(model->thread_count + 1, sizeof(*writer->thread_name));
	writer->thread_id = calloc(model->thread_count + 1, sizeof(*writer->thread_id));
	writer->heap_name = calloc(model->heap_count + 1, sizeof(*writer->heap_name));
	writer->type_name = calloc(model->type_count + 1, sizeof(*writer->type_name));
	return writer->thread_name != NULL && writer->thread_id != NULL &&
	       writer->heap_name != NULL && writer->type_name != NULL;
}

static void free_writer(struct otlp_export *writer)
{
	free(writer->thread_name);
	free(writer->thread_id);
	free(writer->heap_name);
	free(writer->type_name);
	gg_array_done(&writer->samples);
	gg_otlp_table_done(&writer->sets);
	gg_otlp_dictionary_done(&writer->dictionary);
	gg_buf_done(&writer->data);
}

static void put_all(struct otlp_export *writer)
{
	const struct gg_extract_row *rows = writer->extract->rows;
	size_t count = writer->extract->row_count, dictionary;

	for (size_t first = 0, end; first < count && !writer->failed; first = end) {
		for (end = first + 1; end < count && rows[end].process == rows[first].process;)
			end++;
		put_process(writer, first, end);
	}
	dictionary = gg_wire_begin(&writer->data, GG_OTLP_DATA_DICTIONARY);
	writer->failed |= !gg_otlp_dictionary_put(&writer->dictionary, &writer->data);
	gg_wire_end(&writer->data, dictionary);
	writer->failed |= writer->data.failed;
}

static int write_data(const struct gg_export *job, bool is_json)
{
	struct otlp_export writer = { .job = job, .extract = job->extract };
	int status = gg_otlp_dictionary_init(&writer.dictionary, job->extract, job->error);

	if (status < 0) {
		free_writer(&writer);
		return status;
	}
	writer.failed = !begin(&writer);
	if (!writer.failed)
		put_all(&writer);
	if (writer.failed)
		status = gg_export_out_of_memory(job);
	else if (is_json)
		gg_otlp_schema_to_json(job->out, GG_OTLP_DATA,
		                       gg_wire_of(writer.data.data, writer.data.length));
	else
		gg_buf_append(job->out, writer.data.data, writer.data.length);
	free_writer(&writer);
	return status;
}

/* --- the outline ---------------------------------------------------------------------------- */

/* Moves what the writer has written to `out`. */
static void take(struct otlp_export *writer, struct gg_buf *out)
{
	gg_buf_append(out, gg_buf_text(&writer->data), writer->data.length);
	writer->failed |= out->failed;
	gg_buf_clear(&writer->data);
}

static void fill_outline(struct otlp_export *writer, struct gg_otlp_outline *outline,
                         uint32_t *slots)
{
	const struct gg_extract *extract = writer->extract;
	struct gg_otlp_dictionary *dictionary = &writer->dictionary;

	for (size_t i = 0; i < extract->row_count; i++)
		slots[i] = gg_otlp_dictionary_stack(dictionary, extract->rows[i].stack);
	put_resource(writer, extract->rows[0].process);
	take(writer, &outline->resource);
	put_scope(&writer->data);
	take(writer, &outline->scope);
	for (size_t i = 0; i < VALUE_COUNT; i++) {
		put_type(writer, GG_OTLP_PROFILE_SAMPLE_TYPE, value_types[i].name,
		         value_types[i].unit);
		take(writer, &outline->types[i]);
		outline->units[i] = gg_otlp_dictionary_string(dictionary,
		                                              value_types[i].total_unit);
	}
	put_period(writer);
	take(writer, &outline->period);
	outline->low_key = gg_otlp_dictionary_string(dictionary, "geiger.total.low");
	if (!extract->is_lacking)
		outline->high_key = gg_otlp_dictionary_string(dictionary, "geiger.total.high");
	outline->confidence = gg_otlp_dictionary_double(dictionary, "geiger.confidence",
	                                                extract->confidence, "1");
	outline->metric = gg_otlp_dictionary_text(dictionary, "geiger.metric",
	                                          gg_metric_name(extract->metric));
	outline->slot_count = dictionary->stacks.elements.count;
	outline->attribute_count = (uint32_t)dictionary->attributes.elements.count;
	outline->confidence_level = extract->confidence;
	outline->interval_bytes = extract->interval_bytes * extract->exposure_factor;
	outline->is_lacking = extract->is_lacking;
	writer->failed |= !gg_otlp_dictionary_put_apart(dictionary, &outline->tables,
	                                                &outline->attributes);
}

int gg_otlp_outline_make(struct gg_otlp_outline *ret_outline, const struct gg_export *job,
                         uint32_t *ret_slots)
{
	struct otlp_export writer = { .job = job, .extract = job->extract };
	struct gg_otlp_outline outline = { 0 };
	int status = gg_otlp_dictionary_init(&writer.dictionary, job->extract, job->error);

	if (status == 0)
		fill_outline(&writer, &outline, ret_slots);
	if (status == 0 && writer.failed)
		status = gg_export_out_of_memory(job);
	free_writer(&writer);
	if (status < 0)
		gg_otlp_outline_done(&outline);
	else
		*ret_outline = outline;
	return status;
}

static int write_otlp(const struct gg_export *job)
{
	return write_data(job, false);
}

static int write_otlp_json(const struct gg_export *job)
{
	return write_data(job, true);
}

const struct gg_export_format gg_export_otlp = {
	.name = "otlp",
	.suffix = ".otlp.pb",
	.is_binary = true,
	.has_both = true,
	.may_be_gzip = true,
	.write = write_otlp,
};

const struct gg_export_format gg_export_otlp_json = {
	.name = "otlp_json",
	.suffix = ".otlp.json",
	.has_both = true,
	.may_be_gzip = true,
	.write = write_otlp_json,
};
