/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frames - the Lua functions that run, read in the middle of an allocation.
 *
 * lua_getstack() and lua_getinfo() with "Sln" only read, so they may be called there, if the stack
 * of the state is in order.  It is, except while that stack itself is moved, as
 *
 *   5.4.0 to 5.4.2   reallocate it: the pointers into it are right until then
 *   5.4.3 and 5.4.4  allocate another one and copy: they are right
 *   from 5.4.5 on    change them to offsets, reallocate it, and change them back
 *
 * So frames are read before the real allocator is called, and not where they look like offsets.
 *
 * The line is that of the last instruction whose place Lua has saved: it does not save that of one
 * that makes an empty table, which therefore may have the line of a statement before it in the same
 * function.
 */
#pragma once

#include <geiger/geiger.h>
#include <lua.h>

enum {
	GG_LUA_FRAMES_MAX = 128,

	/*
	 * Of names that are made: of functions that nobody gave one, of chunks that come from no
	 * file.
	 */
	GG_LUA_TEXTS_BYTES = 4096
};

/* Who runs, innermost first: each resumed the one before it. */
struct gg_lua_running {
	lua_State *state;
	struct gg_lua_running *by;
};

struct gg_lua_texts {
	char bytes[GG_LUA_TEXTS_BYTES];
	size_t used_bytes;
};

/*
 * Fills frames; their texts are Lua's, or in `texts`.  moving_bytes: the size of the block that is
 * being resized, which may be a stack; else 0.  The number of frames.
 */
size_t gg_lua_frames(const struct gg_lua_running *running, struct geiger_frame *frames,
                     size_t capacity, struct gg_lua_texts *texts, size_t moving_bytes);
