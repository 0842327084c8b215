/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folder_page - the list of a folder's profiles, as a page without scripts and as JSON.
 *
 * Anybody may have chosen the names of the files and the commands.  The page has & < > " ' of a
 * text replaced by character references, and URLs have its bytes as %XX.
 */
#pragma once

#include "base/buf.h"
#include "serve/library.h"

enum gg_folder_column {
	GG_FOLDER_WHEN,
	GG_FOLDER_COMMAND,
	GG_FOLDER_DURATION,
	GG_FOLDER_LIVE,
	GG_FOLDER_PEAK,
	GG_FOLDER_GROWTH,
	GG_FOLDER_COLUMN_COUNT
};

/* The rows that the page shows, and their order.  All-zero: all of them, the oldest first. */
struct gg_folder_view {
	const char *filter; /* part of a command or of a file's name; NULL or "": everything */
	enum gg_folder_column column; /* that the rows are sorted by */
	bool is_descending;
	size_t page;    /* of FOLDER_PAGE_ROWS rows, from 0 */
	size_t missing; /* so many summaries are not made yet; the page then loads itself again */
};

/* The name of a column in an address, such as "peak". */
const char *gg_folder_column_name(int column);
/* True if people expect the largest value of the column first. */
bool gg_folder_column_descends(enum gg_folder_column column);

void gg_folder_page_html(const char *title, const struct gg_library_entry *entries, size_t count,
                         const struct gg_folder_view *view, struct gg_buf *out);
void gg_folder_page_json(const char *title, const struct gg_library_entry *entries, size_t count,
                         struct gg_buf *out);
