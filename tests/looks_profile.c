/* SPDX-License-Identifier: Apache-2.0 */
/*
 * looks_profile FILE KEEPERS [TOTAL] - writes a profile of two processes with looks, for tests of
 * what commands say about pinned memory.
 *
 * A server forks a child, which holds half of the server's blocks as well.  The server has a look
 * at its peak and a last one, the child has one look that is both.  Looks choose some of the live
 * samples, and cannot tell what a few of these keep.  KEEPERS is the number of samples in keep(),
 * each of which keeps some of a page.  TOTAL is what exact walks through the server's heap found,
 * and the child has half of it; without it there were no walks.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "made_profile.h"

enum { BLOCK_MAX = 1024, MS = 1000000, PEAK_NS = 300 * MS, LAST_NS = 900 * MS, MIB = 1 << 20 };

struct live {
	uint64_t sample;
	double pinned_bytes;
	uint32_t stack;
};

struct live_list {
	struct live items[BLOCK_MAX];
	size_t count;
};

static struct gg_error error;

static void must(bool is_done)
{
	if (is_done)
		return;
	printf("looks_profile: %s: %s\n", error.place, error.message);
	exit(1);
}

static void add_live(struct live_list *list, uint64_t sample, uint32_t stack, double pinned_bytes)
{
	must(list->count < BLOCK_MAX);
	list->items[list->count++] = (struct live){ sample, pinned_bytes, stack };
}

/* Live samples of one stack, of several sizes. */
static void add_samples(struct made_profile *made, struct live_list *list, const char *names,
                        int count, double most_bytes)
{
	uint32_t stack = made_stack(made, names);

	for (int i = 0; i < count; i++) {
		double pinned = floor(most_bytes * gg_rng_uniform(&made->rng));
		uint64_t id = made_sample(made, stack, 48u << (i % 4), (10 + i % 200) * MS,
		                          GG_TIME_NONE);

		add_live(list, id, stack, i % 50 == 48 ? -1 : pinned);
	}
}

/* Looks at every `step`-th live sample.  walked_bytes < 0: without a walk through the heap. */
static void put_look(struct made_profile *made, const struct live_list *list, int64_t time_ns,
                     int64_t rss_bytes, size_t step, int64_t walked_bytes)
{
	static struct gg_profile_look_block blocks[BLOCK_MAX];
	const struct gg_profile_look_mapping mappings[] = {
		{ .kind = GG_MAPPING_HEAP,
		  .mapping_count = 1,
		  .size_bytes = rss_bytes,
		  .rss_bytes = rss_bytes - MIB,
		  .pss_bytes = rss_bytes - MIB },
		{ .kind = GG_MAPPING_FILE,
		  .name = "/usr/bin/made",
		  .mapping_count = 3,
		  .size_bytes = 2 * MIB,
		  .rss_bytes = MIB,
		  .pss_bytes = MIB },
	};
	const struct gg_profile_look_total totals[] = {
		{ .name = "glibc.pinned", .bytes = walked_bytes },
		{ .name = "glibc.unread", .bytes = 0 },
		{ .name = "glibc.fast", .bytes = 0 },
		{ .name = "glibc.cached", .bytes = 0 },
	};
	struct gg_profile_look look = { .process = made->process,
		                        .time_ns = time_ns,
		                        .span_ns = MS,
		                        .rss_bytes = rss_bytes,
		                        .pss_bytes = rss_bytes,
		                        .page_bytes = 4096,
		                        .thread_count = 1,
		                        .live_count = (int64_t)list->count,
		                        .allocator = "glibc",
		                        .cgroup_anonymous_bytes = -1,
		                        .cgroup_file_bytes = -1,
		                        .cgroup_kernel_bytes = -1 };
	struct gg_profile_look_parts parts = { .mappings = mappings,
		                               .blocks = blocks,
		                               .totals = totals,
		                               .mapping_count = GG_COUNT(mappings),
		                               .total_count = walked_bytes >= 0 ? GG_COUNT(totals)
		                                                                : 0 };

	for (size_t i = 0; i < list->count; i += step)
		blocks[parts.block_count++] = (struct gg_profile_look_block){
			.sample = list->items[i].sample,
			.resident_bytes = 48,
			.pinned_bytes = list->items[i].pinned_bytes
		};
	look.chosen_count = (int64_t)parts.block_count;
	must(gg_profile_put_look(made->profile, &look, &parts, &error) == 0);
}

int main(int argc, char **argv)
{
	static struct live_list server, child;
	struct made_profile made;
	int64_t walked_bytes = argc > 3 ? atoll(argv[3]) : -1;
	int keepers = argc > 2 ? atoi(argv[2]) : 0;

	if (argc < 3)
		return 2;
	made_begin(&made, argv[1], 1024, (uint64_t)keepers);
	add_samples(&made, &server, "main>serve@serve.c:10>keep@keep.c:20", keepers, 4000);
	add_samples(&made, &server, "main>serve@serve.c:10>cache@cache.c:30", 150, 300);
	put_look(&made, &server, PEAK_NS, 64 * MIB, 1, walked_bytes);
	add_samples(&made, &server, "main>serve@serve.c:12>index", 60, 1000);
	put_look(&made, &server, LAST_NS, 48 * MIB, 2, walked_bytes);
	made_process(&made, 4720, 500 * MS, 1000 * MS);
	for (size_t i = 0; i < server.count; i += 2)
		add_live(&child,
		         made_inherited(&made, server.items[i].stack, 64, 500 * MS, GG_TIME_NONE,
		                        server.items[i].sample),
		         server.items[i].stack, server.items[i].pinned_bytes);
	add_samples(&made, &child, "main>serve@serve.c:10>keep@keep.c:20", 30, 4000);
	add_samples(&made, &child, "main>child>answer", 20, 100);
	put_look(&made, &child, LAST_NS, 20 * MIB, 3, walked_bytes / 2);
	must(gg_profile_finish(made.profile, &error) == 0);
	gg_profile_close(made.profile);
	return 0;
}
