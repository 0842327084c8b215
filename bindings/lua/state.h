/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state - what the adapter keeps of each Lua state.
 *
 * It is the `user` of the state's allocator, allocated by the real one, and goes when the state's
 * own block does, which is the last thing that lua_close() frees.
 */
#pragma once

#include <lua.h>

#include "frames.h"
#include "sampled.h"

struct gg_lua_state {
	lua_Alloc real;
	void *user;
	struct gg_lua_running *running; /* NULL: not made yet */
	struct gg_lua_running main;
	void *own_block; /* of the main thread and what is shared */
	struct gg_sampled known;
};

/* The adapter's allocator: `user` is a struct gg_lua_state. */
void *gg_lua_allocate(void *user, void *block, size_t old_bytes, size_t new_bytes);

/* Of this state, or of its main thread if it is a coroutine; NULL: the adapter is not in front. */
struct gg_lua_state *gg_lua_state_of(lua_State *L);
