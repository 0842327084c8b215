/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module_symbols - collects the answers for a module's addresses, in any order, until they become a
 * blob.
 *
 * The builder interns names at once.  A linkage name is demangled when it first occurs.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/map.h"
#include "symbol/resolve/blob.h"

/* A function's three names, as offsets of interned strings. */
struct gg_symbol_answer_name {
	uint32_t function, full_name, linkage_name;
};

struct gg_symbol_answer {
	uint32_t first_frame, frame_count; /* in gg_module_symbols.frames */
};

struct gg_module_symbols {
	const uint64_t *addresses; /* ascending, each once */
	size_t count;
	struct gg_symbol_answer *answers; /* for each address */
	struct gg_buf frames;             /* struct gg_blob_frame */

	struct gg_blob_builder builder;
	struct gg_map name_map;    /* offset of a linkage name -> index in names */
	struct gg_buf names;       /* struct gg_symbol_answer_name */
	struct gg_buf full, brief; /* for demangling */
};

/* 0 or -ENOMEM. */
GG_MUST_CHECK int gg_module_symbols_init(struct gg_module_symbols *answers,
                                         const uint64_t *addresses, size_t count);
void gg_module_symbols_done(struct gg_module_symbols *answers);

/* Returns the names of a function by its linkage name. */
struct gg_symbol_answer_name gg_module_symbols_demangle(struct gg_module_symbols *answers,
                                                        const char *linkage_name);

/* Returns the names of a function by its full C++ name, as composed from DWARF. */
struct gg_symbol_answer_name gg_module_symbols_qualified(struct gg_module_symbols *answers,
                                                         const char *name);

/* Clears the answer of an address.  The next gg_module_symbols_add() calls must be for it. */
void gg_module_symbols_begin(struct gg_module_symbols *answers, size_t index);
void gg_module_symbols_add(struct gg_module_symbols *answers, size_t index,
                           const struct gg_blob_frame *frame);

/* Returns the last frame of an address, the function that has its code; NULL: no frame. */
struct gg_blob_frame *gg_module_symbols_outermost(struct gg_module_symbols *answers, size_t index);

/* Moves all answers to the builder.  True if any address has a frame with a
 * name that is not made of an address. */
bool gg_module_symbols_build(struct gg_module_symbols *answers);
