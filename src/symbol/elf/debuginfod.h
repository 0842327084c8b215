/* SPDX-License-Identifier: Apache-2.0 */
/*
 * debuginfod - debug files from servers, if the user names some in DEBUGINFOD_URLS.
 *
 * elfutils' client library is loaded when it is first needed, so geiger does not depend on it.  It
 * keeps what it fetched in a cache of its own.
 *
 * Waits  GG_DEBUGINFOD_STALL_SECONDS at most without a byte, and after a failure of the network
 *        nobody asks again in this run.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GG_DEBUGINFOD_STALL_SECONDS = 8 };

/* Are there servers to ask? */
bool gg_debuginfod_is_wanted(void);

/*
 * The debug file of a build-id as a file descriptor; -ENOENT if no server has it, another -Exxx if
 * none could be asked.
 */
int gg_debuginfod_find(const uint8_t *build_id, size_t build_id_bytes);
