/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_agent_attach - loads the agent in the middle of the program, and takes its hooks away again.
 *
 * After a detach every slot of every module and all code must be as before.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/late.h"
#include "agent/place.h"
#include "region/control.h"
#include "region/reader/view.h"
#include "test.h"

struct attached {
	char directory[64];
	struct gg_attach_request request;
	struct gg_attach_result result;
};

static void attached_setup(struct attached *a)
{
	snprintf(a->directory, sizeof(a->directory), "/dev/shm/geiger-test-XXXXXX");
	REQUIRE(mkdtemp(a->directory) != NULL);
	setenv("GEIGER_DIR", a->directory, 1);
	a->request = late_request("GEIGER_INTERVAL=1\nGEIGER_SEED=7\n");
}

static void attached_teardown(struct attached *a)
{
	late_detach(&a->result);
	place_remove(a->directory);
}

FIXTURE(attached)

static void attach(struct attached *a)
{
	REQUIRE(late_attach(&a->request, &a->result) == 0);
	CHECK_EQ_U64(a->result.state, GG_ATTACH_STATE_ATTACHED);
	CHECK_EQ_U64(a->result.unwritable_count, 0);
	CHECK_EQ_U64(a->result.foreign_count, 0);
}

static void detach(void)
{
	struct gg_attach_result result;

	REQUIRE(late_detach(&result) == 0);
	CHECK_EQ_U64(result.state, GG_ATTACH_STATE_DETACHED);
	CHECK_EQ_U64(result.unwritable_count, 0);
}

static struct gg_region_view view_of(const struct attached *a)
{
	struct gg_region_view view = { 0 };
	struct gg_error error;

	if (gg_region_view_open(&view, a->result.region, &error) < 0)
		printf("%s\n", error.message);
	return view;
}

/* The size of the live sample at that address, or 0 without one. */
static uint64_t sample_at(const struct gg_region_view *view, const void *p)
{
	for (uint32_t i = 0; i < view->live_count; i++)
		if (view->live[i].address == (uintptr_t)p)
			return view->live[i].size_bytes;
	return 0;
}

TEST_WITH(attached, blocks_are_recorded_from_the_attach_on)
{
	void *before = malloc(1000), *after, *freed;
	struct gg_region_view view;
	char *copy;

	attach(attached);
	after = malloc(2000);
	freed = malloc(3000);
	copy = strdup("a block that libc allocates");
	free(freed);
	free(before);
	view = view_of(attached);
	CHECK_EQ_U64(sample_at(&view, before), 0);
	CHECK_EQ_U64(sample_at(&view, after), 2000);
	CHECK(sample_at(&view, freed) != 3000);
	CHECK_EQ_U64(sample_at(&view, copy), strlen(copy) + 1);
	CHECK_EQ_U64(view.header.counters[GG_COUNT_MISSED_FREES], 0);
	gg_region_view_done(&view);
	free(after);
	free(copy);
}

TEST_WITH(attached, the_region_tells_what_was_there_before)
{
	const size_t bytes = 100 << 20;
	char *before = malloc(bytes);
	struct gg_region_view view;

	REQUIRE(before != NULL);
	attach(attached);
	view = view_of(attached);
	CHECK(view.header.attach.attached_ns != 0);
	CHECK_EQ_U64(view.header.attach.attached_ns, attached->result.attached_ns);
	CHECK_EQ_I64(view.header.attach.older_bytes, attached->result.in_use_bytes);
	CHECK_EQ_U64(view.header.attach.older_source, attached->result.in_use_source);
	CHECK_EQ_U64(view.header.attach.slot_count, attached->result.slot_count);
	if (view.header.attach.older_source == GG_REGION_IN_USE_UNKNOWN) {
		CHECK_EQ_I64(view.header.attach.older_bytes, -1);
	} else {
		CHECK(view.header.attach.older_bytes >= (int64_t)bytes);
		/* jemalloc counts its size class, which is up to a fifth larger. */
		CHECK(view.header.attach.older_bytes < (int64_t)(bytes + bytes / 4));
	}
	gg_region_view_done(&view);
	free(before);
}

TEST_WITH(attached, a_request_of_another_version_or_without_an_end_is_refused)
{
	struct gg_attach_request *request = &attached->request;
	struct gg_attach_request good = *request;

	request->version++;
	CHECK_EQ_I64(late_attach(request, &attached->result), -EPROTO);
	*request = good;
	request->bytes--;
	CHECK_EQ_I64(late_attach(request, &attached->result), -EPROTO);
	*request = good;
	memset(request->options, 'x', sizeof(request->options));
	CHECK_EQ_I64(late_attach(request, &attached->result), -EINVAL);
	*request = good;
	request->reserved[2] = 1;
	CHECK_EQ_I64(late_attach(request, &attached->result), -EINVAL);
	CHECK(attached->result.reason[0] != '\0');
	CHECK(attached->result.state != GG_ATTACH_STATE_ATTACHED);
	*request = good;
}

TEST_WITH(attached, a_second_attach_and_a_second_detach_are_refused)
{
	struct gg_attach_result second;

	CHECK_EQ_I64(late_detach(&second), -EALREADY);
	attach(attached);
	CHECK_EQ_I64(late_attach(&attached->request, &second), -EALREADY);
	CHECK_EQ_STR(second.region, attached->result.region);
	detach();
	CHECK_EQ_I64(late_detach(&second), -EALREADY);
}

TEST_WITH(attached, an_attach_that_has_no_directory_changes_nothing)
{
	void *p;

	snprintf(attached->request.directory, sizeof(attached->request.directory), "/nowhere");
	CHECK_EQ_I64(late_attach(&attached->request, &attached->result), -ENOENT);
	CHECK(attached->result.reason[0] != '\0');
	p = malloc(100);
	CHECK(p != NULL);
	free(p);
	snprintf(attached->request.directory, sizeof(attached->request.directory), "%s",
	         attached->directory);
	attach(attached);
}

TEST_WITH(attached, errno_is_kept)
{
	errno = 1234;
	attach(attached);
	CHECK_EQ_I64(errno, 1234);
	detach();
	CHECK_EQ_I64(errno, 1234);
}

TEST_WITH(attached, a_detached_agent_ends_its_region_and_a_new_attach_makes_another)
{
	struct gg_region_view view;
	struct gg_attach_result first;
	void *p;

	attach(attached);
	first = attached->result;
	detach();
	p = malloc(4321);
	view = view_of(attached);
	CHECK(view.header.end_monotonic_ns >= view.header.attach.attached_ns);
	CHECK_EQ_U64(view.header.attach.flags, GG_REGION_DETACHED);
	CHECK_EQ_U64(sample_at(&view, p), 0);
	gg_region_view_done(&view);
	attach(attached);
	CHECK(strcmp(first.region, attached->result.region) != 0);
	CHECK_EQ_U64(first.slot_count, attached->result.slot_count);
	free(p);
	p = malloc(1234);
	detach();
	view = view_of(attached);
	CHECK_EQ_U64(sample_at(&view, p), 1234);
	CHECK(gg_region_view_check(&view, NULL) == 0);
	gg_region_view_done(&view);
	free(p);
}

TEST_WITH(attached, the_control_word_detaches_at_the_next_sample)
{
	const struct gg_region_change change = { .detach = true };
	struct gg_region_view view;
	struct gg_error error;
	void *p;
	int fd;

	attach(attached);
	fd = gg_region_control_open(attached->result.region, &error);
	REQUIRE(fd >= 0);
	CHECK(gg_region_control_write(fd, &change, &error) == 0);
	close(fd);
	free(malloc(1));
	p = malloc(555);
	view = view_of(attached);
	CHECK(view.header.end_monotonic_ns != 0);
	CHECK_EQ_U64(sample_at(&view, p), 0);
	gg_region_view_done(&view);
	CHECK_EQ_I64(late_detach(&attached->result), -EALREADY);
	free(p);
}
