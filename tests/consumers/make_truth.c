/* SPDX-License-Identifier: Apache-2.0 */
/*
 * make_truth FILE - writes a profile whose truth is known, and prints that truth as JSON: what
 * every consumer of an exported file must find again.
 *
 * Its samples are drawn one in a hundred, so that each stands for a hundred allocations exactly:
 * the estimates are whole numbers, and yet have confidence intervals.  Two processes, three
 * threads, two heaps with the same stack, inlined calls, a frame without a name, names that formats
 * must escape, blocks that live and blocks that were freed, a row of folded samples, and a look at
 * each process that chose all live blocks.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "made_profile.h"

enum { EACH = 100, END_NS = 1000000000, ROW_COUNT = 8, BLOCK_MAX = 2048 };

static struct gg_error error;

static void must(int status)
{
	if (status >= 0)
		return;
	fprintf(stderr, "make_truth: %s: %s\n", error.place, error.message);
	exit(1);
}

struct row {
	const char *stack, *function; /* a function that no other row's stack has, or NULL */
	uint32_t process;             /* 0: the server, 1: the helper */
	bool is_worker, is_pool;
	uint64_t size_bytes;
	uint32_t sample_count, live_count;
};

static const struct row rows[ROW_COUNT] = {
	{ "main@a.c:10>small_half@a.c:20+inl@a.h:5>leaf_alloc@a.c:30", NULL, 0, false, false, 64,
	  2000, 1000 },
	{ "thr@a.c:11>big_quarter@a.c:21+inl@a.h:5>leaf_alloc@a.c:30", "big_quarter", 0, true,
	  false, 100000, 12, 3 },
	{ "main@a.c:10>mixed@a.c:22+inl@a.h:5>[/usr/lib/libpool.so]pool_alloc@p.c:7", NULL, 0,
	  false, true, 2090, 200, 200 },
	{ "main@a.c:10>mixed@a.c:22+inl@a.h:5>[/usr/lib/libpool.so]pool_alloc@p.c:7", NULL, 0,
	  false, false, 500, 100, 40 },
	{ "main@a.c:10>small_half@a.c:20+inl@a.h:5>leaf_alloc@a.c:30", NULL, 1, false, false, 32,
	  500, 100 },
	{ "main@a.c:10>[/usr/lib/libbare.so]0x4242", "libbare.so+0x4242", 1, false, false, 16, 50,
	  50 },
	{ "main@a.c:10>odd;name <&\" {x}", NULL, 0, false, false, 8, 10, 5 },
	{ "main@a.c:10>all_freed@a.c:40", "all_freed", 0, true, false, 4000, 30, 0 },
};

struct truth {
	uint64_t allocated_bytes, allocated_count, live_bytes, live_count, half_bytes, pinned_bytes;
};

/* The blocks that the look at a process finds. */
struct look {
	struct gg_profile_look_block blocks[BLOCK_MAX];
	size_t block_count;
};

static void print_truth(const char *name, const struct truth *truth, const char *end)
{
	printf("  \"%s\": {\"allocated_bytes\": %llu, \"allocated_count\": %llu,"
	       " \"live_bytes\": %llu, \"live_count\": %llu, \"half_bytes\": %llu,"
	       " \"pinned_bytes\": %llu}%s\n",
	       name, (unsigned long long)truth->allocated_bytes,
	       (unsigned long long)truth->allocated_count, (unsigned long long)truth->live_bytes,
	       (unsigned long long)truth->live_count, (unsigned long long)truth->half_bytes,
	       (unsigned long long)truth->pinned_bytes, end);
}

static void add_mapping(struct made_profile *made, uint32_t process, const char *path,
                        uint64_t start)
{
	const struct gg_profile_mapping mapping = {
		.process = process,
		.module = made_module(made, path),
		.start = start,
		.end = start + 0x200000,
		.bias = start,
		.unload_ns = GG_TIME_NONE,
	};

	must(gg_profile_add_mapping(made->profile, &mapping, &error));
}

/* Folded samples: allocated and freed, nobody knows when within a tenth of the run. */
static void add_aggregate(struct made_profile *made, uint32_t process, uint32_t thread,
                          uint32_t stack, struct truth *into[], size_t count)
{
	const struct gg_profile_aggregate aggregate = {
		.process = process,
		.thread = thread,
		.stack = stack,
		.from_ns = 100000000,
		.to_ns = 900000000,
		.bucket_ns = 100000000,
		.size_class = 9,
		.interval_bytes = EACH,
		.sums = { .sample_count = 2,
		          .size_bytes = 1000,
		          .count = gg_fixed_from(2 * EACH),
		          .count_variance = gg_fixed_from(2.0 * EACH * (EACH - 1)),
		          .bytes = gg_fixed_from(1000 * EACH),
		          .bytes_variance = gg_fixed_from(2 * 250000.0 * EACH * (EACH - 1)) },
	};

	must(gg_profile_add_aggregate(made->profile, &aggregate, &error));
	for (size_t i = 0; i < count; i++) {
		into[i]->allocated_bytes += 1000 * EACH;
		into[i]->allocated_count += 2 * EACH;
		into[i]->half_bytes += 1000 * EACH;
	}
}

static void add_memory(struct made_profile *made, uint32_t process, int64_t time_ns, int64_t mib)
{
	struct gg_profile_memory memory = gg_profile_memory_unknown(process, time_ns);

	memory.rss_bytes = mib << 20;
	must(gg_profile_add_memory(made->profile, &memory, &error));
}

/* Adds a live block, and returns the bytes that it keeps. */
static uint64_t see(struct look *look, uint64_t sample)
{
	uint64_t pinned_bytes = sample % 3 * 40;

	if (look->block_count == BLOCK_MAX)
		abort();
	look->blocks[look->block_count++] = (struct gg_profile_look_block){
		.sample = sample, .pinned_bytes = (double)pinned_bytes
	};
	return pinned_bytes;
}

static void put_look(struct made_profile *made, uint32_t process, const struct look *look)
{
	const struct gg_profile_look record = {
		.process = process,
		.time_ns = END_NS - 1,
		.rss_bytes = 300 << 20,
		.page_bytes = 4096,
		.live_count = (int64_t)look->block_count,
		.chosen_count = (int64_t)look->block_count,
	};
	const struct gg_profile_look_parts parts = { .blocks = look->blocks,
		                                     .block_count = look->block_count };

	must(gg_profile_put_look(made->profile, &record, &parts, &error));
}

int main(int argc, char **argv)
{
	static struct look looks[2];
	struct truth total = { 0 }, by_process[2] = { 0 }, by_thread[3] = { 0 }, by_row[ROW_COUNT];
	uint32_t processes[2], threads[3], heap, type, first_stack = 0;
	struct gg_profile_thread worker = { .end_ns = END_NS, .tid = 4712, .name = "worker" };
	struct made_profile made;

	if (argc != 2)
		return 2;
	memset(by_row, 0, sizeof(by_row));
	made_begin(&made, argv[1], EACH, 1);
	made.has_build_ids = true;
	processes[0] = worker.process = made.process;
	threads[0] = made.thread;
	must(gg_profile_add_thread(made.profile, &worker, &threads[1], &error));
	processes[1] = made_process(&made, 4720, 100000000, END_NS);
	threads[2] = made.thread;
	must(gg_profile_intern_name(made.profile, GG_NAME_HEAP, "pool", &heap, &error));
	must(gg_profile_intern_name(made.profile, GG_NAME_TYPE, "Node", &type, &error));
	for (size_t p = 0; p < 2; p++) {
		uint64_t base = UINT64_C(0x550000000000) + p * 0x1000000;

		add_mapping(&made, processes[p], "/usr/bin/made", base);
		add_mapping(&made, processes[p], "/usr/lib/libpool.so", base + 0x400000);
	}
	add_memory(&made, processes[0], 100000000, 100);
	add_memory(&made, processes[0], 600000000, 300);
	for (size_t i = 0; i < ROW_COUNT; i++) {
		const struct row *row = &rows[i];
		size_t thread = row->process == 1 ? 2 : row->is_worker ? 1 : 0;
		struct truth *into[] = { &total, &by_process[row->process], &by_thread[thread],
			                 &by_row[i] };
		struct gg_profile_sample sample = {
			.process = processes[row->process],
			.thread = threads[thread],
			.stack = made_stack(&made, row->stack),
			.heap = row->is_pool ? heap : 0,
			.type = row->is_pool ? type : 0,
			.size_bytes = row->size_bytes,
			.usable_bytes = row->size_bytes,
			.draw = { .scheme = GG_SCHEME_PER_ALLOCATION,
			          .sampling_interval = EACH,
			          .sample_point_count = 1 },
		};

		if (i == 0) {
			first_stack = sample.stack;
			add_aggregate(&made, processes[0], threads[0], first_stack, into, 4);
		}
		for (uint32_t k = 0; k < row->sample_count; k++) {
			uint64_t bytes = EACH * row->size_bytes, pinned_bytes, id;
			bool is_live = k % row->sample_count >= row->sample_count - row->live_count;

			/* From 0.2 s to 0.4 s; what is freed is freed 0.2 s to 0.6 s later. */
			sample.alloc_ns = 200000000 + (int64_t)k * 200000000 / row->sample_count;
			sample.free_ns = is_live ? GG_TIME_NONE
			                         : sample.alloc_ns + 200000000 +
			                                   (int64_t)(k % 40) * 10000000;
			sample.address = 0x10000 + k * 64;
			must(gg_profile_add_sample(made.profile, &sample, &id, &error));
			pinned_bytes = is_live ? EACH * see(&looks[row->process], id) : 0;
			for (size_t t = 0; t < 4; t++) {
				into[t]->pinned_bytes += pinned_bytes;
				into[t]->allocated_bytes += bytes;
				into[t]->allocated_count += EACH;
				into[t]->live_bytes += is_live ? bytes : 0;
				into[t]->live_count += is_live ? EACH : 0;
				if (sample.alloc_ns <= END_NS / 2 && sample.free_ns > END_NS / 2)
					into[t]->half_bytes += bytes;
			}
		}
	}
	for (size_t p = 0; p < 2; p++)
		put_look(&made, processes[p], &looks[p]);
	must(gg_profile_finish(made.profile, &error));
	gg_profile_close(made.profile);
	puts("{");
	print_truth("total", &total, ",");
	print_truth("4711", &by_process[0], ",");
	print_truth("4720", &by_process[1], ",");
	print_truth("4711/4711", &by_thread[0], ",");
	print_truth("4711/4712", &by_thread[1], ",");
	print_truth("4720/4720", &by_thread[2], ",");
	for (size_t i = 0; i < ROW_COUNT; i++)
		if (rows[i].function != NULL)
			print_truth(rows[i].function, &by_row[i], ",");
	print_truth("pool: Node", &by_row[2], "");
	puts("}");
	return 0;
}
