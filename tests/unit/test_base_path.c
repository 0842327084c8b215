/* SPDX-License-Identifier: Apache-2.0 */
/* test_base_path - shows how paths are split into base and extension. */
#include "base/path.h"

#include "test.h"

TEST(the_base_follows_the_last_slash)
{
	CHECK(strcmp(gg_path_base("/usr/bin/ls"), "ls") == 0);
	CHECK(strcmp(gg_path_base("a/b"), "b") == 0);
	CHECK(strcmp(gg_path_base("/ls"), "ls") == 0);
	CHECK(strcmp(gg_path_base("ls"), "ls") == 0);
}

TEST(a_path_without_a_base_stays_whole)
{
	CHECK(strcmp(gg_path_base("/usr/bin/"), "/usr/bin/") == 0);
	CHECK(strcmp(gg_path_base("/"), "/") == 0);
	CHECK(strcmp(gg_path_base(""), "") == 0);
	CHECK(gg_path_base(NULL) == NULL);
}

TEST(the_extension_is_of_the_base_alone)
{
	CHECK(strcmp(gg_path_extension("/a/b.tar.gz"), ".gz") == 0);
	CHECK(strcmp(gg_path_extension("/a.d/b"), "") == 0);
	CHECK(strcmp(gg_path_extension("b."), ".") == 0);
	CHECK(strcmp(gg_path_extension(NULL), "") == 0);
}
