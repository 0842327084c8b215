/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbolize - gives the frames of a profile their functions and lines.
 *
 *   struct gg_symbolize_result result;
 *
 *   if (gg_symbolize(profile, NULL, &result, error) < 0)
 *           return error->status;
 *
 * The recorder calls it when the session ends, because the files that ran still exist at that time.
 * Afterwards the profile is complete on every other machine.  `geiger symbolize` may call it again
 * later, where debug information is available.
 *
 * Again    a module is looked up again unless all of its lines are known.  New lines replace the
 *          old ones only if they say more, so a name never disappears.
 * JIT      code that was made at run time belongs to no file.  stack_map.h gives it the module
 *          "/tmp/perf-PID.map", the file in which JIT compilers list their functions for perf.
 * Time     a jitdump tells when code was where.  With options->start_monotonic_ns, an address that
 *          had several codes gets the name of the one that was there from the first of its samples
 *          to the last, and no name if there were several in that time.  A code counts as replaced
 *          10 ms before the compiler says so.
 * Threads  one owner at a time; it forks (symbol.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "profile/profile.h"
#include "symbol/symbol.h"

struct gg_symbolize_result {
	uint64_t frame_count; /* frames of the modules that were looked up */
	uint64_t named_count; /* frames among them that have a function now */
	/* frames among them of a function without a name, whose first address is known now */
	uint64_t bounded_count;
	/* modules that were looked up; modules among them that have more names now */
	uint32_t module_count, improved_count;
};

/*
 * `options` may be NULL.  Fails with the errors of the profile only.  If a module has no symbols,
 * its status in the profile says why.
 */
GG_MUST_CHECK int gg_symbolize(struct gg_profile *profile, const struct gg_symbol_options *options,
                               struct gg_symbolize_result *ret_result, struct gg_error *error);

struct gg_known_symbols;

/* Uses the answers of earlier look-ups, and keeps its own for later ones (known_symbols.h). */
GG_MUST_CHECK int gg_symbolize_with(struct gg_profile *profile,
                                    const struct gg_symbol_options *options,
                                    struct gg_known_symbols *names,
                                    struct gg_symbolize_result *ret_result, struct gg_error *error);

/*
 * True for a path like "/tmp/perf-4711.map" or "/tmp/jit-4711.dump".  Such a file names code that
 * was made at run time.
 */
bool gg_symbolize_is_perf_map(const char *path);
