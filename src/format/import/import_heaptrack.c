/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import_heaptrack - the output of heaptrack's interpreter, version 3 and earlier.
 *
 * Every number is hexadecimal.
 *
 *   v 10400 3                  version of heaptrack, version of the file
 *   X ./program args           command
 *   s 5 hello                  a text, with its length from version 3 on; they count from 1
 *   i 40e1a2 1 2 3 4 5 6 7     an instruction pointer: its address and module; then function, file
 *                              and line of each call inlined there
 *   t 1 0                      a stack: an instruction pointer, called by a stack; 0: no caller
 *   a 40 1                     a size and a stack; they count from 0
 *   + 0                        an allocation of that size and stack
 *   - 0                        such an allocation was freed
 *   c 1f4                      so many ms have passed
 *
 * The file has every allocation, so its numbers are exact.  The importer keeps the live memory at
 * the end and the sum of all allocations, but no times.  A note tells the peak.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/size.h"
#include "format/codec/line_parser.h"
#include "format/import/import.h"

enum { HEAPTRACK_INLINED_MAX = 64 };

/* A size at a stack, and how often it was allocated and freed. */
struct heaptrack_allocation {
	uint64_t size, count, freed;
	uint32_t stack;
};

/* Ids of the profile for the records of one kind, which count from 1. */
struct heaptrack_ids {
	GG_ARRAY(uint32_t) ids;
};

struct heaptrack_import {
	struct gg_import *import;
	struct gg_buf texts;         /* texts one after the other, each with its end */
	GG_ARRAY(size_t) text_at;    /* offset of each text */
	struct heaptrack_ids frames; /* frame ids of instruction pointers */
	struct heaptrack_ids stacks; /* stack ids of traces */
	GG_ARRAY(struct heaptrack_allocation) allocations;
	uint64_t version, time_ms, live, peak, peak_ms;
};

/* Reads the next number of the line; returns false at its end, or if the next word is no number. */
static bool take(struct gg_text_line *line, uint64_t *ret_value)
{
	gg_text_line_skip_blanks(line);
	return gg_text_line_number(line, 16, ret_value);
}

/* Finds the id of record `number`; number 0 has the id 0.  Returns false past the end. */
static bool get_id(const struct heaptrack_ids *list, uint64_t number, uint32_t *ret_id)
{
	*ret_id = 0;
	if (number > list->ids.count)
		return false;
	if (number > 0)
		*ret_id = list->ids.items[number - 1];
	return true;
}

/* Finds text `number`; number 0 has no text.  Returns false past the end. */
static bool get_text(const struct heaptrack_import *job, uint64_t number, const char **ret_text)
{
	*ret_text = NULL;
	if (number > job->text_at.count)
		return false;
	if (number > 0)
		*ret_text = job->texts.data + job->text_at.items[number - 1];
	return true;
}

static int no_text(const struct heaptrack_import *job)
{
	return gg_import_wrong(job->import,
	                       "the line refers to a text that the file does not have");
}

static int read_text(struct heaptrack_import *job, struct gg_text_line line)
{
	size_t at = job->texts.length;
	uint64_t length;

	if (job->version >= 3) {
		if (!take(&line, &length) || line.length < 1 || length != line.length - 1)
			return gg_import_wrong(job->import,
			                       "the text is not as long as the line states");
		line.at++;
		line.length--;
	}
	gg_buf_append(&job->texts, line.at, line.length);
	gg_buf_append(&job->texts, "", 1);
	return job->texts.failed || !gg_array_push(&job->text_at, at)
	               ? gg_import_no_memory(job->import)
	               : 0;
}

static int read_lines(struct heaptrack_import *job, struct gg_text_line *line,
                      struct gg_profile_line *lines, uint32_t *ret_count)
{
	uint64_t function, file, number;
	uint32_t count = 0;

	while (take(line, &function)) {
		if (count == HEAPTRACK_INLINED_MAX)
			return gg_import_wrong(job->import,
			                       "more than 64 calls are inlined at one instruction");
		lines[count] = (struct gg_profile_line){ 0 };
		if (!get_text(job, function, &lines[count].linkage_name))
			return no_text(job);
		if (take(line, &file)) {
			if (!get_text(job, file, &lines[count].file))
				return no_text(job);
			if (take(line, &number) && number <= INT32_MAX)
				lines[count].line = (uint32_t)number;
		}
		count++;
	}
	*ret_count = count;
	return 0;
}

static int read_instruction(struct heaptrack_import *job, struct gg_text_line line)
{
	struct gg_import *import = job->import;
	struct gg_profile_line lines[HEAPTRACK_INLINED_MAX];
	struct gg_profile_module module = { 0 };
	uint64_t address, module_text = 0;
	uint32_t count = 0, module_id = 0, frame = 0;
	int status;

	if (!take(&line, &address) || !take(&line, &module_text))
		return gg_import_wrong(job->import,
		                       "the instruction pointer has no address or no module");
	if (!get_text(job, module_text, &module.path))
		return no_text(job);
	status = read_lines(job, &line, lines, &count);
	if (status < 0)
		return status;
	if (module.path != NULL)
		status = gg_profile_intern_module(import->profile, &module, &module_id,
		                                  import->error);
	if (status == 0 && count > 0 && lines[0].linkage_name != NULL)
		status = gg_import_frame(import, module_id, 0, lines, count, &frame);
	else if (status == 0) /* the module's load address is unknown */
		status = gg_profile_intern_frame(import->profile, 0, address, &frame,
		                                 import->error);
	return status == 0 && !gg_array_push(&job->frames.ids, frame) ? gg_import_no_memory(import)
	                                                              : status;
}

static int read_stack(struct heaptrack_import *job, struct gg_text_line line)
{
	uint64_t instruction, parent;
	uint32_t frame, stack;
	int status = 0;

	if (!take(&line, &instruction) || !take(&line, &parent))
		return gg_import_wrong(job->import,
		                       "the stack has no instruction pointer or no caller");
	if (!get_id(&job->frames, instruction, &frame) || !get_id(&job->stacks, parent, &stack))
		return gg_import_wrong(job->import,
		                       "the stack refers to a record that the file does not have");
	if (frame != 0) /* otherwise the stack equals its caller */
		status = gg_profile_intern_stack(job->import->profile, stack, frame, &stack,
		                                 job->import->error);
	return status == 0 && !gg_array_push(&job->stacks.ids, stack)
	               ? gg_import_no_memory(job->import)
	               : status;
}

static int read_allocation(struct heaptrack_import *job, struct gg_text_line line)
{
	struct heaptrack_allocation allocation = { 0 };
	uint64_t stack;

	if (!take(&line, &allocation.size) || !take(&line, &stack) ||
	    !get_id(&job->stacks, stack, &allocation.stack))
		return gg_import_wrong(
			job->import,
			"the allocation refers to a stack that the file does not have");
	if (allocation.size > INT64_MAX)
		return gg_import_wrong(job->import, "the size of the allocation is too large");
	return gg_array_push(&job->allocations, allocation) ? 0 : gg_import_no_memory(job->import);
}

static int read_event(struct heaptrack_import *job, struct gg_text_line line, bool is_free)
{
	struct heaptrack_allocation *of;
	uint64_t number;

	if (!take(&line, &number) || number >= job->allocations.count)
		return gg_import_wrong(
			job->import,
			"the event refers to an allocation that the file does not have");
	of = &job->allocations.items[number];
	if (is_free && of->freed == of->count)
		return gg_import_wrong(job->import, "the file frees more blocks than it allocates");
	of->count += !is_free;
	of->freed += is_free;
	job->live += is_free ? -of->size : of->size;
	if (job->live > job->peak) {
		job->peak = job->live;
		job->peak_ms = job->time_ms;
	}
	return 0;
}

static int read_line(struct heaptrack_import *job, struct gg_text_line line)
{
	struct gg_import_result *result = job->import->result;
	char kind = line.at[0];

	line.at++;
	line.length--;
	if (line.length > 0) {
		line.at++;
		line.length--;
	}
	switch (kind) {
	case 's':
		return read_text(job, line);
	case 'i':
		return read_instruction(job, line);
	case 't':
		return read_stack(job, line);
	case 'a':
		return read_allocation(job, line);
	case '+':
	case '-':
		return read_event(job, line, kind == '-');
	case 'c':
		return take(&line, &job->time_ms)
		               ? 0
		               : gg_import_wrong(job->import, "the line has no time");
	case 'X':
		gg_text_line_copy(&line, result->command, sizeof(result->command));
		return 0;
	case 'A':
		return gg_import_note(job->import,
		                      "heaptrack was attached to a running process, so the "
		                      "profile lacks the memory that was allocated before.");
	case 'I':
	case 'R':
	case 'S':
	case '#':
		return 0;
	case 'x':
	case 'm':
		gg_input_wrong(job->import->input, gg_input_offset(job->import->input),
		               job->import->error, "the file has heaptrack's raw data");
		if (job->import->error != NULL)
			snprintf(job->import->error->advice, sizeof(job->import->error->advice),
			         "Interpret it first: heaptrack --interpret FILE.");
		return -EBADMSG;
	default:
		return gg_import_wrong(job->import, "the kind of the line is not known");
	}
}

static int write_rows(struct heaptrack_import *job)
{
	const struct gg_row_weighing how = { GG_ROW_WEIGHING_EXACT, 1, false };
	const struct heaptrack_allocation *of = job->allocations.items;
	int status = 0;

	for (size_t i = 0; i < job->allocations.count && status == 0; i++) {
		double size = (double)of[i].size, live = (double)(of[i].count - of[i].freed);
		struct gg_row_sums live_sum = gg_row_weighing(&how, live, live * size);
		struct gg_row_sums freed = gg_row_weighing(&how, (double)of[i].freed,
		                                           (double)of[i].freed * size);

		if (of[i].count > 0)
			status = gg_import_row(job->import, 0, of[i].stack, &live_sum, &freed);
	}
	return status;
}

static int write_peak(struct heaptrack_import *job)
{
	char peak[GG_SIZE_TEXT_MAX];

	return gg_import_note(job->import, "heaptrack's peak was %s after %.3g s.",
	                      gg_size_format_short((double)job->peak, peak),
	                      (double)job->peak_ms / 1000);
}

static int read_file(struct heaptrack_import *job)
{
	struct gg_import *import = job->import;
	struct gg_text_line line;
	uint64_t ignored;
	int status = gg_input_line(import->input, &line, import->error);

	if (status < 0)
		return status;
	if (status == 0 || !gg_text_line_literal(&line, "v ") || !take(&line, &ignored))
		return gg_import_wrong(job->import, "the first line is not 'v VERSION'");
	if (!take(&line, &job->version))
		job->version = 0;
	if (job->version > 3)
		return gg_import_wrong(
			job->import,
			"the version of the file is newer than 3, the newest that geiger reads");
	while ((status = gg_input_line(import->input, &line, import->error)) > 0) {
		gg_import_progress(import);
		if (line.length > 0)
			status = read_line(job, line);
		if (status < 0)
			return status;
	}
	if (status < 0)
		return status;
	import->result->interval_bytes = 1;
	if (job->time_ms < UINT64_C(1) << 40)
		import->result->duration_ns = (int64_t)job->time_ms * 1000000;
	status = write_rows(job);
	return status < 0 ? status : write_peak(job);
}

static int read_heaptrack(struct gg_import *import)
{
	struct heaptrack_import job = { .import = import };
	int status = read_file(&job);

	gg_buf_done(&job.texts);
	gg_array_done(&job.text_at);
	gg_array_done(&job.frames.ids);
	gg_array_done(&job.stacks.ids);
	gg_array_done(&job.allocations);
	return status;
}

static bool knows_heaptrack(const uint8_t *head, size_t length)
{
	struct gg_text_line line = { (const char *)head, length };
	uint64_t number;

	return gg_text_line_literal(&line, "v ") && gg_text_line_number(&line, 16, &number) &&
	       (gg_text_line_begins(&line, "\n") || gg_text_line_begins(&line, " "));
}

const struct gg_importer gg_importer_heaptrack = {
	.name = "heaptrack",
	.knows = knows_heaptrack,
	.read = read_heaptrack,
};
