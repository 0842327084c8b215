/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screen_text - fits untrusted texts into the width of a screen.
 *
 * Names come from files of the profiled program.  These functions replace control characters, which
 * a terminal would obey, and shorten long names in the middle, where names differ least.
 *
 * Threads  Any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

enum { GG_SCREEN_TEXT_WIDTH = 80 }; /* if the width is unknown */

/*
 * The width of the terminal, of $COLUMNS, or 80.  The second function is for a name at the end of a
 * line, which in files and pipes may have any width.
 */
size_t gg_screen_text_width(int fd);
size_t gg_screen_text_name_width(int fd);

/* True if the environment asks for UTF-8 (LC_ALL, LC_CTYPE, LANG). */
bool gg_screen_text_is_utf8(void);

/* The number of terminal cells of a UTF-8 text (text_cells.h). */
size_t gg_screen_text_length(const char *text);

/*
 * Appends the text in at most `width` cells: names of functions without what people miss least
 * (screen_name.h), other texts without their middle.
 */
void gg_screen_text_append(struct gg_buf *out, const char *text, size_t width, bool ascii);

/*
 * Appends like gg_screen_text_append(), but if the shortened text would look like `other`, it
 * shows the position where the two differ, "Box<std::v...<int, std...".
 */
void gg_screen_text_append_apart(struct gg_buf *out, const char *text, const char *other,
                                 size_t width, bool ascii);

/* Finds for each text another one that would look equal in `width` cells, or the text itself. */
void gg_screen_text_find_alike(const char *const *texts, size_t count, size_t width, bool ascii,
                               const char **ret_others);

/* Ends the line without blanks at its end, and begins the next one with `indent` blanks. */
void gg_screen_text_break(struct gg_buf *out, size_t indent);

/*
 * Appends the text to the last line of `out`, or to a new line with `indent` blanks if the text
 * does not fit into `width` cells there.  A new line omits the blanks before the text.
 */
void gg_screen_text_append_fitting(struct gg_buf *out, const char *text, size_t width,
                                   size_t indent);

/* Append the text with blanks before or after it, so that it has `width` cells. */
void gg_screen_text_append_right(struct gg_buf *out, const char *text, size_t width);
void gg_screen_text_append_left(struct gg_buf *out, const char *text, size_t width);

/* Appends words in lines of at most `width` cells, the second and later ones indented. */
void gg_screen_text_append_paragraph(struct gg_buf *out, const char *text, size_t width,
                                     bool ascii);
