/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_region - measures what the region costs: the check on each free, interning a stack by three
 * designs, recording.
 *
 * The stacks are 47 frames deep.  "hot" is one stack again and again; the 65 536 distinct ones come
 * in a shuffled order and differ in their inner frames as the calls of a program do: 16 levels,
 * each calling two others.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/hash.h"
#include "bench.h"
#include "region/ring.h"
#include "region/writer/record.h"
#include "region/writer/region.h"
#include "region/writer/stack_table.h"

enum { FRAMES = 47, LEVELS = 16, DISTINCT = 1 << LEVELS, LIVE = 10000 };

static struct gg_region region;
static struct gg_region_thread thread;

/* Stack number i, as the i-th path through the levels; pcs[0] is the innermost. */
static void make_stack(uint64_t number, uint64_t *pcs)
{
	uint64_t path = 1;

	for (int i = 0; i < FRAMES; i++) {
		if (i >= FRAMES - LEVELS)
			path = path << 1 | (number >> (FRAMES - 1 - i) & 1);
		pcs[FRAMES - 1 - i] = UINT64_C(0x555500000000) + path * 64 + (uint64_t)i * 5;
	}
}

static uint64_t shuffled(uint64_t i)
{
	return (i * 40503) % DISTINCT;
}

/* --- the two designs that lost --- */

/* Plain trie: a node for (parent, pc), looked up frame by frame from the outermost. */
static struct plain_node {
	uint64_t pc;
	uint32_t parent;
} * plain_nodes;
static uint32_t plain_count = 1;
static struct gg_hash_index plain_index;

struct plain_key {
	uint64_t pc;
	uint32_t parent;
};

static bool plain_matches(uint32_t value, const void *context)
{
	const struct plain_key *key = context;

	return plain_nodes[value].pc == key->pc && plain_nodes[value].parent == key->parent;
}

static uint32_t plain_intern(const uint64_t *pcs)
{
	struct plain_key key = { .parent = 0 };

	for (int i = FRAMES - 1; i >= 0; i--) {
		uint64_t hash;
		uint32_t id;

		key.pc = pcs[i];
		hash = gg_hash_integer(key.pc + ((uint64_t)key.parent << 48) + key.parent, 1);
		id = gg_hash_index_find(&plain_index, hash, false, plain_matches, &key, NULL);
		if (id == GG_INDEX_NONE) {
			id = plain_count++;
			plain_nodes[id] = (struct plain_node){ .pc = key.pc, .parent = key.parent };
			gg_hash_index_add(&plain_index, hash, id, plain_matches, &key);
		}
		key.parent = id;
	}
	return key.parent;
}

/* Whole stacks: all pcs of each, compared in full. */
static uint64_t *whole_stacks;
static uint32_t whole_count = 1;
static struct gg_hash_index whole_index;

static bool whole_matches(uint32_t value, const void *context)
{
	return memcmp(context, whole_stacks + (size_t)value * FRAMES, FRAMES * sizeof(uint64_t)) ==
	       0;
}

static uint32_t whole_intern(const uint64_t *pcs)
{
	uint64_t hash = gg_hash_bytes(pcs, FRAMES * sizeof(*pcs), 1);
	uint32_t id = gg_hash_index_find(&whole_index, hash, false, whole_matches, pcs, NULL);

	if (id != GG_INDEX_NONE)
		return id;
	id = whole_count++;
	memcpy(whole_stacks + (size_t)id * FRAMES, pcs, FRAMES * sizeof(*pcs));
	return gg_hash_index_add(&whole_index, hash, id, whole_matches, pcs);
}

/* --- cases --- */

static uint64_t (*all_stacks)[FRAMES];
static uint64_t next_stack;

/* context: a number of stacks to go round in. */
static const uint64_t *pick(const void *context)
{
	return all_stacks[shuffled(next_stack++ % *(const uint64_t *)context)];
}

static void run_pick(void *context, uint64_t count)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < count; i++)
		sum += *pick(context);
	bench_keep(sum);
}

static void run_intern(void *context, uint64_t count)
{
	uint32_t sum = 0;

	for (uint64_t i = 0; i < count; i++)
		sum += gg_region_intern(&region, &thread, pick(context), FRAMES);
	bench_keep(sum);
}

static void run_plain(void *context, uint64_t count)
{
	uint32_t sum = 0;

	for (uint64_t i = 0; i < count; i++)
		sum += plain_intern(pick(context));
	bench_keep(sum);
}

static void run_whole(void *context, uint64_t count)
{
	uint32_t sum = 0;

	for (uint64_t i = 0; i < count; i++)
		sum += whole_intern(pick(context));
	bench_keep(sum);
}

static void run_check(void *context, uint64_t count)
{
	uint64_t hits = 0;

	(void)context;
	for (uint64_t i = 0; i < count; i++) {
		bench_keep(i);
		if (gg_live_maybe(&region, (void *)(uintptr_t)(0x500000 + i % 65536 * 32)))
			hits++;
	}
	bench_keep(hits);
}

static void run_loop(void *context, uint64_t count)
{
	(void)context;
	for (uint64_t i = 0; i < count; i++)
		bench_keep(0x500000 + i % 65536 * 32);
}

static uint64_t next_address;

static uint64_t address_of(uint64_t i)
{
	return 0x7f0000000000 + (i * 2654435761 % (1 << 28)) * 16;
}

static struct gg_allocation sample_of(uint64_t i, uint32_t stack)
{
	return (struct gg_allocation){
		.address = address_of(i),
		.time_ns = i,
		.size_bytes = 64,
		.usable_bytes = 72,
		.draw = { .sampling_interval = 4096,
		          .sample_point_count = 1,
		          .scheme = GG_SCHEME_POISSON },
		.stack = stack,
	};
}

static uint32_t hot_stack;

/* An allocation, and the free of the one that is LIVE older. */
static void run_record(void *context, uint64_t count)
{
	const uint64_t *stack_count = context;

	for (uint64_t i = 0; i < count; i++) {
		uint32_t stack = stack_count == NULL ? hot_stack
		                                     : gg_region_intern(&region, &thread,
		                                                        pick(stack_count), FRAMES);
		struct gg_allocation sample = sample_of(next_address, stack);

		gg_region_record_alloc(&region, &thread, &sample);
		gg_region_record_free(&region, &thread,
		                      (void *)(uintptr_t)address_of(next_address - LIVE), 0,
		                      next_address, 0);
		next_address++;
	}
}

static void run_weigh(void *context, uint64_t count)
{
	struct gg_draw draw = { .sampling_interval = 4096,
		                .sample_point_count = 1,
		                .scheme = GG_SCHEME_POISSON };

	(void)context;
	for (uint64_t i = 0; i < count; i++) {
		struct gg_sums sums = gg_sums_of(&draw, 64 + i % 1024);

		bench_keep(sums.count.low);
	}
}

static void *pages(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
	                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory != MAP_FAILED ? memory : NULL;
}

/* Private pages of this process that are there. */
static double private_bytes(void)
{
	FILE *file = fopen("/proc/self/status", "r");
	char line[256];
	double kib = 0;

	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
		if (sscanf(line, "RssAnon: %lf", &kib) == 1)
			break;
	if (file != NULL)
		fclose(file);
	return kib * 1024;
}

static bool begin(struct gg_region_options *options)
{
	struct gg_region_file map;

	if (gg_region_file_create_anonymous(&map, "bench", gg_region_options_file_bytes(options)) <
	            0 ||
	    gg_region_init(&region, &map, options) < 0)
		return false;
	gg_region_thread_begin(&region, &thread, 1, "bench", 0);
	return true;
}

static void print_memory(void)
{
	static const uint32_t counts[] = { 1000, 10000, 100000, 1000000 };
	struct gg_region_options options;

	printf("Memory a live sample, all on one stack\n  %-12s %14s %14s\n", "live", "file",
	       "private");
	for (size_t i = 0; i < GG_COUNT(counts); i++) {
		double file, private, base;

		gg_region_options_default(&options);
		if (!begin(&options))
			return;
		base = private_bytes();
		for (uint32_t j = 1; j <= counts[i]; j++) {
			struct gg_allocation sample = sample_of(j, 0);

			gg_region_record_alloc(&region, &thread, &sample);
		}
		file = (double)region.tables[GG_TABLE_LIVE].reserved_bytes;
		private = private_bytes() - base;
		printf("  %-12u %8.1f bytes %8.1f bytes\n", counts[i], file / counts[i],
		       private / counts[i]);
		gg_region_done(&region, true);
	}
	putchar('\n');
}

int main(void)
{
	uint64_t one = 1, all = DISTINCT;
	struct gg_region_options options;
	struct bench_case check[] = {
		{ .name = "loop", .run = run_loop },
		{ .name = "gg_live_maybe, no", .run = run_check },
	};
	struct bench_case hot[] = {
		{ .name = "picking it", .run = run_pick, .context = &one },
		{ .name = "gg_region_intern", .run = run_intern, .context = &one },
		{ .name = "plain trie", .run = run_plain, .context = &one },
		{ .name = "whole stacks", .run = run_whole, .context = &one },
	};
	struct bench_case distinct[] = {
		{ .name = "picking one", .run = run_pick, .context = &all },
		{ .name = "gg_region_intern", .run = run_intern, .context = &all },
		{ .name = "plain trie", .run = run_plain, .context = &all },
		{ .name = "whole stacks", .run = run_whole, .context = &all },
	};
	struct bench_case records[] = {
		{ .name = "alloc + free, one stack", .run = run_record },
		{ .name = "weighing a new size", .run = run_weigh },
		{ .name = "intern + alloc + free, 65 536 stacks",
		  .run = run_record,
		  .context = &all },
	};

	gg_region_options_default(&options);
	options.hash_seed = 1;
	all_stacks = pages(sizeof(*all_stacks) * DISTINCT);
	plain_nodes = pages(sizeof(*plain_nodes) << 20);
	whole_stacks = pages(sizeof(uint64_t) * FRAMES * 2 * DISTINCT);
	if (!begin(&options) || all_stacks == NULL || plain_nodes == NULL || whole_stacks == NULL)
		return 1;
	gg_hash_index_init(&plain_index, pages(gg_hash_index_bytes(1 << 20, GG_HASH_INDEX_TIGHT)),
	                   1 << 20, GG_HASH_INDEX_TIGHT);
	gg_hash_index_init(&whole_index, pages(gg_hash_index_bytes(1 << 17, GG_HASH_INDEX_TIGHT)),
	                   1 << 17, GG_HASH_INDEX_TIGHT);
	for (uint64_t i = 0; i < DISTINCT; i++)
		make_stack(i, all_stacks[i]);
	run_intern(&all, 2 * DISTINCT);
	run_plain(&all, 2 * DISTINCT);
	run_whole(&all, 2 * DISTINCT);
	printf("%d stacks of %d frames: region %.1f MiB, plain trie %.1f MiB, whole stacks %.1f MiB\n\n",
	       DISTINCT, FRAMES, region.tables[GG_TABLE_STACKS].used_count * 16.0 / (1 << 20),
	       plain_count * 16.0 / (1 << 20), whole_count * FRAMES * 8.0 / (1 << 20));
	hot_stack = gg_region_intern(&region, &thread, all_stacks[7], FRAMES);
	for (next_address = 1; next_address <= LIVE; next_address++) {
		struct gg_allocation sample = sample_of(next_address, hot_stack);

		gg_region_record_alloc(&region, &thread, &sample);
	}
	bench_run("The check on each free, 10 000 live samples", "free", check, GG_COUNT(check));
	bench_run("Interning one stack of 47 frames", "stack", hot, GG_COUNT(hot));
	bench_run("Interning 65 536 stacks of 47 frames", "stack", distinct, GG_COUNT(distinct));
	bench_run("Recording, 10 000 live samples", "pair", records, GG_COUNT(records));
	gg_region_done(&region, true);
	print_memory();
	return 0;
}
