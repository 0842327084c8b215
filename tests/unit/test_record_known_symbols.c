/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_record_known_symbols - shows that an address keeps the answer of its own look-up.
 *
 * The test has a dwarf_begin_elf() of its own, which can end the worker that calls it.
 */
#include <dlfcn.h>
#include <elfutils/libdw.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "made_profile.h"
#include "record/symbols/known_symbols.h"
#include "record/symbols/symbolize.h"
#include "symbol/fixture.h"
#include "test.h"

static bool dwarf_is_deadly;

Dwarf *dwarf_begin_elf(Elf *elf, Dwarf_Cmd command, Elf_Scn *group)
{
	Dwarf *(*next)(Elf *, Dwarf_Cmd, Elf_Scn *);
	void *function = dlsym(RTLD_NEXT, "dwarf_begin_elf");

	if (dwarf_is_deadly)
		_exit(1);
	memcpy(&next, &function, sizeof(next));
	return next(elf, command, group);
}

static const char *const names[] = { "outer", "main", "hidden" };

/* Looks up names[first..end) in a module, and keeps the answers. */
static void learn(struct gg_known_symbols *known, struct fixture *f, struct gg_symbol_module module,
                  size_t first, size_t end)
{
	const struct gg_symbol_options options = { .cache_dir = "", .offline = true };
	uint64_t addresses[GG_COUNT(names)];
	uint32_t number = gg_known_symbols_module(known, &module);
	struct gg_symbols *symbols;

	for (size_t i = first; i < end; i++)
		addresses[i - first] = fixture_symbol(f, "whole", names[i]);
	module.addresses = addresses;
	module.address_count = end - first;
	REQUIRE(gg_symbols_resolve(&symbols, &module, 1, &options, NULL) == 0);
	REQUIRE(gg_known_symbols_keep(known, symbols, &module, &number, 1) == 0);
}

static bool has_name(const struct gg_known_symbols *known, uint32_t module, uint64_t address,
                     const char *name)
{
	const struct gg_symbol_frame *frames;
	size_t count = gg_known_symbols_frames(known, module, address, &frames);

	return count > 0 && strcmp(frames[count - 1].function, name) == 0;
}

TEST(an_address_has_the_answer_of_its_own_look_up)
{
	uint8_t id[FIXTURE_ID_MAX], other_id[FIXTURE_ID_MAX];
	struct gg_symbol_module module = { .build_id = id }, other;
	struct gg_known_symbols *known;
	uint64_t addresses[GG_COUNT(names)];
	struct fixture f;
	uint32_t number;

	if (!fixture_begin(&f))
		SKIP("no compiler or binutils");
	CHECK(fixture_shell(&f, "cc -O2 -g -Wl,--build-id '%s' -o program && cp program whole",
	                    fixture_source("plain.c")));
	module.path = fixture_path(&f, "program");
	module.build_id_bytes = fixture_build_id(&f, "program", id);
	REQUIRE(module.build_id_bytes > 0);
	for (size_t i = 0; i < GG_COUNT(names); i++)
		addresses[i] = fixture_symbol(&f, "whole", names[i]);
	REQUIRE(gg_known_symbols_new(&known, NULL) == 0);
	gg_known_symbols_begin(known);
	learn(known, &f, module, 1, 3);
	number = gg_known_symbols_module(known, &module);
	CHECK(!gg_known_symbols_has(known, number, addresses[0]));
	learn(known, &f, module, 0, 1);
	/* From here on nobody needs the file. */
	CHECK(fixture_shell(&f, "rm program"));
	gg_known_symbols_begin(known);
	CHECK(gg_known_symbols_module(known, &module) == number);
	for (size_t i = 0; i < GG_COUNT(names); i++) {
		CHECK(gg_known_symbols_has(known, number, addresses[i]));
		CHECK(has_name(known, number, addresses[i], names[i]));
	}
	REQUIRE(!gg_known_symbols_has(known, number, addresses[0] + 1));
	REQUIRE(gg_known_symbols_outcome(known, number) != NULL);
	CHECK(gg_known_symbols_outcome(known, number)->status == GG_SYMBOL_FULL);

	/* The same path with another build-id is another file, of which nothing is known. */
	memcpy(other_id, id, sizeof(id));
	other_id[0] ^= 1;
	other = module;
	other.build_id = other_id;
	CHECK(gg_known_symbols_module(known, &other) != number);
	number = gg_known_symbols_module(known, &other);
	CHECK(!gg_known_symbols_has(known, number, addresses[0]));
	learn(known, &f, other, 0, 1);
	CHECK(gg_known_symbols_has(known, number, addresses[0]));
	CHECK(!has_name(known, number, addresses[0], names[0]));
	CHECK(gg_known_symbols_outcome(known, number)->status == GG_SYMBOL_NO_FILE);
	gg_known_symbols_free(known);
	fixture_end(&f);
}

/* A file "program" with a build-id, a copy of it, and symbols that know neither. */
struct whole {
	struct fixture f;
	uint8_t id[FIXTURE_ID_MAX];
	struct gg_symbol_module module; /* of "program" */
	struct gg_known_symbols *known;
};

/* Returns false if no compiler is installed. */
static bool whole_begin(struct whole *whole)
{
	if (!fixture_begin(&whole->f))
		return false;
	CHECK(fixture_shell(&whole->f, "cc -O2 -g -Wl,--build-id '%s' -o whole && cp whole program",
	                    fixture_source("plain.c")));
	whole->module = (struct gg_symbol_module){
		.path = fixture_path(&whole->f, "program"),
		.build_id = whole->id,
		.build_id_bytes = fixture_build_id(&whole->f, "whole", whole->id),
	};
	REQUIRE(gg_known_symbols_new(&whole->known, NULL) == 0);
	return true;
}

static void whole_end(struct whole *whole)
{
	gg_known_symbols_free(whole->known);
	fixture_end(&whole->f);
}

TEST(a_file_that_could_not_be_read_is_read_again)
{
	struct whole whole;
	uint32_t number;

	if (!whole_begin(&whole))
		SKIP("no compiler or binutils");
	learn(whole.known, &whole.f, whole.module, 1, 3);
	number = gg_known_symbols_module(whole.known, &whole.module);
	CHECK(gg_known_symbols_outcome(whole.known, number)->status == GG_SYMBOL_FULL);
	CHECK(fixture_shell(&whole.f, ": >program"));
	learn(whole.known, &whole.f, whole.module, 0, 1);
	CHECK(has_name(whole.known, number, fixture_symbol(&whole.f, "whole", names[1]), names[1]));
	CHECK(gg_known_symbols_has(whole.known, number,
	                           fixture_symbol(&whole.f, "whole", names[0])));
	CHECK(gg_known_symbols_outcome(whole.known, number)->status == GG_SYMBOL_UNREADABLE);
	gg_known_symbols_begin(whole.known);
	CHECK(!gg_known_symbols_has(whole.known, number,
	                            fixture_symbol(&whole.f, "whole", names[0])));
	whole_end(&whole);
}

TEST(a_file_that_was_read_without_dwarf_alone_is_read_again)
{
	struct whole whole;
	uint32_t number;

	if (!whole_begin(&whole))
		SKIP("no compiler or binutils");
	dwarf_is_deadly = true;
	learn(whole.known, &whole.f, whole.module, 0, 2);
	dwarf_is_deadly = false;
	number = gg_known_symbols_module(whole.known, &whole.module);
	CHECK(gg_known_symbols_outcome(whole.known, number)->status == GG_SYMBOL_NAMES);
	CHECK(has_name(whole.known, number, fixture_symbol(&whole.f, "whole", names[1]), names[1]));
	gg_known_symbols_begin(whole.known);
	CHECK(!gg_known_symbols_has(whole.known, number,
	                            fixture_symbol(&whole.f, "whole", names[1])));
	learn(whole.known, &whole.f, whole.module, 0, 2);
	gg_known_symbols_begin(whole.known);
	CHECK(gg_known_symbols_outcome(whole.known, number)->status == GG_SYMBOL_FULL);
	CHECK(has_name(whole.known, number, fixture_symbol(&whole.f, "whole", names[1]), names[1]));
	whole_end(&whole);
}

TEST(answers_that_pass_take_no_memory)
{
	struct whole whole;
	size_t bytes;

	if (!whole_begin(&whole))
		SKIP("no compiler or binutils");
	learn(whole.known, &whole.f, whole.module, 1, 3);
	bytes = gg_known_symbols_bytes(whole.known);
	CHECK_MSG(bytes > 0 && bytes < 16384, "%zu bytes", bytes);
	CHECK(fixture_shell(&whole.f, ": >program"));
	for (int i = 0; i < 3; i++) {
		learn(whole.known, &whole.f, whole.module, 0, 1);
		CHECK(gg_known_symbols_bytes(whole.known) > bytes);
		gg_known_symbols_begin(whole.known);
		CHECK_EQ_U64(gg_known_symbols_bytes(whole.known), bytes);
	}
	/* The answers of the first look-up stay. */
	CHECK(has_name(whole.known, gg_known_symbols_module(whole.known, &whole.module),
	               fixture_symbol(&whole.f, "whole", names[1]), names[1]));
	whole_end(&whole);
}

TEST(a_program_without_a_build_id_is_not_kept)
{
	const struct gg_symbol_options options = { .cache_dir = "", .offline = true };
	struct gg_known_symbols *known;
	struct fixture f;

	if (!fixture_begin(&f))
		SKIP("no compiler or binutils");
	CHECK(fixture_shell(&f, "cc -O2 -g -Wl,--build-id=none '%s' -o program",
	                    fixture_source("plain.c")));
	REQUIRE(gg_known_symbols_new(&known, NULL) == 0);
	for (int i = 0; i < 3; i++) {
		struct gg_symbolize_result result;
		struct made_profile made;
		char stack[600];

		made_begin(&made, NULL, 1000, 1);
		snprintf(stack, sizeof(stack), "[%s]0x%" PRIx64, fixture_path(&f, "program"),
		         fixture_symbol(&f, "program", names[1]));
		made_sample(&made, made_stack(&made, stack), 64, 5, GG_TIME_NONE);
		REQUIRE(gg_symbolize_with(made.profile, &options, known, &result, NULL) == 0);
		CHECK_EQ_U64(result.named_count, 1);
		CHECK_EQ_U64(gg_known_symbols_bytes(known), 0);
		gg_profile_close(made.profile);
	}
	gg_known_symbols_free(known);
	fixture_end(&f);
}
