/* SPDX-License-Identifier: Apache-2.0 */
/* unwind_demo - walks a stack out of a signal handler, and prints the rule of each frame. */
#include "cli/debug/unwind_demo.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/text_table.h"
#include "unwind/cfi/cfi_file.h"
#include "unwind/cfi/cfi_text.h"
#include "unwind/unwind.h"

enum {
	DEMO_FRAMES_MAX = 64,
	DEPTH = 3 /* depth of the recursion */
};

/*
 * The stack that the handler captured.  It is static, because qsort() and signals pass no context.
 */
static struct {
	struct gg_unwind_thread thread;
	struct gg_unwind_stack stack;
	uint64_t pcs[DEMO_FRAMES_MAX];
	bool is_taken;
} found;

/* --- the stack ---------------------------------------------------------------------------- */

static void capture_in_handler(int signal_number)
{
	(void)signal_number;
	gg_unwind_capture(&found.thread, found.pcs, DEMO_FRAMES_MAX, 0, &found.stack);
	found.is_taken = true; /* also prevents a tail call, which would leave no frame */
}

static int compare_and_signal(const void *a, const void *b)
{
	const int *left = a, *right = b;

	if (!found.is_taken)
		raise(SIGUSR1);
	return (*left > *right) - (*left < *right);
}

/*
 * Recurses, and sorts at the deepest level.  Each level uses the result of the next, so no call is
 * a tail call and each level has a frame.
 */
static __attribute__((noinline)) int sort_below(int depth)
{
	int numbers[] = { depth, 3, 1, 2 };

	if (depth > 0)
		numbers[0] += sort_below(depth - 1);
	else
		qsort(numbers, GG_COUNT(numbers), sizeof(numbers[0]), compare_and_signal);
	return numbers[0];
}

/* --- the table ---------------------------------------------------------------------------- */

/*
 * Finds the module that contains a pc: its file, and the bias, which turns the pc into an address
 * of the file when subtracted.
 */
static bool find_module(uint64_t pc, const char **ret_path, uint64_t *ret_bias)
{
	struct link_map *map;
	Dl_info info;

	if (dladdr1((const void *)(uintptr_t)pc, &info, (void **)&map, RTLD_DL_LINKMAP) == 0)
		return false;
	*ret_path = map->l_name[0] != '\0' ? map->l_name : "/proc/self/exe";
	*ret_bias = map->l_addr;
	return true;
}

static void add_function(struct gg_text_table *table, const struct gg_cfi_file *file, uint64_t pc)
{
	struct gg_cfi_symbol symbol;

	if (gg_cfi_file_symbol_at(file, pc, &symbol) == 0)
		gg_text_table_cell(table, "%s", symbol.name);
	else
		gg_text_table_cell(table, "%#" PRIx64, pc);
}

static void add_frame(struct gg_text_table *table, uint32_t number, uint64_t return_address)
{
	GG_CLEANUP(gg_cfi_file_close) struct gg_cfi_file file = { 0 };
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	uint64_t pc = return_address - 1, bias = 0; /* inside the call */
	const char *path = "?", *name;
	struct gg_unwind_rule rule = { 0 };

	if (!find_module(pc, &path, &bias)) {
		gg_buf_append_text(&text, "in no module: known by its code, or by frame pointers");
	} else {
		if (gg_cfi_file_open(&file, path, NULL) == 0)
			rule = gg_cfi_rule_at(&file.module, pc - bias, NULL);
		gg_cfi_text_rule(&text, GG_CFI_HOST_ARCH, rule);
	}
	name = strcmp(path, "/proc/self/exe") == 0 ? "geiger" : strrchr(path, '/');
	gg_text_table_cell(table, "%" PRIu32, number);
	add_function(table, &file, pc - bias);
	gg_text_table_cell(table, "%s", name == NULL ? path : name[0] == '/' ? name + 1 : name);
	gg_text_table_cell(table, "%s", gg_rule_kind_text((enum gg_rule_kind)rule.kind));
	gg_text_table_cell(table, "%s", gg_buf_text(&text));
}

int gg_unwind_demo_run(struct gg_invocation *invocation)
{
	GG_CLEANUP(gg_text_table_done) struct gg_text_table table = { 0 };
	struct sigaction action = { .sa_handler = capture_in_handler }, before;
	const struct gg_unwind_stats *stats = &found.thread.stats;
	int status;

	gg_unwind_init();
	if (sigaction(SIGUSR1, &action, &before) < 0)
		return gg_error_set_errno(invocation->error, errno, "SIGUSR1", NULL);
	memset(&found, 0, sizeof(found));
	sort_below(DEPTH);
	sigaction(SIGUSR1, &before, NULL);

	gg_text_table_column(&table, GG_ALIGN_RIGHT, "frame");
	gg_text_table_column(&table, GG_ALIGN_LEFT, "function");
	gg_text_table_column(&table, GG_ALIGN_LEFT, "module");
	gg_text_table_column(&table, GG_ALIGN_LEFT, "kind");
	gg_text_table_column(&table, GG_ALIGN_LEFT, "rule to the next frame");
	for (uint32_t i = 0; i < found.stack.count; i++)
		add_frame(&table, i, found.stack.frames[i]);
	status = gg_text_table_print(&table, &invocation->style, stdout);
	printf("\n%s: %" PRIu32 " frames; %" PRIu64 " rules compiled, %" PRIu64
	       " steps by the whole row, %" PRIu64 " signal frames\n",
	       gg_unwind_ending_text(found.stack.ending), found.stack.count, stats->misses,
	       stats->general_steps, stats->signal_frames);
	return status;
}
