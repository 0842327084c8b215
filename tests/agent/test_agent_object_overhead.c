/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The measured cost of samples of a heap inside the program: with the frames of its provider, and
 * without hooks where the runtime samples by itself.
 */
#include "base/clock.h"
#include "geiger/geiger.h"
#include "inside.h"
#include "test.h"

INSIDE("GEIGER_OVERHEAD=50%", "GEIGER_SEED=3")

enum { FRAMES_NS = 50000, SAMPLES = 2000 };

static char objects[SAMPLES];

static size_t provide(void *user, struct geiger_frame *frames, size_t capacity)
{
	uint64_t begin_ns = gg_clock_monotonic_ns();

	(void)user;
	while (gg_clock_monotonic_ns() - begin_ns < FRAMES_NS)
		;
	frames[0] = (struct geiger_frame){ .function = "slow" };
	return capacity > 0 ? 1 : 0;
}

static uint32_t heap(void)
{
	static uint32_t id;

	if (id == 0) {
		id = geiger_heap_register("objects", "objects");
		geiger_heap_set_frame_provider(id, provide, NULL);
	}
	return id;
}

/* The runtime draws one sample among 1000 objects. */
static void record(const void *object)
{
	const struct geiger_sample sample = {
		.object = object,
		.bytes = 1000,
		.interval_bytes = 1000000,
		.sample_points = 1,
	};

	CHECK(geiger_record(heap(), &sample));
	geiger_freed(heap(), object);
}

TEST(a_sample_costs_what_its_frames_take)
{
	uint64_t samples, sampling_ns;

	for (size_t i = 0; i < SAMPLES; i++)
		record(&objects[i]);
	samples = inside_counter(GG_COUNT_SAMPLES);
	sampling_ns = inside_counter(GG_COUNT_SAMPLING_NS);
	/* The mean begins at 2 us, and the last window is still open. */
	CHECK(sampling_ns / samples > FRAMES_NS / 2);
}

TEST(a_runtime_that_samples_by_itself_has_no_hooks)
{
	uint64_t before_ns = inside_counter(GG_COUNT_HOOKS_NS);

	for (size_t i = 0; i < SAMPLES; i++)
		record(&objects[i]);
	/* 2 000 000 objects would have 3 ms; malloc's own calls have some. */
	CHECK(inside_counter(GG_COUNT_HOOKS_NS) - before_ns < 1000000);
}
