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

struct gperftools_row {
	uint64_t live, live_bytes, ever, ever_bytes;
	uint32_t node;
};

struct gperftools_import {
	struct gg_import *import;
	struct gg_address_stacks stacks;
	GG_ARRAY(struct gperftools_row) rows;
	struct gg_row_weighing how;
	struct gperftools_row head, sum; /* totals of the head, and sums of the rows */
};

static bool take_number(struct gg_text_line *text, uint64_t *ret_value)
{
	gg_text_line_skip_blanks(text);
	return gg_text_line_decimal(text, ret_value);
}

/* Reads counts such as "3: 1024 [ 4: 1280] @". */
static bool take_counts(struct gg_text_line *line, struct gperftools_row *row)
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

static int read_first_line(struct gperftools_import *job, struct gg_text_line *line)
{
	uint64_t interval = 0;
	bool is_halved = false;

	if (!gg_text_line_literal(line, "heap profile:") || !take_counts(line, &job->head))
		return gg_import_wrong(
			job->import,
			"the first line is not 'heap profile: N: BYTES [N: BYTES] @ TYPE'");
	if (gg_text_line_begins(line, "heapprofile") || gg_text_line_begins(line, "growth")) {
		job->how = (struct gg_row_weighing){ GG_ROW_WEIGHING_EXACT, 1, false };
		return 0;
	}
	if (!gg_text_line_literal(line, "heap_v2") && !gg_text_line_literal(line, "heapz_v2")) {
		is_halved = gg_text_line_literal(line, "heap");
		if (!is_halved)
			return gg_import_wrong(job->import,
			                       "the type of heap profile is not known");
	}
	if (!gg_text_line_literal(line, "/") || !gg_text_line_decimal(line, &interval) ||
	    (is_halved ? interval / 2 : interval) == 0)
		return gg_import_wrong(
			job->import,
			"the type has no sampling interval after it, as in heap_v2/524288");
	interval = is_halved ? interval / 2 : interval;
	/* Each record of Go has allocations of one size. */
	job->how = (struct gg_row_weighing){ interval == 1 ? GG_ROW_WEIGHING_EXACT
		                                           : GG_ROW_WEIGHING_SAMPLED,
		                             (double)interval, !is_halved };
	return 0;
}

static int add_row(struct gperftools_import *job, const struct gperftools_row *row)
{
	if (!gg_array_push(&job->rows, *row))
		return gg_import_no_memory(job->import);
	job->sum.live += row->live;
	job->sum.live_bytes += row->live_bytes;
	job->sum.ever += row->ever;
	job->sum.ever_bytes += row->ever_bytes;
	return 0;
}

static int read_row(struct gperftools_import *job, struct gg_text_line line)
{
	struct gperftools_row row;
	int status;

	if (!take_counts(&line, &row))
		return gg_import_wrong(job->import,
		                       "the line is no row 'N: BYTES [N: BYTES] @ ADDRESS...'");
	status = gg_address_stacks_read(&job->stacks, job->import, &line, &row.node);
	return status < 0 ? status : add_row(job, &row);
}

static int read_rows(struct gperftools_import *job)
{
	struct gg_text_line line;
	bool has_libraries = false, has_remarks = false;
	int status;

	while ((status = gg_input_line(job->import->input, &line, job->import->error)) > 0) {
		gg_import_progress(job->import);
		if (line.length == 0)
			continue;
		if (line.at[0] == '#') {
			has_remarks = true; /* names and statistics from Go */
			status = gg_address_stacks_name(&job->stacks, job->import, line);
			if (status < 0)
				return status;
			continue;
		}
		if (gg_text_line_begins(&line, "MAPPED_LIBRARIES:")) {
			has_libraries = true;
			break;
		}
		status = read_row(job, line);
		if (status < 0)
			return status;
	}
	if (status == 0 && !has_libraries && !has_remarks)
		return gg_import_wrong(
			job->import,
			"the file ends before its section MAPPED_LIBRARIES: it is truncated");
	return status > 0 ? gg_address_stacks_read_maps(&job->stacks, job->import) : status;
}

/* Notes which allocations the numbers of the file leave out. */
static int note_counts(const struct gperftools_import *job)
{
	const struct gperftools_row *head = &job->head, *sum = &job->sum;
	struct gg_import *import = job->import;
	bool has_freed = sum->ever != sum->live || sum->ever_bytes != sum->live_bytes;
	int status = 0;

	if (head->live != sum->live || head->live_bytes != sum->live_bytes ||
	    head->ever != sum->ever || head->ever_bytes != sum->ever_bytes)
		status = gg_import_note(
			import,
			"The file's first line has %llu: %llu [%llu: %llu], but its rows add up to "
			"%llu: %llu [%llu: %llu]. The profile has the rows; the file may be "
			"truncated.",
			(unsigned long long)head->live, (unsigned long long)head->live_bytes,
			(unsigned long long)head->ever, (unsigned long long)head->ever_bytes,
			(unsigned long long)sum->live, (unsigned long long)sum->live_bytes,
			(unsigned long long)sum->ever, (unsigned long long)sum->ever_bytes);
	if (status == 0 && !has_freed && head->ever == head->live &&
	    head->ever_bytes == head->live_bytes)
		status = gg_import_note(
			import, "Allocated memory equals live memory: the file has no other.");
	return status;
}

static int write_rows(struct gperftools_import *job)
{
	struct gg_import *import = job->import;
	int status = gg_address_stacks_intern(&job->stacks, import);

	for (size_t i = 0; i < job->rows.count && status == 0; i++) {
		const struct gperftools_row *row = &job->rows.items[i];
		struct gg_row_sums live = gg_row_weighing(&job->how, (double)row->live,
		                                          (double)row->live_bytes);
		struct gg_row_sums ever = gg_row_weighing(&job->how, (double)row->ever,
		                                          (double)row->ever_bytes);
		struct gg_row_sums freed = gg_row_sums_rest(&ever, &live);

		status = gg_import_row(import, 0, gg_address_stacks_stack(&job->stacks, row->node),
		                       &live, &freed);
	}
	if (status == 0)
		status = note_counts(job);
	if (status == 0 && job->how.kind == GG_ROW_WEIGHING_SAMPLED && job->how.is_mixed)
		status = gg_import_note(
			import,
			"A row of the file may sum up different sizes. Confidence intervals of "
			"bytes hold for any mixture; those of counts assume one size for each "
			"row.");
	return status < 0 ? status : gg_address_stacks_note(&job->stacks, import);
}

static int read_file(struct gperftools_import *job)
{
	struct gg_import *import = job->import;
	struct gg_text_line line = { "", 0 };
	int status = gg_input_line(import->input, &line, import->error);

	for (; status > 0 && gg_text_line_literal(&line, "%warn");
	     status = gg_input_line(import->input, &line, import->error)) {
		gg_text_line_skip_blanks(&line);
		if (line.length == 0)
			continue;
		status = gg_import_note(import, "The file warns: %.*s",
		                        (int)(line.length < 900 ? line.length : 900), line.at);
		if (status < 0)
			return status;
	}
	if (status >= 0)
		status = read_first_line(job, &line);
	if (status == 0)
		status = read_rows(job);
	if (status < 0)
		return status;
	import->result->interval_bytes = job->how.interval_bytes;
	return write_rows(job);
}

static int read_gperftools(struct gg_import *import)
{
	struct gperftools_import job = { .import = import };
	int status = read_file(&job);

	gg_array_done(&job.rows);
	gg_address_stacks_done(&job.stacks);
	return status;
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
