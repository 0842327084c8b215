/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folder_page - the list of a folder's profiles, as a page without scripts and as JSON.
 *
 * Anybody may have chosen the names of the files.  The page has & < > " ' of a name replaced by
 * character references, and URLs have its bytes as %XX.
 */
#pragma once

#include "base/buf.h"
#include "serve/library.h"

void gg_folder_page_html(const char *title, const struct gg_library_entry *entries, size_t count,
                         struct gg_buf *out);
void gg_folder_page_json(const char *title, const struct gg_library_entry *entries, size_t count,
                         struct gg_buf *out);
