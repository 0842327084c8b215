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

struct jemalloc_counts {
	uint64_t live, live_bytes, ever, ever_bytes;
};

struct jemalloc_row {
	uint32_t node;
	uint32_t thread; /* number in the file + 1; 0: all threads */
	struct jemalloc_counts counts;
};

struct jemalloc_thread_name {
	uint64_t thread;
	char *text;
};

struct jemalloc_import {
	struct gg_import *import;
	struct gg_address_stacks stacks;
	GG_ARRAY(struct jemalloc_row) rows;
	GG_ARRAY(struct jemalloc_thread_name) names;
	struct jemalloc_counts head, sum; /* totals of the head, and sums of rows t* */
	double interval_bytes;
	bool has_head, has_odd, has_mixed, has_ever;
};

/* Reads counts such as "t*: 13: 6688 [0: 0]", or a name in the head. thread: number + 1; 0: t*. */
static bool take_counts(struct gg_text_line *line, uint64_t *ret_thread,
                        struct jemalloc_counts *ret_counts)
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

static int add_name(struct jemalloc_import *job, uint64_t thread, const struct gg_text_line *text)
{
	struct jemalloc_thread_name name = { .thread = thread };

	if (text->length == 0)
		return 0;
	name.text = strndup(text->at, text->length < 255 ? text->length : 255);
	if (name.text == NULL || !gg_array_push(&job->names, name)) {
		free(name.text);
		return gg_import_no_memory(job->import);
	}
	return 0;
}

static int add_row(struct jemalloc_import *job, uint32_t node, uint32_t thread,
                   const struct jemalloc_counts *counts)
{
	if (!gg_array_push(&job->rows, (struct jemalloc_row){ node, thread, *counts }))
		return gg_import_no_memory(job->import);
	return 0;
}

/* Collects evidence on whether the numbers are plain sums or are prepared for scaling. */
static void collect_evidence(struct jemalloc_import *job, const struct jemalloc_counts *counts)
{
	job->sum.live += counts->live;
	job->sum.live_bytes += counts->live_bytes;
	job->has_odd |= counts->live_bytes % 8 != 0 || counts->ever_bytes % 8 != 0;
	job->has_mixed |= counts->live > 1 && counts->live_bytes % counts->live != 0;
	job->has_ever |= counts->ever > 0 || counts->ever_bytes > 0;
}

static int read_stack(struct jemalloc_import *job, struct gg_text_line *line, uint32_t *ret_node)
{
	gg_text_line_literal(line, "@");
	return gg_address_stacks_read(&job->stacks, job->import, line, ret_node);
}

static int read_first_line(struct jemalloc_import *job, struct gg_text_line *line)
{
	uint64_t interval;

	if (!gg_text_line_literal(line, "heap_v2/") || !gg_text_line_decimal(line, &interval) ||
	    line->length != 0 || interval == 0)
		return gg_import_wrong(job->import,
		                       "the first line is not 'heap_v2/' and a sampling interval");
	job->interval_bytes = (double)interval;
	return 0;
}

static int read_counts(struct jemalloc_import *job, struct gg_text_line *line, bool in_stack,
                       uint32_t node)
{
	struct jemalloc_counts counts;
	uint64_t thread;

	if (!take_counts(line, &thread, &counts))
		return gg_import_wrong(job->import,
		                       "the line is no row 't*: OBJECTS: BYTES [OBJECTS: BYTES]'");
	if (!in_stack) {
		job->has_head |= thread == 0;
		if (thread == 0)
			job->head = counts;
		return thread > 0 ? add_name(job, thread, line) : 0;
	}
	if (thread == 0)
		collect_evidence(job, &counts);
	return add_row(job, node, (uint32_t)thread, &counts);
}

static int read_rows(struct jemalloc_import *job)
{
	struct gg_text_line line;
	bool in_stack = false, has_libraries = false;
	uint32_t node = 0;
	int status = 1;

	while (status >= 0 && !has_libraries) {
		status = gg_input_line(job->import->input, &line, job->import->error);
		if (status <= 0)
			break;
		gg_import_progress(job->import);
		if (line.length == 0)
			continue;
		has_libraries = gg_text_line_begins(&line, "MAPPED_LIBRARIES:");
		if (line.at[0] == '@') {
			status = read_stack(job, &line, &node);
			in_stack = true;
		} else if (!has_libraries) {
			status = read_counts(job, &line, in_stack, node);
		}
	}
	if (status == 0 && !has_libraries)
		return gg_import_wrong(
			job->import,
			"the file ends before its section MAPPED_LIBRARIES: it is truncated");
	if (status >= 0 && !job->has_head)
		return gg_import_wrong(
			job->import,
			"the file has no line 't*: ...' with the totals of all threads");
	return status < 0 ? status : 0;
}

/* --- rows ------------------------------------------------------------------------------------- */

struct live_and_freed {
	struct gg_row_sums live, freed;
};

/*
 * At an interval of 1 jemalloc samples every allocation, so there is no error.  But jeprof scales
 * these numbers as well, and jemalloc prepared them for it.  Without scaling, the number of
 * one-byte blocks would be too low by a third.
 */
static struct gg_row_sums weigh_sum(const struct jemalloc_import *job, double count, double bytes)
{
	struct gg_row_weighing how = { GG_ROW_WEIGHING_SAMPLED, job->interval_bytes, true };
	double p;

	if (job->interval_bytes > 1 || !(count > 0))
		return gg_row_weighing(&how, count, bytes);
	how.kind = GG_ROW_WEIGHING_EXACT;
	p = -expm1(-fmax(bytes / count, 1));
	return gg_row_weighing(&how, round(count / p), round(bytes / p));
}

static struct live_and_freed weigh(const struct jemalloc_import *job,
                                   const struct jemalloc_counts *counts)
{
	struct live_and_freed pair = { .live = weigh_sum(job, (double)counts->live,
		                                         (double)counts->live_bytes) };
	struct gg_row_sums ever = weigh_sum(job, (double)counts->ever, (double)counts->ever_bytes);

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

static const char *name_of(const struct jemalloc_import *job, uint32_t thread)
{
	for (size_t i = 0; i < job->names.count; i++)
		if (job->names.items[i].thread == thread)
			return job->names.items[i].text;
	return NULL;
}

static double share_of(double part, double whole)
{
	return whole > 0 ? part / whole : 0;
}

/* Writes a stack's rows of threads, among which its t* is divided. */
static int write_threads(struct jemalloc_import *job, const struct live_and_freed *all,
                         const struct jemalloc_row *rows, size_t count)
{
	const uint32_t stack = gg_address_stacks_stack(&job->stacks, rows[0].node);
	double live = 0, freed = 0;
	int status = 0;

	for (size_t i = 0; i < count; i++) {
		struct live_and_freed pair = weigh(job, &rows[i].counts);

		live += pair.live.bytes;
		freed += pair.freed.bytes;
	}
	for (size_t i = 0; i < count && status == 0; i++) {
		struct live_and_freed pair = weigh(job, &rows[i].counts), part;
		const char *name = name_of(job, rows[i].thread);
		char number[16];
		uint32_t thread;

		snprintf(number, sizeof(number), "t%u", rows[i].thread - 1);
		part.live = part_of(&all->live, share_of(pair.live.bytes, live));
		part.freed = part_of(&all->freed, share_of(pair.freed.bytes, freed));
		if (i == 0 && live == 0)
			part.live = all->live;
		if (i == 0 && freed == 0)
			part.freed = all->freed;
		status = gg_import_thread(job->import, rows[i].thread - 1,
		                          name != NULL ? name : number, &thread);
		if (status == 0)
			status = gg_import_row(job->import, thread, stack, &part.live, &part.freed);
	}
	return status;
}

static int write_rows(struct jemalloc_import *job)
{
	int status = 0;

	for (size_t i = 0, end; i < job->rows.count && status == 0; i = end) {
		const struct jemalloc_row *row = &job->rows.items[i];
		struct live_and_freed all = weigh(job, &row->counts);

		for (end = i + 1; end < job->rows.count && job->rows.items[end].thread != 0 &&
		                  job->rows.items[end].node == row->node;)
			end++;
		if (row->thread != 0) /* without t*, the rows of threads are the only numbers */
			status = write_threads(job, &all, row, 1), end = i + 1;
		else if (end - i > 1)
			status = write_threads(job, &all, row + 1, end - i - 1);
		else
			status = gg_import_row(job->import, 0,
			                       gg_address_stacks_stack(&job->stacks, row->node),
			                       &all.live, &all.freed);
	}
	return status;
}

static int write_notes(struct jemalloc_import *job)
{
	struct gg_import *import = job->import;
	bool adds_up = job->sum.live == job->head.live &&
	               job->sum.live_bytes == job->head.live_bytes;
	int status = 0;

	if (!job->has_ever)
		status = gg_import_note(
			import, "Allocated memory equals live memory: jemalloc counts freed memory "
				"only with prof_accum:true.");
	if (status == 0 && adds_up && !job->has_odd && job->has_mixed)
		status = gg_import_note(
			import,
			"This dump has plain sums of samples, from a jemalloc before 5.2.1 or with "
			"prof_unbias:false. Plain sums can only be scaled by mean sizes, so the "
			"estimates are biased for stacks that allocate very different sizes.");
	if (status == 0)
		status = gg_import_note(
			import,
			"jemalloc sums up the sizes of a stack. Confidence intervals of bytes hold "
			"for any mixture; those of counts assume one size for each stack. Sizes "
			"are those of jemalloc's blocks.");
	return status < 0 ? status : gg_address_stacks_note(&job->stacks, import);
}

static int read_file(struct jemalloc_import *job)
{
	struct gg_import *import = job->import;
	struct gg_text_line line = { "", 0 };
	int status = gg_input_line(import->input, &line, import->error);

	if (status >= 0)
		status = read_first_line(job, &line);
	if (status == 0)
		status = read_rows(job);
	if (status == 0)
		status = gg_address_stacks_read_maps(&job->stacks, import);
	if (status < 0)
		return status;
	import->result->interval_bytes = job->interval_bytes;
	status = gg_address_stacks_intern(&job->stacks, import);
	if (status == 0)
		status = write_rows(job);
	return status < 0 ? status : write_notes(job);
}

static int read_jemalloc(struct gg_import *import)
{
	struct jemalloc_import job = { .import = import };
	int status = read_file(&job);

	for (size_t i = 0; i < job.names.count; i++)
		free(job.names.items[i].text);
	gg_array_done(&job.names);
	gg_array_done(&job.rows);
	gg_address_stacks_done(&job.stacks);
	return status;
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
