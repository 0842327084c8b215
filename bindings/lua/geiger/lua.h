/* SPDX-License-Identifier: Apache-2.0 */
/*
 * geiger/lua.h - puts the allocations of Lua 5.4 states into geiger's profiles, by Lua's functions
 * and lines.
 *
 *   lua_State *L = geiger_lua_newstate(NULL, NULL);       instead of luaL_newstate()
 *
 *   luaL_openlibs(L);
 *   geiger_lua_coroutines(L);                             after the standard libraries
 *   ...
 *   lua_close(L);
 *
 * For a state that exists already (a Lua script calls require "geiger" instead):
 *
 *   geiger_lua_install(L);
 *
 * Heap       "lua", with the types string, table, function, userdata, thread, upvalue, prototype,
 *            and array for the contents of objects: those of tables, stacks, buffers.
 * Stacks     consist of Lua functions and the C functions that they call.  The frames of a
 *            coroutine are followed by those of the coroutine that resumed it.  If no function
 *            runs, the stack is native.
 * Start      The caller starts the recording, by geiger_start() or `geiger record`.  Without a
 *            recording, the adapter does nothing.
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
 * Calls lua_newstate() with sampling in front of that allocator; allocate NULL: realloc() and
 * free().  As after lua_newstate(), the state has no panic function and no warnings yet.  NULL:
 * memory ran out.
 */
lua_State *geiger_lua_newstate(lua_Alloc allocate, void *user);

/*
 * Puts sampling in front of the allocator of this state, until the state is closed.  Existing
 * blocks are not recorded.  A second call does nothing.  A later lua_setallocf() removes the
 * adapter.  Returns 0 or -ENOMEM.
 */
int geiger_lua_install(lua_State *L);

/*
 * Replaces coroutine.resume and coroutine.wrap by functions that do the same and also remember the
 * running coroutine.  Without this call, the allocations of a coroutine count as those of the one
 * that resumed it.  The state must have the coroutine library.
 */
void geiger_lua_coroutines(lua_State *L);

/* Replaces lua_resume() in hosts that run coroutines themselves. */
int geiger_lua_resume(lua_State *L, lua_State *from, int argument_count, int *ret_result_count);

/*
 * Serves require "geiger": installs the adapter, also for coroutines, and returns the functions
 * start, stop, interval, destination and snapshot.
 */
LUA_API int luaopen_geiger(lua_State *L);

#ifdef __cplusplus
}
#endif

#endif
