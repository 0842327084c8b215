/* SPDX-License-Identifier: Apache-2.0 */
/*
 * save_file - replaces a whole file at once.
 *
 * The function writes a file under a temporary name in the same folder and then renames it.  So a
 * reader finds the whole old file or the whole new one at every moment.  If the path names a pipe
 * or a device such as /dev/null, the function writes to it directly; "-" means standard output.
 */
#pragma once

#include <stddef.h>

#include "base/compiler.h"
#include "base/error.h"

GG_MUST_CHECK int gg_save_file(const char *path, const char *bytes, size_t length,
                               struct gg_error *error);
