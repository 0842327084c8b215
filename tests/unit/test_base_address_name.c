/* SPDX-License-Identifier: Apache-2.0 */
/* test_base_address_name - makes names of addresses, and tells them from names of functions. */
#include "base/address_name.h"
#include "test.h"

static void expect(const char *path, uint64_t address, const char *wanted)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	gg_address_name_append(path, address, &text);
	CHECK_EQ_STR(gg_buf_text(&text), wanted);
	if (path != NULL)
		CHECK(gg_address_name_is(gg_buf_text(&text), path));
}

TEST(a_name_is_made_of_the_file_and_the_address)
{
	expect("/usr/bin/git", 0x289600, "git+0x289600");
	expect("git", 0, "git+0x0");
	expect("/usr/lib/libx.so.0.8.6", UINT64_MAX, "libx.so.0.8.6+0xffffffffffffffff");
	expect("/usr/bin/c++", 0x10, "c+++0x10");
	expect("/usr/bin/", 0x10, "/usr/bin/+0x10");
	expect(NULL, 0x10, "0x10");
}

TEST(a_file_that_was_replaced_keeps_its_name)
{
	expect("/usr/bin/git (deleted)", 0x10, "git+0x10");
	CHECK(gg_address_name_is("git+0x10", "/usr/bin/git"));
	/* A file that is called so has no other name. */
	expect("/tmp/ (deleted)", 0x10, " (deleted)+0x10");
}

TEST(names_of_functions_are_no_names_of_addresses)
{
	static const char *const names[] = {
		"main",  "git",       "git+0x",    "git+0xg",  "git+16",
		"+0x10", "git+0x10 ", "operator+", "git+0x1F", "git+0x11112222333344445",
		"",      "+",         "0x10",
	};

	for (size_t i = 0; i < GG_COUNT(names); i++) {
		CHECK_MSG(!gg_address_name_is(names[i], "/usr/bin/git"), "%s", names[i]);
		CHECK_MSG(!gg_address_name_is(names[i], NULL), "%s", names[i]);
	}
	CHECK(!gg_address_name_is("git+0x10", "/usr/bin/perl"));
	CHECK(!gg_address_name_is("git+0x10", "/usr/bin/git2"));
	CHECK(gg_address_name_is("git+0x10", NULL));
}
