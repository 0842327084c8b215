/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preloadable - tells from a program's file whether the agent can see what the program allocates.
 *
 *   GG_PRELOADABLE_NONE   the loader accepts no agent: the program is statically linked, 32-bit,
 *                         uses another libc, or runs with more privileges than its caller
 *   GG_PRELOADABLE_PART   the agent is loaded, but (most) allocations bypass it: the program has
 *                         its own allocator, or is a Go program
 *   GG_PRELOADABLE_ALL    no obstacle was found, or the file cannot be read
 *
 * For a script these functions check its interpreter, and behind `#!/usr/bin/env NAME` that
 * program.
 *
 * Hostile   the file may hold anything: it is read with pread(), within limits.
 * Cost      reads the symbol tables, 256 MiB at most.
 */
#pragma once

#include <stdbool.h>

#include "base/compiler.h"

enum gg_preloadable { GG_PRELOADABLE_ALL, GG_PRELOADABLE_NONE, GG_PRELOADABLE_PART };

enum { GG_PRELOADABLE_WHY_MAX = 200 };

/* `why` gets a text like "it is ..."; empty for GG_PRELOADABLE_ALL. */
enum gg_preloadable gg_preloadable_of(const char *path, char why[GG_PRELOADABLE_WHY_MAX]);

/* True for a program of musl, which needs the agent for musl. */
bool gg_preloadable_is_musl(const char *path);

/* Says whether that agent is installed: without it (the default) such programs are NONE. */
void gg_preloadable_set_musl_agent(bool has);

/*
 * True if the program's loader would fail with the agent or complain about it.  musl's loader ends
 * the program if the agent needs glibc; a loader of another architecture prints an error.
 * `why` as above.
 */
bool gg_preloadable_refuses(const char *path, char why[GG_PRELOADABLE_WHY_MAX]);

/* True unless gg_preloadable_of() is GG_PRELOADABLE_NONE; does not read the symbol tables. */
bool gg_preloadable_loads(const char *path, char why[GG_PRELOADABLE_WHY_MAX]);

/* Returns advice on a program that is not GG_PRELOADABLE_ALL, as a phrase, or NULL. */
const char *gg_preloadable_advice(const char *path);
