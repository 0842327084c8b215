/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export_pprof - pprof's profile.proto, compressed with gzip.
 *
 * A sample has four values in the order that pprof uses for heaps: alloc_objects, alloc_space,
 * inuse_objects, inuse_space.  A sample is a row of the extract with labels.  The labels are its
 * thread, tid, process, pid, heap and type; "bytes", the mean size of its blocks, like in pprof's
 * own heap profiles; and the ends of the confidence intervals of both sizes in bytes.  The labels
 * of its process follow, unless their key is one of these.  Comments hold the confidence intervals
 * of the totals.
 *
 * A file of pinned memory has one value, pinned_space.  A reader of a heap profile would take four
 * values for blocks.
 *
 * pprof_locations.h describes locations, functions and mappings.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "format/codec/gzip.h"
#include "format/codec/string_table.h"
#include "format/codec/wire_writer.h"
#include "format/export/export.h"
#include "format/export/pprof_locations.h"

/* Field numbers of profile.proto's messages.  Readers take a missing field for 0. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_STRING = 6,  /* texts are numbers in this table, whose first entry is empty */
	PROFILE_TIME_NS = 9, /* since 1970 */
	PROFILE_DURATION_NS = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12, /* for heaps: the mean sampling interval */
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_SAMPLE_TYPE = 14,

	TYPE_NAME = 1,
	TYPE_UNIT = 2,

	SAMPLE_LOCATION_ID = 1, /* packed, leaf first */
	SAMPLE_VALUE = 2,       /* packed, one for each sample type */
	SAMPLE_LABEL = 3,

	LABEL_KEY = 1,
	LABEL_TEXT = 2, /* either this, or a number with its unit */
	LABEL_NUMBER = 3,
	LABEL_UNIT = 4,
};

/* Keys of labels, and their units. */
enum word {
	LABEL_WORD_THREAD,
	LABEL_WORD_PROCESS,
	LABEL_WORD_HEAP,
	LABEL_WORD_TYPE,
	LABEL_WORD_PID,
	LABEL_WORD_TID,
	LABEL_WORD_SIZE_BYTES, /* also a unit */
	LABEL_WORD_LIVE_LOW,
	LABEL_WORD_LIVE_HIGH,
	LABEL_WORD_ALLOCATED_LOW,
	LABEL_WORD_ALLOCATED_HIGH,
	LABEL_WORD_COUNT,
};
static const char *const words[LABEL_WORD_COUNT] = {
	"thread",
	"process",
	"heap",
	"type",
	"pid",
	"tid",
	"bytes",
	"inuse_space_low",
	"inuse_space_high",
	"alloc_space_low",
	"alloc_space_high",
};

struct pprof_export {
	const struct gg_export *job;
	const struct gg_extract *extract;
	struct gg_string_table strings;
	struct gg_pprof_locations locations;
	struct gg_buf profile; /* the message, to which samples are appended one by one */
	uint32_t words[LABEL_WORD_COUNT];
	/* Texts of names, by the number of what they name; 0: not made yet. */
	uint32_t *thread_text, *process_text, *heap_text, *type_text;
	bool failed;
};

static uint32_t text(struct pprof_export *writer, const char *value)
{
	return gg_string_table_put(&writer->strings, value);
}

static bool is_of_pinned(const struct pprof_export *writer)
{
	return writer->extract->metric == GG_METRIC_PINNED;
}

/* A file of pinned memory has labels of it where other files have those of live memory. */
static const char *word_of(const struct pprof_export *writer, enum word word)
{
	if (is_of_pinned(writer) && word == LABEL_WORD_LIVE_LOW)
		return "pinned_space_low";
	if (is_of_pinned(writer) && word == LABEL_WORD_LIVE_HIGH)
		return "pinned_space_high";
	return words[word];
}

/* --- samples -------------------------------------------------------------------------------- */

static void label_text(struct pprof_export *writer, enum word key, uint32_t value)
{
	struct gg_buf *out = &writer->profile;
	size_t message = gg_wire_begin(out, SAMPLE_LABEL);

	gg_wire_put_nonzero(out, LABEL_KEY, writer->words[key]);
	gg_wire_put_nonzero(out, LABEL_TEXT, value);
	gg_wire_end(out, message);
}

static void label_number(struct pprof_export *writer, enum word key, double value, enum word unit)
{
	struct gg_buf *out = &writer->profile;
	size_t message;

	if (!(value < 0x1p62)) /* the interval has no upper end */
		return;
	message = gg_wire_begin(out, SAMPLE_LABEL);
	gg_wire_put_nonzero(out, LABEL_KEY, writer->words[key]);
	gg_wire_put_nonzero(out, LABEL_NUMBER, (uint64_t)(int64_t)(value + 0.5));
	gg_wire_put_nonzero(out, LABEL_UNIT, writer->words[unit]);
	gg_wire_end(out, message);
}

static void label_interval(struct pprof_export *writer, const struct gg_extract_sum *sum,
                           enum word low, enum word high)
{
	struct gg_interval interval;

	if (sum->count == 0)
		return;
	interval = gg_extract_interval(writer->extract, sum, GG_BYTES);
	label_number(writer, low, interval.low, LABEL_WORD_SIZE_BYTES);
	label_number(writer, high, interval.high, LABEL_WORD_SIZE_BYTES);
}

/* Returns the text of a name that many rows use, and makes it only once. */
static uint32_t name_of(struct pprof_export *writer, uint32_t *known, uint32_t number,
                        void (*name)(const struct gg_extract *, uint32_t, struct gg_buf *))
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text_of = { 0 };

	if (known[number] == 0) {
		name(writer->extract, number, &text_of);
		known[number] = text(writer, gg_buf_text(&text_of));
	}
	return known[number];
}

static void heap_name(const struct gg_extract *extract, uint32_t heap, struct gg_buf *out)
{
	gg_buf_append_text(out, gg_extract_heap_name(extract, heap));
}

static void type_name(const struct gg_extract *extract, uint32_t type, struct gg_buf *out)
{
	gg_buf_append_text(out, extract->model->types[type]);
}

/* Writes the labels of a row's heap and, if it has one, its type. */
static void label_kind(struct pprof_export *writer, uint32_t kind)
{
	const struct gg_extract *extract = writer->extract;
	uint32_t heap = gg_extract_heap(extract, kind), type = 0;

	if (kind < extract->model->kind_count)
		type = extract->model->kinds[kind].type;
	label_text(writer, LABEL_WORD_HEAP, name_of(writer, writer->heap_text, heap, heap_name));
	if (type != 0)
		label_text(writer, LABEL_WORD_TYPE,
		           name_of(writer, writer->type_text, type, type_name));
}

static bool is_word(const struct pprof_export *writer, const char *key)
{
	for (size_t i = 0; i < LABEL_WORD_COUNT; i++)
		if (strcmp(key, word_of(writer, (enum word)i)) == 0)
			return true;
	return false;
}

/* Writes the labels that distinguish its process from other processes. */
static void label_process(struct pprof_export *writer, uint32_t process)
{
	const struct gg_model_label *labels = writer->extract->model->labels;

	for (size_t i = 0; i < writer->extract->model->label_count; i++) {
		struct gg_buf *out = &writer->profile;
		size_t message;

		if (labels[i].process != process || is_word(writer, labels[i].key))
			continue;
		message = gg_wire_begin(out, SAMPLE_LABEL);
		gg_wire_put_nonzero(out, LABEL_KEY, text(writer, labels[i].key));
		gg_wire_put_nonzero(out, LABEL_TEXT, text(writer, labels[i].value));
		gg_wire_end(out, message);
	}
}

static void add_labels(struct pprof_export *writer, const struct gg_extract_row *row)
{
	const struct gg_extract *extract = writer->extract;
	const struct gg_extract_sum *all = row->allocated.count > 0 ? &row->allocated : &row->live;

	label_text(writer, LABEL_WORD_THREAD,
	           name_of(writer, writer->thread_text, row->thread, gg_extract_thread_name));
	label_text(writer, LABEL_WORD_PROCESS,
	           name_of(writer, writer->process_text, row->process, gg_extract_process_name));
	label_kind(writer, row->kind);
	label_number(writer, LABEL_WORD_PID, extract->model->processes[row->process].pid,
	             LABEL_WORD_PID);
	label_number(writer, LABEL_WORD_TID, extract->model->threads[row->thread].tid,
	             LABEL_WORD_TID);
	label_process(writer, row->process);
	label_interval(writer, &row->live, LABEL_WORD_LIVE_LOW, LABEL_WORD_LIVE_HIGH);
	if (is_of_pinned(writer))
		return;
	if (all->count > 0)
		label_number(writer, LABEL_WORD_SIZE_BYTES, (double)all->bytes / (double)all->count,
		             LABEL_WORD_SIZE_BYTES);
	label_interval(writer, &row->allocated, LABEL_WORD_ALLOCATED_LOW,
	               LABEL_WORD_ALLOCATED_HIGH);
}

static void add_sample(struct pprof_export *writer, const struct gg_extract_row *row)
{
	const struct gg_model *model = writer->extract->model;
	struct gg_buf *out = &writer->profile;
	size_t message = gg_wire_begin(out, PROFILE_SAMPLE), packed;
	uint32_t stack = row->stack;

	packed = gg_wire_begin(out, SAMPLE_LOCATION_ID);
	do {
		gg_varint_append(out, gg_pprof_locations_id(&writer->locations, stack));
		stack = model->stacks[stack].parent;
	} while (stack != 0);
	gg_wire_end(out, packed);
	packed = gg_wire_begin(out, SAMPLE_VALUE);
	if (!is_of_pinned(writer)) {
		gg_varint_append(out, row->allocated.count);
		gg_varint_append(out, row->allocated.bytes);
		gg_varint_append(out, row->live.count);
	}
	gg_varint_append(out, row->live.bytes);
	gg_wire_end(out, packed);
	if (!writer->job->sums_only)
		add_labels(writer, row);
	gg_wire_end(out, message);
}

/* --- the file ------------------------------------------------------------------------------- */

static void add_comment(struct pprof_export *writer, const char *what, const struct gg_tally *tally)
{
	const struct gg_extract *extract = writer->extract;
	struct gg_interval interval = gg_interval_of(tally, GG_BYTES, extract->confidence, false);
	double bytes = gg_tally_estimate(tally, GG_BYTES).value;
	uint32_t text;

	if (isfinite(interval.high))
		text = gg_string_table_printf(
			&writer->strings, "%s: %.0f bytes, %g %% confidence interval %.0f to %.0f",
			what, bytes, 100 * extract->confidence, interval.low, interval.high);
	else
		text = gg_string_table_printf(
			&writer->strings, "%s: %.0f bytes, %g %% confidence interval from %.0f on",
			what, bytes, 100 * extract->confidence, interval.low);
	gg_wire_put_nonzero(&writer->profile, PROFILE_COMMENT, text);
}

static void add_comments(struct pprof_export *writer)
{
	const struct gg_extract *extract = writer->extract;
	const struct gg_profile_session *session = extract->model->session_count > 0
	                                                   ? &extract->model->sessions[0]
	                                                   : NULL;

	gg_wire_put_nonzero(&writer->profile, PROFILE_COMMENT,
	                    gg_string_table_printf(&writer->strings, "geiger %s: %s", GG_VERSION,
	                                           session != NULL && session->command != NULL
	                                                   ? session->command
	                                                   : ""));
	gg_wire_put_nonzero(&writer->profile, PROFILE_COMMENT,
	                    gg_string_table_printf(&writer->strings,
	                                           "mean sampling interval: %.0f bytes",
	                                           extract->interval_bytes));
	if (is_of_pinned(writer)) {
		add_comment(writer, "pinned_space", &extract->live);
		return;
	}
	add_comment(writer, "inuse_space", &extract->live);
	add_comment(writer, "alloc_space", &extract->allocated);
}

static uint32_t add_type(struct pprof_export *writer, uint32_t field, const char *name,
                         const char *unit)
{
	struct gg_buf *out = &writer->profile;
	size_t message = gg_wire_begin(out, field);
	uint32_t name_text = text(writer, name);

	gg_wire_put_nonzero(out, TYPE_NAME, name_text);
	gg_wire_put_nonzero(out, TYPE_UNIT, text(writer, unit));
	gg_wire_end(out, message);
	return name_text;
}

static void add_types(struct pprof_export *writer)
{
	uint32_t allocated, live;

	if (is_of_pinned(writer)) {
		live = add_type(writer, PROFILE_SAMPLE_TYPE, "pinned_space", "bytes");
		add_type(writer, PROFILE_PERIOD_TYPE, "space", "bytes");
		gg_wire_put_nonzero(&writer->profile, PROFILE_DEFAULT_SAMPLE_TYPE, live);
		return;
	}
	add_type(writer, PROFILE_SAMPLE_TYPE, "alloc_objects", "count");
	allocated = add_type(writer, PROFILE_SAMPLE_TYPE, "alloc_space", "bytes");
	add_type(writer, PROFILE_SAMPLE_TYPE, "inuse_objects", "count");
	live = add_type(writer, PROFILE_SAMPLE_TYPE, "inuse_space", "bytes");
	add_type(writer, PROFILE_PERIOD_TYPE, "space", "bytes");
	gg_wire_put_nonzero(&writer->profile, PROFILE_DEFAULT_SAMPLE_TYPE,
	                    writer->extract->metric == GG_METRIC_ALLOCATED ? allocated : live);
}

static void add_times(struct pprof_export *writer)
{
	const struct gg_extract *extract = writer->extract;
	struct gg_buf *out = &writer->profile;

	if (extract->model->session_count > 0)
		gg_wire_put_nonzero(out, PROFILE_TIME_NS,
		                    (uint64_t)((int64_t)extract->model->sessions[0].start_wall_ns +
		                               extract->start_ns));
	gg_wire_put_nonzero(out, PROFILE_DURATION_NS,
	                    (uint64_t)(extract->end_ns - extract->start_ns));
	gg_wire_put_nonzero(out, PROFILE_PERIOD,
	                    extract->interval_bytes > 1
	                            ? (uint64_t)gg_extract_whole(extract->interval_bytes)
	                            : 1);
}

/* Appends all fields after the samples.  The texts come last, because the other fields add some. */
static int finish(struct pprof_export *writer)
{
	struct gg_buf *out = &writer->profile;

	writer->failed |= !gg_pprof_locations_put(&writer->locations, out);
	add_times(writer);
	add_comments(writer);
	for (size_t i = 0; i < writer->strings.texts.count; i++)
		gg_wire_put_text(out, PROFILE_STRING, writer->strings.texts.items[i]);
	if (writer->failed || writer->strings.failed || out->failed)
		return gg_export_out_of_memory(writer->job);
	return gg_gzip(writer->job->out, out->data, out->length) < 0
	               ? gg_export_out_of_memory(writer->job)
	               : 0;
}

static void free_writer(struct pprof_export *writer)
{
	gg_buf_done(&writer->profile);
	free(writer->thread_text);
	free(writer->process_text);
	free(writer->heap_text);
	free(writer->type_text);
	gg_string_table_done(&writer->strings);
	gg_pprof_locations_done(&writer->locations);
}

/* Makes text number 0 and the texts that all samples use. */
static bool begin(struct pprof_export *writer)
{
	const struct gg_model *model = writer->extract->model;

	writer->thread_text = calloc(model->thread_count, sizeof(*writer->thread_text));
	writer->process_text = calloc(model->process_count, sizeof(*writer->process_text));
	writer->heap_text = calloc(model->heap_count + 1, sizeof(*writer->heap_text));
	writer->type_text = calloc(model->type_count + 1, sizeof(*writer->type_text));
	text(writer, "");
	for (size_t i = 0; i < LABEL_WORD_COUNT; i++)
		writer->words[i] = text(writer, word_of(writer, (enum word)i));
	return writer->thread_text != NULL && writer->process_text != NULL &&
	       writer->heap_text != NULL && writer->type_text != NULL;
}

static int write_pprof(const struct gg_export *job)
{
	struct pprof_export writer = { .job = job, .extract = job->extract };
	size_t count = job->extract->row_count;
	int status = gg_pprof_locations_init(&writer.locations, job->extract, &writer.strings,
	                                     job->error);

	if (status < 0) {
		free_writer(&writer);
		return status;
	}
	writer.failed = !begin(&writer);
	if (!writer.failed)
		add_types(&writer);
	for (size_t i = 0; i < count && !writer.failed; i++) {
		gg_export_progress(job, i, count);
		/* Blocks that a look did not choose say nothing about pinned memory. */
		if (!is_of_pinned(&writer) || job->extract->rows[i].live.count > 0)
			add_sample(&writer, &job->extract->rows[i]);
	}
	status = writer.failed ? gg_export_out_of_memory(job) : finish(&writer);
	free_writer(&writer);
	return status;
}

const struct gg_export_format gg_export_pprof = {
	.name = "pprof",
	.suffix = ".pb.gz",
	.is_binary = true,
	.has_both = true,
	.has_pinned = true,
	.write = write_pprof,
};
