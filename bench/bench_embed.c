/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_embed - measures what libgeiger costs an allocator of one's own: a bump pointer, and a pool
 * with geiger_due(), each beside the same code without geiger.
 *
 *   bench_embed                 everything
 *   bench_embed WORK COUNT      that many operations of one work, for callgrind
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/compiler.h"
#include "bench.h"
#include "embed_paths.h"
#include "geiger/geiger.h"

enum { LARGE_BLOCK = 1 << 30 };

/* So large that no sample point is met. */
#define NEVER (UINT64_C(1) << 62)

uint16_t embed_sizes[EMBED_SIZES];

static char block[EMBED_BLOCK];
static char *the_block = block;
static size_t block_bytes = EMBED_BLOCK;
static uint32_t heap;
static uint64_t heard_count;

static void hear(void *user, const struct geiger_bump_sample *sample)
{
	(void)user;
	(void)sample;
	heard_count++;
}

static void begin(struct geiger_bump *bump, uint64_t interval, bool enabled)
{
	struct geiger_bump_config config = { .interval_bytes = interval,
		                             .seed = 1,
		                             .on_sample = hear };

	if (geiger_bump_init(bump, &config) < 0)
		exit(1);
	geiger_bump_enable(bump, enabled);
}

static void run_plain_bump(void *context, uint64_t count)
{
	plain_bump(context, the_block, block_bytes, count);
}

static void run_sampled_bump(void *context, uint64_t count)
{
	sampled_bump(context, the_block, block_bytes, count);
}

static void run_plain_pool(void *context, uint64_t count)
{
	(void)context;
	plain_pool(heap, count);
}

static void run_sampled_pool(void *context, uint64_t count)
{
	(void)context;
	sampled_pool(heap, count);
}

static void run_plain_due(void *context, uint64_t count)
{
	(void)context;
	plain_due(heap, count);
}

static void run_sampled_due(void *context, uint64_t count)
{
	(void)context;
	sampled_due(heap, count);
}

/* --- every allocation a sample --- */

static uint32_t framed_heap;
static char *bench_directory;

static size_t provide(void *user, struct geiger_frame *frames, size_t capacity)
{
	static const char *const functions[] = { "fact", "map", "fold", "eval", "load", "main" };

	(void)user;
	for (size_t i = 0; i < 10 && i < capacity; i++)
		frames[i] = (struct geiger_frame){ functions[i % 6], "/lib/program.scm",
			                           (uint32_t)i, NULL };
	return capacity < 10 ? capacity : 10;
}

static void sample_and_free(uint32_t of, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		if (geiger_due(64))
			geiger_allocated(of, block + i % 1000, 64, "object");
		geiger_freed(of, block + i % 1000);
	}
}

static void run_sample(void *context, uint64_t count)
{
	(void)context;
	sample_and_free(heap, count);
}

static void run_framed_sample(void *context, uint64_t count)
{
	(void)context;
	sample_and_free(framed_heap, count);
}

static void run_free_of_none(void *context, uint64_t count)
{
	(void)context;
	for (uint64_t i = 0; i < count; i++)
		geiger_freed(heap, block + 2000 + i % 1000);
}

static struct geiger_bump every;

static void run_every_bump(void *context, uint64_t count)
{
	sampled_bump(context, the_block, block_bytes, count);
}

static void time_samples(void)
{
	struct geiger_options options = { .interval_bytes = 1, .seed = 1 };
	struct bench_case cases[] = {
		{ .name = "bump, on_sample alone", .run = run_every_bump, .context = &every },
		{ .name = "recorded and freed", .run = run_sample },
		{ .name = "... with 10 frames of a runtime", .run = run_framed_sample },
		{ .name = "geiger_freed() of no sample", .run = run_free_of_none },
	};
	char directory[] = "/tmp/geiger-bench-XXXXXX", command[64];

	bench_directory = mkdtemp(directory);
	if (bench_directory == NULL)
		return;
	options.directory = bench_directory;
	if (geiger_start(&options) < 0)
		return;
	framed_heap = geiger_heap_register("framed", NULL);
	geiger_heap_set_frame_provider(framed_heap, provide, NULL);
	begin(&every, 1, true);
	bench_run("a sample, at an interval of 1", "sample", cases, GG_COUNT(cases));
	geiger_stop();
	snprintf(command, sizeof(command), "rm -r %s", bench_directory);
	if (system(command) != 0)
		printf("%s stays\n", bench_directory);
}

static struct geiger_bump plain, off, never, usual, dense;

static const struct work {
	const char *name, *told;
	void (*run)(void *context, uint64_t count);
	void *context;
} works[] = {
	{ "bump-plain", "not compiled in", run_plain_bump, &plain },
	{ "bump-off", "off", run_sampled_bump, &off },
	{ "bump-never", "on, never a mark", run_sampled_bump, &never },
	{ "bump-512k", "on, 512 KiB", run_sampled_bump, &usual },
	{ "bump-32k", "on, 32 KiB", run_sampled_bump, &dense },
	{ "pool-plain", "not compiled in", run_plain_pool, NULL },
	{ "pool-due", "geiger_due()", run_sampled_pool, NULL },
	{ "due-plain", "an empty loop", run_plain_due, NULL },
	{ "due", "geiger_due() alone", run_sampled_due, NULL },
};

static void time_works(const char *title, const char *what, size_t first, size_t count)
{
	struct bench_case cases[8] = { 0 };

	for (size_t i = 0; i < count; i++)
		cases[i] = (struct bench_case){ .name = works[first + i].told,
			                        .run = works[first + i].run,
			                        .context = works[first + i].context };
	bench_run(title, what, cases, count);
	if (count == 2)
		printf("  geiger_due() adds %+.2f ns\n\n", cases[1].median_ns - cases[0].median_ns);
}

static double count_instructions(const char *self, const char *work, uint64_t count)
{
	char command[512], line[64] = "";
	FILE *pipe;

	snprintf(command, sizeof(command),
	         "valgrind --tool=callgrind --callgrind-out-file=/dev/null '%s' %s %llu 2>&1 |"
	         " sed -n 's/.*Collected : //p'",
	         self, work, (unsigned long long)count);
	pipe = popen(command, "r");
	if (pipe == NULL || fgets(line, sizeof(line), pipe) == NULL)
		line[0] = '\0';
	if (pipe != NULL)
		pclose(pipe);
	return strtod(line, NULL);
}

static void tell_instructions(const char *self)
{
	enum { COUNT = 500000 };
	double first = 0;

	if (system("command -v valgrind >/dev/null") != 0) {
		printf("instructions: valgrind is not installed\n");
		return;
	}
	printf("instructions an object (callgrind)\n");
	for (size_t i = 0; i < GG_COUNT(works); i++) {
		double each = (count_instructions(self, works[i].name, 2 * COUNT) -
		               count_instructions(self, works[i].name, COUNT)) /
		              COUNT;

		if (strstr(works[i].name, "plain") != NULL)
			first = each;
		printf("  %-12s %-18s %8.3f  %+7.3f\n", works[i].name, works[i].told, each,
		       each - first);
	}
}

/* A block for all of them, so that the fast path alone is counted. */
static void take_large_block(void)
{
	void *large = mmap(NULL, LARGE_BLOCK, PROT_READ | PROT_WRITE,
	                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (large == MAP_FAILED)
		exit(1);
	the_block = large;
	block_bytes = LARGE_BLOCK;
}

static void prepare(void)
{
	for (size_t i = 0; i < EMBED_SIZES; i++)
		embed_sizes[i] = (uint16_t)(16 + 16 * (i * 7919 % 16));
	plain = (struct geiger_bump){ 0 };
	begin(&off, 512 * 1024, false);
	begin(&never, NEVER, true);
	begin(&usual, 512 * 1024, true);
	begin(&dense, 32 * 1024, true);
	heap = geiger_heap_register("pool", NULL);
}

int main(int argc, char **argv)
{
	prepare();
	if (argc == 3) {
		take_large_block();
		for (size_t i = 0; i < GG_COUNT(works); i++)
			if (strcmp(works[i].name, argv[1]) == 0)
				works[i].run(works[i].context, strtoull(argv[2], NULL, 10));
		return 0;
	}
	time_works("a bump-pointer allocator", "object", 0, 5);
	time_works("a pool of free lists", "object", 5, 2);
	time_works("the decision alone", "decision", 7, 2);
	time_samples();
	tell_instructions(argv[0]);
	return 0;
}
