/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code_rule_preload - derives rules from the code of a program that has CFI, and compares.
 *
 * Preloaded, it lets libgcc walk the stack at each EVERY-th allocation.  At each frame the rule of
 * gg_code_rule() must lead to the same caller, with the same stack and frame pointer, or there must
 * be none.  At its end it appends a line to the file CODE_RULE_REPORT.
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unwind.h>

#include "unwind/unwind.h"
#include "unwind/walk/code_rule.h"
#include "unwind/walk/walk.h"

/* The frames of this library have rules like any other, but change while they are walked. */
enum { EVERY = 97, OWN_FRAMES = 2, STACK_BYTES = 1 << 20, RBP = 6 };

static void *(*real_malloc)(size_t bytes);
static __thread bool is_inside __attribute__((tls_model("initial-exec")));
static __thread unsigned call_count __attribute__((tls_model("initial-exec")));
static uint64_t equal_count, none_count, different_count;

/* The caller of a frame by its derived rule. */
struct expected {
	unsigned frame;
	bool is_known;
	uint64_t at, pc, sp, fp;
};

static _Unwind_Reason_Code compare(struct _Unwind_Context *context, void *argument)
{
	struct expected *e = argument;
	uint64_t pc = _Unwind_GetIP(context), sp = _Unwind_GetCFA(context);
	uint64_t fp = _Unwind_GetGR(context, RBP);
	static struct gg_unwind_thread thread;
	struct gg_walk walk = {
		.pc = pc,
		.sp = sp,
		.fp = fp,
		.low = sp,
		.readable_end = sp & -(uint64_t)GG_STACK_BOUNDS_PAGE,
		.high = sp + STACK_BYTES,
		.thread = &thread,
	};
	struct gg_unwind_rule rule;
	Dl_info info;

	if (e->is_known && (e->pc != pc || e->sp != sp || e->fp != fp)) {
		__atomic_fetch_add(&different_count, 1, __ATOMIC_RELAXED);
		if (dladdr((void *)e->at, &info) != 0) /* NOLINT */
			fprintf(stderr, "differs at %s+0x%" PRIx64 "\n", info.dli_fname,
			        e->at - (uint64_t)(uintptr_t)info.dli_fbase);
	} else if (e->is_known) {
		__atomic_fetch_add(&equal_count, 1, __ATOMIC_RELAXED);
	}
	e->is_known = false;
	if (e->frame++ < OWN_FRAMES)
		return _URC_NO_REASON;
	if (!gg_code_rule(&walk, &rule)) {
		__atomic_fetch_add(&none_count, 1, __ATOMIC_RELAXED);
		return _URC_NO_REASON;
	}
	e->is_known = true;
	e->at = pc;
	e->sp = (rule.kind == GG_RULE_SP ? sp : fp) + (uint64_t)rule.cfa_bytes;
	e->pc = *(const uint64_t *)(uintptr_t)(e->sp - 8);
	e->fp = fp;
	if (rule.fp_words != GG_RULE_SAME)
		e->fp = *(const uint64_t *)(uintptr_t)(e->sp +
		                                       8 * (uint64_t)(int64_t)rule.fp_words);
	return _URC_NO_REASON;
}

__attribute__((visibility("default"))) void *malloc(size_t bytes)
{
	struct expected expected = { 0 };
	void *block;

	if (real_malloc == NULL)
		*(void **)&real_malloc = dlsym(RTLD_NEXT, "malloc");
	block = real_malloc(bytes);
	if (!is_inside && ++call_count % EVERY == 0) {
		is_inside = true;
		_Unwind_Backtrace(compare, &expected);
		is_inside = false;
	}
	return block;
}

__attribute__((destructor)) static void report(void)
{
	const char *path = getenv("CODE_RULE_REPORT");
	FILE *file = path != NULL ? fopen(path, "ae") : NULL;

	if (file == NULL)
		return;
	fprintf(file, "%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", equal_count, none_count,
	        different_count);
	fclose(file);
}
