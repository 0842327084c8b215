/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import_heaptrack - the output of heaptrack's interpreter, version 3 and earlier.
 *
 * Every number is hexadecimal.
 *
 *   v 10400 3                        version of heaptrack, of the file
 *   X ./program args                 command
 *   s 5 hello                        a text, with its length from version 3 on; they count from 1
 *   i 40e1a2 1 2 3 4 5 6 7           a place: address, module; function, file, line of each call
 *   t 1 0                            a stack: a place, called by a stack; 0: none
 *   a 40 1                           a size and a stack; they count from 0
 *   + 0, - 0                         an allocation of that size and stack; one was freed
 *   c 1f4                            so many ms have passed
 *
 * The file has every allocation, so its numbers are exact.  The importer keeps the live memory at
 * the end and the sum of all allocations, but no times.  A note tells the peak.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/size.h"
#include "format/codec/line_parser.h"
#include "format/import/import.h"

enum { LINES_MAX = 64 };

/* A size at a stack, and how often it was allocated and freed. */
struct allocation {
	uint64_t size, count, freed;
	uint32_t stack;
};

struct reading {
	struct gg_import *import;
	struct gg_buf texts;       /* texts one after the other, each with its end */
	struct gg_buf text_at;     /* size_t: offset of each text */
	struct gg_buf frames;      /* uint32_t: frame id of each place */
	struct gg_buf stacks;      /* uint32_t: stack id of each stack */
	struct gg_buf allocations; /* struct allocation */
	uint64_t version, time_ms, live, peak, peak_ms;
};

/* Reads the next number of the line; returns false at its end, or if the next word is no number. */
static bool take(struct gg_text_line *line, uint64_t *ret_value)
{
	gg_text_line_skip_blanks(line);
	return gg_text_line_number(line, 16, ret_value);
}

static size_t count_of(const struct gg_buf *buf, size_t item_bytes)
{
	return buf->length / item_bytes;
}

/*
 * Reads item `number` of a list that counts from 1.  Returns 0 for number 0, and for numbers past
 * the end of the list.
 */
static bool get_number(const struct gg_buf *list, uint64_t number, uint32_t *ret_value)
{
	*ret_value = 0;
	if (number > count_of(list, sizeof(uint32_t)))
		return false;
	if (number > 0)
		*ret_value = ((const uint32_t *)(const void *)list->data)[number - 1];
	return true;
}

static bool get_text(const struct reading *reading, uint64_t number, const char **ret_text)
{
	*ret_text = NULL;
	if (number > count_of(&reading->text_at, sizeof(size_t)))
		return false;
	if (number > 0)
		*ret_text = reading->texts.data +
		            ((const size_t *)(const void *)reading->text_at.data)[number - 1];
	return true;
}

static int read_text(struct reading *reading, struct gg_text_line line)
{
	size_t at = reading->texts.length;
	uint64_t length;

	if (reading->version >= 3) {
		if (!take(&line, &length) || line.length < 1 || length != line.length - 1)
			return gg_import_wrong(reading->import,
			                       "a text that is not as long as it says");
		line.at++;
		line.length--;
	}
	gg_buf_append(&reading->text_at, &at, sizeof(at));
	gg_buf_append(&reading->texts, line.at, line.length);
	gg_buf_append(&reading->texts, "", 1);
	return reading->texts.failed || reading->text_at.failed
	               ? gg_import_no_memory(reading->import)
	               : 0;
}

static int read_lines(struct reading *reading, struct gg_text_line *line,
                      struct gg_profile_line *lines, uint32_t *ret_count)
{
	uint64_t function, file, number;
	uint32_t count = 0;

	while (take(line, &function)) {
		if (count == LINES_MAX)
			return gg_import_wrong(reading->import,
			                       "more than 64 inlined calls at one place");
		lines[count] = (struct gg_profile_line){ 0 };
		if (!get_text(reading, function, &lines[count].linkage_name))
			return gg_import_wrong(reading->import, "a text that is not there");
		if (take(line, &file)) {
			if (!get_text(reading, file, &lines[count].file))
				return gg_import_wrong(reading->import, "a text that is not there");
			if (take(line, &number) && number <= INT32_MAX)
				lines[count].line = (uint32_t)number;
		}
		count++;
	}
	*ret_count = count;
	return 0;
}

static int read_place(struct reading *reading, struct gg_text_line line)
{
	struct gg_import *import = reading->import;
	struct gg_profile_line lines[LINES_MAX];
	struct gg_profile_module module = { 0 };
	uint64_t address, module_text = 0;
	uint32_t count = 0, module_id = 0, frame = 0;
	int code;

	if (!take(&line, &address) || !take(&line, &module_text))
		return gg_import_wrong(reading->import, "a place without address and module");
	if (!get_text(reading, module_text, &module.path))
		return gg_import_wrong(reading->import, "a text that is not there");
	code = read_lines(reading, &line, lines, &count);
	if (code < 0)
		return code;
	if (module.path != NULL)
		code = gg_profile_intern_module(import->profile, &module, &module_id,
		                                import->error);
	if (code == 0 && count > 0 && lines[0].linkage_name != NULL)
		code = gg_import_frame(import, module_id, 0, lines, count, &frame);
	else if (code == 0) /* the module's load address is unknown */
		code = gg_profile_intern_frame(import->profile, 0, address, &frame, import->error);
	gg_buf_append(&reading->frames, &frame, sizeof(frame));
	return code == 0 && reading->frames.failed ? gg_import_no_memory(import) : code;
}

static int read_stack(struct reading *reading, struct gg_text_line line)
{
	uint64_t place, parent;
	uint32_t frame, stack;
	int code = 0;

	if (!take(&line, &place) || !take(&line, &parent))
		return gg_import_wrong(reading->import, "a stack without place and caller");
	if (!get_number(&reading->frames, place, &frame) ||
	    !get_number(&reading->stacks, parent, &stack))
		return gg_import_wrong(reading->import,
		                       "a stack of a place or a caller that is not there");
	if (frame != 0) /* a stack without a place equals its caller */
		code = gg_profile_intern_stack(reading->import->profile, stack, frame, &stack,
		                               reading->import->error);
	gg_buf_append(&reading->stacks, &stack, sizeof(stack));
	return code == 0 && reading->stacks.failed ? gg_import_no_memory(reading->import) : code;
}

static int read_allocation(struct reading *reading, struct gg_text_line line)
{
	struct allocation allocation = { 0 };
	uint64_t stack;

	if (!take(&line, &allocation.size) || !take(&line, &stack) ||
	    !get_number(&reading->stacks, stack, &allocation.stack))
		return gg_import_wrong(reading->import,
		                       "an allocation of a stack that is not there");
	if (allocation.size > INT64_MAX)
		return gg_import_wrong(reading->import, "an allocation that is too large");
	gg_buf_append(&reading->allocations, &allocation, sizeof(allocation));
	return reading->allocations.failed ? gg_import_no_memory(reading->import) : 0;
}

static int read_event(struct reading *reading, struct gg_text_line line, bool is_free)
{
	struct allocation *allocations = (struct allocation *)(void *)reading->allocations.data;
	struct allocation *of;
	uint64_t number;

	if (!take(&line, &number) ||
	    number >= count_of(&reading->allocations, sizeof(struct allocation)))
		return gg_import_wrong(reading->import,
		                       "an event of an allocation that is not there");
	of = &allocations[number];
	if (is_free && of->freed == of->count)
		return gg_import_wrong(reading->import, "more was freed than allocated");
	of->count += !is_free;
	of->freed += is_free;
	reading->live += is_free ? -of->size : of->size;
	if (reading->live > reading->peak) {
		reading->peak = reading->live;
		reading->peak_ms = reading->time_ms;
	}
	return 0;
}

static int read_line(struct reading *reading, struct gg_text_line line)
{
	struct gg_import_result *result = reading->import->result;
	char kind = line.at[0];

	line.at++;
	line.length--;
	if (line.length > 0) {
		line.at++;
		line.length--;
	}
	switch (kind) {
	case 's':
		return read_text(reading, line);
	case 'i':
		return read_place(reading, line);
	case 't':
		return read_stack(reading, line);
	case 'a':
		return read_allocation(reading, line);
	case '+':
	case '-':
		return read_event(reading, line, kind == '-');
	case 'c':
		return take(&line, &reading->time_ms)
		               ? 0
		               : gg_import_wrong(reading->import, "a time was expected");
	case 'X':
		snprintf(result->command, sizeof(result->command), "%.*s",
		         (int)(line.length < 255 ? line.length : 255), line.at);
		return 0;
	case 'A':
		return gg_import_note(reading->import, "heaptrack was attached to a process that "
		                                       "ran: what was allocated before is not "
		                                       "there.");
	case 'I':
	case 'R':
	case 'S':
	case '#':
		return 0;
	case 'x':
	case 'm':
		gg_input_wrong(reading->import->input, gg_input_offset(reading->import->input),
		               reading->import->error, "heaptrack's raw data");
		if (reading->import->error != NULL)
			snprintf(reading->import->error->advice,
			         sizeof(reading->import->error->advice),
			         "Interpret it first: heaptrack --interpret FILE.");
		return -EBADMSG;
	default:
		return gg_import_wrong(reading->import, "a line of a kind that is not known");
	}
}

static int write_rows(struct reading *reading)
{
	const struct gg_row_weighing how = { GG_ROW_WEIGHING_EXACT, 1, false };
	const struct allocation *of = (const struct allocation *)(const void *)
	                                      reading->allocations.data;
	size_t count = count_of(&reading->allocations, sizeof(*of));
	int code = 0;

	for (size_t i = 0; i < count && code == 0; i++) {
		double size = (double)of[i].size, live = (double)(of[i].count - of[i].freed);
		struct gg_row_sums held = gg_row_weighing(&how, live, live * size);
		struct gg_row_sums freed = gg_row_weighing(&how, (double)of[i].freed,
		                                           (double)of[i].freed * size);

		if (of[i].count > 0)
			code = gg_import_row(reading->import, 0, of[i].stack, &held, &freed);
	}
	return code;
}

static int write_peak(struct reading *reading)
{
	char peak[GG_SIZE_TEXT_MAX];

	return gg_import_note(reading->import, "heaptrack's peak was %s after %.3g s.",
	                      gg_size_format_short((double)reading->peak, peak),
	                      (double)reading->peak_ms / 1000);
}

static int read_file(struct reading *reading)
{
	struct gg_import *import = reading->import;
	struct gg_text_line line;
	uint64_t ignored;
	int code = gg_input_line(import->input, &line, import->error);

	if (code < 0)
		return code;
	if (code == 0 || !gg_text_line_literal(&line, "v ") || !take(&line, &ignored))
		return gg_import_wrong(reading->import, "'v VERSION' was expected");
	if (!take(&line, &reading->version))
		reading->version = 0;
	if (reading->version > 3)
		return gg_import_wrong(reading->import,
		                       "a version of heaptrack's files that is newer than 3");
	while ((code = gg_input_line(import->input, &line, import->error)) > 0) {
		gg_import_progress(import);
		if (line.length > 0)
			code = read_line(reading, line);
		if (code < 0)
			return code;
	}
	if (code < 0)
		return code;
	import->result->interval_bytes = 1;
	if (reading->time_ms < UINT64_C(1) << 40)
		import->result->duration_ns = (int64_t)reading->time_ms * 1000000;
	code = write_rows(reading);
	return code < 0 ? code : write_peak(reading);
}

static int read_heaptrack(struct gg_import *import)
{
	struct reading reading = { .import = import };
	int code = read_file(&reading);

	gg_buf_done(&reading.texts);
	gg_buf_done(&reading.text_at);
	gg_buf_done(&reading.frames);
	gg_buf_done(&reading.stacks);
	gg_buf_done(&reading.allocations);
	return code;
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
