/* SPDX-License-Identifier: Apache-2.0 */
/*
 * coroutines - replaces coroutine.resume and coroutine.wrap, to remember the running coroutine.
 *
 * Lua does not tell an allocator which coroutine allocates.  So the replacements push the coroutine
 * on a list before they call lua_resume(), and pop it afterwards.  lua_resume() always returns,
 * whatever happens in the coroutine, so the list is always correct.  Results and error messages are
 * those of Lua's own functions.
 */
#include <lauxlib.h>
#include <lualib.h>

#include <geiger/lua.h>

#include "state.h"

int geiger_lua_resume(lua_State *L, lua_State *from, int argument_count, int *ret_result_count)
{
	struct gg_lua_state *state = gg_lua_state_of(L);
	struct gg_lua_running here = { .state = L };
	int status;

	if (state == NULL)
		return lua_resume(L, from, argument_count, ret_result_count);
	here.by = state->running;
	state->running = &here;
	status = lua_resume(L, from, argument_count, ret_result_count);
	state->running = here.by;
	return status;
}

/*
 * Pushes the results on the stack of L and returns their number; or an error value, and returns -1.
 */
static int run(lua_State *L, lua_State *co, int argument_count)
{
	int status, result_count;

	if (!lua_checkstack(co, argument_count)) {
		lua_pushliteral(L, "too many arguments to resume");
		return -1;
	}
	lua_xmove(L, co, argument_count);
	status = geiger_lua_resume(co, L, argument_count, &result_count);
	if (status != LUA_OK && status != LUA_YIELD) {
		lua_xmove(co, L, 1);
		return -1;
	}
	if (!lua_checkstack(L, result_count + 1)) {
		lua_pop(co, result_count);
		lua_pushliteral(L, "too many results to resume");
		return -1;
	}
	lua_xmove(co, L, result_count);
	return result_count;
}

/* Calls Lua's own function, which raises the error about wrong arguments. */
static int complain(lua_State *L)
{
	return lua_tocfunction(L, lua_upvalueindex(1))(L);
}

static int resume(lua_State *L)
{
	lua_State *co = lua_tothread(L, 1);
	int count;

	if (co == NULL)
		return complain(L);
	count = run(L, co, lua_gettop(L) - 1);
	lua_pushboolean(L, count >= 0);
	lua_insert(L, count >= 0 ? -(count + 1) : -2);
	return count >= 0 ? count + 1 : 2;
}

/* Closes the coroutine's to-be-closed variables.  An error of theirs replaces the coroutine's. */
static int close_failed(lua_State *L, lua_State *co)
{
#if LUA_VERSION_RELEASE_NUM >= 50406
	int status = lua_closethread(co, L);
#else
	int status = lua_resetthread(co);
#endif
	lua_xmove(co, L, 1);
	return status;
}

static int call_wrapped(lua_State *L)
{
	lua_State *co = lua_tothread(L, lua_upvalueindex(1));
	int count = run(L, co, lua_gettop(L)), status;

	if (count >= 0)
		return count;
	status = lua_status(co);
	if (status != LUA_OK && status != LUA_YIELD)
		status = close_failed(L, co);
	if (status != LUA_ERRMEM && lua_type(L, -1) == LUA_TSTRING) {
		luaL_where(L, 1);
		lua_insert(L, -2);
		lua_concat(L, 2);
	}
	return lua_error(L);
}

static int wrap(lua_State *L)
{
	lua_State *co;

	if (!lua_isfunction(L, 1))
		return complain(L);
	co = lua_newthread(L);
	lua_pushvalue(L, 1);
	lua_xmove(L, co, 1);
	lua_pushcclosure(L, call_wrapped, 1);
	return 1;
}

/* Replaces a function in the table on top of the stack. */
static void replace(lua_State *L, const char *name, lua_CFunction function)
{
	if (lua_getfield(L, -1, name) == LUA_TFUNCTION && lua_iscfunction(L, -1) &&
	    lua_tocfunction(L, -1) != function) {
		lua_pushcclosure(L, function, 1);
		lua_setfield(L, -2, name);
	} else {
		lua_pop(L, 1);
	}
}

void geiger_lua_coroutines(lua_State *L)
{
	luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
	if (lua_getfield(L, -1, LUA_COLIBNAME) == LUA_TTABLE) {
		replace(L, "resume", resume);
		replace(L, "wrap", wrap);
	}
	lua_pop(L, 2);
}
