/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module - serves require "geiger" and `lua5.4 -lgeiger script.lua`: samples the state from then
 * on.
 *
 * If nothing records yet, it starts a recording into a region of this process's own.
 */
#include <errno.h>
#include <lauxlib.h>
#include <string.h>

#include <geiger/geiger.h>
#include <geiger/lua.h>

/* Returns the argument, an interval in bytes; 0: the argument is absent. */
static uint64_t interval_at(lua_State *L, int index)
{
	lua_Integer bytes = luaL_optinteger(L, index, 0);

	luaL_argcheck(L, bytes >= 0, index, "a number of bytes expected");
	return (uint64_t)bytes;
}

/* Returns true; or nil, a message and a number, like the functions of io. */
static int result_of(lua_State *L, int status, const char *path)
{
	errno = -status;
	return luaL_fileresult(L, status == 0, path);
}

/* geiger_thread_interval() applies the settings to this thread at once. */
static int begin(const struct geiger_options *options)
{
	int status = geiger_start(options);

	geiger_thread_interval(0);
	return status;
}

static int start(lua_State *L)
{
	struct geiger_options options = { 0 };

	options.interval_bytes = interval_at(L, 1);
	return result_of(L, begin(&options), NULL);
}

static int stop(lua_State *L)
{
	(void)L;
	geiger_stop();
	return 0;
}

/* geiger.interval() returns the interval, geiger.interval(65536) sets it. */
static int interval(lua_State *L)
{
	if (!lua_isnoneornil(L, 1)) {
		int status = geiger_set_interval(interval_at(L, 1));

		geiger_thread_interval(0);
		return result_of(L, status, NULL);
	}
	lua_pushinteger(L, (lua_Integer)geiger_interval());
	return 1;
}

static int destination(lua_State *L)
{
	static const char *const names[] = { "nowhere", "agent", "own" };

	lua_pushstring(L, names[geiger_recording_to()]);
	return 1;
}

static int snapshot(lua_State *L)
{
	const char *path = luaL_checkstring(L, 1);

	return result_of(L, geiger_snapshot(path), path);
}

LUA_API __attribute__((visibility("default"))) int luaopen_geiger(lua_State *L)
{
	static const luaL_Reg functions[] = {
		{ "interval", interval }, { "destination", destination },
		{ "snapshot", snapshot }, { "start", start },
		{ "stop", stop },         { NULL, NULL },
	};
	static const struct geiger_options defaults;

	if (geiger_lua_install(L) < 0)
		return luaL_error(L, "not enough memory");
	geiger_lua_coroutines(L);
	if (geiger_recording_to() == GEIGER_TO_NOWHERE)
		begin(&defaults);
	luaL_newlib(L, functions);
	return 1;
}
