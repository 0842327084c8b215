/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frames - the Lua functions that run, read in the middle of an allocation.
 *
 * lua_getstack() and lua_getinfo() with "Sln" only read.  So they may be called in an allocation,
 * as long as the pointers into the state's stack are valid.  Only a resize of that stack is
 * critical:
 *
 *   5.4.0 to 5.4.2   reallocate the stack; the pointers are valid before
 *   5.4.3 and 5.4.4  allocate another stack and copy; the pointers are valid
 *   from 5.4.5 on    change the pointers to offsets, reallocate, and change them back
 *
 * So the adapter reads frames before it calls the real allocator, and stops at a frame whose
 * pointer looks like an offset.
 *
 * A frame's line is that of the last instruction whose position Lua has saved.  Lua does not save
 * it for an instruction that makes an empty table, so such a table may have the line of an earlier
 * statement of the same function.
 */
#pragma once

#include <geiger/geiger.h>
#include <lua.h>

enum {
	GG_LUA_FRAMES_MAX = 128,

	/*
	 * Room for names that the adapter makes: for functions without one, and chunks without a
	 * file.
	 */
	GG_LUA_TEXTS_BYTES = 4096
};

/* The coroutines that run, innermost first.  `by` is the one that resumed this one. */
struct gg_lua_running {
	lua_State *state;
	struct gg_lua_running *by;
};

struct gg_lua_texts {
	char bytes[GG_LUA_TEXTS_BYTES];
	size_t used_bytes;
};

/*
 * Fills frames, whose texts belong to Lua or are in `texts`, and returns their number.
 * moving_bytes is the size of a block that is being resized, which may be a stack; 0: no block is.
 */
size_t gg_lua_frames(const struct gg_lua_running *running, struct geiger_frame *frames,
                     size_t capacity, struct gg_lua_texts *texts, size_t moving_bytes);
