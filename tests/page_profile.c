/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_profile hostile|large|rich FILE - profiles that a page must survive: one whose names want to
 * be markup, one of 100 000 stacks (PAGE_STACKS: of so many), and one with some of everything that
 * rows can be: threads, processes that share blocks, labels, heaps, types, functions that are
 * called from and allocate at several lines.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "large_profile.h"
#include "made_profile.h"

static struct gg_error error;

static void must(int status)
{
	if (status < 0) {
		printf("page_profile: %s: %s\n", error.place, error.message);
		exit(1);
	}
}

/* '>' divides functions (made_profile.h), so names that need it are set by SQL, in the test. */
static void make_hostile(const char *path)
{
	struct gg_profile_session session = {
		.command =
			"/bin/x '</script><script>alert(1)</script>' \"--x=<img src=x onerror=alert(1)>\"",
		.host = "<b>host</b>",
		.geiger = "0",
		.end_ns = 1000000000,
		.interval_bytes = 1000,
		.has_history = true,
	};
	struct made_profile made;

	made_begin(&made, path, 1000, 7);
	must(gg_profile_set_session(made.profile, &session, &error));
	made_allocate(&made,
	              made_stack(&made, "main>[/tmp/<script src=x]</script@</script:1>malloc"), 640,
	              1000, 1000000, GG_TIME_NONE);
	made_allocate(&made, made_stack(&made, "main><!--<script&lt;\"'`\xff@a.c:2>malloc"), 64,
	              1000, 2000000, 500000000);
	must(gg_profile_finish(made.profile, &error));
	gg_profile_close(made.profile);
}

/*
 * Calls from several lines, also by recursion, and inlined; the innermost function allocates at two
 * lines.
 */
static const char *const rich_stacks[] = {
	"main@main.c:10>load@load.c:20>parse@parse.c:30>malloc",
	"main@main.c:10>load@load.c:20>parse@parse.c:31>malloc",
	"main@main.c:10>load@load.c:25>parse@parse.c:30>malloc",
	"main@main.c:12>load@load.c:25>parse@parse.c:30>malloc",
	"main@main.c:12>parse@parse.c:40>parse@parse.c:30>malloc",
	"main@main.c:12>parse@parse.c:40>parse@parse.c:41>parse@parse.c:40>parse@parse.c:30>malloc",
	"main@main.c:14>walk@walk.c:5+step@walk.h:9>[/usr/lib/libtree.so]node@tree.c:70>malloc",
	"main@main.c:14>walk@walk.c:5+step@walk.h:11>[/usr/lib/libtree.so]node@tree.c:70>malloc",
	"main@main.c:14>walk@walk.c:6>[/usr/lib/libtree.so]node@tree.c:71>malloc",
	"main@main.c:16>[/usr/lib/libtree.so]0x88>malloc",
	"main@main.c:16>[/usr/lib/libtree.so]0x88>parse@parse.c:30>malloc",
	"main@main.c:12>parse@parse.c:40>parse@parse.c:40>malloc",
};

enum { RICH_STACKS = GG_COUNT(rich_stacks), RICH_THREADS = 3, RICH_SAMPLES = 1500, RICH_MS = 1000 };

struct rich {
	struct made_profile made;
	uint32_t stacks[RICH_STACKS], processes[3], threads[3][RICH_THREADS], heap, types[2];
};

/* From 10 us to 1 s: all that may be called temporary, and more. */
static int64_t rich_life(struct gg_rng *rng)
{
	int64_t life = 10000;

	for (uint64_t i = gg_rng_below(rng, 6); i > 0; i--)
		life *= 10;
	return life + (int64_t)gg_rng_below(rng, 10000);
}

static uint64_t add_rich_sample(struct rich *rich, int process, int64_t now)
{
	static const int64_t ms = 1000000;
	struct made_profile *made = &rich->made;
	struct gg_profile_sample sample = {
		.alloc_ns = now,
		.free_ns = now + rich_life(&made->rng),
		.process = rich->processes[process],
		.thread = rich->threads[process][gg_rng_below(&made->rng, RICH_THREADS)],
		.stack = rich->stacks[gg_rng_below(&made->rng, RICH_STACKS)],
		.size_bytes = UINT64_C(16) << gg_rng_below(&made->rng, 12),
		.address = 0x10000 + (uint64_t)now,
		.draw = { .sampling_interval = made->sampling_interval, .sample_point_count = 1 },
	};
	uint64_t id;

	sample.usable_bytes = sample.size_bytes + 8;
	if (gg_rng_below(&made->rng, 3) == 0)
		sample.heap = rich->heap, sample.type = rich->types[gg_rng_below(&made->rng, 2)];
	if (sample.free_ns >= RICH_MS * ms || gg_rng_below(&made->rng, 4) == 0)
		sample.free_ns = GG_TIME_NONE;
	must(gg_profile_add_sample(made->profile, &sample, &id, &error));
	return id;
}

/*
 * A block that the first process allocated, and others inherited: they free it at other times, or
 * never.
 */
static void add_rich_shared(struct rich *rich, int64_t now)
{
	static const int64_t ms = 1000000;
	struct made_profile *made = &rich->made;
	uint32_t stack = rich->stacks[gg_rng_below(&made->rng, RICH_STACKS)];
	int64_t until[3], fork_ns[3] = { 0, 400 * ms, 600 * ms };
	uint64_t origin = 0;

	for (int i = 0; i < 3; i++)
		until[i] = gg_rng_below(&made->rng, 2) == 0
		                   ? GG_TIME_NONE
		                   : 610 * ms + (int64_t)gg_rng_below(&made->rng, 150) * ms;
	for (int i = 0; i < 3; i++) {
		made->process = rich->processes[i];
		made->thread = rich->threads[i][0];
		if (i == 0)
			origin = made_sample(made, stack, 4096, now, until[0]);
		else if (gg_rng_below(&made->rng, 2) == 0)
			made_inherited(made, stack, 4096, fork_ns[i], until[i], origin);
	}
}

static void make_rich_processes(struct rich *rich)
{
	static const char *const names[RICH_THREADS] = { "main", "worker", "io" };
	static const int64_t ms = 1000000;
	static const int64_t starts[] = { 0, 400 * ms, 600 * ms },
			     ends[] = { 1000 * ms, 800 * ms, 1000 * ms };
	struct made_profile *made = &rich->made;

	for (uint32_t i = 0; i < 3; i++) {
		rich->processes[i] = i == 0 ? made->process
		                            : made_process(made, 5000 + i, starts[i], ends[i]);
		rich->threads[i][0] = made->thread;
		for (uint32_t k = 1; k < RICH_THREADS; k++) {
			struct gg_profile_thread thread = { .process = rich->processes[i],
				                            .tid = 6000 + i * 10 + k,
				                            .name = names[k] };

			must(gg_profile_add_thread(made->profile, &thread, &rich->threads[i][k],
			                           &error));
		}
		must(gg_profile_put_label(made->profile, rich->processes[i], "host",
		                          i == 1 ? "web-2" : "web-1", &error));
	}
	must(gg_profile_put_label(made->profile, rich->processes[2], "a,b<i>%", "", &error));
}

static void make_rich(const char *path)
{
	static struct rich rich;
	struct made_profile *made = &rich.made;
	const int64_t ms = 1000000;

	made_begin(made, path, 4096, 11);
	make_rich_processes(&rich);
	for (int i = 0; i < RICH_STACKS; i++)
		rich.stacks[i] = made_stack(made, rich_stacks[i]);
	must(gg_profile_intern_name(made->profile, GG_NAME_HEAP, "pool", &rich.heap, &error));
	must(gg_profile_intern_name(made->profile, GG_NAME_TYPE, "Node", &rich.types[0], &error));
	must(gg_profile_intern_name(made->profile, GG_NAME_TYPE, "<b>Leaf", &rich.types[1],
	                            &error));
	for (int64_t i = 0; i < RICH_SAMPLES; i++) {
		int64_t now = i * RICH_MS * ms / RICH_SAMPLES;
		int alive = now < 400 * ms ? 1 : now < 600 * ms ? 2 : 3;
		int process = (int)gg_rng_below(&made->rng, (uint64_t)alive);

		if (process == 1 && now > 790 * ms)
			process = 0;
		add_rich_sample(&rich, process, now);
		if (i % 20 == 0 && now < 400 * ms)
			add_rich_shared(&rich, now);
	}
	must(gg_profile_finish(made->profile, &error));
	gg_profile_close(made->profile);
}

int main(int argc, char **argv)
{
	const char *wanted = getenv("PAGE_STACKS");
	uint32_t stacks = wanted != NULL ? (uint32_t)strtoul(wanted, NULL, 10) : 100000;

	if (argc != 3)
		return 2;
	if (strcmp(argv[1], "hostile") == 0)
		make_hostile(argv[2]);
	else if (strcmp(argv[1], "rich") == 0)
		make_rich(argv[2]);
	else
		must(large_profile_make(argv[2], stacks, stacks, 32, &error));
	return 0;
}
