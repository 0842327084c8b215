/* SPDX-License-Identifier: Apache-2.0 */
/* control_groups - directories of groups, by lists of mounts as machines and containers have. */
#include "attach/control_groups.h"

#include <string.h>

#include "test.h"

static const char unified[] =
	"23 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
	"26 23 0:24 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";

static const char hybrid[] =
	"31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
	"32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"
	"37 31 0:34 / /sys/fs/cgroup/freezer rw,relatime - cgroup cgroup rw,freezer\n"
	"40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,xattr,name=systemd\n"
	"41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";

static const char container[] =
	"900 880 0:34 /docker/0a1b /sys/fs/cgroup/freezer ro master:16 - cgroup cgroup rw,freezer\n"
	"901 880 0:38 /docker/0a1b /my\\040groups ro - cgroup2 cgroup rw\n";

static const char memberships[] = "9:name=systemd:/init.scope\n"
				  "6:freezer:/docker/0a1b/inner\n"
				  "3:cpu,cpuacct:/jobs\n"
				  "0::/system.slice/a.service\n";

/* Checks a directory; NULL: the group is below no mount. */
static void check_directory(const char *mounts, const char *controller, const char *path,
                            const char *expected)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf directory = { 0 };
	bool found = gg_control_groups_find(&directory, mounts, controller, path);

	CHECK_EQ_I64(found, expected != NULL);
	if (found && expected != NULL)
		CHECK_EQ_STR(gg_buf_text(&directory), expected);
}

TEST(a_group_of_version_2_is_below_its_mount)
{
	check_directory(unified, NULL, "/a.slice/b", "/sys/fs/cgroup/a.slice/b");
	check_directory(unified, NULL, "/", "/sys/fs/cgroup");
	check_directory(hybrid, NULL, "/a", "/sys/fs/cgroup/unified/a");
}

TEST(a_controller_of_version_1_has_its_own_mount)
{
	check_directory(hybrid, "freezer", "/a", "/sys/fs/cgroup/freezer/a");
	check_directory(hybrid, "cpuacct", "/a", "/sys/fs/cgroup/cpu/a");
	check_directory(hybrid, "name=systemd", "/a", "/sys/fs/cgroup/systemd/a");
	check_directory(hybrid, "free", "/a", NULL);
	check_directory(unified, "freezer", "/a", NULL);
}

TEST(a_container_mounts_one_group_as_the_root)
{
	check_directory(container, "freezer", "/docker/0a1b/inner", "/sys/fs/cgroup/freezer/inner");
	check_directory(container, "freezer", "/docker/0a1b", "/sys/fs/cgroup/freezer");
	check_directory(container, "freezer", "/docker/0a1bc", NULL);
	check_directory(container, "freezer", "/other", NULL);
	check_directory(container, NULL, "/docker/0a1b/x", "/my groups/x");
}

TEST(a_path_that_leads_out_is_no_group_here)
{
	check_directory(unified, NULL, "/../host", NULL);
	check_directory(hybrid, "freezer", "/..", NULL);
}

/* Checks the path of a group; NULL: the process is in no such hierarchy. */
static void check_path(const char *controller, const char *expected)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf path = { 0 };
	bool found = gg_control_groups_path(&path, memberships, controller);

	CHECK_EQ_I64(found, expected != NULL);
	if (found && expected != NULL)
		CHECK_EQ_STR(gg_buf_text(&path), expected);
}

TEST(a_process_is_in_a_group_of_each_hierarchy)
{
	check_path(NULL, "/system.slice/a.service");
	check_path("freezer", "/docker/0a1b/inner");
	check_path("cpuacct", "/jobs");
	check_path("name=systemd", "/init.scope");
	check_path("memory", NULL);
}

TEST(a_cut_text_is_no_group)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf out = { 0 };

	CHECK(!gg_control_groups_path(&out, "6", "freezer"));
	CHECK(!gg_control_groups_path(&out, "6:freezer", "freezer"));
	CHECK(!gg_control_groups_find(&out, "37 31 0:34 / /sys/fs", "freezer", "/"));
	CHECK(!gg_control_groups_find(&out, "37 31 0:34 / /sys/fs rw -", "freezer", "/"));
	CHECK(!gg_control_groups_find(&out, "", NULL, "/"));
}
