/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folder_page - a folder of profiles, as a page without scripts and as JSON.
 *
 * Names of files are anybody's: they reach the page with & < > " ' replaced, and addresses as %XX.
 */
#pragma once

#include "base/buf.h"
#include "serve/library.h"

void gg_folder_page_html(const char *title, const struct gg_library_entry *entries, size_t count,
                         struct gg_buf *out);
void gg_folder_page_json(const char *title, const struct gg_library_entry *entries, size_t count,
                         struct gg_buf *out);
