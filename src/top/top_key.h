/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top_key - the numbers of keys that are no characters.
 */
#pragma once

/* Keys beyond characters. */
enum gg_top_key {
	GG_TOP_KEY_UP = 0x110000, /* behind the last character of Unicode */
	GG_TOP_KEY_DOWN,
	GG_TOP_KEY_LEFT,
	GG_TOP_KEY_PAGE_UP,
	GG_TOP_KEY_PAGE_DOWN,
	GG_TOP_KEY_HOME,
	GG_TOP_KEY_END,
	GG_TOP_KEY_RIGHT,
	GG_TOP_KEY_BACKSPACE,
	GG_TOP_KEY_ENTER,
	GG_TOP_KEY_ESCAPE,
	GG_TOP_KEY_HELP,
	GG_TOP_KEY_SEARCH,
	GG_TOP_KEY_FILTER,
	GG_TOP_KEY_SORT,
	GG_TOP_KEY_TREE,
	GG_TOP_KEY_QUIT,
	GG_TOP_KEY_MOUSE, /* an event of the mouse (top_mouse.h) */
	GG_TOP_KEY_NONE,  /* a key without a meaning */
};
