/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol_cache - caches answers from DWARF between runs, by build-id.
 *
 *   DIR/BUILD-ID.3    a blob (symbol/resolve/blob.h) of all addresses of that file that were
 *                     resolved so far; the digit is GG_BLOB_VERSION
 *
 * A build-id identifies the bytes of a file, so an entry never becomes outdated.  rename(2)
 * replaces a cache file as a whole: readers see the old or the new file, and of two writers the
 * later one wins.  A damaged file fails its checksum and is replaced.
 *
 * Full     above GG_SYMBOL_CACHE_BYTES_MAX the least recently used files are removed, down to 3/4
 *          of that.  An entry of more than GG_SYMBOL_CACHE_FILE_MAX bytes is not written.
 * Failing  if the cache cannot be read or written, geiger works without it and prints nothing.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "symbol/resolve/blob.h"

enum { GG_SYMBOL_CACHE_BYTES_MAX = 512 << 20, GG_SYMBOL_CACHE_FILE_MAX = 64 << 20 };

/* Appends $XDG_CACHE_HOME/geiger/symbols or ~/.cache/geiger/symbols; nothing if neither is set. */
void gg_symbol_cache_default_dir(struct gg_buf *dir);

/*
 * Reads the entry of a build-id into `bytes` and marks it as used.  The blob points into `bytes`.
 * -Exxx: there is no usable entry.
 */
GG_MUST_CHECK int gg_symbol_cache_read(const char *dir, const uint8_t *build_id,
                                       size_t build_id_bytes, struct gg_buf *bytes,
                                       struct gg_blob *ret_blob);

/* Replaces the entry of a build-id. */
void gg_symbol_cache_write(const char *dir, const uint8_t *build_id, size_t build_id_bytes,
                           const void *bytes, size_t length);

/* Removes the least recently used files that look like entries until the rest fits bytes_max. */
void gg_symbol_cache_trim(const char *dir, uint64_t bytes_max);
