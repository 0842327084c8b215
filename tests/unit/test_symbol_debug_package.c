/* SPDX-License-Identifier: Apache-2.0 */
/* test_symbol_debug_package - finds packages in lists like dpkg's, and by a program like rpm. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "scratch.h"
#include "symbol/package/debug_package.h"
#include "test.h"

struct root {
	const char *dir;
	struct gg_debug_package file;
};

static bool shell(const struct root *root, const char *command)
{
	char line[2048];

	snprintf(line, sizeof(line), "cd '%s' && { %s; }", root->dir, command);
	return CHECK_MSG(system(line) == 0, "%s", line); // NOLINT
}

/* Returns the package with debug symbols of a file; "" if no package has the file. */
static const char *find(struct root *root, const char *path)
{
	gg_debug_packages_done(&root->file, 1);
	root->file.path = path;
	gg_debug_packages_find(root->dir, &root->file, 1);
	return root->file.name != NULL ? root->file.name : "";
}

static void begin(struct root *root)
{
	*root = (struct root){ .dir = scratch_new_folder() };
}

static void end(struct root *root)
{
	gg_debug_packages_done(&root->file, 1);
}

#define INFO "mkdir -p var/lib/dpkg/info && cd var/lib/dpkg/info && "

TEST(a_file_is_found_in_the_list_of_its_package)
{
	struct root root;

	begin(&root);
	shell(&root, INFO "printf '/.\\n/usr\\n/usr/bin/no-such-git\\n' >git.list && "
	                  "printf '/no/such/liba.so.1\\n/no/such/liba.so.1.2' >liba1:amd64.list && "
	                  "printf '/usr/bin/no-such-git-shell\\n' >git-shell.list && "
	                  "printf '/usr/bin/no-such-git\\n' >git.md5sums");
	CHECK_EQ_STR(find(&root, "/usr/bin/no-such-git"), "git-dbgsym");
	CHECK_EQ_STR(find(&root, "/usr/bin/no-such-git-shell"), "git-shell-dbgsym");
	CHECK_EQ_STR(find(&root, "/no/such/liba.so.1"), "liba1-dbgsym");
	/* The last line may lack its end. */
	CHECK_EQ_STR(find(&root, "/no/such/liba.so.1.2"), "liba1-dbgsym");
	CHECK_EQ_STR(find(&root, "/no/such/liba.so"), "");
	CHECK_EQ_STR(find(&root, "/usr/bin/no-such-gi"), "");
	CHECK_EQ_STR(find(&root, ""), "");
	CHECK_EQ_STR(find(&root, "[vdso]"), "");
	end(&root);
}

TEST(a_file_may_be_listed_on_the_other_side_of_the_merge_of_usr)
{
	struct root root;

	begin(&root);
	shell(&root,
	      INFO "printf '/lib/no/such.so\\n/bin/no-such-sh\\n/lib64/no/ld.so\\n' >a.list && "
	           "printf '/usr/lib/no/other.so\\n' >b.list && "
	           "printf '/local/bin/no-such\\n' >c.list");
	CHECK_EQ_STR(find(&root, "/usr/lib/no/such.so"), "a-dbgsym");
	CHECK_EQ_STR(find(&root, "/usr/lib64/no/ld.so"), "a-dbgsym");
	CHECK_EQ_STR(find(&root, "/usr/bin/no-such-sh"), "a-dbgsym");
	CHECK_EQ_STR(find(&root, "/lib/no/other.so"), "b-dbgsym");
	CHECK_EQ_STR(find(&root, "/usr/local/bin/no-such"), "");
	end(&root);
}

TEST(the_package_of_the_program_counts_and_not_that_of_a_link_to_it)
{
	struct root root;
	char path[512], command[2048];

	begin(&root);
	snprintf(command, sizeof(command),
	         "mkdir bin && touch bin/program1.2 && ln -s program1.2 bin/program && " INFO
	         "echo '%s/bin/program' >links.list && echo '%s/bin/program1.2' >program.list",
	         root.dir, root.dir);
	shell(&root, command);
	snprintf(path, sizeof(path), "%s/bin/program", root.dir);
	CHECK_EQ_STR(find(&root, path), "program-dbgsym");
	/* A link that no package's program is behind is better than nothing. */
	shell(&root, "rm var/lib/dpkg/info/program.list");
	CHECK_EQ_STR(find(&root, path), "links-dbgsym");
	end(&root);
}

TEST(some_sources_have_a_package_of_their_own_for_debug_symbols)
{
	struct root root;

	begin(&root);
	shell(&root,
	      INFO "for name in libc6:amd64 libc6-dev:amd64 perl-base python3.11-minimal "
	           "libpython3.13:arm64 python3-minimal; do echo /no/such/$name >$name.list; "
	           "done");
	CHECK_EQ_STR(find(&root, "/no/such/libc6:amd64"), "libc6-dbg");
	CHECK_EQ_STR(find(&root, "/no/such/libc6-dev:amd64"), "libc6-dev-dbgsym");
	CHECK_EQ_STR(find(&root, "/no/such/perl-base"), "perl-debug");
	CHECK_EQ_STR(find(&root, "/no/such/python3.11-minimal"), "python3.11-dbg");
	CHECK_EQ_STR(find(&root, "/no/such/libpython3.13:arm64"), "python3.13-dbg");
	CHECK_EQ_STR(find(&root, "/no/such/python3-minimal"), "python3-minimal-dbgsym");
	end(&root);
}

TEST(several_files_are_found_in_one_pass)
{
	struct gg_debug_package files[] = { { .path = "/no/b" },
		                            { .path = "/no/nothing" },
		                            { .path = "/no/a" } };
	struct root root;

	begin(&root);
	shell(&root, INFO "echo /no/a >a.list && echo /no/b >b.list && mkdir folder.list && "
	                  "ln -s /dev/zero endless.list");
	CHECK_EQ_I64(gg_debug_packages_find(root.dir, files, 3), GG_PACKAGE_SYSTEM_DPKG);
	CHECK_EQ_STR(files[0].name, "b-dbgsym");
	CHECK(files[1].name == NULL);
	CHECK_EQ_STR(files[2].name, "a-dbgsym");
	gg_debug_packages_done(files, 3);
	CHECK_EQ_I64(gg_debug_packages_find(root.dir, files, 0), GG_PACKAGE_SYSTEM_DPKG);
	end(&root);
}

/* Puts a program called rpm first in the search path, or none at all. */
static void make_rpm(struct root *root, const char *script)
{
	char line[1024];

	snprintf(
		line, sizeof(line),
		"mkdir -p bin usr/lib/sysimage/rpm && printf '%%s\\n' '#!/bin/sh' '%s' >bin/rpm && "
		"chmod +x bin/rpm",
		script);
	shell(root, line);
	snprintf(line, sizeof(line), "%s/bin:/usr/bin:/bin", root->dir);
	setenv("PATH", line, 1);
}

TEST(where_rpm_is_the_system_it_names_the_package)
{
	struct root root;

	begin(&root);
	CHECK_EQ_I64(gg_debug_packages_find(root.dir, NULL, 0), GG_PACKAGE_SYSTEM_NONE);
	make_rpm(&root, "test \"$4\" = /usr/bin/git && echo git-core || echo file $4 is not owned");
	CHECK_EQ_STR(find(&root, "/usr/bin/git"), "git-core");
	CHECK_EQ_STR(find(&root, "/usr/bin/other"), "");
	CHECK_EQ_STR(find(&root, "relative"), "");
	CHECK_EQ_I64(gg_debug_packages_find(root.dir, NULL, 0), GG_PACKAGE_SYSTEM_RPM);
	make_rpm(&root, "exit 1");
	CHECK_EQ_STR(find(&root, "/usr/bin/git"), "");
	make_rpm(&root, "yes | tr -d \"\\\\n\" | head -c 100000");
	CHECK_EQ_STR(find(&root, "/usr/bin/git"), "");
	shell(&root, "rm bin/rpm");
	setenv("PATH", "/var/empty", 1);
	CHECK_EQ_STR(find(&root, "/usr/bin/git"), "");
	setenv("PATH", "/usr/bin:/bin", 1);
	end(&root);
}

TEST(the_archive_of_debug_symbols_is_that_of_the_distribution)
{
	struct root root;

	begin(&root);
	CHECK_EQ_STR(gg_debug_package_archive(root.dir), "");
	shell(&root, "mkdir etc && printf 'VERSION_ID=12\\nID=debian\\n' >etc/os-release");
	CHECK_EQ_STR(gg_debug_package_archive(root.dir), "Debian's debug archive");
	shell(&root, "printf 'ID=ubuntu\\nID_LIKE=debian\\n' >etc/os-release");
	CHECK_EQ_STR(gg_debug_package_archive(root.dir), "ddebs.ubuntu.com");
	shell(&root, "printf 'ID=fedora\\n' >etc/os-release");
	CHECK_EQ_STR(gg_debug_package_archive(root.dir), "");
	end(&root);
}
