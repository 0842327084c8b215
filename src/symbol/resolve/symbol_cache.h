/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol_cache - what DWARF told about addresses, kept between runs by build-id.
 *
 *   DIR/BUILD-ID.1    a blob (symbol/resolve/blob.h) of all addresses of that file asked for so far; the
 *                     digit is GG_BLOB_VERSION
 *
 * A build-id stands for the bytes of the file, so an entry never gets old.  A file is replaced as a
 * whole by rename(2): readers see the old or the new one, and of two writers the later one wins.  A
 * damaged file fails its checksum and is written anew.
 *
 * Full     over GG_SYMBOL_CACHE_BYTES_MAX in all, those that were not used for longest go first, down to
 *          3/4 of that.  A module that would take more than GG_SYMBOL_CACHE_FILE_MAX is not kept.
 * Failing  a cache that cannot be read or written is no cache: nobody hears of it.
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
 * Reads the entry of a build-id into `bytes`, which the blob then points into, and notes that it
 * was used.  0, or -Exxx: there is none that can be used.
 */
GG_MUST_CHECK int gg_symbol_cache_read(const char *dir, const uint8_t *build_id,
                                       size_t build_id_bytes, struct gg_buf *bytes,
                                       struct gg_blob *ret_blob);

/* Replaces the entry. */
void gg_symbol_cache_write(const char *dir, const uint8_t *build_id, size_t build_id_bytes,
                           const void *bytes, size_t length);

/* Removes what is too much, oldest first: of all files that look like entries. */
void gg_symbol_cache_trim(const char *dir, uint64_t bytes_max);
