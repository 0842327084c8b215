/* SPDX-License-Identifier: Apache-2.0 */
/*
 * save_file - puts a whole file in its place.
 *
 * Written under a name beside the final one and moved over what was there, so that there is a whole file
 * of that name at every moment, the old one or the new.  What is no ordinary file (a pipe, /dev/null)
 * is written to; "-" is standard output.
 */
#pragma once

#include <stddef.h>

#include "base/compiler.h"
#include "base/error.h"

GG_MUST_CHECK int gg_save_file(const char *path, const char *bytes, size_t length,
                               struct gg_error *error);
