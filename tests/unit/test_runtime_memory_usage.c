/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_runtime_memory_usage - shows how control groups' usage is read, from files written as the
 * kernel does.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/dump/memory_usage.h"
#include "scratch.h"
#include "test.h"

static void put(const char *name, const char *text)
{
	scratch_write(name, text);
}

static void make(const char *folder)
{
	CHECK_EQ_I64(mkdir(scratch_path(folder), 0700), 0);
}

static uint32_t percent(void)
{
	return gg_memory_usage_cgroup_percent(scratch_folder(), scratch_path("membership"));
}

TEST(the_fullest_of_a_group_and_those_above_it_counts)
{
	make("a");
	make("a/b");
	put("membership", "0::/a/b\n");
	CHECK_EQ_U64(percent(), 0);
	put("a/b/memory.current", "500\n");
	put("a/b/memory.max", "max\n");
	CHECK_EQ_U64(percent(), 0);
	put("a/memory.current", "750\n");
	put("a/memory.max", "1000\n");
	CHECK_EQ_U64(percent(), 75);
	put("a/b/memory.max", "550\n");
	CHECK_EQ_U64(percent(), 90);
	put("a/b/memory.current", "1100\n");
	CHECK_EQ_U64(percent(), 200);
}

TEST(a_container_sees_its_own_at_the_root)
{
	put("membership", "0::/docker/4711\n");
	put("memory.current", "10\n");
	put("memory.max", "1000\n");
	CHECK_EQ_U64(percent(), 1);
	put("membership", "0::/\n");
	CHECK_EQ_U64(percent(), 1);
}

TEST(version_1_has_other_names)
{
	make("memory");
	make("memory/a");
	put("membership", "12:cpu,cpuacct:/a\n3:memory:/a\n1:name=systemd:/x\n");
	put("memory/a/memory.usage_in_bytes", "400\n");
	put("memory/a/memory.limit_in_bytes", "800\n");
	CHECK_EQ_U64(percent(), 50);
	/* No limit is a large number there. */
	put("memory/a/memory.limit_in_bytes", "9223372036854771712\n");
	CHECK_EQ_U64(percent(), 0);
}

TEST(what_is_no_membership_is_nothing)
{
	put("membership", "what\n:\n::\n0:");
	CHECK(percent() <= 1);
	CHECK_EQ_U64(gg_memory_usage_cgroup_percent(scratch_folder(), "/nowhere"), 0);
	CHECK_EQ_U64(gg_memory_usage_cgroup_percent("/nowhere", "/proc/self/cgroup"), 0);
}

TEST(this_process_has_memory)
{
	CHECK(gg_memory_usage_rss_bytes() > 100000 && gg_memory_usage_rss_bytes() < UINT64_C(1)
	                                                                                    << 40);
}
