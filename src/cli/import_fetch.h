/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import_fetch - opens what `geiger import` is given: a file, or a URL.
 */
#pragma once

#include "base/buf.h"
#include "format/import/input.h"

/* `fetched` gets what a URL has, and must stay until the input is closed. */
GG_MUST_CHECK int gg_cli_fetch(struct gg_input **ret_input, const char *path,
                               struct gg_buf *fetched, struct gg_error *error);
