/* SPDX-License-Identifier: Apache-2.0 */
/*
 * golden_profile FILE [attached] - writes the profile of the golden reports: always the same bytes
 * of truth.
 *
 * A program that loads, keeps a cache, leaks a little, and forks a worker; with C++ names, inlined
 * calls, recursion, a module without names, memory readings, and a note.
 *
 * attached: the recording began when the program had run for three hours.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "made_profile.h"

static struct gg_error error;

static void must(int status)
{
	if (status < 0) {
		printf("golden_profile: %s: %s\n", error.place, error.message);
		exit(1);
	}
}

enum { MS = 1000000 };

static void add_memory(struct made_profile *made, int64_t time_ns, int64_t rss)
{
	struct gg_profile_memory memory = gg_profile_memory_unknown(1, time_ns);

	memory.rss_bytes = memory.pss_bytes = rss;
	memory.anonymous_bytes = rss - (6 << 20);
	memory.file_bytes = 5 << 20;
	memory.shared_bytes = 1 << 20;
	memory.swap_bytes = 0;
	memory.heap_bytes = rss / 2;
	memory.stack_bytes = memory.pss_stack_bytes = 132 << 10;
	memory.live_bytes = 0;
	memory.span_ns = 50000;
	memory.max_rss_bytes = rss + (1 << 20);
	memory.geiger_bytes = memory.pss_geiger_bytes = 3 << 20;
	memory.geiger_file_bytes = 1 << 20;
	memory.pss_file_bytes = 5 << 20;
	must(gg_profile_add_memory(made->profile, &memory, &error));
}

/* 400 ms of loading: one block freed for two that stay. */
static void load(struct made_profile *made)
{
	uint32_t node = made_stack(made, "_start>main@main.c:40>load_file@load.c:120"
	                                 ">parse_document@parse.c:77>parse_node@parse.c:31"
	                                 ">parse_node@parse.c:31+new_node@node.h:12>malloc");
	uint32_t text = made_stack(made, "_start>main@main.c:40>load_file@load.c:120"
	                                 ">parse_document@parse.c:80"
	                                 ">[/usr/lib/libstdc++.so.6]std::__cxx11::basic_string"
	                                 "::_M_create@basic_string.tcc:155>operator new>malloc");
	uint32_t buffer = made_stack(made, "_start>main@main.c:40>load_file@load.c:98>malloc");

	for (int i = 0; i < 40; i++) {
		int64_t now = (int64_t)i * 10 * MS;

		made_allocate(made, node, 96, 60000, now, GG_TIME_NONE);
		made_allocate(made, text, 40, 20000, now + MS, GG_TIME_NONE);
		made_allocate(made, text, 40, 40000, now + MS, now + 2 * MS);
		made_allocate(made, buffer, 1 << 20, 1, now, now + 9 * MS);
	}
}

static void serve(struct made_profile *made)
{
	uint32_t cache = made_stack(made, "_start>main@main.c:52>serve@serve.c:210"
	                                  ">cache_insert@cache.c:64>[/usr/lib/libplugin.so]0x1f30"
	                                  ">malloc");
	uint32_t request = made_stack(made, "_start>main@main.c:52>serve@serve.c:204"
	                                    ">read_request@serve.c:88>malloc");
	uint32_t leak = made_stack(made, "_start>main@main.c:52>serve@serve.c:230"
	                                 ">log_line@log.c:19>[libc.so.6]strdup>malloc");

	for (int i = 0; i < 55; i++) {
		int64_t now = (int64_t)(410 + i * 10) * MS;

		made_allocate(made, cache, 4096, 300, now, now + 220 * MS);
		made_allocate(made, request, 2000, 4000, now, now + MS / 2);
		made_allocate(made, leak, 64, 500, now, GG_TIME_NONE);
	}
}

/* A forked worker that holds some of its parent's blocks. */
static void work(struct made_profile *made)
{
	uint32_t stack = made_stack(made, "_start>main@main.c:60>worker@work.c:7>malloc");
	uint32_t parent = made->process, thread = made->thread;
	uint64_t block = made_sample(made, stack, 3 << 20, 500 * MS, GG_TIME_NONE);

	made_process(made, 4712, 600 * MS, 900 * MS);
	made_inherited(made, stack, 3 << 20, 500 * MS, GG_TIME_NONE, block);
	made_allocate(made, stack, 512 << 10, 10, 700 * MS, GG_TIME_NONE);
	made->process = parent;
	made->thread = thread;
}

/* Samples that were allocated and freed while nobody looked: their sums are all that is left. */
static void lose(struct made_profile *made)
{
	const struct gg_draw draw = { .sampling_interval = made->sampling_interval,
		                      .sample_point_count = 1 };
	struct gg_profile_aggregate aggregate = {
		.process = made->process,
		.thread = made->thread,
		.stack = made_stack(made, "_start>main@main.c:40>load_file@load.c:131>malloc"),
		.from_ns = 200 * MS,
		.to_ns = 260 * MS,
		.size_class = 255,
		.interval_bytes = made->sampling_interval,
		.lost = true,
	};

	for (int i = 0; i < 12; i++) {
		struct gg_sums one = gg_sums_of(&draw, 300 + (uint64_t)i * 1000);

		gg_sums_add(&aggregate.sums, &one);
	}
	must(gg_profile_add_aggregate(made->profile, &aggregate, &error));
}

/* The blocks of a look at the first process. */
struct seen {
	struct gg_profile_look_block blocks[4096];
	struct gg_profile_look_parts parts;
	int64_t time_ns;
};

static int see(const struct gg_profile_sample *sample, void *context)
{
	struct seen *seen = context;
	int64_t usable = (int64_t)(sample->usable_bytes > sample->size_bytes ? sample->usable_bytes
	                                                                     : sample->size_bytes);

	if (sample->process != 1 || sample->alloc_ns > seen->time_ns ||
	    sample->free_ns <= seen->time_ns || seen->parts.block_count == 4096)
		return 0;
	seen->blocks[seen->parts.block_count++] = (struct gg_profile_look_block){
		.sample = sample->id,
		.resident_bytes = usable > 1 << 20 ? usable / 2 : usable,
		.swapped_bytes = 0,
		.pinned_bytes = usable < 4096 ? (double)usable / 16 : 0,
	};
	return 0;
}

/* A look at the first process, when it had the most. */
static void look(struct made_profile *made)
{
	static struct seen seen = { .time_ns = 670 * MS };
	static const struct gg_profile_look_mapping mappings[] = {
		{ .kind = GG_MAPPING_HEAP,
		  .mapping_count = 1,
		  .rss_bytes = 380 << 20,
		  .huge_bytes = 24 << 20 },
		{ .kind = GG_MAPPING_ARENA, .mapping_count = 3, .rss_bytes = 30 << 20 },
		{ .kind = GG_MAPPING_STACK, .mapping_count = 5, .rss_bytes = 300 << 10 },
		{ .kind = GG_MAPPING_NAMED,
		  .name = "[anon:script stack]",
		  .mapping_count = 2,
		  .rss_bytes = 3 << 20,
		  .lazy_free_bytes = 1 << 20 },
		{ .kind = GG_MAPPING_DATA, .mapping_count = 9, .rss_bytes = 200 << 10 },
		{ .kind = GG_MAPPING_FILE,
		  .name = "/usr/bin/made",
		  .mapping_count = 4,
		  .rss_bytes = 4 << 20 },
		{ .kind = GG_MAPPING_FILE,
		  .name = "/usr/lib/libplugin.so",
		  .mapping_count = 4,
		  .rss_bytes = 1 << 20 },
		{ .kind = GG_MAPPING_GEIGER, .mapping_count = 4, .rss_bytes = 3 << 20 },
	};
	static const struct gg_profile_look_total totals[] = {
		{ .name = "glibc.returnable", .bytes = 38 << 20 },
	};
	struct gg_profile_look record = {
		.process = 1,
		.time_ns = seen.time_ns,
		.span_ns = 20 * MS,
		.pss_bytes = 415 << 20,
		.page_bytes = 4096,
		.thread_count = 5,
		.cgroup_anonymous_bytes = 420 << 20,
		.cgroup_file_bytes = 64 << 20,
		.cgroup_kernel_bytes = 6 << 20,
		.allocator = "glibc",
	};

	must(gg_profile_each_sample(made->profile, see, &seen, &error));
	record.live_count = record.chosen_count = (int64_t)seen.parts.block_count;
	for (size_t i = 0; i < GG_COUNT(mappings); i++)
		record.rss_bytes += mappings[i].rss_bytes;
	seen.parts.mappings = mappings;
	seen.parts.mapping_count = GG_COUNT(mappings);
	seen.parts.blocks = seen.blocks;
	seen.parts.totals = totals;
	seen.parts.total_count = GG_COUNT(totals);
	must(gg_profile_put_look(made->profile, &record, &seen.parts, &error));
}

/* The worker was forked by the process that was attached, and has its attach. */
static void attach(struct made_profile *made)
{
	struct gg_profile_attach attach = { .process = 1,
		                            .time_ns = 3 * MS,
		                            .age_ns = INT64_C(10800) * 1000 * MS,
		                            .older_bytes = 150 << 20,
		                            .older_source = "glibc",
		                            .unseen_slot_count = 2 };

	must(gg_profile_put_attach(made->profile, &attach, &error));
	must(gg_profile_put_counter(made->profile, 1, "missed frees", 4, &error));
	attach.process = 2;
	attach.is_inherited = true;
	attach.unseen_slot_count = -1;
	must(gg_profile_put_attach(made->profile, &attach, &error));
}

int main(int argc, char **argv)
{
	bool is_attached = argc == 3 && strcmp(argv[2], "attached") == 0;
	struct made_profile made;

	if (argc != 2 && !is_attached)
		return 2;
	made_begin(&made, argv[1], 512 << 10, 20261);
	load(&made);
	work(&made);
	serve(&made);
	lose(&made);
	look(&made);
	if (is_attached)
		attach(&made);
	for (int i = 0; i <= 10; i++)
		add_memory(&made, (int64_t)i * 99 * MS, (int64_t)(20 + (i < 4 ? i : 4) * 80) << 20);
	must(gg_profile_add_note(made.profile, "made by a test: nothing here ever ran", &error));
	must(gg_profile_finish(made.profile, &error));
	gg_profile_close(made.profile);
	return 0;
}
