/* SPDX-License-Identifier: Apache-2.0 */
/* test_symbol_files - shows that only files with the right build-id are used, wherever they are. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbol/fixture.h"
#include "test.h"

/* Ends the test if files cannot be made here. */
#define BEGIN(f)                                         \
	do {                                             \
		if (!fixture_begin(f))                   \
			SKIP("no compiler or binutils"); \
	} while (0)

/* Whether the address of `outer` was resolved in full: it begins in its own first line. */
static bool is_outer_in_full(const struct asked *asked)
{
	return CHECK_MSG(asked->outcome.status == GG_SYMBOL_FULL, "%s: %s",
	                 gg_symbol_status_text(asked->outcome.status), asked->outcome.text) &&
	       CHECK(asked->count > 0) && CHECK(asked_is(asked, asked->count - 1, "outer")) &&
	       CHECK(asked->frames[0].line > 0) && CHECK_CONTAINS(asked->frames[0].file, "plain.c");
}

/* Whether the file was found, but has only an address name for the address. */
static bool is_without_name(const struct asked *asked)
{
	return CHECK(asked->outcome.status == GG_SYMBOL_STRIPPED) && CHECK(asked->count == 1) &&
	       CHECK(asked->frames[0].is_unnamed) &&
	       CHECK_CONTAINS(asked->frames[0].function, "program.stripped+0x");
}

/* program and, stripped, program.stripped with its DWARF in program.debug. */
static bool make_split(struct fixture *f)
{
	return CHECK(fixture_shell(f, "cc -O2 -g '%s' -o program -Wl,--build-id",
	                           fixture_source("plain.c"))) &&
	       CHECK(fixture_shell(f, "objcopy --only-keep-debug program program.debug && "
	                              "objcopy --strip-all program program.stripped"));
}

/* The build-id of `program` with its symbol's address, for a file that has no symbols. */
static struct asked ask_by_program(struct fixture *f, const char *file,
                                   const struct gg_symbol_options *options)
{
	uint8_t build_id[FIXTURE_ID_MAX];
	const struct gg_symbol_module module = {
		.path = file[0] == '/' ? file : fixture_path(f, file),
		.build_id = build_id,
		.build_id_bytes = fixture_build_id(f, "program", build_id),
	};

	return fixture_ask_module(f, module, fixture_symbol(f, "program", "outer"), options);
}

/* Moves program.debug to where its build-id says, below a folder of the fixture's. */
static bool install_by_build_id(struct fixture *f, const char *dir)
{
	return CHECK(fixture_shell(
		f,
		"id=$(readelf -n program | sed -n 's/.*Build ID: //p'); rest=${id#??}; "
		"mkdir -p %s/.build-id/${id%%$rest} && "
		"mv program.debug %s/.build-id/${id%%$rest}/$rest.debug",
		dir, dir));
}

TEST(a_file_with_its_own_dwarf_is_resolved_in_full)
{
	struct fixture f;
	struct asked asked;

	BEGIN(&f);
	if (CHECK(fixture_shell(&f, "cc -O2 -g '%s' -o program", fixture_source("plain.c")))) {
		asked = fixture_ask(&f, "program", "outer", NULL);
		is_outer_in_full(&asked);
		CHECK_EQ_U64(asked.outcome.unresolved_count, 0);
	}
	fixture_end(&f);
}

TEST(a_program_that_is_not_position_independent_is_no_different)
{
	struct fixture f;
	struct asked asked;

	BEGIN(&f);
	if (CHECK(fixture_shell(&f, "cc -O2 -g -no-pie '%s' -o program",
	                        fixture_source("plain.c")))) {
		asked = fixture_ask(&f, "program", "outer", NULL);
		is_outer_in_full(&asked);
	}
	fixture_end(&f);
}

TEST(an_old_version_of_dwarf_is_no_different)
{
	struct fixture f;
	struct asked asked;

	BEGIN(&f);
	for (int version = 2; version <= 5; version++) {
		if (!CHECK(fixture_shell(&f, "cc -O2 -g -gdwarf-%d '%s' -o program", version,
		                         fixture_source("plain.c"))))
			continue;
		asked = fixture_ask(&f, "program", "outer", NULL);
		is_outer_in_full(&asked);
	}
	fixture_end(&f);
}

TEST(compressed_dwarf_is_no_different)
{
	struct fixture f;
	struct asked asked;

	BEGIN(&f);
	if (CHECK(fixture_shell(&f, "cc -O2 -g -gz=zlib '%s' -o program",
	                        fixture_source("plain.c")))) {
		asked = fixture_ask(&f, "program", "outer", NULL);
		is_outer_in_full(&asked);
	}
	fixture_end(&f);
}

TEST(split_dwarf_is_found_in_its_own_file)
{
	struct fixture f;
	struct asked asked;

	BEGIN(&f);
	if (CHECK(fixture_shell(
		    &f, "cc -O2 -g -gsplit-dwarf -c '%s' -o program.o && cc program.o -o program",
		    fixture_source("plain.c")))) {
		asked = fixture_ask(&f, "program", "outer", NULL);
		is_outer_in_full(&asked);
		/* Without it there are still the line, the symbol table, and a word about it. */
		CHECK(fixture_shell(&f, "rm *.dwo"));
		asked = fixture_ask(&f, "program", "outer", NULL);
		CHECK(asked.count == 1 && asked_is(&asked, 0, "outer"));
		CHECK_CONTAINS(asked.outcome.text, ".dwo file is missing");
	}
	fixture_end(&f);
}

TEST(a_stripped_file_finds_its_debug_file_by_build_id)
{
	struct fixture f;
	struct asked asked;

	BEGIN(&f);
	if (make_split(&f) && install_by_build_id(&f, "debug")) {
		const char *const dirs[] = { strdup(fixture_path(&f, "debug")), NULL };
		const struct gg_symbol_options options = { .debug_dirs = dirs, .offline = true };

		asked = ask_by_program(&f, "program.stripped", &options);
		is_outer_in_full(&asked);
		/* Also when the file itself is gone. */
		asked = ask_by_program(&f, "no-such-program", &options);
		is_outer_in_full(&asked);
		free((char *)dirs[0]);
	}
	fixture_end(&f);
}

TEST(without_its_debug_file_a_stripped_file_names_nothing_and_says_what_would_help)
{
	struct fixture f;
	struct asked asked;

	BEGIN(&f);
	if (make_split(&f)) {
		asked = ask_by_program(&f, "program.stripped", NULL);
		is_without_name(&asked);
		CHECK_EQ_U64(asked.outcome.unresolved_count, 1);
		CHECK_MSG(strstr(asked.outcome.text, "build-id ") != NULL, "%s",
		          asked.outcome.text);
	}
	fixture_end(&f);
}

TEST(a_debuglink_is_followed_if_its_checksum_is_right)
{
	static const char *const places[] = { "program.debug", ".debug/program.debug" };
	struct fixture f;
	struct asked asked;

	BEGIN(&f);
	if (make_split(&f)) {
		CHECK(fixture_shell(&f,
		                    "objcopy --add-gnu-debuglink=program.debug program.stripped "
		                    "&& mkdir .debug && cp program.debug all.debug && "
		                    "rm program.debug"));
		for (size_t i = 0; i < GG_COUNT(places); i++) {
			CHECK(fixture_shell(&f, "cp all.debug %s", places[i]));
			asked = ask_by_program(&f, "program.stripped", NULL);
			is_outer_in_full(&asked);
			/* The same file, but for one byte behind its end. */
			CHECK(fixture_shell(&f, "echo >>%s", places[i]));
			asked = ask_by_program(&f, "program.stripped", NULL);
			is_without_name(&asked);
			CHECK(fixture_shell(&f, "rm %s", places[i]));
		}
	}
	fixture_end(&f);
}

TEST(a_debuglink_serves_files_without_build_id)
{
	struct fixture f;
	struct asked asked;

	BEGIN(&f);
	CHECK(fixture_shell(&f,
	                    "cc -O2 -g -Wl,--build-id=none '%s' -o program && "
	                    "objcopy --only-keep-debug program program.debug && "
	                    "objcopy --strip-all program program.stripped && "
	                    "objcopy --add-gnu-debuglink=program.debug program.stripped",
	                    fixture_source("plain.c")));
	asked = ask_by_program(&f, "program.stripped", NULL);
	is_outer_in_full(&asked);
	fixture_end(&f);
}

TEST(minidebuginfo_names_functions_that_were_stripped)
{
	struct fixture f;
	struct asked asked;

	BEGIN(&f);
	if (!fixture_shell(&f, "command -v xz >/dev/null")) {
		fixture_end(&f);
		SKIP("no xz");
	}
	if (make_split(&f) &&
	    CHECK(fixture_shell(&f,
	                        "objcopy --strip-debug program mini && xz -k mini && "
	                        "objcopy --add-section .gnu_debugdata=mini.xz program.stripped"))) {
		asked = ask_by_program(&f, "program.stripped", NULL);
		CHECK_EQ_U64(asked.outcome.status, GG_SYMBOL_NAMES);
		CHECK(asked.count == 1 && asked_is(&asked, 0, "outer"));
		CHECK(asked.count == 1 && asked.frames[0].file == NULL);
		/* Data that are not valid xz do no harm. */
		CHECK(fixture_shell(&f, "head -c 100 mini.xz >cut && objcopy --update-section "
		                        ".gnu_debugdata=cut program.stripped"));
		asked = ask_by_program(&f, "program.stripped", NULL);
		is_without_name(&asked);
	}
	fixture_end(&f);
}

TEST(a_file_of_another_build_is_never_used)
{
	static const uint8_t other[20] = { 1, 2, 3 };
	struct fixture f;
	struct asked asked;

	BEGIN(&f);
	if (CHECK(fixture_shell(&f, "cc -O2 -g '%s' -o program -Wl,--build-id",
	                        fixture_source("plain.c")))) {
		struct gg_symbol_module module = { .path = strdup(fixture_path(&f, "program")),
			                           .build_id = other,
			                           .build_id_bytes = sizeof(other) };
		uint64_t address = fixture_symbol(&f, "program", "outer");

		asked = fixture_ask_module(&f, module, address, NULL);
		CHECK_EQ_U64(asked.outcome.status, GG_SYMBOL_MISMATCH);
		CHECK_EQ_U64(asked.count, 0);
		CHECK_CONTAINS(asked.outcome.text, "0102030000");
		/* Nor is a file with a build-id what was loaded without one. */
		module.build_id_bytes = 0;
		asked = fixture_ask_module(&f, module, address, NULL);
		CHECK_EQ_U64(asked.outcome.status, GG_SYMBOL_MISMATCH);
		CHECK_EQ_U64(asked.count, 0);
		/* Unless any is welcome. */
		module.any_build = true;
		asked = fixture_ask_module(&f, module, address, NULL);
		is_outer_in_full(&asked);
		free((char *)module.path);
	}
	fixture_end(&f);
}

TEST(a_debug_file_of_another_build_is_never_used)
{
	struct fixture f;
	struct asked asked;

	BEGIN(&f);
	if (make_split(&f) &&
	    CHECK(fixture_shell(&f,
	                        "cc -O1 -g -DOTHER '%s' -o other -Wl,--build-id && "
	                        "objcopy --only-keep-debug other program.debug",
	                        fixture_source("plain.c"))) &&
	    install_by_build_id(&f, "debug")) {
		const char *const dirs[] = { strdup(fixture_path(&f, "debug")), NULL };
		const struct gg_symbol_options options = { .debug_dirs = dirs, .offline = true };

		asked = ask_by_program(&f, "program.stripped", &options);
		is_without_name(&asked);
		free((char *)dirs[0]);
	}
	fixture_end(&f);
}

TEST(a_path_of_a_deleted_file_is_looked_up_without_that_word)
{
	struct fixture f;
	struct asked asked;

	BEGIN(&f);
	if (make_split(&f)) {
		asked = ask_by_program(&f, "program (deleted)", NULL);
		is_outer_in_full(&asked);
	}
	fixture_end(&f);
}

TEST(a_sysroot_holds_its_own_symbolic_links)
{
	struct fixture f;
	struct asked asked;

	BEGIN(&f);
	if (make_split(&f) &&
	    CHECK(fixture_shell(&f, "mkdir -p root/opt/real && cp program root/opt/real/app && "
	                            "ln -s /opt/real root/opt/link"))) {
		const struct gg_symbol_options options = {
			.sysroot = strdup(fixture_path(&f, "root")), .offline = true
		};

		asked = ask_by_program(&f, "/opt/real/app", &options);
		is_outer_in_full(&asked);
		asked = ask_by_program(&f, "/opt/link/app", &options);
		is_outer_in_full(&asked);
		asked = ask_by_program(&f, "/opt/link/none", &options);
		CHECK_EQ_U64(asked.outcome.status, GG_SYMBOL_NO_FILE);
		free((char *)options.sysroot);
	}
	fixture_end(&f);
}

TEST(what_dwz_moved_out_is_found_by_its_build_id)
{
	struct fixture f;
	struct asked asked;

	BEGIN(&f);
	if (!fixture_shell(&f, "command -v dwz >/dev/null")) {
		fixture_end(&f);
		SKIP("no dwz");
	}
	CHECK(fixture_shell(
		&f,
		"for i in program second; do cc -O2 -g -DN_$i '%s' -o $i "
		"-Wl,--build-id || exit 1; done; dwz -m common -M common program second",
		fixture_source("plain.c")));
	if (CHECK(fixture_shell(&f, "test -s common"))) {
		asked = fixture_ask(&f, "program", "outer", NULL);
		is_outer_in_full(&asked);
		/* Another file of that name is not it: then the symbol table must do. */
		CHECK(fixture_shell(&f, "cc -O1 -g '%s' -o common -Wl,--build-id",
		                    fixture_source("plain.c")));
		asked = fixture_ask(&f, "program", "outer", NULL);
		CHECK_EQ_U64(asked.outcome.status, GG_SYMBOL_NAMES);
		CHECK(asked.count == 1 && asked_is(&asked, 0, "outer"));
		CHECK_CONTAINS(asked.outcome.text, "dwz");
	}
	fixture_end(&f);
}

/* Opening a device may have an effect, so what is no regular file must not be opened at all. */
static bool is_opened_by_question(struct fixture *f, const char *name)
{
	int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	char event[4096];
	ssize_t count;

	CHECK(inotify_add_watch(watch, fixture_path(f, "pipe"), IN_OPEN) >= 0);
	CHECK_EQ_U64(ask_by_program(f, name, NULL).outcome.status, GG_SYMBOL_NO_FILE);
	count = read(watch, event, sizeof(event));
	close(watch);
	return count > 0;
}

TEST(what_is_no_file_is_not_waited_for)
{
	struct fixture f;
	struct asked asked;

	BEGIN(&f);
	if (make_split(&f)) {
		CHECK(fixture_shell(&f, "mkfifo pipe && ln -s pipe linked && mkdir folder"));
		CHECK(!is_opened_by_question(&f, "pipe"));
		CHECK(!is_opened_by_question(&f, "linked"));
		asked = ask_by_program(&f, "folder", NULL);
		CHECK_EQ_U64(asked.outcome.status, GG_SYMBOL_NO_FILE);
		CHECK(fixture_shell(&f, "echo text >text && : >empty"));
		asked = ask_by_program(&f, "text", NULL);
		CHECK_EQ_U64(asked.outcome.status, GG_SYMBOL_UNREADABLE);
		CHECK_EQ_U64(asked.count, 0);
		asked = ask_by_program(&f, "empty", NULL);
		CHECK_EQ_U64(asked.outcome.status, GG_SYMBOL_UNREADABLE);
		CHECK_EQ_U64(asked.count, 0);
	}
	fixture_end(&f);
}
