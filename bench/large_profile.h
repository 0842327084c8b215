/* SPDX-License-Identifier: Apache-2.0 */
/*
 * large_profile - a profile of a large program, made: stacks of 10 to 60 frames that share their
 * callers, 20 000 functions in 40 modules (some recursive, one frame in three with an inlined
 * call), sizes of 16 bytes to 1 MiB, half of the samples freed, and a look at 10 000 live ones.
 */
#pragma once

#include <stdint.h>

#include "base/error.h"

int large_profile_make(const char *path, uint64_t samples, uint32_t stacks, uint32_t threads,
                       struct gg_error *error);
