/* SPDX-License-Identifier: Apache-2.0 */
/* test_report_symbol_hint - says what would name functions, the largest modules first. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "made_profile.h"
#include "model/model.h"
#include "report/symbol_hint.h"
#include "scratch.h"
#include "test.h"

static struct gg_error error;

#define NAMES \
	"functions only: install the debug symbols of it (build-id 00), or set DEBUGINFOD_URLS"
#define STRIPPED "no symbols: install the debug symbols of it (build-id 00)"

/* A system with dpkg, whose packages have these files; made once. */
static const char *debian(void)
{
	static const char *root;
	char command[1024];

	if (root != NULL)
		return root;
	root = scratch_new_folder();
	snprintf(command, sizeof(command),
	         "cd '%s' && mkdir -p etc var/lib/dpkg/info && echo ID=debian >etc/os-release && "
	         "cd var/lib/dpkg/info && echo /no/liba.so.1 >liba1:amd64.list && "
	         "echo /no/libc.so.6 >libc6:amd64.list && "
	         "printf '/no/tool\\n/no/libtool.so\\n' >tool.list",
	         root);
	CHECK_EQ_I64(system(command), 0); // NOLINT
	return root;
}

static void put_status(struct made_profile *made, const char *path, const char *status)
{
	CHECK_EQ_I64(gg_profile_set_module_status(made->profile, made_module(made, path), status,
	                                          &error),
	             0);
}

static void add(struct made_profile *made, const char *stack, uint64_t size_bytes)
{
	made_sample(made, made_stack(made, stack), size_bytes, 1, GG_TIME_NONE);
}

static void expect(struct made_profile *made, const char *root, const char *wanted)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	struct gg_model *model;

	if (CHECK_EQ_I64(gg_model_load(&model, &made->profile, 1, NULL, &error), 0)) {
		gg_symbol_hint_append(model, root, &text);
		CHECK_EQ_STR(gg_buf_text(&text), wanted);
		gg_model_free(model);
	}
}

static void begin(struct made_profile *made)
{
	made_begin(made, NULL, 1, 1);
	put_status(made, "/no/liba.so.1", NAMES);
	put_status(made, "/no/tool", NAMES);
	put_status(made, "/no/libtool.so", NAMES);
	put_status(made, "/no/libc.so.6", STRIPPED);
	put_status(made, "/home/me/app", "no symbols: build app with -g (build-id 00)");
}

TEST(the_modules_with_the_most_bytes_of_their_own_come_first)
{
	struct made_profile made;

	begin(&made);
	add(&made, "[/no/tool]0x10>[/no/liba.so.1]0x10", 3000);
	add(&made, "[/no/tool]0x10", 1000);
	expect(&made, debian(),
	       "in liba.so.1 and tool: install liba1-dbgsym and tool-dbgsym (Debian's debug "
	       "archive), or set DEBUGINFOD_URLS");
	add(&made, "[/no/tool]0x20", 3000);
	expect(&made, debian(),
	       "in tool and liba.so.1: install tool-dbgsym and liba1-dbgsym (Debian's debug "
	       "archive), or set DEBUGINFOD_URLS");
	gg_profile_close(made.profile);
}

TEST(callers_count_below_those_that_allocate_and_little_does_not_count)
{
	struct made_profile made;

	begin(&made);
	add(&made, "[/no/tool]0x10>[/no/libc.so.6]call>[/no/libc.so.6]malloc", 100000);
	add(&made, "[/no/liba.so.1]0x10", 10);
	/* liba.so.1 alone has bytes of its own, but 10 of 100000 are not worth a package. */
	expect(&made, debian(),
	       "in tool: install tool-dbgsym (Debian's debug archive), or set DEBUGINFOD_URLS");
	add(&made, "[/no/liba.so.1]0x10", 5000);
	expect(&made, debian(),
	       "in liba.so.1 and tool: install liba1-dbgsym and tool-dbgsym (Debian's debug "
	       "archive), or set DEBUGINFOD_URLS");
	gg_profile_close(made.profile);
}

TEST(a_package_is_named_once_and_an_archive_only_for_packages_that_need_it)
{
	struct made_profile made;

	begin(&made);
	add(&made, "[/no/tool]0x10>[/no/libtool.so]0x10", 3000);
	expect(&made, debian(),
	       "in libtool.so and tool: install tool-dbgsym (Debian's debug archive), or set "
	       "DEBUGINFOD_URLS");
	gg_profile_close(made.profile);
	begin(&made);
	add(&made, "[/no/libc.so.6]0x10", 3000);
	expect(&made, debian(), "in libc.so.6: install libc6-dbg");
	gg_profile_close(made.profile);
}

TEST(without_a_package_the_words_of_the_look_up_remain)
{
	struct made_profile made;

	begin(&made);
	add(&made, "[/home/me/app]0x10", 3000);
	add(&made, "[/no/liba.so.1]0x10", 300);
	expect(&made, debian(), "in app: no symbols: build app with -g (build-id 00)");
	add(&made, "[/no/liba.so.1]0x10", 30000);
	expect(&made, "/no/such/root", "in liba.so.1: " NAMES);
	put_status(&made, "/no/liba.so.1", "functions and lines");
	expect(&made, debian(), "in liba.so.1: its symbols do not name these addresses");
	add(&made, "[/never/looked/up]0x10", 300000);
	expect(&made, debian(), "in up: run 'geiger symbolize' to look up its functions");
	gg_profile_close(made.profile);
}

TEST(where_every_function_has_a_name_there_is_no_hint)
{
	struct made_profile made;

	begin(&made);
	expect(&made, debian(), "");
	add(&made, "[/no/tool]main", 3000);
	expect(&made, debian(), "");
	gg_profile_close(made.profile);
}

TEST(functions_named_by_their_address_have_no_name)
{
	struct gg_profile_line line = { .function = "liba.so.1+0x40" };
	struct made_profile made;

	begin(&made);
	add(&made, "[/no/liba.so.1]0x48", 3000);
	CHECK_EQ_I64(gg_profile_put_lines(made.profile, 1, &line, 1, &error), 0);
	expect(&made, debian(),
	       "in liba.so.1: install liba1-dbgsym (Debian's debug archive), or set "
	       "DEBUGINFOD_URLS");
	gg_profile_close(made.profile);
}
