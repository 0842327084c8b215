/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import_pprof - google/pprof's profile.proto, as Go, tcmalloc, ddprof, geiger and other tools
 * write it.
 *
 * The types of a sample's values tell which are live and which are allocated memory: inuse_space
 * and alloc_space with their _objects, or space and objects.  The values are already scaled.  If
 * `period` has the mean sampling interval (of space in bytes), the importer derives their errors
 * from it.  The label `bytes` says that a sample's objects have one size.  Without period or
 * objects, the error is unknown.
 *
 * Labels.  A thread's name and number identify a thread.  The label pid, the label process and all
 * other text labels, such as host or version, identify a process: each set of values makes a
 * process with these labels.  A caller that takes rows (import.h) stores processes for good, so
 * only labels whose names say so identify one for it.
 */
#include "format/import/import_pprof.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/hash.h"
#include "format/codec/line_parser.h"
#include "format/import/pprof_frames.h"

enum {
	PPROF_BYTES_MAX = 512 << 20, /* tables of a hostile file use at most ten times that */
	PPROF_FRAMES_MAX = 65536,
	PPROF_PROCESSES_MAX =
		4096, /* sets of labels; samples of further sets belong to the first */
	NO_VALUE = -1,
};

/* Positions among the values of a sample; NO_VALUE: the file does not have that value. */
struct pprof_columns {
	int live_count, live_bytes, ever_count, ever_bytes;
	double live_unit, ever_unit; /* bytes for one unit of the value */
};

struct pprof_import {
	struct gg_import *import;
	struct gg_pprof_tables pprof;
	struct pprof_columns columns;
	struct gg_row_weighing how;
	uint32_t *frames;
	struct gg_map processes; /* hash of a set of labels -> id */
	uint32_t process_count;
	struct gg_buf labels; /* of a sample: keys and values in turn, each with its end */
};

/* The fields of one sample. */
struct pprof_sample {
	double values[GG_PPROF_VALUES_MAX];
	size_t value_count, frame_count;
	uint32_t tid, pid;
	char thread[256], process[256];
	uint64_t size_bytes; /* of each object; 0: unknown */
};

/* --- columns ---------------------------------------------------------------------------------- */

static double unit_of(const struct gg_pprof_tables *pprof, uint32_t unit)
{
	return gg_pprof_tables_is(pprof, unit, "bytes")       ? 1
	       : gg_pprof_tables_is(pprof, unit, "kilobytes") ? 0x1p10
	       : gg_pprof_tables_is(pprof, unit, "megabytes") ? 0x1p20
	                                                      : 0;
}

/* Returns the position of the first name that is a value type; bytes: only in a unit of bytes. */
static int find_value(const struct gg_pprof_tables *pprof, const char *const *names, size_t count,
                      bool bytes)
{
	for (size_t k = 0; k < count; k++)
		for (size_t i = 0; i < pprof->value_count; i++)
			if (gg_pprof_tables_is(pprof, pprof->values[i].type, names[k]) &&
			    (unit_of(pprof, pprof->values[i].unit) > 0) == bytes)
				return (int)i;
	return NO_VALUE;
}

/*
 * Finds bytes in other profiles: the default value if its unit is bytes, or the first such value.
 */
static int find_any_bytes(const struct gg_pprof_tables *pprof)
{
	int found = NO_VALUE;

	for (size_t i = pprof->value_count; i-- > 0;)
		if (unit_of(pprof, pprof->values[i].unit) > 0) {
			found = (int)i;
			if (pprof->values[i].type == pprof->default_type)
				break;
		}
	return found;
}

/* Pinned memory is free: a profile cannot hold it as live or allocated blocks. */
static int refuse_pinned(const struct gg_pprof_tables *pprof)
{
	return gg_pprof_tables_wrong(pprof, pprof->file,
	                             "the file has pinned memory (pinned_space), which is free and "
	                             "belongs to no heap profile");
}

static int find_columns(struct pprof_import *job)
{
	static const char *const pinned_bytes[] = { "pinned_space" };
	static const char *const live_bytes[] = { "inuse_space", "live_space", "space" };
	static const char *const live_counts[] = { "inuse_objects", "live_objects", "objects" };
	static const char *const ever_bytes[] = { "alloc_space", "allocated_space" };
	static const char *const ever_counts[] = { "alloc_objects", "alloc_samples",
		                                   "allocated_objects" };
	const struct gg_pprof_tables *pprof = &job->pprof;
	struct pprof_columns *columns = &job->columns;

	columns->live_bytes = find_value(pprof, live_bytes, GG_COUNT(live_bytes), true);
	columns->live_count = find_value(pprof, live_counts, GG_COUNT(live_counts), false);
	columns->ever_bytes = find_value(pprof, ever_bytes, GG_COUNT(ever_bytes), true);
	columns->ever_count = find_value(pprof, ever_counts, GG_COUNT(ever_counts), false);
	if (columns->live_bytes == NO_VALUE && columns->ever_bytes == NO_VALUE &&
	    job->import->options->known_types_only)
		return gg_error_set(job->import->error, -ENOMSG, "profile", NULL,
		                    "the profile has no values of a heap");
	if (columns->live_bytes == NO_VALUE && columns->ever_bytes == NO_VALUE &&
	    find_value(pprof, pinned_bytes, 1, true) != NO_VALUE)
		return refuse_pinned(pprof);
	if (columns->live_bytes == NO_VALUE && columns->ever_bytes == NO_VALUE)
		columns->live_bytes = find_any_bytes(pprof);
	if (columns->live_bytes == NO_VALUE && columns->ever_bytes == NO_VALUE)
		return gg_pprof_tables_wrong(
			&job->pprof, pprof->file,
			"the file is no heap profile: none of its types of values has the unit "
			"bytes");
	if (columns->live_bytes != NO_VALUE && columns->ever_bytes == NO_VALUE &&
	    job->import->options->is_allocated) { /* the file states neither */
		columns->ever_bytes = columns->live_bytes;
		columns->ever_count = columns->live_count;
		columns->live_bytes = columns->live_count = NO_VALUE;
	}
	if (columns->live_bytes != NO_VALUE)
		columns->live_unit = unit_of(pprof, pprof->values[columns->live_bytes].unit);
	if (columns->ever_bytes != NO_VALUE)
		columns->ever_unit = unit_of(pprof, pprof->values[columns->ever_bytes].unit);
	return 0;
}

/* Derives from the file how errors are computed. */
static void find_interval(struct pprof_import *job)
{
	const struct gg_pprof_tables *pprof = &job->pprof;
	bool is_of_bytes = gg_pprof_tables_is(pprof, pprof->period_type.unit, "bytes") &&
	                   gg_pprof_tables_is(pprof, pprof->period_type.type, "space");

	job->how = (struct gg_row_weighing){ .kind = GG_ROW_WEIGHING_UNKNOWN, .is_mixed = true };
	if (!is_of_bytes || pprof->period == 0 || pprof->period > 1ull << 48)
		return;
	job->how.kind = pprof->period == 1 ? GG_ROW_WEIGHING_EXACT : GG_ROW_WEIGHING_SCALED;
	job->how.interval_bytes = (double)pprof->period;
	job->import->result->interval_bytes = job->how.interval_bytes;
}

/* --- samples ---------------------------------------------------------------------------------- */

static bool is_one_of(const struct gg_text_line *key, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (key->length == strlen(names[i]) && memcmp(key->at, names[i], key->length) == 0)
			return true;
	return false;
}

bool gg_import_pprof_is_of_process(const char *key, size_t length)
{
	static const char *const keys[] = {
		"pid",
		"process.pid",
		"process_pid",
		"process_id",
		"host",
		"host.name",
		"host_name",
		"hostname",
		"node",
		"node_name",
		"nodename",
		"k8s.node.name",
		"instance",
		"pod",
		"k8s.pod.name",
		"k8s_pod_name",
		"k8s.pod.uid",
		"container.id",
		"service.instance.id",
		"service_instance_id",
		"container_id",
		"service_name",
		"service.name",
		"service_version",
		"version",
		"service.version",
	};
	const struct gg_text_line line = { key, length };

	return is_one_of(&line, keys, GG_COUNT(keys));
}

static void take_label(struct pprof_import *job, struct pprof_sample *sample,
                       const struct gg_text_line *key, const struct gg_text_line *text,
                       int64_t number)
{
	static const char *const threads[] = { "thread", "thread_name", "thread name" };
	static const char *const tids[] = { "thread", "thread_id", "thread id", "tid" };
	static const char *const pids[] = { "pid", "process_id", "process id" };
	static const char *const sizes[] = { "bytes" };
	static const char *const processes[] = { "process", "process_name" };
	/*
	 * These labels describe the allocated object and not the process, so they do not group
	 * processes.
	 */
	static const char *const types[] = { "type", "class", "request" };

	if (text->length == 0) {
		if (number > 0 && is_one_of(key, sizes, 1))
			sample->size_bytes = (uint64_t)number;
		if (number > 0 && number <= UINT32_MAX && is_one_of(key, tids, GG_COUNT(tids)))
			sample->tid = (uint32_t)number;
		if (number > 0 && number <= UINT32_MAX && is_one_of(key, pids, GG_COUNT(pids)))
			sample->pid = (uint32_t)number;
	} else if (is_one_of(key, threads, GG_COUNT(threads))) {
		gg_text_line_copy(text, sample->thread, sizeof(sample->thread));
	} else if (is_one_of(key, processes, GG_COUNT(processes))) {
		gg_text_line_copy(text, sample->process, sizeof(sample->process));
	} else if (!is_one_of(key, types, GG_COUNT(types)) && key->length > 0 &&
	           (job->import->options->take_row == NULL ||
	            job->import->options->all_labels_are_of_processes ||
	            gg_import_pprof_is_of_process(key->at, key->length))) {
		gg_buf_append(&job->labels, key->at, key->length);
		gg_buf_append(&job->labels, "", 1);
		gg_buf_append(&job->labels, text->at, text->length);
		gg_buf_append(&job->labels, "", 1);
	}
}

static int read_label(struct pprof_import *job, struct gg_wire message, struct pprof_sample *sample)
{
	struct pprof_label {
		uint64_t key, text, number;
	} record = { 0 };
	static const struct gg_wire_member members[] = {
		GG_WIRE_NUMBER(struct pprof_label, 1, key),
		GG_WIRE_NUMBER(struct pprof_label, 2, text),
		GG_WIRE_NUMBER(struct pprof_label, 3, number),
	};
	const struct gg_pprof_tables *pprof = &job->pprof;
	const uint8_t *start = message.at;
	struct gg_text_line key, text;

	if (gg_wire_read(&message, members, GG_COUNT(members), &record) < 0)
		return gg_pprof_tables_wrong(pprof, message.at, "a label is damaged");
	if (gg_pprof_tables_check_text(pprof, record.key, start, "a label") < 0 ||
	    gg_pprof_tables_check_text(pprof, record.text, start, "a label") < 0)
		return -EBADMSG;
	key = gg_pprof_tables_text(pprof, (uint32_t)record.key);
	text = gg_pprof_tables_text(pprof, (uint32_t)record.text);
	take_label(job, sample, &key, &text, (int64_t)record.number);
	return 0;
}

static int read_frame(struct pprof_import *job, uint64_t location, const uint8_t *at,
                      struct pprof_sample *sample)
{
	uint64_t *frames_left = job->import->options->frames_left;

	if (sample->frame_count == PPROF_FRAMES_MAX)
		return gg_pprof_tables_wrong(&job->pprof, at, "a sample has more than %d frames",
		                             PPROF_FRAMES_MAX);
	if (frames_left != NULL && *frames_left == 0)
		return gg_import_too_many_frames(job->import);
	if (frames_left != NULL)
		--*frames_left;
	return gg_pprof_frames_get(&job->pprof, location, at, &job->frames[sample->frame_count++]);
}

static int read_numbers(struct pprof_import *job, struct gg_wire_field *field, const uint8_t *at,
                        struct pprof_sample *sample)
{
	bool is_wrong = false;
	uint64_t value;
	int status = 0;

	while (status == 0 && gg_wire_numbers(field, &value, &is_wrong)) {
		if (field->number == 1) {
			status = read_frame(job, value, at, sample);
		} else if (sample->value_count == job->pprof.value_count) {
			status = gg_pprof_tables_wrong(
				&job->pprof, at,
				"a sample has more values than the file has types of values");
		} else if ((int64_t)value < 0) {
			status = gg_pprof_tables_wrong(
				&job->pprof, at,
				"a sample has a negative value: import the two profiles, not their difference");
		} else {
			sample->values[sample->value_count++] = (double)value;
		}
	}
	return status == 0 && is_wrong
	               ? gg_pprof_tables_wrong(&job->pprof, at,
	                                       "the numbers of a sample are damaged")
	               : status;
}

static int read_sample(struct pprof_import *job, struct gg_wire message,
                       struct pprof_sample *sample)
{
	struct gg_wire_field field;
	const uint8_t *start = message.at;
	int status;

	gg_buf_clear(&job->labels);
	for (; (status = gg_wire_next(&message, &field)) > 0; start = message.at) {
		uint32_t number = field.number;

		status = 0;
		if (number == 3 && field.type == GG_WIRE_BYTES) {
			status = read_label(job, field.bytes, sample);
		} else if (number == 1 || number == 2) {
			status = read_numbers(job, &field, start, sample);
		}
		if (status < 0)
			return status;
	}
	if (status < 0)
		return gg_pprof_tables_wrong(&job->pprof, message.at, "a sample is damaged");
	if (sample->value_count != job->pprof.value_count)
		return gg_pprof_tables_wrong(
			&job->pprof, start,
			"a sample has fewer values than the file has types of values");
	return job->labels.failed ? gg_import_no_memory(job->import) : 0;
}

/* Selects the process for the sample's set of labels. */
static int choose_process(struct pprof_import *job, const struct pprof_sample *sample)
{
	struct gg_import *import = job->import;
	uint64_t seed = gg_map_seed(&job->processes), key, id;
	const char *at, *end;
	int status;

	if (import->options->process != 0)
		return 0;
	key = gg_hash_bytes(job->labels.data, job->labels.length, seed) ^
	      gg_hash_bytes(sample->process, strlen(sample->process), seed + sample->pid);
	id = gg_map_get(&job->processes, key);
	if (id != GG_MAP_NONE || job->process_count == PPROF_PROCESSES_MAX) {
		import->process = id != GG_MAP_NONE ? (uint32_t)id : 1;
		return 0;
	}
	status = gg_import_next_process(import, sample->pid,
	                                sample->process[0] != '\0' ? sample->process
	                                                           : import->result->command);
	if (status == 0 && gg_map_put(&job->processes, key, import->process) < 0)
		status = gg_import_no_memory(import);
	job->process_count++;
	at = gg_buf_text(&job->labels);
	end = at + job->labels.length;
	while (at < end && status == 0) {
		const char *value = at + strlen(at) + 1;

		status = gg_import_label(import, at, value);
		at = value + strlen(value) + 1;
	}
	return status;
}

static int intern_stack(struct pprof_import *job, size_t frame_count, uint32_t *ret_stack)
{
	uint32_t stack = 0;
	int status = 0;

	while (frame_count-- > 0 && status == 0)
		status = gg_profile_intern_stack(job->import->profile, stack,
		                                 job->frames[frame_count], &stack,
		                                 job->import->error);
	*ret_stack = stack;
	return status;
}

static double value_of(const struct pprof_sample *sample, int column, double unit)
{
	return column != NO_VALUE ? sample->values[column] * unit : 0;
}

/* Gives the sample's values to the caller of the import. */
static int give_sample(struct pprof_import *job, const struct pprof_sample *sample,
                       const struct gg_row_weighing *how)
{
	const struct pprof_columns *columns = &job->columns;
	struct gg_import_row_values row = {
		.how = *how,
		.size_bytes = how->is_mixed ? 0 : sample->size_bytes,
		.live_count = value_of(sample, columns->live_count, 1),
		.live_bytes = value_of(sample, columns->live_bytes, columns->live_unit),
		.ever_count = value_of(sample, columns->ever_count, 1),
		.ever_bytes = value_of(sample, columns->ever_bytes, columns->ever_unit),
	};
	int status = choose_process(job, sample);

	row.process = job->import->process;
	if (status == 0)
		status = gg_import_thread(job->import, sample->tid, sample->thread, &row.thread);
	if (status == 0)
		status = intern_stack(job, sample->frame_count, &row.stack);
	return status < 0 ? status : job->import->options->take_row(job->import, &row);
}

static int write_sample(struct pprof_import *job, const struct pprof_sample *sample)
{
	const struct pprof_columns *columns = &job->columns;
	struct gg_row_weighing how = job->how;
	struct gg_row_sums live, ever, freed = { 0 };
	uint32_t stack = 0, thread = 0;
	int status;

	how.is_mixed = sample->size_bytes == 0 ||
	               job->pprof.written_by_geiger; /* geiger's size is a mean */
	if (job->import->options->take_row != NULL)
		return give_sample(job, sample, &how);
	live = gg_row_weighing(&how, value_of(sample, columns->live_count, 1),
	                       value_of(sample, columns->live_bytes, columns->live_unit));
	ever = gg_row_weighing(&how, value_of(sample, columns->ever_count, 1),
	                       value_of(sample, columns->ever_bytes, columns->ever_unit));
	if (columns->ever_bytes != NO_VALUE)
		freed = gg_row_sums_rest(&ever, &live);
	status = choose_process(job, sample);
	if (status == 0)
		status = gg_import_thread(job->import, sample->tid, sample->thread, &thread);
	if (status == 0)
		status = intern_stack(job, sample->frame_count, &stack);
	return status < 0 ? status : gg_import_row(job->import, thread, stack, &live, &freed);
}

static int read_samples(struct pprof_import *job)
{
	struct gg_wire wire = gg_wire_of(job->pprof.file, job->pprof.file_bytes);
	struct gg_wire_field field;
	int status = 0;

	while (status == 0 && gg_wire_next(&wire, &field) > 0) {
		struct pprof_sample sample;

		if (field.number != 2 || field.type != GG_WIRE_BYTES)
			continue;
		/*
		 * Leaves the arrays as they are, because they are long and every read follows a
		 * write.
		 */
		sample.value_count = sample.frame_count = sample.tid = sample.pid = 0;
		sample.thread[0] = sample.process[0] = '\0';
		sample.size_bytes = 0;
		status = read_sample(job, field.bytes, &sample);
		if (status == 0)
			status = write_sample(job, &sample);
	}
	return status;
}

/* --- the file --------------------------------------------------------------------------------- */

static void describe(struct pprof_import *job)
{
	const struct gg_pprof_tables *pprof = &job->pprof;
	struct gg_import_result *result = job->import->result;

	if (pprof->mappings.count > 0) {
		struct gg_text_line path = gg_pprof_tables_text(pprof,
		                                                pprof->mappings.items[0].path);

		gg_text_line_copy(&path, result->command, sizeof(result->command));
	}
	if (result->command[0] == '\0')
		snprintf(result->command, sizeof(result->command), "%.255s",
		         gg_input_name(job->import->input));
	if (pprof->time_ns > 0 && pprof->time_ns < INT64_MAX)
		result->start_wall_ns = pprof->time_ns;
	if (pprof->duration_ns < (uint64_t)INT64_MAX / 4)
		result->duration_ns = (int64_t)pprof->duration_ns;
}

static int write_notes(struct pprof_import *job)
{
	struct gg_import *import = job->import;
	int status = 0;

	if (job->columns.ever_bytes == NO_VALUE)
		status = gg_import_note(
			import, "Allocated memory equals live memory: the file has no other.");
	if (status == 0 && job->how.kind == GG_ROW_WEIGHING_UNKNOWN)
		status = gg_import_note(import,
		                        "The file does not state its mean sampling interval in "
		                        "bytes, so there are no confidence intervals.");
	if (status == 0 && job->process_count == PPROF_PROCESSES_MAX)
		status = gg_import_note(import,
		                        "The file has more than %d sets of labels; the samples of "
		                        "all further sets count for the first process.",
		                        PPROF_PROCESSES_MAX);
	return status;
}

static int read_bytes(struct pprof_import *job, const uint8_t *bytes, size_t length)
{
	int status = gg_pprof_tables_read(&job->pprof, job->import, bytes, length);

	if (status == 0)
		status = find_columns(job);
	if (status < 0)
		return status;
	find_interval(job);
	describe(job);
	status = read_samples(job);
	return status < 0 ? status : write_notes(job);
}

int gg_import_pprof_bytes(struct gg_import *import, const uint8_t *bytes, size_t length)
{
	struct pprof_import job = { .import = import,
		                    .frames = malloc(PPROF_FRAMES_MAX * sizeof(uint32_t)) };
	int status = job.frames == NULL ? gg_import_no_memory(import)
	                                : read_bytes(&job, bytes, length);

	gg_pprof_tables_done(&job.pprof);
	gg_map_done(&job.processes);
	gg_buf_done(&job.labels);
	free(job.frames);
	return status;
}

static int read_pprof(struct gg_import *import)
{
	const uint8_t *bytes;
	size_t length;
	int status = gg_input_all(import->input, PPROF_BYTES_MAX, &bytes, &length, import->error);

	return status < 0 ? status : gg_import_pprof_bytes(import, bytes, length);
}

/* True if the message is a value type: two short numbers and no other field. */
static bool is_value_type(struct gg_wire message)
{
	struct gg_wire_field field;
	int status;

	while ((status = gg_wire_next(&message, &field)) > 0)
		if (field.number > 2 || field.type != GG_WIRE_VARINT)
			return false;
	return status == 0;
}

/*
 * True if all fields are those of a profile.  A Perfetto trace has only field 1, and larger
 * messages in it.
 */
static bool knows_pprof(const uint8_t *head, size_t length)
{
	/* Bit n: field n is a message, a text, or packed numbers. */
	const uint32_t messages = 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4 | 1 << 5 | 1 << 6 | 1 << 11 |
	                          1 << 13;
	struct gg_wire wire = gg_wire_of(head, length);
	struct gg_wire_field field;
	uint64_t key;
	bool has_message = false;

	while (gg_wire_next(&wire, &field) > 0) {
		bool is_bytes = field.type == GG_WIRE_BYTES;

		if (field.number > 15 || field.type == GG_WIRE_32 || field.type == GG_WIRE_64)
			return false;
		if (is_bytes != ((messages >> field.number & 1) != 0) && field.number != 13)
			return false;
		if (field.number == 1 && !is_value_type(field.bytes))
			return false;
		has_message |= field.number <= 6;
	}
	/* The rest of the head is the beginning of a field that is longer than the head. */
	if (wire.at < wire.end && (!gg_wire_varint(&wire, &key) || key >> 3 == 0 || key >> 3 > 15 ||
	                           (key & 7) != GG_WIRE_BYTES))
		return false;
	return has_message;
}

const struct gg_importer gg_importer_pprof = {
	.name = "pprof",
	.knows = knows_pprof,
	.read = read_pprof,
};
