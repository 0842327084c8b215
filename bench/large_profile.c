/* SPDX-License-Identifier: Apache-2.0 */
#include "large_profile.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "profile/profile.h"
#include "stats/sampling/rng.h"

enum { FUNCTIONS = 20000, MODULES = 40, FRAMES = 60000, LOOKED_MAX = 10000 };

struct making {
	struct gg_profile *profile;
	struct gg_rng rng;
	struct gg_error *error;
	int status; /* of the first failure */
	uint32_t process, *threads, thread_count, frames[FRAMES];
	uint32_t *stacks, stack_count;
	struct gg_profile_look_block blocks[LOOKED_MAX];
	size_t block_count;
};

/* After a failure the rest does nothing that matters. */
static void keep(struct making *making, int status)
{
	if (status < 0 && making->status == 0)
		making->status = status;
}

static void make_frames(struct making *making)
{
	uint32_t modules[MODULES];
	char text[64], file[64];

	for (int i = 0; i < MODULES; i++) {
		struct gg_profile_module module = { .path = text };

		snprintf(text, sizeof(text), "/usr/lib/libbench%d.so", i);
		keep(making, gg_profile_intern_module(making->profile, &module, &modules[i],
		                                      making->error));
	}
	for (int i = 0; i < FRAMES; i++) {
		uint32_t function = (uint32_t)(i % FUNCTIONS);
		struct gg_profile_line lines[2] = { 0 };
		uint32_t count = 0;

		keep(making, gg_profile_intern_frame(making->profile, modules[function % MODULES],
		                                     (uint64_t)i * 32 + 4096, &making->frames[i],
		                                     making->error));
		snprintf(file, sizeof(file), "src/file%u.cc", function % 700);
		snprintf(text, sizeof(text), "bench::Class%u::method%u", function % 900, function);
		if (i % 3 == 0)
			lines[count++] = (struct gg_profile_line){ .function = "bench::inlined",
				                                   .file = "inl.h",
				                                   .line = (uint32_t)i % 90,
				                                   .inlined = true };
		lines[count] = (struct gg_profile_line){ .function = text,
			                                 .file = file,
			                                 .line = (uint32_t)i % 2000 };
		lines[count].depth = count;
		keep(making, gg_profile_put_lines(making->profile, making->frames[i], lines,
		                                  count + 1, making->error));
	}
}

/* Each stack leaves an earlier one at a random depth: callers are shared as in a program. */
static void make_stacks(struct making *making, uint32_t wanted)
{
	enum { MAX_DEPTH = 60 };
	static uint32_t path[MAX_DEPTH];
	uint32_t depth = 0;

	while (making->stack_count < wanted) {
		uint32_t leaf = 0, target;

		depth = depth > 0 ? (uint32_t)gg_rng_below(&making->rng, depth) : 0;
		if (gg_rng_below(&making->rng, 4) > 0 && depth < 50)
			depth = depth + (uint32_t)gg_rng_below(&making->rng, 4);
		target = depth + 1 + (uint32_t)gg_rng_below(&making->rng, 10);
		for (; depth < target && depth < MAX_DEPTH; depth++) {
			uint32_t frame = making->frames[gg_rng_below(&making->rng,
			                                             depth < 8 ? 100 : FRAMES)];

			keep(making, gg_profile_intern_stack(making->profile,
			                                     depth > 0 ? path[depth - 1] : 0, frame,
			                                     &leaf, making->error));
			path[depth] = leaf;
		}
		if (leaf != 0)
			making->stacks[making->stack_count++] = leaf;
	}
}

static void make_samples(struct making *making, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		uint64_t size = (uint64_t)exp2(4 + 16 * gg_rng_uniform(&making->rng)), id = 0;
		struct gg_profile_sample sample = {
			.alloc_ns = (int64_t)(i * 50000),
			.free_ns = GG_TIME_NONE,
			.process = making->process,
			.thread = making->threads[gg_rng_below(&making->rng, making->thread_count)],
			.stack = making->stacks[gg_rng_below(&making->rng, making->stack_count)],
			.size_bytes = size,
			.usable_bytes = size + 8,
			.address = 0x10000 + i * 64,
			.draw = { .sampling_interval = 524288, .sample_point_count = 1 },
		};

		if (gg_rng_below(&making->rng, 2) == 0)
			sample.free_ns = sample.alloc_ns +
			                 (int64_t)(gg_rng_exponential(&making->rng) * 1e9);
		keep(making, gg_profile_add_sample(making->profile, &sample, &id, making->error));
		if (i % 50 == 0 && sample.free_ns == GG_TIME_NONE &&
		    making->block_count < LOOKED_MAX)
			making->blocks[making->block_count++] = (struct gg_profile_look_block){
				.sample = id, .pinned_bytes = (double)(i % 7) * 100
			};
	}
}

static void make_look(struct making *making, int64_t time_ns)
{
	const struct gg_profile_look look = { .process = making->process,
		                              .time_ns = time_ns,
		                              .rss_bytes = 1 << 30,
		                              .page_bytes = 4096,
		                              .live_count = 50 * (int64_t)making->block_count,
		                              .chosen_count = (int64_t)making->block_count };
	const struct gg_profile_look_parts parts = { .blocks = making->blocks,
		                                     .block_count = making->block_count };

	keep(making, gg_profile_put_look(making->profile, &look, &parts, making->error));
}

static void make(struct making *making, const char *path, uint64_t samples, uint32_t stacks)
{
	const struct gg_profile_session session = { .command = "bench",
		                                    .start_wall_ns = 1,
		                                    .end_ns = (int64_t)(samples * 50000),
		                                    .interval_bytes = 524288,
		                                    .has_history = true };
	struct gg_profile_process process = { .pid = 1,
		                              .end_ns = session.end_ns,
		                              .interval_bytes = 524288 };

	gg_rng_seed(&making->rng, 7, 0);
	keep(making, gg_profile_create(&making->profile, path, making->error));
	keep(making, gg_profile_set_session(making->profile, &session, making->error));
	keep(making,
	     gg_profile_add_process(making->profile, &process, &making->process, making->error));
	for (uint32_t i = 0; i < making->thread_count; i++) {
		struct gg_profile_thread thread = { .process = making->process, .tid = i };

		keep(making, gg_profile_add_thread(making->profile, &thread, &making->threads[i],
		                                   making->error));
	}
	make_frames(making);
	make_stacks(making, stacks);
	make_samples(making, samples);
	make_look(making, session.end_ns);
	keep(making, gg_profile_finish(making->profile, making->error));
}

int large_profile_make(const char *path, uint64_t samples, uint32_t stacks, uint32_t threads,
                       struct gg_error *error)
{
	struct making *making = calloc(1, sizeof(*making));
	int status;

	if (making == NULL)
		return -ENOMEM;
	making->error = error;
	making->thread_count = threads;
	making->threads = calloc(threads, sizeof(*making->threads));
	making->stacks = calloc(stacks, sizeof(*making->stacks));
	if (making->threads == NULL || making->stacks == NULL)
		keep(making, -ENOMEM);
	else
		make(making, path, samples, stacks);
	status = making->status;
	gg_profile_close(making->profile);
	free(making->threads);
	free(making->stacks);
	free(making);
	return status;
}
