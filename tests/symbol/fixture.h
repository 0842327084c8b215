/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fixture - files for the tests of src/symbol/, made by the compiler and binutils in a folder of
 * the test's own.
 *
 *   struct fixture f;
 *
 *   if (!fixture_begin(&f))
 *           SKIP("no compiler");
 *   fixture_shell(&f, "cc -g -O2 %s -o program", fixture_plain());
 *   struct asked asked = fixture_ask(&f, "program", "outer", NULL);     its build-id, that symbol
 *   CHECK(asked.outcome.status == GG_SYMBOL_FULL);
 *   CHECK(asked_is(&asked, 2, "outer"));                                frame 2 is of that function
 *   fixture_end(&f);
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/symbol.h"

enum { FIXTURE_FRAMES_MAX = 8, FIXTURE_ID_MAX = 64 };

struct fixture {
	const char *dir;
	struct gg_symbols *last; /* of the last fixture_ask(), freed by the next one */
};

/* A folder; false if there is no compiler. */
bool fixture_begin(struct fixture *f);
void fixture_end(struct fixture *f);

/* Runs a command line in the folder; whether it succeeded. */
bool fixture_shell(struct fixture *f, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Where tests/symbol/NAME is, and a file of the folder. */
const char *fixture_source(const char *name);
const char *fixture_path(const struct fixture *f, const char *name);

/* The address of a symbol of a file (of `nm`); 0: not there. */
uint64_t fixture_symbol(struct fixture *f, const char *file, const char *symbol);

/* A column of what `readelf -SW` says of a section: 4 is its address, 6 its size. */
uint64_t fixture_section(struct fixture *f, const char *file, const char *section, int column);

/* The build-id of a file; its length, 0 if there is none. */
size_t fixture_build_id(struct fixture *f, const char *file, uint8_t *build_id);

struct asked {
	struct gg_symbol_outcome outcome;
	const struct gg_symbol_frame *frames;
	size_t count;
};

/*
 * Asks for one address of a module.  The texts live until the next question.  The module's
 * addresses and the options that are zero are filled in: no cache, offline.
 */
struct asked fixture_ask_module(struct fixture *f, struct gg_symbol_module module, uint64_t address,
                                const struct gg_symbol_options *options);

/* Asks for a symbol of the folder's file by that file's build-id; options may be NULL. */
struct asked fixture_ask(struct fixture *f, const char *file, const char *symbol,
                         const struct gg_symbol_options *options);

/* Is the frame at a position of this function? */
bool asked_is(const struct asked *asked, size_t position, const char *function);
