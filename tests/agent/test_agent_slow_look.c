/* SPDX-License-Identifier: Apache-2.0 */
/* test_agent_slow_look - looks at an allocator whose totals take long, and that calls back. */
#include <stdlib.h>
#include <unistd.h>

#include "agent/inside.h"
#include "agent/slow_allocator.h"
#include "region/control.h"
#include "region/reader/allocator_looks.h"
#include "test.h"

INSIDE("GEIGER_INTERVAL=1")

static void *volatile kept;

static void request(int fd, void *(*allocate)(size_t))
{
	struct gg_error error;

	if (gg_region_control_request_look(fd, &error) < 0)
		abort();
	kept = allocate(64); /* a free would serve the request as well */
}

static struct gg_region_allocator_looks read_looks(int fd)
{
	struct gg_region_allocator_looks looks = { 0 };
	struct gg_error error;

	REQUIRE(gg_region_allocator_looks_read(&looks, fd, "region", &error) == 0);
	return looks;
}

static struct gg_region_allocator_looks request_and_read(int fd, void *(*allocate)(size_t))
{
	request(fd, allocate);
	return read_looks(fd);
}

TEST(totals_for_which_a_thread_waits_are_read_again)
{
	struct gg_region_allocator_looks looks;
	struct gg_error error;
	int fd = gg_region_control_open(inside_region(getpid()), &error), epochs;

	if (!CHECK(fd >= 0))
		return;
	slow_allocator_wait_ms = 2;
	for (int i = 0; i < 4; i++) {
		epochs = slow_allocator_epochs;
		looks = request_and_read(fd, malloc);
		CHECK(slow_allocator_epochs > epochs);
		CHECK_EQ_U64(looks.flags, 0);
		gg_region_allocator_looks_done(&looks);
	}
	slow_allocator_wait_ms = 0;
	close(fd);
}

TEST(totals_that_take_more_than_a_millisecond_twice_are_not_read_again)
{
	struct gg_region_allocator_looks looks;
	struct gg_error error;
	int fd = gg_region_control_open(inside_region(getpid()), &error), epochs;
	uint64_t number, postponed_count;

	if (!CHECK(fd >= 0))
		return;
	looks = request_and_read(fd, malloc);
	postponed_count = looks.postponed_count;
	gg_region_allocator_looks_done(&looks);
	/* First a call from inside the allocator, which must not be called then. */
	slow_allocator_malloc = malloc;
	epochs = slow_allocator_epochs;
	request(fd, slow_allocator_call_back);
	CHECK_EQ_I64(slow_allocator_epochs, epochs);
	looks = read_looks(fd); /* serves the request, because it allocates */
	CHECK_EQ_U64(looks.postponed_count, postponed_count + 1);
	number = looks.look.number;
	gg_region_allocator_looks_done(&looks);
	epochs = slow_allocator_epochs;
	slow_allocator_ms = 2;
	for (int i = 1; i <= 4; i++) {
		looks = request_and_read(fd, malloc);
		/* There may be a look without a request as well. */
		CHECK(looks.look.number >= number + (uint64_t)i);
		CHECK(slow_allocator_epochs - epochs <= 2 &&
		      slow_allocator_epochs - epochs >= (i < 2 ? i : 2));
		CHECK_EQ_U64(looks.flags, slow_allocator_epochs - epochs < 2
		                                  ? 0
		                                  : GG_ALLOCATOR_LOOK_TOTALS_SLOW);
		/* The totals that were read stay. */
		CHECK_EQ_U64(looks.totals[GG_ALLOCATOR_TOTAL_JEMALLOC_ALLOCATED], 4711);
		CHECK_EQ_U64(looks.totals[GG_ALLOCATOR_TOTAL_JEMALLOC_ACTIVE],
		             GG_ALLOCATOR_TOTAL_UNKNOWN);
		CHECK(looks.totals_span_ns > GG_ALLOCATOR_LOOK_TOTALS_MOST_NS);
		gg_region_allocator_looks_done(&looks);
	}
	close(fd);
}
