/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preloadable - can the agent hear what a program allocates?  Its file says.
 *
 *   GG_PRELOADABLE_NONE   the loader takes no agent: statically linked, 32-bit, of another libc, or run with
 *                   more privileges than its caller
 *   GG_PRELOADABLE_PART   the agent is there, and (most) memory passes by it: an allocator that is linked in,
 *                   or Go's
 *   GG_PRELOADABLE_ALL    nothing speaks against it, or the file cannot be read
 *
 * Of a script its interpreter is asked, and behind `#!/usr/bin/env NAME` the program of that name.  Hostile files: everything is read by pread(), within limits.
 * Cost: reads the symbol tables, 256 MiB at most.
 */
#pragma once

#include <stdbool.h>

#include "base/compiler.h"

enum gg_preloadable { GG_PRELOADABLE_ALL, GG_PRELOADABLE_NONE, GG_PRELOADABLE_PART };

enum { GG_PRELOADABLE_WHY_MAX = 200 };

/* why: "it is ..."; empty for GG_PRELOADABLE_ALL. */
enum gg_preloadable gg_preloadable_of(const char *path, char why[GG_PRELOADABLE_WHY_MAX]);

/*
 * Would its loader complain about the agent, or fail?  musl's ends the program, since the agent needs glibc; that of
 * another architecture prints an error.  `why` as above.
 */
bool gg_preloadable_refuses(const char *path, char why[GG_PRELOADABLE_WHY_MAX]);

/* Not GG_PRELOADABLE_NONE; the symbol tables are not read for that. */
bool gg_preloadable_loads(const char *path, char why[GG_PRELOADABLE_WHY_MAX]);
