/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_agent_upstream - shows that blocks that an allocator takes from malloc do not count twice.
 *
 * The allocator reports its blocks itself.  The malloc below them does not count, whichever call
 * makes it, and malloc's other bytes count as if these calls did not exist.
 */
#include <malloc.h>
#include <stdlib.h>

#include "agent/inside.h"
#include "geiger/geiger.h"
#include "region/writer/record.h"
#include "test.h"

INSIDE("GEIGER_INTERVAL=1")

static void *(*volatile call_malloc)(size_t) = malloc;
static void *(*volatile call_realloc)(void *, size_t) = realloc;
static void (*volatile call_free)(void *) = free;

TEST(a_block_between_begin_and_end_is_no_sample)
{
	void *p, *q, *r;
	int64_t before = geiger_upstream_begin(), inner;

	p = call_malloc(1000);
	inner = geiger_upstream_begin();
	q = call_realloc(call_malloc(10), 100000);
	geiger_upstream_end(inner);
	r = memalign(64, 100);
	geiger_upstream_end(before);
	CHECK(!inside_is_live(p) && !inside_is_live(q) && !inside_is_live(r));
	call_free(p);
	call_free(q);
	call_free(r);
	p = call_malloc(1000);
	CHECK_EQ_U64(inside_live(p).size_bytes, 1000);
	call_free(p);
}

TEST(a_sample_of_malloc_that_is_resized_there_ends)
{
	void *p = call_malloc(1000), *q;
	int64_t before;

	CHECK(inside_is_live(p));
	before = geiger_upstream_begin();
	q = call_realloc(p, 2000);
	geiger_upstream_end(before);
	CHECK(!inside_is_live(p) && !inside_is_live(q));
	q = call_realloc(q, 3000);
	CHECK_EQ_U64(inside_live(q).size_bytes, 3000);
	call_free(q);
}

TEST(bytes_of_malloc_go_on_as_if_the_call_had_not_been)
{
	enum { COUNT = 20000, BYTES = 1000, INTERVAL = 100000 };
	uint64_t samples;

	inside_control(true, INTERVAL);
	call_free(call_malloc(10)); /* is due, and looks */
	samples = inside_counter(GG_COUNT_SAMPLES);
	for (int i = 0; i < COUNT; i++) {
		int64_t before = geiger_upstream_begin();

		call_free(call_malloc(BYTES * 9));
		geiger_upstream_end(before);
		call_free(call_malloc(BYTES));
	}
	samples = inside_counter(GG_COUNT_SAMPLES) - samples;
	inside_control(true, 1);
	call_free(call_malloc(INTERVAL * 100));
	/*
	 * 200 sample points, within 5 sigma of 14 each, and the allocations of reading the region.
	 * If the other blocks counted, there would be 2000.
	 */
	CHECK_MSG(samples >= 130 && samples <= 300, "%d samples of 200", (int)samples);
}
