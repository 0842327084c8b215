/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_symbol_stripped - names functions of stripped files by their bounds and by what they export.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "symbol/fixture.h"
#include "test.h"

enum { NAME_MAX_BYTES = 128 };

/* Symbolizes an address of a file in the folder, by the file's build-id. */
static struct asked ask_at(struct fixture *f, const char *file, uint64_t address)
{
	uint8_t build_id[FIXTURE_ID_MAX];
	const struct gg_symbol_module module = {
		.path = fixture_path(f, file),
		.build_id = build_id,
		.build_id_bytes = fixture_build_id(f, file, build_id),
	};

	return fixture_ask_module(f, module, address, NULL);
}

/* Whether the address has no symbol, and is named by a function that begins at `begin`. */
static bool is_named_by(const struct asked *asked, const char *file, uint64_t begin)
{
	char name[NAME_MAX_BYTES];

	snprintf(name, sizeof(name), "%s+0x%" PRIx64, file, begin);
	return CHECK(asked->count == 1) && CHECK(asked->frames[0].is_unnamed) &&
	       CHECK(asked->frames[0].full_name == NULL) && CHECK(asked_is(asked, 0, name)) &&
	       CHECK_EQ_U64(asked->outcome.unresolved_count, 1);
}

/* program, and program.stripped without any symbol. */
static bool make_stripped(struct fixture *f, const char *options)
{
	return CHECK(fixture_shell(f, "cc -O2 -fno-inline %s '%s' -o program -Wl,--build-id",
	                           options, fixture_source("plain.c"))) &&
	       CHECK(fixture_shell(f, "objcopy --strip-all program program.stripped"));
}

TEST(every_address_of_a_stripped_function_has_the_name_of_its_first_one)
{
	struct fixture f;
	struct asked asked;
	uint64_t outer, hidden, main_begin;

	if (!fixture_begin(&f))
		SKIP("no compiler or binutils");
	if (make_stripped(&f, "")) {
		outer = fixture_symbol(&f, "program", "outer");
		hidden = fixture_symbol(&f, "program", "hidden");
		main_begin = fixture_symbol(&f, "program", "main");
		for (uint64_t offset = 0; offset < 6; offset++) {
			asked = ask_at(&f, "program.stripped", outer + offset);
			is_named_by(&asked, "program.stripped", outer);
			CHECK_EQ_U64(asked.outcome.status, GG_SYMBOL_STRIPPED);
			asked = ask_at(&f, "program.stripped", hidden + offset);
			is_named_by(&asked, "program.stripped", hidden);
			asked = ask_at(&f, "program.stripped", main_begin + offset);
			is_named_by(&asked, "program.stripped", main_begin);
		}
	}
	fixture_end(&f);
}

TEST(the_function_at_which_a_stripped_program_begins_is_start)
{
	struct fixture f;
	struct asked asked;

	if (!fixture_begin(&f))
		SKIP("no compiler or binutils");
	if (make_stripped(&f, "")) {
		asked = ask_at(&f, "program.stripped", fixture_symbol(&f, "program", "_start") + 1);
		if (CHECK_EQ_U64(asked.count, 1)) {
			CHECK(asked_is(&asked, 0, "_start"));
			CHECK(!asked.frames[0].is_unnamed);
		}
	}
	fixture_end(&f);
}

TEST(an_address_outside_all_functions_has_no_name)
{
	struct fixture f;
	struct asked asked;

	if (!fixture_begin(&f))
		SKIP("no compiler or binutils");
	if (make_stripped(&f, "")) {
		asked = ask_at(&f, "program.stripped", 1);
		CHECK_EQ_U64(asked.count, 0);
		asked = ask_at(&f, "program.stripped", UINT64_MAX);
		CHECK_EQ_U64(asked.count, 0);
	}
	fixture_end(&f);
}

TEST(a_file_without_call_frame_information_names_nothing)
{
	struct fixture f;
	struct asked asked;

	if (!fixture_begin(&f))
		SKIP("no compiler or binutils");
	if (make_stripped(&f, "") &&
	    CHECK(fixture_shell(&f,
	                        "cc -O2 -static -nostdlib -fno-asynchronous-unwind-tables "
	                        "-Wl,--build-id '%s' -o bare -Wl,-e,outer "
	                        "-Wl,--unresolved-symbols=ignore-all && "
	                        "objcopy --strip-all bare bare.stripped",
	                        fixture_source("plain.c")))) {
		asked = ask_at(&f, "bare.stripped", fixture_symbol(&f, "bare", "outer"));
		CHECK_EQ_U64(asked.outcome.status, GG_SYMBOL_STRIPPED);
		CHECK_EQ_U64(asked.count, 0);
	}
	fixture_end(&f);
}

/* library.so with symbols, and library.stripped with those that it exports. */
static bool make_library(struct fixture *f, const char *options)
{
	return CHECK(fixture_shell(f,
	                           "cc -O2 -fPIC -shared -fno-toplevel-reorder %s '%s' "
	                           "-o library.so -Wl,--build-id",
	                           options, fixture_source("interface.c"))) &&
	       CHECK(fixture_shell(f, "objcopy --strip-all library.so library.stripped"));
}

TEST(an_exported_symbol_names_its_own_function_alone)
{
	struct fixture f;
	struct asked asked;
	uint64_t private_begin, unexported;

	if (!fixture_begin(&f))
		SKIP("no compiler or binutils");
	if (make_library(&f, "")) {
		private_begin = fixture_symbol(&f, "library.so", "__private");
		unexported = fixture_symbol(&f, "library.so", "unexported");
		asked = ask_at(&f, "library.stripped", fixture_symbol(&f, "library.so", "entry"));
		CHECK(asked.count == 1 && asked_is(&asked, 0, "entry"));
		CHECK_EQ_U64(asked.outcome.status, GG_SYMBOL_NAMES);
		/* Behind twice(), whose size is known. */
		asked = ask_at(&f, "library.stripped", private_begin + 1);
		is_named_by(&asked, "library.stripped", private_begin);
		/* Behind bare, which has no size, but is not unexported(). */
		asked = ask_at(&f, "library.stripped", fixture_symbol(&f, "library.so", "bare"));
		CHECK(asked.count == 1 && asked_is(&asked, 0, "bare"));
		asked = ask_at(&f, "library.stripped", unexported + 1);
		is_named_by(&asked, "library.stripped", unexported);
	}
	fixture_end(&f);
}

TEST(the_public_name_of_a_function_wins_over_its_private_ones)
{
	static const char *const options[] = { "", "-g" };
	struct fixture f;
	struct asked asked;

	if (!fixture_begin(&f))
		SKIP("no compiler or binutils");
	for (size_t i = 0; i < 2; i++) {
		if (!make_library(&f, options[i]))
			continue;
		asked = ask_at(&f, "library.so", fixture_symbol(&f, "library.so", "__twice") + 1);
		CHECK(asked.count == 1 && asked_is(&asked, 0, "twice"));
		CHECK(asked.count == 1 && strcmp(asked.frames[0].full_name, "twice") == 0);
		CHECK_EQ_U64(asked.outcome.status, i == 0 ? GG_SYMBOL_NAMES : GG_SYMBOL_FULL);
		/* There is no other name for this one. */
		asked = ask_at(&f, "library.so", fixture_symbol(&f, "library.so", "__private") + 1);
		CHECK(asked.count == 1 && asked_is(&asked, 0, "__private"));
	}
	fixture_end(&f);
}
