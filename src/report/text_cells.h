/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text_cells - how many cells of a terminal a text takes.
 *
 *   "main"                           4 cells
 *   two Chinese characters           4 cells: each takes two
 *   "e" and a combining accent       1 cell: the accent stands on the e
 *
 * wcwidth() knows the width of each character, but answers for the locale of the calling thread.
 * geiger never calls setlocale(), because that would change how numbers are printed and parsed.
 * Therefore these functions switch the calling thread to the locale C.UTF-8 for its character types
 * alone, and back before they return.  A system without that locale gives each character one cell.
 *
 * Any bytes are fine: a byte that is not UTF-8 takes one cell.
 *
 * Threads  any.
 * Cost     ASCII needs no locale.
 */
#pragma once

#include <stddef.h>

size_t gg_text_cells(const char *text, size_t length);

/* The end of the longest beginning of the text that takes at most `cells` cells. */
const char *gg_text_cells_end(const char *text, size_t cells);

/* The end of the shortest beginning that takes at least `cells` cells, with accents behind it. */
const char *gg_text_cells_skip(const char *text, size_t cells);
