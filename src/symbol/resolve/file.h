/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file - resolves the addresses of one ELF file: DWARF first, symbol tables for what is left, and
 * advice for people about what is missing.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "symbol/resolve/module_symbols.h"
#include "symbol/resolve/worker.h"

/*
 * *ret_is_complete: all that the debug information can tell is told, so that it may be kept.  What
 * would help more is appended to `advice`.
 */
enum gg_symbol_status gg_file_resolve(const struct gg_worker_task *task,
                                      struct gg_module_symbols *answers, struct gg_buf *advice,
                                      bool *ret_is_complete);
