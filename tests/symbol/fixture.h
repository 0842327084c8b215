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

/* Makes the folder.  Returns false if no compiler is installed. */
bool fixture_begin(struct fixture *f);
void fixture_end(struct fixture *f);

/* Runs a command line in the folder.  Returns true if it succeeded. */
bool fixture_shell(struct fixture *f, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Return the paths of tests/symbol/NAME and of a file in the folder. */
const char *fixture_source(const char *name);
const char *fixture_path(const struct fixture *f, const char *name);

/* Returns the address that `nm` prints for a symbol of a file; 0: the file has no such symbol. */
uint64_t fixture_symbol(struct fixture *f, const char *file, const char *symbol);

/* Returns a column of the line of `readelf -SW` for a section: 4 is its address, 6 its size. */
uint64_t fixture_section(struct fixture *f, const char *file, const char *section, int column);

/* Reads the build-id of a file.  Returns its length; 0: the file has no build-id. */
size_t fixture_build_id(struct fixture *f, const char *file, uint8_t *build_id);

struct asked {
	struct gg_symbol_outcome outcome;
	const struct gg_symbol_frame *frames;
	size_t count;
};

/*
 * Symbolizes one address of a module.  The texts live until the next call.  The function fills in
 * the module's addresses, and the options that are zero: no cache, offline.
 */
struct asked fixture_ask_module(struct fixture *f, struct gg_symbol_module module, uint64_t address,
                                const struct gg_symbol_options *options);

/* Symbolizes a symbol of a file in the folder, by the file's build-id; options may be NULL. */
struct asked fixture_ask(struct fixture *f, const char *file, const char *symbol,
                         const struct gg_symbol_options *options);

/* True if the frame at a position is of this function. */
bool asked_is(const struct asked *asked, size_t position, const char *function);
