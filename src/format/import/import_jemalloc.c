/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import_jemalloc - jemalloc's heap_v2 format.
 *
 *   heap_v2/524288                       the mean sampling interval
 *     t*: 28106: 56637512 [0: 0]         all threads: objects, bytes, [ever: objects, bytes]
 *     t3: 352: 16777344 [0: 0] worker    ... and each
 *   @ 0x5f6d45 0x40e1a2 ...              a stack, innermost first
 *     t*: 13: 6688 [0: 0]
 *     t3: 12: 6496 [0: 0]
 *   MAPPED_LIBRARIES:
 *   ...                                  /proc/self/maps
 *
 * Scaling.  The importer scales each row by itself, as jeprof does: it divides by 1 -
 * exp(-(bytes/objects)/R).  Since version 5.2.1, jemalloc scales each sample itself, and prints
 * numbers from which this division recovers its result.  Earlier versions, and
 * opt.prof_unbias:false, print plain sums of samples.  Scaling these is biased for stacks with
 * mixed sizes.  Two properties reveal such a file: the sums of its rows equal the totals of its
 * head, and all byte numbers are multiples of 8, like size classes.  Numbers that jemalloc prepared
 * have neither property.
 *
 * Threads.  The importer scales the rows of threads separately, so they need not add up to t*,
 * which tools show.  If a stack has several threads, the importer divides t* among them in
 * proportion.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "format/codec/line_parser.h"
#include "format/import/address_stacks.h"

struct counts {
	uint64_t live, live_bytes, ever, ever_bytes;
};

struct row {
	uint32_t node;
	uint32_t thread; /* number in the file + 1; 0: all threads */
	struct counts counts;
};

struct name {
	uint64_t thread;
	char *text;
};

struct reading {
	struct gg_import *import;
	struct gg_address_stacks stacks;
	GG_ARRAY(struct row) rows;
	GG_ARRAY(struct name) names;
	struct counts head, sum; /* totals of the head, and sums of rows t* */
	double interval;
	bool has_head, has_odd, has_mixed, has_ever;
};

/* Reads counts such as "t*: 13: 6688 [0: 0]", or a name in the head. thread: number + 1; 0: t*. */
static bool take_counts(struct gg_text_line *line, uint64_t *ret_thread, struct counts *ret_counts)
{
	struct gg_text_line text = *line;

	gg_text_line_skip_blanks(&text);
	if (!gg_text_line_literal(&text, "t"))
		return false;
	*ret_thread = 0;
	if (!gg_text_line_literal(&text, "*")) {
		if (!gg_text_line_decimal(&text, ret_thread) || *ret_thread >= UINT32_MAX)
			return false;
		++*ret_thread;
	}
	if (!gg_text_line_literal(&text, ": ") || !gg_text_line_decimal(&text, &ret_counts->live) ||
	    !gg_text_line_literal(&text, ": ") ||
	    !gg_text_line_decimal(&text, &ret_counts->live_bytes) ||
	    !gg_text_line_literal(&text, " [") || !gg_text_line_decimal(&text, &ret_counts->ever) ||
	    !gg_text_line_literal(&text, ": ") ||
	    !gg_text_line_decimal(&text, &ret_counts->ever_bytes) ||
	    !gg_text_line_literal(&text, "]"))
		return false;
	gg_text_line_skip_blanks(&text);
	*line = text;
	return true;
}

static int add_name(struct reading *reading, uint64_t thread, const struct gg_text_line *text)
{
	struct name name = { .thread = thread };

	if (text->length == 0)
		return 0;
	name.text = strndup(text->at, text->length < 255 ? text->length : 255);
	if (name.text == NULL || !gg_array_push(&reading->names, name)) {
		free(name.text);
		return gg_import_no_memory(reading->import);
	}
	return 0;
}

static int add_row(struct reading *reading, uint32_t node, uint32_t thread,
                   const struct counts *counts)
{
	if (!gg_array_push(&reading->rows, (struct row){ node, thread, *counts }))
		return gg_import_no_memory(reading->import);
	return 0;
}

/* Collects evidence on whether the numbers are plain sums or are prepared for scaling. */
static void look_at(struct reading *reading, const struct counts *counts)
{
	reading->sum.live += counts->live;
	reading->sum.live_bytes += counts->live_bytes;
	reading->has_odd |= counts->live_bytes % 8 != 0 || counts->ever_bytes % 8 != 0;
	reading->has_mixed |= counts->live > 1 && counts->live_bytes % counts->live != 0;
	reading->has_ever |= counts->ever > 0 || counts->ever_bytes > 0;
}

static int read_stack(struct reading *reading, struct gg_text_line *line, uint32_t *ret_node)
{
	gg_text_line_literal(line, "@");
	return gg_address_stacks_read(&reading->stacks, reading->import, line, ret_node);
}

static int read_first_line(struct reading *reading, struct gg_text_line *line)
{
	uint64_t interval;

	if (!gg_text_line_literal(line, "heap_v2/") || !gg_text_line_decimal(line, &interval) ||
	    line->length != 0 || interval == 0)
		return gg_import_wrong(reading->import,
		                       "heap_v2/ and a sampling interval were expected");
	reading->interval = (double)interval;
	return 0;
}

static int read_counts(struct reading *reading, struct gg_text_line *line, bool in_stack,
                       uint32_t node)
{
	struct counts counts;
	uint64_t thread;

	if (!take_counts(line, &thread, &counts))
		return gg_import_wrong(reading->import,
		                       "t*: OBJECTS: BYTES [OBJECTS: BYTES] was expected");
	if (!in_stack) {
		reading->has_head |= thread == 0;
		if (thread == 0)
			reading->head = counts;
		return thread > 0 ? add_name(reading, thread, line) : 0;
	}
	if (thread == 0)
		look_at(reading, &counts);
	return add_row(reading, node, (uint32_t)thread, &counts);
}

static int read_rows(struct reading *reading)
{
	struct gg_text_line line;
	bool in_stack = false, has_libraries = false;
	uint32_t node = 0;
	int code = 1;

	while (code >= 0 && !has_libraries) {
		code = gg_input_line(reading->import->input, &line, reading->import->error);
		if (code <= 0)
			break;
		gg_import_progress(reading->import);
		if (line.length == 0)
			continue;
		has_libraries = gg_text_line_begins(&line, "MAPPED_LIBRARIES:");
		if (line.at[0] == '@') {
			code = read_stack(reading, &line, &node);
			in_stack = true;
		} else if (!has_libraries) {
			code = read_counts(reading, &line, in_stack, node);
		}
	}
	if (code == 0 && !has_libraries)
		return gg_import_wrong(
			reading->import,
			"the file ends before its MAPPED_LIBRARIES: it is truncated");
	if (code >= 0 && !reading->has_head)
		return gg_import_wrong(reading->import, "the file has no line of t*");
	return code < 0 ? code : 0;
}

static int read_maps(struct reading *reading)
{
	struct gg_text_line line;
	int code;

	while ((code = gg_input_line(reading->import->input, &line, reading->import->error)) > 0)
		gg_mapping_list_add(&reading->stacks.maps, &line);
	return code;
}

/* --- rows ------------------------------------------------------------------------------------- */

struct pair {
	struct gg_row_sums live, freed;
};

/*
 * At an interval of 1 jemalloc samples every allocation, so there is no error.  But jeprof scales
 * these numbers as well, and jemalloc prepared them for it.  Without scaling, the number of
 * one-byte blocks would be too low by a third.
 */
static struct gg_row_sums weigh_sum(const struct reading *reading, double count, double bytes)
{
	struct gg_row_weighing how = { GG_ROW_WEIGHING_SAMPLED, reading->interval, true };
	double p;

	if (reading->interval > 1 || !(count > 0))
		return gg_row_weighing(&how, count, bytes);
	how.kind = GG_ROW_WEIGHING_EXACT;
	p = -expm1(-fmax(bytes / count, 1));
	return gg_row_weighing(&how, round(count / p), round(bytes / p));
}

static struct pair weigh(const struct reading *reading, const struct counts *counts)
{
	struct pair pair = { .live = weigh_sum(reading, (double)counts->live,
		                               (double)counts->live_bytes) };
	struct gg_row_sums ever = weigh_sum(reading, (double)counts->ever,
	                                    (double)counts->ever_bytes);

	if (counts->ever > 0)
		pair.freed = gg_row_sums_rest(&ever, &pair.live);
	return pair;
}

/* Returns a share of a sum; the errors of the parts are independent. */
static struct gg_row_sums part_of(const struct gg_row_sums *sum, double share)
{
	return (struct gg_row_sums){ .samples = fmin(ceil(sum->samples * share), sum->samples),
		                     .size = sum->size * share,
		                     .count = sum->count * share,
		                     .count_variance = sum->count_variance * share,
		                     .bytes = sum->bytes * share,
		                     .bytes_variance = sum->bytes_variance * share,
		                     .count_skew = sum->count_skew * share,
		                     .bytes_skew = sum->bytes_skew * share,
		                     .unknown_errors = sum->unknown_errors };
}

static const char *name_of(const struct reading *reading, uint32_t thread)
{
	for (size_t i = 0; i < reading->names.count; i++)
		if (reading->names.items[i].thread == thread)
			return reading->names.items[i].text;
	return NULL;
}

static double share_of(double part, double whole)
{
	return whole > 0 ? part / whole : 0;
}

/* Writes a stack's rows of threads, among which its t* is divided. */
static int write_threads(struct reading *reading, const struct pair *all, const struct row *rows,
                         size_t count)
{
	const uint32_t stack = reading->stacks.nodes.count > 0
	                               ? reading->stacks.nodes.items[rows[0].node].stack
	                               : 0;
	double live = 0, freed = 0;
	int code = 0;

	for (size_t i = 0; i < count; i++) {
		struct pair pair = weigh(reading, &rows[i].counts);

		live += pair.live.bytes;
		freed += pair.freed.bytes;
	}
	for (size_t i = 0; i < count && code == 0; i++) {
		struct pair pair = weigh(reading, &rows[i].counts), part;
		const char *name = name_of(reading, rows[i].thread);
		char number[16];
		uint32_t thread;

		snprintf(number, sizeof(number), "t%u", rows[i].thread - 1);
		part.live = part_of(&all->live, share_of(pair.live.bytes, live));
		part.freed = part_of(&all->freed, share_of(pair.freed.bytes, freed));
		if (i == 0 && live == 0)
			part.live = all->live;
		if (i == 0 && freed == 0)
			part.freed = all->freed;
		code = gg_import_thread(reading->import, rows[i].thread - 1,
		                        name != NULL ? name : number, &thread);
		if (code == 0)
			code = gg_import_row(reading->import, thread, stack, &part.live,
			                     &part.freed);
	}
	return code;
}

static int write_rows(struct reading *reading)
{
	int code = 0;

	for (size_t i = 0, end; i < reading->rows.count && code == 0; i = end) {
		const struct row *row = &reading->rows.items[i];
		struct pair all = weigh(reading, &row->counts);

		for (end = i + 1; end < reading->rows.count &&
		                  reading->rows.items[end].thread != 0 &&
		                  reading->rows.items[end].node == row->node;)
			end++;
		if (row->thread != 0) /* without t*, the rows of threads are the only numbers */
			code = write_threads(reading, &all, row, 1), end = i + 1;
		else if (end - i > 1)
			code = write_threads(reading, &all, row + 1, end - i - 1);
		else
			code = gg_import_row(
				reading->import, 0,
				row->node > 0 ? reading->stacks.nodes.items[row->node].stack : 0,
				&all.live, &all.freed);
	}
	return code;
}

static int write_notes(struct reading *reading)
{
	struct gg_import *import = reading->import;
	bool adds_up = reading->sum.live == reading->head.live &&
	               reading->sum.live_bytes == reading->head.live_bytes;
	int code = 0;

	if (!reading->has_ever)
		code = gg_import_note(
			import, "Allocated memory equals live memory: jemalloc counts the rest "
				"only with prof_accum:true.");
	if (code == 0 && adds_up && !reading->has_odd && reading->has_mixed)
		code = gg_import_note(
			import,
			"This dump has plain sums of samples (a jemalloc before 5.2.1, or "
			"prof_unbias:false), which can only be scaled by mean sizes: stacks "
			"that allocate blocks of very different sizes are off.");
	if (code == 0)
		code = gg_import_note(
			import,
			"jemalloc sums up a stack's sizes: intervals of bytes hold for "
			"any mixture, those of counts as if a stack had one size. Sizes are "
			"those of jemalloc's blocks.");
	return code < 0 ? code : gg_address_stacks_note(&reading->stacks, import);
}

static int read_file(struct reading *reading)
{
	struct gg_import *import = reading->import;
	struct gg_text_line line = { "", 0 };
	int code = gg_input_line(import->input, &line, import->error);

	if (code >= 0)
		code = read_first_line(reading, &line);
	if (code == 0)
		code = read_rows(reading);
	if (code == 0)
		code = read_maps(reading);
	if (code < 0)
		return code;
	import->result->interval_bytes = reading->interval;
	code = gg_address_stacks_settle(&reading->stacks, import);
	if (code == 0)
		code = write_rows(reading);
	return code < 0 ? code : write_notes(reading);
}

static int read_jemalloc(struct gg_import *import)
{
	struct reading reading = { .import = import };
	int code = read_file(&reading);

	for (size_t i = 0; i < reading.names.count; i++)
		free(reading.names.items[i].text);
	gg_array_done(&reading.names);
	gg_array_done(&reading.rows);
	gg_address_stacks_done(&reading.stacks);
	return code;
}

static bool knows_jemalloc(const uint8_t *head, size_t length)
{
	return length >= 8 && memcmp(head, "heap_v2/", 8) == 0;
}

const struct gg_importer gg_importer_jemalloc = {
	.name = "jemalloc heap_v2",
	.knows = knows_jemalloc,
	.read = read_jemalloc,
};
