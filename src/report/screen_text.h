/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screen_text - texts of strangers on a screen of a certain width.
 *
 * Names come from the files of the profiled program: what a terminal would obey is replaced, what does
 * not fit is shortened in the middle, where names differ least.
 *
 * Threads  any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

enum { GG_SCREEN_TEXT_WIDTH = 80 }; /* when nobody knows */

/* The width of the terminal, of $COLUMNS, or 80; of what ends a line in a file or a pipe any. */
size_t gg_screen_text_width(int fd);
size_t gg_screen_text_name_width(int fd);

/* Does the environment ask for UTF-8 (LC_ALL, LC_CTYPE, LANG)? */
bool gg_screen_text_is_utf8(void);

/* Cells of a terminal that a UTF-8 text takes (text_cells.h). */
size_t gg_screen_text_length(const char *text);

/* Appends the text in at most `width` cells, "std::vector<in...sert" or with one ellipsis. */
void gg_screen_text_append(struct gg_buf *out, const char *text, size_t width, bool ascii);

/*
 * The same for a row among others: a text that would look like `other` although it differs shows the place
 * where it does, "Box<std::v...<int, std...".
 */
void gg_screen_text_append_apart(struct gg_buf *out, const char *text, const char *other,
                                 size_t width, bool ascii);

/* For each text another one that differs but would look the same in `width` cells, or itself. */
void gg_screen_text_find_alike(const char *const *texts, size_t count, size_t width, bool ascii,
                               const char **ret_others);

/* Appends blanks in front of or behind the text so that it has `width` cells. */
void gg_screen_text_append_right(struct gg_buf *out, const char *text, size_t width);
void gg_screen_text_append_left(struct gg_buf *out, const char *text, size_t width);

/* Appends words in lines of at most `width` cells, the second and later ones indented. */
void gg_screen_text_append_paragraph(struct gg_buf *out, const char *text, size_t width,
                                     bool ascii);
