/* SPDX-License-Identifier: Apache-2.0 */
/* import - selects an importer, and adds processes, threads, frames and aggregates to a profile. */
#include "format/import/import.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/buf.h"
#include "base/hash.h"
#include "format/codec/stable_hash.h"
#include "symbol/names/demangle.h"

/* Tried in this order, so the importer that accepts the most files is last. */
static const struct gg_importer *const importers[] = {
	&gg_importer_jemalloc, &gg_importer_gperftools, &gg_importer_heaptrack, &gg_importer_jfr,
	&gg_importer_v8,       &gg_importer_nettrace,   &gg_importer_otlp,      &gg_importer_pprof,
	&gg_importer_perfetto, &gg_importer_pypy,       &gg_importer_collapsed,
};

static const struct gg_import_options no_options;

static int write_sums(struct gg_import *import);

enum { IMPORTED_NAME_MAX = 1 << 20 }; /* for a function or a file; no compiler makes longer names */

int gg_import_no_memory(struct gg_import *import)
{
	return gg_error_memory(import->error, gg_input_name(import->input));
}

int gg_import_too_many_frames(struct gg_import *import)
{
	return gg_error_set(import->error, -EBADMSG, gg_input_name(import->input), NULL,
	                    "the stacks of all samples have too many frames together");
}

int gg_import_wrong(const struct gg_import *import, const char *what)
{
	return gg_input_wrong(import->input, gg_input_offset(import->input), import->error, "%s",
	                      what);
}

static const struct gg_importer *find_importer(struct gg_input *input)
{
	size_t length;
	const uint8_t *head = gg_input_head(input, &length);

	for (size_t i = 0; i < GG_COUNT(importers); i++)
		if (importers[i]->knows(head, length))
			return importers[i];
	return NULL;
}

/* Explains why the file cannot be imported, if it is a known format but no heap profile. */
static int refuse(struct gg_input *input, struct gg_error *error)
{
	static const char advice[] =
		"geiger import reads jemalloc's and gperftools' heap profiles, "
		"pprof, OTLP, Perfetto, heaptrack, .nettrace, .heapprofile, .jfr, PyPy's "
		"heap dumps and collapsed stacks.";
	size_t length;
	const uint8_t *head = gg_input_head(input, &length);
	int status = gg_input_wrong(input, 0, error,
	                            length == 0 ? "the file is empty"
	                                        : "geiger does not know the format of the file");

	if (error == NULL)
		return status;
	snprintf(error->advice, sizeof(error->advice), "%s", advice);
	if (length >= 16 && memcmp(head, "SQLite format 3", 16) == 0) {
		snprintf(error->message, sizeof(error->message), "the file is an SQLite database");
		snprintf(error->advice, sizeof(error->advice),
		         "Reports read profiles of geiger without an import.");
	} else if (length >= 12 && memcmp(head, "v ", 2) != 0 &&
	           memmem(head, length, "heaptrack", 9)) {
		snprintf(error->advice, sizeof(error->advice),
		         "Interpret raw data of heaptrack first: heaptrack --interpret FILE.");
	}
	return status;
}

int gg_import_as(const struct gg_importer *importer, struct gg_profile *profile,
                 struct gg_input *input, const struct gg_import_options *options,
                 struct gg_import_result *ret_result, struct gg_error *error)
{
	struct gg_import_result result = { .format = importer->name,
		                           .scheme = GG_SCHEME_POISSON,
		                           .start_wall_ns = gg_input_time_ns(input) };
	struct gg_import import = { .profile = profile,
		                    .input = input,
		                    .options = options != NULL ? options : &no_options,
		                    .result = &result,
		                    .process = options != NULL ? options->process : 0,
		                    .error = error };
	uint32_t process;
	int status = importer->read(&import);

	if (status == 0)
		status = gg_import_process(&import, &process); /* even if the file has no row */
	if (status == 0)
		status = write_sums(&import);
	gg_map_done(&import.threads);
	gg_map_done(&import.sum_map);
	gg_buf_done(&import.sums);
	if (status == 0)
		*ret_result = result;
	return status;
}

int gg_import(struct gg_profile *profile, struct gg_input *input,
              const struct gg_import_options *options, struct gg_import_result *ret_result,
              struct gg_error *error)
{
	const struct gg_importer *importer = find_importer(input);

	if (importer == NULL)
		return refuse(input, error);
	return gg_import_as(importer, profile, input, options, ret_result, error);
}

int gg_import_session(struct gg_profile *profile, const struct gg_import_result *results,
                      size_t count, struct gg_error *error)
{
	struct gg_profile_session session = { .start_wall_ns = UINT64_MAX, .exit_status = -1 };
	GG_CLEANUP(gg_buf_done) struct gg_buf command = { 0 };
	bool has_history = count > 0;

	for (size_t i = 0; i < count; i++) {
		const struct gg_import_result *result = &results[i];

		if (i < 3 && result->command[0] != '\0')
			gg_buf_printf(&command, "%s%s", command.length > 0 ? ", " : "",
			              result->command);
		if (result->start_wall_ns < session.start_wall_ns)
			session.start_wall_ns = result->start_wall_ns;
		if (result->duration_ns > session.end_ns)
			session.end_ns = result->duration_ns;
		session.interval_bytes = fmax(session.interval_bytes, result->interval_bytes);
		session.scheme = result->scheme;
		has_history = has_history && result->has_history;
	}
	session.has_history = has_history;
	if (count > 3)
		gg_buf_printf(&command, ", ... (%zu files)", count);
	if (command.failed)
		return gg_error_memory(error, "import");
	session.command = command.length > 0 ? gg_buf_text(&command) : NULL;
	return gg_profile_set_session(profile, &session, error);
}

/* --- processes and threads -------------------------------------------------------------------- */

static int add_process(struct gg_import *import, uint32_t pid, const char *command)
{
	const struct gg_import_result *result = import->result;
	struct gg_profile_process process = { .pid = pid,
		                              .end_ns = result->duration_ns,
		                              .command = command,
		                              .interval_bytes = result->interval_bytes,
		                              .scheme = result->scheme };
	int status = gg_profile_add_process(import->profile, &process, &import->process,
	                                    import->error);

	for (size_t i = 0; i < import->options->label_count && status == 0; i++)
		status = gg_import_label(import, import->options->labels[i].key,
		                         import->options->labels[i].value);
	return status;
}

int gg_import_process(struct gg_import *import, uint32_t *ret_process)
{
	const char *command = import->result->command;
	int status = 0;

	if (command[0] == '\0')
		snprintf(import->result->command, sizeof(import->result->command), "%.255s",
		         gg_input_name(import->input));
	if (import->process == 0)
		status = add_process(import, 0, command);
	*ret_process = import->process;
	return status;
}

int gg_import_next_process(struct gg_import *import, uint32_t pid, const char *command)
{
	return add_process(import, pid, command);
}

int gg_import_label(struct gg_import *import, const char *key, const char *value)
{
	uint32_t process;
	int status = gg_import_process(import, &process);

	return status < 0
	               ? status
	               : gg_profile_put_label(import->profile, process, key, value, import->error);
}

int gg_import_thread(struct gg_import *import, uint32_t tid, const char *name, uint32_t *ret_thread)
{
	struct gg_profile_thread thread = { .tid = tid, .end_ns = GG_TIME_NONE, .name = name };
	size_t length = name != NULL ? strlen(name) : 0;
	uint64_t seed = gg_map_seed(&import->threads), found;
	uint64_t key = gg_hash_bytes(name, length, seed) ^
	               gg_hash_integer((uint64_t)import->process << 32 | tid, seed);
	int status;

	*ret_thread = 0;
	if (tid == 0 && length == 0)
		return 0;
	found = gg_map_get(&import->threads, key);
	if (found != GG_MAP_NONE) {
		*ret_thread = (uint32_t)found;
		return 0;
	}
	status = gg_import_process(import, &thread.process);
	if (status == 0)
		status = gg_profile_add_thread(import->profile, &thread, ret_thread, import->error);
	if (status == 0 && gg_map_put(&import->threads, key, *ret_thread) < 0)
		status = gg_import_no_memory(import);
	return status;
}

/* --- frames ----------------------------------------------------------------------------------- */

/* Returns a hash to use in place of an address; no address in user space has this value. */
static uint64_t hash_lines(const struct gg_profile_line *lines, uint32_t count)
{
	uint64_t hash = GG_STABLE_HASH_START;

	for (uint32_t i = 0; i < count; i++) {
		char line[16];

		hash = gg_stable_hash_text(hash, lines[i].linkage_name);
		hash = gg_stable_hash_text(hash, lines[i].file);
		snprintf(line, sizeof(line), "%u", lines[i].line);
		hash = gg_stable_hash_text(hash, line);
	}
	return gg_stable_hash_address(gg_hash_integer(hash, 0));
}

static bool is_mangled(const char *name)
{
	return strncmp(name, "_Z", 2) == 0 || strncmp(name, "_R", 2) == 0;
}

static int put_lines(struct gg_import *import, uint32_t frame, const struct gg_profile_line *given,
                     uint32_t count)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf full = { 0 };
	GG_CLEANUP(gg_buf_done) struct gg_buf short_name = { 0 };
	GG_CLEANUP(gg_buf_done) struct gg_buf texts = { 0 };
	struct gg_profile_line *lines = malloc(count * sizeof(*lines));
	size_t *at = calloc(2 * (size_t)count, sizeof(*at));
	int status = lines == NULL || at == NULL ? gg_import_no_memory(import) : 0;

	for (uint32_t i = 0; i < count && status == 0; i++) {
		const char *name = given[i].linkage_name != NULL ? given[i].linkage_name : "";

		lines[i] = given[i];
		lines[i].inlined = i + 1 < count;
		if (name[0] == '\0')
			name = "[unknown]";
		lines[i].full_name = name;
		if (given[i].function == NULL)
			lines[i].function = name;
		lines[i].linkage_name = NULL;
		if (!is_mangled(name))
			continue;
		gg_demangle(name, &full, &short_name);
		lines[i].linkage_name = name;
		at[2 * i] = texts.length + 1; /* 0: not mangled */
		gg_buf_append(&texts, gg_buf_text(&full), full.length + 1);
		at[2 * i + 1] = texts.length;
		gg_buf_append(&texts, gg_buf_text(&short_name), short_name.length + 1);
		if (full.failed || short_name.failed || texts.failed)
			status = gg_import_no_memory(import);
	}
	for (uint32_t i = 0; i < count && status == 0; i++)
		if (at[2 * i] > 0) {
			lines[i].full_name = texts.data + at[2 * i] - 1;
			lines[i].function = texts.data + at[2 * i + 1];
		}
	if (status == 0)
		status = gg_profile_put_lines(import->profile, frame, lines, count, import->error);
	free(lines);
	free(at);
	return status;
}

static bool is_too_long(const char *name)
{
	return name != NULL && strnlen(name, IMPORTED_NAME_MAX + 1) > IMPORTED_NAME_MAX;
}

int gg_import_frame(struct gg_import *import, uint32_t module, uint64_t address,
                    const struct gg_profile_line *lines, uint32_t line_count, uint32_t *ret_frame)
{
	int status;

	for (uint32_t i = 0; i < line_count; i++)
		if (is_too_long(lines[i].linkage_name) || is_too_long(lines[i].file))
			return gg_import_wrong(import, "a name has more than 1 MiB");
	if (module == 0 || address == 0)
		address = hash_lines(lines, line_count);
	status = gg_profile_intern_frame(import->profile, module, address, ret_frame,
	                                 import->error);
	if (status < 0 || *ret_frame <= import->last_frame)
		return status;
	import->last_frame = *ret_frame;
	return put_lines(import, *ret_frame, lines, line_count);
}

int gg_import_name(struct gg_import *import, const char *name, size_t length, uint32_t *ret_frame)
{
	char *copy = strndup(name, length);
	struct gg_profile_line line = { .linkage_name = copy };
	int status = copy == NULL ? gg_import_no_memory(import)
	                          : gg_import_frame(import, 0, 0, &line, 1, ret_frame);

	free(copy);
	return status;
}

int gg_import_kind(struct gg_import *import, const char *heap, const char *type)
{
	int status = gg_profile_intern_name(import->profile, GG_NAME_HEAP, heap, &import->heap,
	                                    import->error);

	import->type = 0;
	if (status < 0 || type == NULL)
		return status;
	return gg_profile_intern_name(import->profile, GG_NAME_TYPE, type, &import->type,
	                              import->error);
}

/* --- sums ------------------------------------------------------------------------------------- */

enum { SUMS_MAX = 1 << 18 }; /* 50 MB; when they are full, all are written */

static int add_row(struct gg_import *import, const struct gg_import_sum *sum,
                   const struct gg_row_sums *weighed, int64_t to_ns)
{
	struct gg_profile_aggregate row = { .process = sum->process,
		                            .thread = sum->thread,
		                            .stack = sum->stack,
		                            .has_kind = sum->heap != 0,
		                            .heap = sum->heap,
		                            .type = sum->type,
		                            .to_ns = to_ns,
		                            .size_class = 255,
		                            .interval_bytes = sum->interval_bytes,
		                            .sums = gg_row_sums_sums(weighed),
		                            .count_skew = weighed->count_skew,
		                            .bytes_skew = weighed->bytes_skew,
		                            .unknown_errors = weighed->unknown_errors };

	if (weighed->samples == 0)
		return 0;
	return gg_profile_add_aggregate(import->profile, &row, import->error);
}

static size_t sum_count(const struct gg_import *import)
{
	return import->sums.length / sizeof(struct gg_import_sum);
}

static int write_sums(struct gg_import *import)
{
	const struct gg_import_sum *sums = (const struct gg_import_sum *)(const void *)
	                                           import->sums.data;
	int status = 0;

	for (size_t i = 0; i < sum_count(import) && status == 0; i++) {
		status = add_row(import, &sums[i], &sums[i].live, GG_TIME_NONE);
		if (status == 0)
			status = add_row(import, &sums[i], &sums[i].freed, sums[i].freed_ns);
	}
	gg_buf_clear(&import->sums);
	gg_map_done(&import->sum_map);
	return status;
}

struct sum_key {
	const struct gg_buf *sums;
	const struct gg_import_sum *wanted;
};

static bool sum_is_equal(uint64_t value, const void *context)
{
	const struct sum_key *key = context;
	const struct gg_import_sum *sum = (const struct gg_import_sum *)(const void *)
	                                          key->sums->data +
	                                  value,
				   *wanted = key->wanted;

	return sum->process == wanted->process && sum->thread == wanted->thread &&
	       sum->stack == wanted->stack && sum->heap == wanted->heap &&
	       sum->type == wanted->type && sum->freed_ns == wanted->freed_ns &&
	       sum->interval_bytes == wanted->interval_bytes;
}

int gg_import_row(struct gg_import *import, uint32_t thread, uint32_t stack,
                  const struct gg_row_sums *live, const struct gg_row_sums *freed)
{
	struct gg_import_sum wanted = { .thread = thread,
		                        .stack = stack,
		                        .heap = import->heap,
		                        .type = import->type,
		                        .interval_bytes = import->result->interval_bytes,
		                        .freed_ns = import->result->duration_ns,
		                        .live = *live,
		                        .freed = *freed },
			     *sum;
	struct sum_key key = { &import->sums, &wanted };
	uint64_t hash, index;
	int status = gg_import_process(import, &wanted.process);

	import->result->row_count++;
	if (status == 0 && sum_count(import) == SUMS_MAX)
		status = write_sums(import);
	if (status < 0)
		return status;
	hash = gg_hash_integer((uint64_t)stack << 32 | thread,
	                       gg_map_seed(&import->sum_map) + wanted.process +
	                               ((uint64_t)wanted.type << 32));
	index = gg_map_find(&import->sum_map, hash, sum_is_equal, &key);
	if (index != GG_MAP_NONE) {
		gg_assert(index < sum_count(import));
		sum = (struct gg_import_sum *)(void *)import->sums.data + index;
		gg_row_sums_add(&sum->live, live);
		gg_row_sums_add(&sum->freed, freed);
		return 0;
	}
	if (gg_map_insert(&import->sum_map, hash, sum_count(import)) < 0)
		return gg_import_no_memory(import);
	gg_buf_append(&import->sums, &wanted, sizeof(wanted));
	return import->sums.failed ? gg_import_no_memory(import) : 0;
}

int gg_import_note(struct gg_import *import, const char *format, ...)
{
	char text[1024];
	va_list values;

	va_start(values, format);
	vsnprintf(text, sizeof(text), format, values);
	va_end(values);
	return gg_profile_add_note(import->profile, text, import->error);
}

void gg_import_progress(struct gg_import *import)
{
	uint64_t done, size;

	if (import->options->progress == NULL)
		return;
	gg_input_progress(import->input, &done, &size);
	if (done < import->progress_next)
		return;
	import->progress_next = done + (1 << 20);
	gg_progress_report(import->options->progress, done, size, "reading");
}
