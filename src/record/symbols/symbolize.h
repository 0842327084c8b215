/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbolize - gives the frames of a profile their functions and lines.
 *
 *   struct gg_symbolize_result result;
 *
 *   if (gg_symbolize(profile, NULL, &result, error) < 0)
 *           return error->code;
 *
 * When a session ends the files that ran are there, so that is when it is done, and the profile is
 * complete on any other machine.  It may be done again later, where debug information is.
 *
 * Never worse  A module is asked for again unless all of its lines are known.  What is found replaces
 *              what was there only if it says more; a name is never taken away.
 * JIT code     is in no module; stack_map.h gives it the module "/tmp/perf-PID.map", which is the file
 *              that perf has taught JIT compilers to write.
 * Threads      one owner at a time; it forks (symbol.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "profile/profile.h"
#include "symbol/symbol.h"

struct gg_symbolize_result {
	uint64_t frame_count; /* in modules that were asked for */
	uint64_t named_count; /* ... of which have a function now */
	uint32_t module_count, improved_count;
};

/* options may be NULL.  Fails for the profile's errors; what is wrong with a module is its status. */
GG_MUST_CHECK int gg_symbolize(struct gg_profile *profile, const struct gg_symbol_options *options,
                               struct gg_symbolize_result *ret_result, struct gg_error *error);

/* "/tmp/perf-4711.map": a file of this name names code that was made at run time. */
bool gg_symbolize_is_perf_map(const char *path);
