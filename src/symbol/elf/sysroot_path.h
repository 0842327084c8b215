/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sysroot_path - opens files below another root directory, and composes paths from build-ids.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/*
 * Opens a regular file for reading and returns its descriptor or -Exxx.  With a root, the path and
 * all symbolic links on it resolve as if the root were /.  Anything but a regular file is not
 * opened: a path may come from a profile of another machine, and name a FIFO or a device.  It
 * returns -EINVAL then.  A root needs /proc.
 */
int gg_sysroot_path_open(const char *root, const char *path);

/* Does so without a root, and for a path that is no symbolic link: -ELOOP. */
int gg_sysroot_path_open_own(const char *path);

/* Appends two hexadecimal digits for each byte. */
void gg_sysroot_path_append_hex(struct gg_buf *out, const uint8_t *bytes, size_t count);

/* Replaces `out` by "DIR/.build-id/xx/yyyy.debug".  A build-id has at least 2 bytes. */
void gg_sysroot_path_by_build_id(struct gg_buf *out, const char *dir, const uint8_t *build_id,
                                 size_t build_id_bytes);

/* Returns the length of a module's path without the " (deleted)" that the kernel appends. */
size_t gg_sysroot_path_length(const char *path);
