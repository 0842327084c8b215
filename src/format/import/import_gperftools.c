/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import_gperftools - text profiles of gperftools and of programs with the same format (Go,
 * debug=1).
 *
 *   heap profile:  14: 5120 [ 21: 9216] @ heap_v2/524288     live [ever]: objects: bytes, the type
 *      3: 1024 [ 4: 1280] @ 0x40e1a2 0x5f6d45                a stack, innermost first
 *   #	0x40e1a1	main.grow+0x21	/src/main.go:7        Go's names of its addresses
 *   MAPPED_LIBRARIES:
 *   ...                                                      /proc/self/maps
 *
 * Types  heapprofile, growth   The profiler counted every allocation.
 *          heap_v2/R, heapz_v2   Numbers are sums of samples, and each row is scaled by itself.
 *          heap/R                Like heap_v2 with the interval R/2, as Go writes it.
 *
 * A file may begin with lines of "%warn TEXT". gperftools truncates a file at 1 MiB; the totals in
 * its head then exceed the sums of its rows.
 */
#include <errno.h>
#include <stdlib.h>

#include "format/codec/line_parser.h"
#include "format/import/address_stacks.h"

struct row {
	uint64_t live, live_bytes, ever, ever_bytes;
	uint32_t node;
};

struct reading {
	struct gg_import *import;
	struct gg_address_stacks stacks;
	GG_ARRAY(struct row) rows;
	struct gg_row_weighing how;
	struct row head, sum; /* totals of the head, and sums of the rows */
};

static bool take_number(struct gg_text_line *text, uint64_t *ret_value)
{
	gg_text_line_skip_blanks(text);
	return gg_text_line_decimal(text, ret_value);
}

/* Reads counts such as "3: 1024 [ 4: 1280] @". */
static bool take_counts(struct gg_text_line *line, struct row *row)
{
	struct gg_text_line text = *line;

	if (!take_number(&text, &row->live) || !gg_text_line_literal(&text, ":") ||
	    !take_number(&text, &row->live_bytes))
		return false;
	gg_text_line_skip_blanks(&text);
	if (!gg_text_line_literal(&text, "[") || !take_number(&text, &row->ever) ||
	    !gg_text_line_literal(&text, ":") || !take_number(&text, &row->ever_bytes) ||
	    !gg_text_line_literal(&text, "]"))
		return false;
	gg_text_line_skip_blanks(&text);
	if (!gg_text_line_literal(&text, "@"))
		return false;
	gg_text_line_skip_blanks(&text);
	*line = text;
	return true;
}

static int read_first_line(struct reading *reading, struct gg_text_line *line)
{
	uint64_t interval = 0;
	bool is_halved = false;

	if (!gg_text_line_literal(line, "heap profile:") || !take_counts(line, &reading->head))
		return gg_import_wrong(reading->import,
		                       "'heap profile: N: BYTES [N: BYTES] @ TYPE' was expected");
	if (gg_text_line_begins(line, "heapprofile") || gg_text_line_begins(line, "growth")) {
		reading->how = (struct gg_row_weighing){ GG_ROW_WEIGHING_EXACT, 1, false };
		return 0;
	}
	if (!gg_text_line_literal(line, "heap_v2") && !gg_text_line_literal(line, "heapz_v2")) {
		is_halved = gg_text_line_literal(line, "heap");
		if (!is_halved)
			return gg_import_wrong(reading->import,
			                       "a type of heap profile that is not known");
	}
	if (!gg_text_line_literal(line, "/") || !gg_text_line_decimal(line, &interval) ||
	    (is_halved ? interval / 2 : interval) == 0)
		return gg_import_wrong(reading->import, "the type has no sampling interval");
	interval = is_halved ? interval / 2 : interval;
	/* Each record of Go has allocations of one size. */
	reading->how = (struct gg_row_weighing){ interval == 1 ? GG_ROW_WEIGHING_EXACT
		                                               : GG_ROW_WEIGHING_SAMPLED,
		                                 (double)interval, !is_halved };
	return 0;
}

static int add_row(struct reading *reading, const struct row *row)
{
	if (!gg_array_push(&reading->rows, *row))
		return gg_import_no_memory(reading->import);
	reading->sum.live += row->live;
	reading->sum.live_bytes += row->live_bytes;
	reading->sum.ever += row->ever;
	reading->sum.ever_bytes += row->ever_bytes;
	return 0;
}

static int read_row(struct reading *reading, struct gg_text_line line)
{
	struct row row;
	int code;

	if (!take_counts(&line, &row))
		return gg_import_wrong(reading->import,
		                       "'N: BYTES [N: BYTES] @ ADDRESS...' was expected");
	code = gg_address_stacks_read(&reading->stacks, reading->import, &line, &row.node);
	return code < 0 ? code : add_row(reading, &row);
}

static int read_rows(struct reading *reading)
{
	struct gg_text_line line;
	bool has_libraries = false, has_remarks = false;
	int code;

	while ((code = gg_input_line(reading->import->input, &line, reading->import->error)) > 0) {
		gg_import_progress(reading->import);
		if (line.length == 0)
			continue;
		if (line.at[0] == '#') {
			has_remarks = true; /* names and statistics from Go */
			code = gg_address_stacks_name(&reading->stacks, reading->import, line);
			if (code < 0)
				return code;
			continue;
		}
		if (gg_text_line_begins(&line, "MAPPED_LIBRARIES:")) {
			has_libraries = true;
			break;
		}
		code = read_row(reading, line);
		if (code < 0)
			return code;
	}
	if (code == 0 && !has_libraries && !has_remarks)
		return gg_import_wrong(
			reading->import,
			"the file ends before its MAPPED_LIBRARIES: it is truncated");
	while (code > 0) {
		code = gg_input_line(reading->import->input, &line, reading->import->error);
		if (code > 0)
			gg_mapping_list_add(&reading->stacks.maps, &line);
	}
	return code;
}

/* Notes which allocations the numbers of the file leave out. */
static int note_counts(const struct reading *reading)
{
	const struct row *head = &reading->head, *sum = &reading->sum;
	struct gg_import *import = reading->import;
	bool has_freed = sum->ever != sum->live || sum->ever_bytes != sum->live_bytes;
	int code = 0;

	if (head->live != sum->live || head->live_bytes != sum->live_bytes ||
	    head->ever != sum->ever || head->ever_bytes != sum->ever_bytes)
		code = gg_import_note(
			import,
			"The file's first line has %llu: %llu [%llu: %llu], but its rows add up to "
			"%llu: %llu [%llu: %llu], which counts here: it was cut, perhaps.",
			(unsigned long long)head->live, (unsigned long long)head->live_bytes,
			(unsigned long long)head->ever, (unsigned long long)head->ever_bytes,
			(unsigned long long)sum->live, (unsigned long long)sum->live_bytes,
			(unsigned long long)sum->ever, (unsigned long long)sum->ever_bytes);
	if (code == 0 && !has_freed && head->ever == head->live &&
	    head->ever_bytes == head->live_bytes)
		code = gg_import_note(
			import, "Allocated memory equals live memory: the file has no other.");
	return code;
}

static int write_rows(struct reading *reading)
{
	struct gg_import *import = reading->import;
	int code = gg_address_stacks_settle(&reading->stacks, import);

	for (size_t i = 0; i < reading->rows.count && code == 0; i++) {
		const struct row *row = &reading->rows.items[i];
		struct gg_row_sums live = gg_row_weighing(&reading->how, (double)row->live,
		                                          (double)row->live_bytes);
		struct gg_row_sums ever = gg_row_weighing(&reading->how, (double)row->ever,
		                                          (double)row->ever_bytes);
		struct gg_row_sums freed = gg_row_sums_rest(&ever, &live);

		code = gg_import_row(
			import, 0, row->node > 0 ? reading->stacks.nodes.items[row->node].stack : 0,
			&live, &freed);
	}
	if (code == 0)
		code = note_counts(reading);
	if (code == 0 && reading->how.kind == GG_ROW_WEIGHING_SAMPLED && reading->how.is_mixed)
		code = gg_import_note(
			import, "A row of the file may sum up different sizes: intervals of bytes "
				"hold for any mixture, those of counts as if a row had one "
				"size.");
	return code < 0 ? code : gg_address_stacks_note(&reading->stacks, import);
}

static int read_file(struct reading *reading)
{
	struct gg_import *import = reading->import;
	struct gg_text_line line = { "", 0 };
	int code = gg_input_line(import->input, &line, import->error);

	for (; code > 0 && gg_text_line_literal(&line, "%warn");
	     code = gg_input_line(import->input, &line, import->error)) {
		gg_text_line_skip_blanks(&line);
		if (line.length == 0)
			continue;
		code = gg_import_note(import, "The file warns: %.*s",
		                      (int)(line.length < 900 ? line.length : 900), line.at);
		if (code < 0)
			return code;
	}
	if (code >= 0)
		code = read_first_line(reading, &line);
	if (code == 0)
		code = read_rows(reading);
	if (code < 0)
		return code;
	import->result->interval_bytes = reading->how.interval_bytes;
	return write_rows(reading);
}

static int read_gperftools(struct gg_import *import)
{
	struct reading reading = { .import = import };
	int code = read_file(&reading);

	gg_array_done(&reading.rows);
	gg_address_stacks_done(&reading.stacks);
	return code;
}

static bool knows_gperftools(const uint8_t *head, size_t length)
{
	struct gg_text_line text = { (const char *)head, length };

	while (gg_text_line_begins(&text, "%warn")) {
		const char *end = memchr(text.at, '\n', text.length);

		if (end == NULL)
			return false;
		text.length -= (size_t)(end + 1 - text.at);
		text.at = end + 1;
	}
	return gg_text_line_begins(&text, "heap profile:");
}

const struct gg_importer gg_importer_gperftools = {
	.name = "gperftools heap profile",
	.knows = knows_gperftools,
	.read = read_gperftools,
};
