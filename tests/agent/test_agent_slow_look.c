/* SPDX-License-Identifier: Apache-2.0 */
/* test_agent_slow_look - looks at an allocator whose totals take long, and that calls back. */
#include <stdlib.h>
#include <unistd.h>

#include "agent/inside.h"
#include "agent/slow_allocator.h"
#include "region/control.h"
#include "region/reader/allocator_looks.h"
#include "test.h"

INSIDE("GEIGER_INTERVAL=1", "SLOW_ALLOCATOR_MS=2")

static void *volatile kept;

static struct gg_region_allocator_looks request_and_read(int fd, void *(*allocate)(size_t))
{
	struct gg_region_allocator_looks looks;
	struct gg_error error;

	if (gg_region_control_request_look(fd, &error) < 0)
		abort();
	kept = allocate(64); /* a free would serve the request as well */
	if (gg_region_allocator_looks_read(&looks, fd, "region", &error) < 0)
		abort();
	return looks;
}

TEST(totals_that_take_more_than_a_millisecond_twice_are_not_read_again)
{
	struct gg_region_allocator_looks looks;
	struct gg_error error;
	int fd = gg_region_control_open(inside_region(getpid()), &error), epochs;

	if (!CHECK(fd >= 0))
		return;
	/* First a call from inside the allocator, which must not be called then. */
	slow_allocator_malloc = malloc;
	epochs = slow_allocator_epochs;
	looks = request_and_read(fd, slow_allocator_call_back);
	CHECK_EQ_I64(slow_allocator_epochs, epochs);
	CHECK_EQ_U64(looks.postponed_count, 1);
	gg_region_allocator_looks_done(&looks);
	for (int i = 1; i <= 4; i++) {
		looks = request_and_read(fd, malloc);
		/* There may be a look without a request as well. */
		CHECK(looks.look.number >= (uint64_t)i);
		CHECK(slow_allocator_epochs <= 2 && slow_allocator_epochs >= (i < 2 ? i : 2));
		CHECK_EQ_U64(looks.flags,
		             slow_allocator_epochs < 2 ? 0 : GG_ALLOCATOR_LOOK_TOTALS_SLOW);
		/* The totals that were read stay. */
		CHECK_EQ_U64(looks.totals[GG_ALLOCATOR_TOTAL_JEMALLOC_ALLOCATED], 4711);
		CHECK_EQ_U64(looks.totals[GG_ALLOCATOR_TOTAL_JEMALLOC_ACTIVE],
		             GG_ALLOCATOR_TOTAL_UNKNOWN);
		CHECK(looks.totals_span_ns > GG_ALLOCATOR_LOOK_TOTALS_MOST_NS);
		gg_region_allocator_looks_done(&looks);
	}
	close(fd);
}
