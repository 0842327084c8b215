/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_debug_region - `geiger debug region`: prints the state that an agent keeps.
 *
 * It prints the tables of the region as they are, before any estimate beyond sums: the header, the
 * fill of each table, counters, modules, threads and totals, and on request stacks and samples.
 * Its last line says whether the totals agree with the live samples.  A process that goes on
 * writing can make them differ.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/printable.h"
#include "base/size.h"
#include "base/time_units.h"
#include "cli/command.h"
#include "cli/debug/debug.h"
#include "region/reader/view.h"
#include "report/text_table.h"

struct region_options {
	bool samples, stacks;
};

static const struct gg_option region_option_table[] = {
	{ "samples", 's', GG_OPTION_FLAG, offsetof(struct region_options, samples), NULL,
	  "list the live samples" },
	{ "stacks", 0, GG_OPTION_FLAG, offsetof(struct region_options, stacks), NULL,
	  "list the totals of each stack and thread" },
	GG_OPTIONS_END,
};

/* Prints bytes of foreign origin, with a blank where an argument ends. */
static void print_text(const char *text, size_t bytes)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf out = { 0 };

	for (size_t begin = 0, end; begin < bytes; begin = end + 1) {
		end = begin + strnlen(text + begin, bytes - begin);
		gg_printable_append(&out, text + begin, end - begin, GG_PRINTABLE_ESCAPE);
		gg_buf_append_text(&out, end < bytes ? " " : "");
	}
	fputs(gg_buf_text(&out), stdout);
}

static void print_header(const struct gg_region_view *view)
{
	const struct gg_region_header *header = &view->header;

	printf("process      %" PRIu32 " (parent %" PRIu32 ")\n", header->pid, header->parent_pid);
	printf("executable   ");
	print_text(header->exe, strnlen(header->exe, header->exe_bytes));
	printf("\ncommand      ");
	print_text(header->command, header->command_bytes);
	printf("\noptions      ");
	print_text(header->options, strnlen(header->options, header->options_bytes));
	printf("\nstarted      %" PRIu64 ".%09" PRIu64 " s since 1970\n",
	       header->start_wall_ns / GG_NS_PER_S, header->start_wall_ns % GG_NS_PER_S);
	if (header->end_monotonic_ns >= header->start_monotonic_ns)
		printf("ended        after %.3f s\n",
		       (double)(header->end_monotonic_ns - header->start_monotonic_ns) * 1e-9);
	else
		printf("ended        not in order, or not yet\n");
	printf("control      %s, sampling interval %" PRIu64 " bytes\n",
	       header->control.active != 0 ? "on" : "off", header->control.interval_bytes);
	if (header->inherited_below_id != 0)
		printf("inherited    samples below %" PRIu64 "\n", header->inherited_below_id);
	if (view->finished_count > 0)
		printf("finished     %" PRIu32 " announced operations\n", view->finished_count);
	if (view->torn)
		printf("torn         the process went on writing: not of one instant\n");
	if (view->damaged_count > 0)
		printf("damaged      %" PRIu64 " records left out\n", view->damaged_count);
}

/* Prints the use of each table, and every counter that is not 0. */
static void print_tables(const struct gg_region_view *view)
{
	static const char *const names[GG_TABLE_COUNT] = {
		[GG_TABLE_SLOTS] = "slots",      [GG_TABLE_THREADS] = "threads",
		[GG_TABLE_MODULES] = "modules",  [GG_TABLE_HEAPS] = "heaps",
		[GG_TABLE_TYPES] = "types",      [GG_TABLE_STRINGS] = "strings",
		[GG_TABLE_STACKS] = "stacks",    [GG_TABLE_LIVE] = "live",
		[GG_TABLE_SITE_TOTALS] = "rows", [GG_TABLE_RING] = "ring",
		[GG_TABLE_FRAMES] = "frames",    [GG_TABLE_ALLOCATOR_BLOCKS] = "blocks",
		[GG_TABLE_FAULTS] = "faults",
	};

	for (int i = 0; i < GG_TABLE_COUNT; i++) {
		const struct gg_region_table *table = gg_region_table_of(&view->header, i);
		/*
		 * The ring's entries lie between its tail and its head; other tables count the
		 * entries in use.
		 */
		uint64_t used = i == GG_TABLE_RING ? view->header.ring_head - view->header.ring_tail
		                                   : table->used_count;

		printf("table        %-8s %10" PRIu64 " of %" PRIu64 "\n", names[i], used,
		       table->capacity);
	}
	for (uint32_t i = 0; i < GG_COUNTER_COUNT; i++) {
		const char *name = gg_region_counter_name(i);

		/* Counters at zero say nothing, and there are many. */
		if (name != NULL && view->header.counters[i] > 0)
			printf("count        %-30s %10" PRIu64 "\n", name,
			       view->header.counters[i]);
	}
}

/*
 * Adds a row of sums: the recorded samples with their bytes, and the estimates that they stand for.
 */
static void sums_cells(struct gg_text_table *table, const char *name, const struct gg_sums *sums)
{
	char bytes[GG_SIZE_TEXT_MAX], raw[GG_SIZE_TEXT_MAX];

	gg_text_table_cell(table, "%s", name);
	gg_text_table_cell(table, "%" PRIu64, sums->sample_count);
	gg_text_table_cell(table, "%s", gg_size_format((double)sums->size_bytes, raw));
	gg_text_table_cell(table, "%.1f", gg_fixed_value(sums->count));
	gg_text_table_cell(table, "%s", gg_size_format(gg_fixed_value(sums->bytes), bytes));
}

static void sums_columns(struct gg_text_table *table, const char *first)
{
	gg_text_table_column(table, GG_ALIGN_LEFT, first);
	gg_text_table_column(table, GG_ALIGN_RIGHT, "samples");
	gg_text_table_column(table, GG_ALIGN_RIGHT, "their bytes");
	gg_text_table_column(table, GG_ALIGN_RIGHT, "allocations");
	gg_text_table_column(table, GG_ALIGN_RIGHT, "bytes");
}

static int print_totals(const struct gg_region_view *view, const struct gg_style *style)
{
	GG_CLEANUP(gg_text_table_done) struct gg_text_table table = { 0 };
	struct gg_region_totals totals = gg_region_view_totals(view);

	sums_columns(&table, "totals");
	sums_cells(&table, "allocated", &totals.allocated);
	sums_cells(&table, "freed", &totals.freed);
	sums_cells(&table, "live", &totals.live);
	return gg_text_table_print(&table, style, stdout);
}

static int print_threads(const struct gg_region_view *view, const struct gg_style *style)
{
	GG_CLEANUP(gg_text_table_done) struct gg_text_table table = { 0 };

	gg_text_table_column(&table, GG_ALIGN_RIGHT, "thread");
	gg_text_table_column(&table, GG_ALIGN_RIGHT, "tid");
	gg_text_table_column(&table, GG_ALIGN_LEFT, "state");
	gg_text_table_column(&table, GG_ALIGN_LEFT, "name");
	for (uint32_t i = 0; i < view->thread_count; i++) {
		const struct gg_region_thread_record *row = &view->threads[i];
		char name[sizeof(row->name) + 1] = { 0 };

		if (row->ready != 1)
			continue;
		for (size_t j = 0; j < sizeof(row->name) && row->name[j] != '\0'; j++)
			name[j] = row->name[j];
		for (char *c = name; *c != '\0'; c++)
			/*
			 * A program chooses the names of its threads; control characters must not
			 * reach the terminal.
			 */
			*c = (unsigned char)*c < 0x20 || *c == 0x7f ? '?' : *c;
		gg_text_table_cell(&table, "%" PRIu32, i);
		gg_text_table_cell(&table, "%" PRIu32, row->tid);
		gg_text_table_cell(&table, "%s", row->end_ns == 0 ? "runs" : "ended");
		gg_text_table_cell(&table, "%s", name);
	}
	return gg_text_table_print(&table, style, stdout);
}

/* Prints the modules that the agent registered.  A record without `ready` was never finished. */
static void print_modules(const struct gg_region_view *view)
{
	for (uint32_t i = 0; i < view->module_count; i++) {
		const struct gg_region_module *module = &view->modules[i];

		if (module->ready != 1)
			continue;
		printf("module       ");
		print_text(gg_region_view_string(view, module->path_offset), module->path_bytes);
		printf("%s, build-id ", module->unload_ns != 0 ? " (unloaded)" : "");
		for (uint16_t j = 0; j < module->build_id_bytes; j++)
			printf("%02x", module->build_id[j]);
		if (module->build_id_bytes == 0)
			printf("none");
		for (uint16_t j = 0; j < module->range_count; j++)
			printf(", %#" PRIx64 "-%#" PRIx64, module->ranges[j].start,
			       module->ranges[j].end);
		putchar('\n');
	}
}

static void print_frame_text(const struct gg_region_view *view, uint32_t offset, uint32_t bytes)
{
	const char *text = gg_region_view_string(view, offset);

	print_text(text, bytes);
}

/* Prints a frame of an interpreter: " eval (a.scm:12)". */
static void print_frame(const struct gg_region_view *view, const struct gg_region_frame *frame)
{
	putchar(' ');
	print_frame_text(view, frame->function_offset, frame->function_bytes);
	printf(" (");
	print_frame_text(view, frame->file_offset, frame->file_bytes);
	printf(":%" PRIu32 ")", frame->line);
}

static void print_stack(const struct gg_region_view *view, uint32_t stack)
{
	/* Longer stacks end in "... N more". */
	uint64_t pcs[64];
	uint32_t count = gg_region_view_stack(view, stack, pcs, GG_COUNT(pcs));

	if (stack == GG_STACK_OVERFLOW)
		printf(" (stacks without a place)");
	for (uint32_t i = 0; i < count && i < GG_COUNT(pcs); i++) {
		/*
		 * A pc is an address of code, or the number of an interpreter's frame.  The number
		 * may be damaged.
		 */
		if (gg_pc_is_frame(pcs[i]) && (uint32_t)pcs[i] < view->frame_count)
			print_frame(view, &view->frames[(uint32_t)pcs[i]]);
		else
			printf(" %#" PRIx64, pcs[i]);
	}
	if (count > GG_COUNT(pcs))
		printf(" ... %" PRIu32 " more", count - (uint32_t)GG_COUNT(pcs));
	putchar('\n');
}

/* Prints the totals of each stack and thread, and below them the frames of these stacks. */
static int print_rows(const struct gg_region_view *view, const struct gg_style *style)
{
	GG_CLEANUP(gg_text_table_done) struct gg_text_table table = { 0 };

	sums_columns(&table, "stack, thread");
	for (uint32_t i = 0; i < view->site_total_count; i++) {
		const struct gg_region_site_total *row = &view->site_totals[i];
		char name[64];

		snprintf(name, sizeof(name), "%" PRIu32 ", %" PRIu32 " allocated", row->stack,
		         row->thread);
		sums_cells(&table, name, &row->allocated);
		sums_cells(&table, "  freed", &row->freed);
	}
	int status = gg_text_table_print(&table, style, stdout);

	for (uint32_t i = 0; i < view->site_total_count; i++) {
		printf("stack        %" PRIu32 ":", view->site_totals[i].stack);
		print_stack(view, view->site_totals[i].stack);
	}
	return status;
}

static void print_samples(const struct gg_region_view *view)
{
	for (uint32_t i = 0; i < view->live_count; i++) {
		const struct gg_region_sample *sample = &view->live[i];
		struct gg_draw draw = gg_region_sample_draw(sample);

		printf("sample       %" PRIu64 " at %#" PRIx64 ", %" PRIu64 " of %" PRIu64
		       " bytes, thread %" PRIu16 ", %s %.17g, offset %" PRIu64 ", marks %" PRIu32
		       ", stack %" PRIu32 ":",
		       sample->id, sample->address, (uint64_t)sample->size_bytes,
		       (uint64_t)sample->size_bytes + sample->slack_bytes, sample->thread,
		       gg_scheme_name(draw.scheme), draw.sampling_interval, draw.offset_bytes,
		       draw.sample_point_count, sample->stack);
		print_stack(view, sample->stack);
	}
}

/*
 * Prints the whole view.  The check at the end compares, for each stack, the totals with the live
 * samples.
 */
static int print_view(const struct gg_region_view *view, const struct region_options *options,
                      const struct gg_style *style)
{
	uint32_t stack = 0;
	int status;

	print_header(view);
	print_tables(view);
	print_modules(view);
	status = print_threads(view, style);
	if (status == 0)
		status = print_totals(view, style);
	if (status == 0 && options->stacks)
		status = print_rows(view, style);
	if (options->samples)
		print_samples(view);
	if (status < 0)
		return status;
	status = gg_region_view_check(view, &stack);
	if (status == 0)
		printf("consistent   allocated minus freed is live, for each stack\n");
	else if (status == -EBADMSG)
		printf("NOT consistent: allocated minus freed is not live, first in stack %" PRIu32
		       "\n",
		       stack);
	/*
	 * An inconsistent region is a result of this command, which has printed it, and not a
	 * failure.
	 */
	return status == -EBADMSG ? 0 : status;
}

static int run_region(struct gg_invocation *invocation)
{
	struct gg_region_view view;
	int status;

	if (invocation->operand_count == 0)
		return gg_error_set(invocation->error, -EINVAL, "debug region",
		                    "Name the file that an agent writes, e.g. in /dev/shm.",
		                    "no file given");
	status = gg_region_view_open(&view, invocation->operands[0], invocation->error);
	if (status == -EINVAL) /* the error is in the file, not in the request */
		status = -EBADMSG;
	if (status < 0)
		return status;
	status = print_view(&view, invocation->options, &invocation->style);
	gg_region_view_done(&view);
	if (status < 0)
		return gg_error_set_errno(invocation->error, -status, "debug region", NULL);
	return 0;
}

const struct gg_command gg_command_debug_region = {
	.name = "debug region",
	.summary = "show the state that an agent keeps of a process",
	.usage = "FILE",
	.details =
		"Reads the region of a process, dead or alive, and completes the operations\n"
		"that were announced in it.  Numbers of samples are as recorded; allocations and\n"
		"bytes are estimates.  The last line says whether totals and live samples agree.\n"
		"They may disagree (\"torn\") while the process records: stop it first.\n",
	.options = region_option_table,
	.options_size = sizeof(struct region_options),
	.max_operands = 1,
	.run = run_region,
	.variables = GG_READS_PROFILE,
};
