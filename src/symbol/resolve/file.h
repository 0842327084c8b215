/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file - resolves the addresses of one ELF file, and advises the user about missing files.
 *
 * DWARF answers first, and symbol tables answer for the remaining addresses.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "symbol/resolve/module_symbols.h"
#include "symbol/resolve/worker.h"

/*
 * *ret_is_complete: the debug information has answered completely, so the answers may be cached.
 * `advice` gets a text about files that would improve the answers.
 */
enum gg_symbol_status gg_file_resolve(const struct gg_worker_task *task,
                                      struct gg_module_symbols *answers, struct gg_buf *advice,
                                      bool *ret_is_complete);
