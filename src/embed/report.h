/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report - a sample of one of the program's heaps goes where samples go.
 *
 * Threads  any, on the thread that allocated.  Keeps errno.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stats/scheme.h"

/* With the stack of the caller, and the frames of the heap's provider.  False: it is nowhere. */
bool gg_embed_report(uint32_t heap, const void *object, size_t bytes, const char *type,
                     const struct gg_draw *draw);
