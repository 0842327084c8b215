/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks: ours with and without the stack cache, libgcc's, libunwind's and a bare walk along frame
 * pointers, in nanoseconds a frame.
 *
 * Hot: the same stack again and again.  1 000 paths: each stack is another; the calls that build it
 * are timed alone as well and taken off.  Changed: at depth 200 the inner 5 frames differ each
 * time.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unwind.h>
#if HAVE_LIBUNWIND
#define UNW_LOCAL_ONLY
#include <libunwind.h>
#endif

#include "base/clock.h"
#include "base/compiler.h"
#include "bench.h"
#include "unwind/unwind.h"
#include "unwind/walk/module_lookup.h"
#include "unwind/walk/rule_cache.h"
#include "unwind_paths.h"

enum { MAX_FRAMES = 1024, PATHS = 1000, INNER = 5 };

static struct gg_stack_cache stack_cache;
static struct gg_unwind_thread with_cache = { .stack_cache = &stack_cache }, without_cache;
static uint64_t frames[MAX_FRAMES];
static uint64_t frames_seen; /* in the last stack */

/* One capture each. */

static void capture_nothing(void)
{
	bench_keep(frames[0]);
}

static void capture_plain(void)
{
	struct gg_unwind_stack stack;

	gg_unwind_capture(&without_cache, frames, MAX_FRAMES, 0, &stack);
	frames_seen = stack.count;
}

static void capture_cached(void)
{
	struct gg_unwind_stack stack;

	gg_unwind_capture(&with_cache, frames, MAX_FRAMES, 0, &stack);
	frames_seen = stack.count;
}

static _Unwind_Reason_Code libgcc_frame(struct _Unwind_Context *context, void *unused)
{
	(void)unused;
	if (frames_seen < MAX_FRAMES)
		frames[frames_seen++] = _Unwind_GetIP(context);
	return _URC_NO_REASON;
}

static void capture_libgcc(void)
{
	frames_seen = 0;
	_Unwind_Backtrace(libgcc_frame, NULL);
}

#if HAVE_LIBUNWIND
static void capture_libunwind(void)
{
	int count = unw_backtrace((void **)frames, MAX_FRAMES);

	frames_seen = count > 0 ? (uint64_t)count : 0;
}
#endif

/* Follows rbp or x29 up to main()'s frame; no check but growth. */
static void *outermost_fp;

static void capture_fp(void)
{
	void **fp = __builtin_frame_address(0);
	uint64_t count = 0;

	while (count < MAX_FRAMES) {
		void **next = fp[0];

		frames[count++] = (uint64_t)fp[1];
		if (next <= fp || (void *)next > outermost_fp)
			break;
		fp = next;
	}
	frames_seen = count;
}

/* Cases. */

struct job {
	void (*capture)(void);
	paths_function *paths;
	unsigned depth;
	uint64_t count;
};

static void capture_many(void *context)
{
	const struct job *job = context;

	for (uint64_t i = 0; i < job->count; i++)
		job->capture();
}

static void run_hot(void *context, uint64_t count)
{
	struct job *job = context;

	job->count = count;
	job->paths(1, job->depth, capture_many, job);
}

static void capture_once(void *context)
{
	const struct job *job = context;

	job->capture();
}

static void run_paths(void *context, uint64_t count)
{
	struct job *job = context;

	for (uint64_t i = 0; i < count; i++)
		job->paths(i % PATHS, job->depth, capture_once, job);
}

/* From below the outer frames: `count` short paths. */
static void capture_inner(void *context)
{
	struct job *job = context;

	for (uint64_t i = 0; i < job->count; i++)
		job->paths(i % PATHS, INNER, capture_once, job);
}

static void run_changed(void *context, uint64_t count)
{
	struct job *job = context;

	job->count = count;
	job->paths(1, job->depth - INNER, capture_inner, job);
}

/* A walk that finds nothing in the cache: each begins a new epoch. */
static void run_cold(void *context, uint64_t count)
{
	struct gg_unwind_thread *thread = context;
	struct gg_unwind_stack stack = { 0 };

	for (uint64_t i = 0; i < count; i++) {
		gg_module_lookup_new_epoch();
		gg_unwind_capture(thread, frames, MAX_FRAMES, 0, &stack);
	}
	frames_seen = stack.count;
}

static const struct {
	const char *name;
	void (*capture)(void);
	paths_function *paths;
} unwinders[] = {
	{ "frame pointers", capture_fp, paths_keeping_fp },
	{ "geiger, no stack cache", capture_plain, paths_omitting_fp },
	{ "geiger, no stack cache, code keeps fp", capture_plain, paths_keeping_fp },
	{ "geiger, stack cache", capture_cached, paths_omitting_fp },
#if HAVE_LIBUNWIND
	{ "libunwind unw_backtrace", capture_libunwind, paths_omitting_fp },
#endif
	{ "libgcc _Unwind_Backtrace", capture_libgcc, paths_omitting_fp },
	{ "the calls alone", capture_nothing, paths_omitting_fp },
};

static void run_at(const char *title, unsigned depth, void (*run)(void *, uint64_t), size_t count)
{
	struct job jobs[GG_COUNT(unwinders)];
	struct bench_case cases[GG_COUNT(unwinders)] = { 0 };
	char text[100];

	for (size_t i = 0; i < count; i++) {
		jobs[i] = (struct job){ unwinders[i].capture, unwinders[i].paths, depth, 0 };
		cases[i].name = unwinders[i].name;
		cases[i].run = run;
		cases[i].context = &jobs[i];
		frames_seen = 0;
		run(&jobs[i], 1);
		cases[i].per_run = frames_seen > 0 ? frames_seen : depth;
	}
	snprintf(text, sizeof(text), "Unwinding: %s, depth %u", title, depth);
	bench_run(text, "a frame", cases, count);
	if (count == GG_COUNT(unwinders)) {
		const struct bench_case *calls = &cases[count - 1];

		printf("  without the calls:");
		for (size_t i = 0; i + 1 < count; i++)
			printf(" %.2f", cases[i].median_ns - calls->median_ns);
		printf("\n\n");
	}
}

/*
 * The fastest of many short rounds: what the code costs when nobody disturbs it.  On a shared
 * machine the medians above say more about the neighbours.
 */
struct fastest {
	double ns[GG_COUNT(unwinders)]; /* a frame */
};

static void time_fastest(void *context)
{
	struct fastest *fastest = context;

	for (int round = 0; round < 1000; round++) {
		for (size_t i = 0; i + 1 < GG_COUNT(unwinders); i++) {
			uint64_t start_ns = gg_clock_monotonic_ns(), count = round < 10 ? 1 : 40;
			double ns;

			if (unwinders[i].capture == capture_libgcc && round > 50)
				continue;
			for (uint64_t j = 0; j < count; j++)
				unwinders[i].capture();
			ns = (double)(gg_clock_monotonic_ns() - start_ns) /
			     (double)(count * frames_seen);
			if (round == 0 || ns < fastest->ns[i])
				fastest->ns[i] = ns;
		}
	}
}

static void print_fastest(unsigned depth, bool keeps_fp)
{
	struct fastest fastest = { 0 };

	(keeps_fp ? paths_keeping_fp : paths_omitting_fp)(1, depth, time_fastest, &fastest);
	for (size_t i = 0; i + 1 < GG_COUNT(unwinders); i++) {
		bool wants_fp = unwinders[i].paths == paths_keeping_fp;

		if (wants_fp == keeps_fp)
			printf("  depth %3u %-34s %9.2f ns\n", depth, unwinders[i].name,
			       fastest.ns[i]);
	}
}

int main(void)
{
	static const unsigned depths[] = { 10, 46, 200 };
	struct bench_case cold[] = {
		{ .name = "a rule compiled", .run = run_cold, .context = &without_cache },
	};

	gg_unwind_init();
	outermost_fp = __builtin_frame_address(0);
	for (size_t i = 0; i < GG_COUNT(depths); i++)
		run_at("the same stack", depths[i], run_hot, GG_COUNT(unwinders) - 1);
	for (size_t i = 0; i < GG_COUNT(depths); i++)
		run_at("1 000 paths", depths[i], run_paths, GG_COUNT(unwinders));
	run_at("inner 5 frames change", 200, run_changed, GG_COUNT(unwinders));
	printf("Unwinding: the same stack, fastest of many short rounds, a frame\n");
	for (size_t i = 0; i < GG_COUNT(depths); i++) {
		print_fastest(depths[i], true);
		print_fastest(depths[i], false);
	}
	putchar('\n');
	run_cold(&without_cache, 1);
	cold[0].per_run = frames_seen + 1;
	bench_run("Unwinding: cold cache", "a frame", cold, GG_COUNT(cold));
	printf("Memory: %zu KiB of rules, %zu bytes a thread, %zu KiB a thread if it has a stack cache\n",
	       sizeof(gg_rule_cache_entries) / 1024, sizeof(struct gg_unwind_thread),
	       sizeof(struct gg_stack_cache) / 1024);
	return 0;
}
