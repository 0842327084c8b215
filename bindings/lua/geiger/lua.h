/* SPDX-License-Identifier: Apache-2.0 */
/*
 * geiger/lua.h - Lua 5.4 states in geiger's profiles: what they allocate, by Lua's functions and
 * lines.
 *
 *   lua_State *L = geiger_lua_newstate(NULL, NULL);       instead of luaL_newstate()
 *
 *   luaL_openlibs(L);
 *   geiger_lua_coroutines(L);                             after the standard libraries
 *   ...
 *   lua_close(L);
 *
 * Or for a state that is there already, also from Lua, by require "geiger":
 *
 *   geiger_lua_install(L);
 *
 * Heap       "lua", with the types string, table, function, userdata, thread, upvalue, prototype,
 *            and array for what belongs to objects: the contents of tables, stacks, buffers.
 * Stacks     of Lua functions and the C functions that they call; of a coroutine, those of who
 *            resumed it follow.  Memory that a state takes without any has a native stack.
 * Starting   is the caller's: geiger_start(), or `geiger record`.  Where nothing records, nothing
 *            happens.
 * Threads    as Lua's: a state belongs to one thread at a time.
 * Cost       not sampled: one call through a pointer and a subtraction.
 */
#ifndef GEIGER_LUA_H
#define GEIGER_LUA_H

#include <lua.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * lua_newstate() with sampling in front of that allocator; allocate NULL: realloc() and free().  As
 * with lua_newstate(), there is no panic function and are no warnings yet.  NULL: no memory.
 */
lua_State *geiger_lua_newstate(lua_Alloc allocate, void *user);

/*
 * Puts sampling in front of the allocator of this state, until it is closed.  Blocks that it has
 * already are left alone.  Again: does nothing.  lua_setallocf() after it takes it away.  0, or
 * -ENOMEM.
 */
int geiger_lua_install(lua_State *L);

/*
 * Replaces coroutine.resume and coroutine.wrap by functions that do the same and remember who
 * runs.  Else what a coroutine allocates is told of the one who resumed it.  Needs the coroutine
 * library.
 */
void geiger_lua_coroutines(lua_State *L);

/* lua_resume() for hosts that run coroutines themselves, to the same end. */
int geiger_lua_resume(lua_State *L, lua_State *from, int argument_count, int *ret_result_count);

/*
 * require "geiger": both of the above, and the functions start, stop, interval, destination and
 * snapshot.
 */
LUA_API int luaopen_geiger(lua_State *L);

#ifdef __cplusplus
}
#endif

#endif
