/* SPDX-License-Identifier: Apache-2.0 */
/*
 * debuginfod - fetches debug files from servers if the user sets DEBUGINFOD_URLS.
 *
 * The module loads elfutils' client library when it is first needed, so geiger does not depend on
 * it.  That library has its own cache of fetched files.
 *
 * Waits  GG_DEBUGINFOD_STALL_SECONDS at most without receiving a byte.  After a network failure no
 *        worker contacts a server again in this run.
 * Limits Build-ids may come from other machines, and a server may send anything: the caller may
 *        limit the time of a request and the size of a file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/symbol.h"

enum { GG_DEBUGINFOD_STALL_SECONDS = 8 };

/* True if the user has set servers. */
bool gg_debuginfod_is_wanted(void);

/*
 * Returns a descriptor of the debug file of a build-id; -ENOENT: no server has it; -EFBIG: it has
 * more bytes than the limit; -ETIME: it came too slowly for the limit of time; another -Exxx: no
 * server answered.  `limits` may be NULL.
 */
int gg_debuginfod_find(const uint8_t *build_id, size_t build_id_bytes,
                       const struct gg_symbol_fetch_limits *limits);
