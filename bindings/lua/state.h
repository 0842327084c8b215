/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state - the adapter's data for each Lua state.
 *
 * It is the `user` argument of the state's allocator.  The real allocator allocates it.  It is
 * freed with the state's own block, the last block that lua_close() frees.
 */
#pragma once

#include <lua.h>

#include "frames.h"
#include "sampled.h"

struct gg_lua_state {
	lua_Alloc real;
	void *user;
	struct gg_lua_running *running; /* NULL: the state does not exist yet */
	struct gg_lua_running main;
	void *own_block; /* has the main thread and the shared data */
	struct gg_sampled known;
};

/* The adapter's allocator: `user` is a struct gg_lua_state. */
void *gg_lua_allocate(void *user, void *block, size_t old_bytes, size_t new_bytes);

/*
 * Returns the data of a state, or of the state that a coroutine belongs to.  NULL: the adapter is
 * not in front of its allocator.
 */
struct gg_lua_state *gg_lua_state_of(lua_State *L);
