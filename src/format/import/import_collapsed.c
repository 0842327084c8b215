/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import_collapsed - collapsed stacks, the input of flame graphs: "main;parse;grow 65536".
 *
 * The number after the last blank counts bytes.  They are live bytes, or allocated bytes if the
 * user selects that.  The file does not say how the numbers were measured, so they have no error.
 * It has no numbers of allocations.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "format/codec/line_parser.h"
#include "format/import/import.h"

/* Removes the number from the end of the line; accepts decimals but no sign. */
static bool take_value(struct gg_text_line *line, double *ret_value)
{
	size_t start = line->length;
	char text[64], *end;

	while (start > 0 && line->at[start - 1] != ' ' && line->at[start - 1] != '\t')
		start--;
	if (start == 0 || start == line->length || line->length - start >= sizeof(text) ||
	    gg_text_line_digit(line->at[start]) > 9)
		return false;
	memcpy(text, line->at + start, line->length - start);
	text[line->length - start] = '\0';
	*ret_value = strtod(text, &end);
	line->length = start - 1;
	return *end == '\0' && *ret_value < 0x1p63;
}

static int read_stack(struct gg_import *import, struct gg_text_line line, uint32_t *ret_stack)
{
	uint32_t stack = 0, frame;
	int status = 0;

	while (status == 0 && line.length > 0) {
		const char *end = memchr(line.at, ';', line.length);
		size_t length = end != NULL ? (size_t)(end - line.at) : line.length;

		if (length > 0)
			status = gg_import_name(import, line.at, length, &frame);
		if (status == 0 && length > 0)
			status = gg_profile_intern_stack(import->profile, stack, frame, &stack,
			                                 import->error);
		length += end != NULL;
		line.at += length;
		line.length -= length;
	}
	*ret_stack = stack;
	return status;
}

static int read_collapsed(struct gg_import *import)
{
	const struct gg_row_weighing how = { GG_ROW_WEIGHING_UNKNOWN, 0, true };
	struct gg_text_line line;
	int status;

	while ((status = gg_input_line(import->input, &line, import->error)) > 0) {
		struct gg_row_sums weighed, none = { 0 };
		uint32_t stack;
		double value;

		gg_import_progress(import);
		if (line.length == 0 || line.at[0] == '#')
			continue;
		if (!take_value(&line, &value))
			return gg_import_wrong(import,
			                       "the line does not end with a blank and a number");
		weighed = gg_row_weighing(&how, 0, value);
		status = read_stack(import, line, &stack);
		if (status == 0)
			status = import->options->is_allocated
			                 ? gg_import_row(import, 0, stack, &none, &weighed)
			                 : gg_import_row(import, 0, stack, &weighed, &none);
		if (status < 0)
			return status;
	}
	if (status < 0)
		return status;
	return gg_import_note(
		import, "Collapsed stacks do not state how they were measured. So there are no "
			"confidence intervals, and no numbers of allocations.");
}

/* True if all complete lines of the head have a stack and a number. */
static bool knows_collapsed(const uint8_t *head, size_t length)
{
	struct gg_text_line rest = { (const char *)head, length };
	bool is_any = false;

	while (rest.length > 0) {
		const char *end = memchr(rest.at, '\n', rest.length);
		struct gg_text_line line = { rest.at,
			                     end != NULL ? (size_t)(end - rest.at) : rest.length };
		double value;

		if (end == NULL && is_any)
			break; /* may be truncated */
		rest.at += line.length + (end != NULL);
		rest.length -= line.length + (end != NULL);
		if (line.length > 0 && line.at[line.length - 1] == '\r')
			line.length--;
		if (line.length == 0 || line.at[0] == '#')
			continue;
		if (memchr(line.at, '\0', line.length) != NULL || !take_value(&line, &value))
			return is_any; /* reading reports errors in later lines */
		is_any = true;
	}
	return is_any;
}

const struct gg_importer gg_importer_collapsed = {
	.name = "collapsed stacks",
	.knows = knows_collapsed,
	.read = read_collapsed,
};
