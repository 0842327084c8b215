/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The adapter for Lua at an interval of 1: what it reports is what Lua itself counts, wherever a
 * state comes from and however its allocations end.
 */
#include <geiger/lua.h>
#include <lauxlib.h>
#include <lualib.h>
#include <pthread.h>
#include <stdlib.h>

#include "ledger.h"
#include "test.h"

/* The allocator underneath.  It counts bytes, and fails after `fail_after` allocations. */
struct memory {
	size_t bytes;
	long fail_after; /* allocations; < 0: never */
};

static void *allocate(void *user, void *block, size_t old_bytes, size_t new_bytes)
{
	struct memory *memory = user;
	void *moved;

	if (block == NULL)
		old_bytes = 0;
	if (new_bytes == 0) {
		free(block);
		memory->bytes -= old_bytes;
		return NULL;
	}
	if (new_bytes > old_bytes && memory->fail_after >= 0 && memory->fail_after-- == 0) {
		memory->fail_after = 0;
		return NULL;
	}
	/* Always another address. */
	moved = malloc(new_bytes);
	if (moved == NULL)
		abort();
	if (block != NULL)
		memcpy(moved, block, old_bytes < new_bytes ? old_bytes : new_bytes);
	free(block);
	memory->bytes += new_bytes - old_bytes;
	return moved;
}

static size_t counted_by(lua_State *L)
{
	return (size_t)lua_gc(L, LUA_GCCOUNT) * 1024 + (size_t)lua_gc(L, LUA_GCCOUNTB);
}

static lua_State *open_state(struct memory *memory)
{
	lua_State *L;

	ledger_reset();
	*memory = (struct memory){ .fail_after = -1 };
	L = geiger_lua_newstate(allocate, memory);
	if (L == NULL)
		abort();
	luaL_openlibs(L);
	geiger_lua_coroutines(L);
	return L;
}

static bool run(lua_State *L, const char *name, const char *code)
{
	bool works = luaL_loadbuffer(L, code, strlen(code), name) == LUA_OK &&
	             lua_pcall(L, 0, 0, 0) == LUA_OK;

	if (!works) {
		printf("%s\n", lua_tostring(L, -1));
		lua_pop(L, 1);
	}
	return works;
}

static const char busy[] =
	"local kept = {}\n"
	"for i = 1, 3000 do\n"
	"  kept[i % 500] = { i, tostring(i):rep(i % 30), function() return i end }\n"
	"  if i % 100 == 0 then kept['k' .. i] = coroutine.wrap(function(...)\n"
	"    local t = table.pack(...) coroutine.yield(#t) return t end) kept['k' .. i](i, i) end\n"
	"end\n"
	"local function deep(n) return n == 0 and {} or { deep(n - 1) } end\n"
	"kept.deep = deep(2000)\n"
	"setmetatable({}, { __gc = function() kept.late = ('late'):rep(100) end })\n"
	"held = kept\n";

TEST(a_state_holds_what_lua_counts)
{
	struct memory memory;
	lua_State *L = open_state(&memory);

	CHECK_EQ_U64(ledger_read().live_bytes, counted_by(L));
	CHECK(run(L, "=busy", busy));
	CHECK_MSG(ledger_read().live_bytes == counted_by(L), "%zu of %zu", ledger_read().live_bytes,
	          counted_by(L));
	CHECK(run(L, "=less", "held = nil collectgarbage() collectgarbage()"));
	CHECK_EQ_U64(ledger_read().live_bytes, counted_by(L));
	CHECK_EQ_U64(ledger_read().reused_count, 0);
	lua_close(L);
	CHECK_EQ_U64(ledger_read().live_count, 0);
	CHECK_EQ_U64(memory.bytes, 0);
}

TEST(a_state_that_was_there_before_is_left_as_it_is)
{
	struct memory memory = { .fail_after = -1 };
	lua_State *L = lua_newstate(allocate, &memory);
	size_t before;

	ledger_reset();
	luaL_openlibs(L);
	lua_gc(L, LUA_GCSTOP);
	before = counted_by(L);
	CHECK_EQ_I64(geiger_lua_install(L), 0);
	CHECK_EQ_I64(geiger_lua_install(L), 0);
	geiger_lua_coroutines(L);
	geiger_lua_coroutines(L);
	CHECK_EQ_U64(ledger_read().live_bytes, counted_by(L) - before);
	lua_gc(L, LUA_GCRESTART);
	CHECK(run(L, "=busy", busy));
	CHECK_EQ_U64(ledger_read().reused_count, 0);
	lua_close(L);
	CHECK_EQ_U64(ledger_read().live_count, 0);
	CHECK_EQ_U64(memory.bytes, 0);
}

TEST(new_objects_have_the_type_that_lua_tells)
{
	struct memory memory;
	lua_State *L = open_state(&memory);
	size_t tables = ledger_type_count("table"), strings = ledger_type_count("string");
	size_t functions = ledger_type_count("function"), threads = ledger_type_count("thread");
	size_t userdata = ledger_type_count("userdata");

	CHECK(run(L, "=types",
	          "for i = 1, 100 do local t = { i } end\n"
	          "for i = 1, 90 do local s = ('long'):rep(20 + i) end\n"
	          "for i = 1, 80 do local f = function() return i end end\n"
	          "for i = 1, 70 do coroutine.create(print) end\n"));
	lua_newuserdatauv(L, 100, 0);
	tables = ledger_type_count("table") - tables;
	strings = ledger_type_count("string") - strings;
	functions = ledger_type_count("function") - functions;
	threads = ledger_type_count("thread") - threads;
	CHECK_MSG(tables == 100 + 1, "%zu", tables); /* and the parser's */
	CHECK_MSG(strings >= 90 && strings < 90 + 20, "%zu", strings);
	CHECK_MSG(functions == 80 + 1, "%zu", functions); /* and the chunk */
	CHECK_MSG(threads == 70, "%zu", threads);
	CHECK(ledger_type_count("userdata") >= userdata + 1);
	CHECK(ledger_type_count("array") > 100);
	CHECK(ledger_type_count("prototype") >= 2);
	lua_close(L);
}

/* --- stacks --- */

struct wanted {
	const char *type;
	size_t bytes;
	const struct ledger_block *found;
};

static void find(void *user, const struct ledger_block *block)
{
	struct wanted *wanted = user;

	if (block->bytes == wanted->bytes && strcmp(block->type, wanted->type) == 0)
		wanted->found = block;
}

/* The block that only a string of so many bytes can be. */
static const struct ledger_block *string_block(size_t length)
{
	struct wanted wanted = { .type = "string", .bytes = length + 1 + 24 };

	ledger_each(find, &wanted);
	return wanted.found;
}

/* "inner:3 outer:9", innermost first. */
static bool has_stack(const struct ledger_block *block, const char *expected)
{
	char text[1024] = "";
	size_t used = 0;

	for (size_t i = 0; block != NULL && i < block->frame_count && i < LEDGER_FRAMES_KEPT &&
	                   used < sizeof(text);
	     i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s:%u",
		                         i > 0 ? " " : "", block->frames[i].function,
		                         block->frames[i].line);
	return CHECK_MSG(strcmp(text, expected) == 0, "is '%s', expected '%s'", text, expected);
}

TEST(a_sample_has_the_functions_that_run_and_their_lines)
{
	struct memory memory;
	lua_State *L = open_state(&memory);
	const struct ledger_block *block;

	CHECK(run(L, "@some/file.lua",
	          "local t = {}\n"
	          "function t.inner()\n"
	          "  kept = ('x'):rep(5001)\n"
	          "end\n"
	          "local function outer()\n"
	          "  t.inner()\n"
	          "end\n"
	          "\n"
	          "outer()\n"));
	block = string_block(5001);
	has_stack(block, "rep:0 inner:3 outer:6 main chunk:9");
	if (CHECK(block != NULL)) {
		CHECK_EQ_STR(block->frames[0].file, "");
		CHECK_EQ_STR(block->frames[1].file, "some/file.lua");
		CHECK_EQ_U64(block->flags, GEIGER_SAMPLE_NO_NATIVE);
	}
	lua_close(L);
}

TEST(functions_without_a_name_have_their_place)
{
	struct memory memory;
	lua_State *L = open_state(&memory);

	CHECK(run(L, "@a.lua", "table.sort({1, 2}, function(a, b)\n kept = ('x'):rep(5002) end)"));
	has_stack(string_block(5002), "rep:0 function <a.lua:1>:2 sort:0 main chunk:1");
	CHECK(run(L, "return 1", "kept = ('x'):rep(5003)"));
	has_stack(string_block(5003), "rep:0 main chunk:1");
	REQUIRE(string_block(5003) != NULL);
	CHECK_EQ_STR(string_block(5003)->frames[1].file, "[string \"return 1\"]");
	lua_close(L);
}

TEST(a_coroutine_has_its_frames_and_those_of_who_resumed_it)
{
	struct memory memory;
	lua_State *L = open_state(&memory);

	CHECK(run(L, "@co.lua",
	          "local function work(n)\n"
	          "  coroutine.yield()\n"
	          "  kept = ('x'):rep(n)\n"
	          "end\n"
	          "local co = coroutine.create(work)\n"
	          "coroutine.resume(co, 6001)\n"
	          "local next = coroutine.wrap(function()\n"
	          "  coroutine.resume(co)\n"
	          "  error('out')\n"
	          "end)\n"
	          "pcall(next)\n"
	          "kept2 = ('x'):rep(6002)\n"));
	has_stack(string_block(6001),
	          "rep:0 function <co.lua:1>:3 resume:0 function <co.lua:7>:8 ?:0 pcall:0 main "
	          "chunk:11");
	has_stack(string_block(6002), "rep:0 main chunk:12");
	lua_close(L);
}

static int resume_by_host(lua_State *L)
{
	lua_State *co = lua_newthread(L);
	int count;

	lua_pushvalue(L, 1);
	lua_xmove(L, co, 1);
	lua_pushinteger(L, geiger_lua_resume(co, L, 0, &count));
	return 1;
}

TEST(a_host_that_resumes_coroutines_tells_who_runs)
{
	struct memory memory;
	lua_State *L = open_state(&memory);

	lua_register(L, "host", resume_by_host);
	CHECK(run(L, "@h.lua", "host(function()\n kept = ('x'):rep(7001) end)"));
	has_stack(string_block(7001), "rep:0 function <h.lua:1>:2 host:0 main chunk:1");
	lua_close(L);
}

TEST(stacks_of_lua_move_while_frames_are_read)
{
	struct memory memory;
	lua_State *L = open_state(&memory);

	CHECK(run(L, "@deep.lua",
	          "local function deep(n) if n == 0 then kept = ('x'):rep(8001) return 0 end\n"
	          "  return 1 + deep(n - 1) end\n"
	          "for i = 1, 20 do coroutine.wrap(function() deep(i * 50) end)() end\n"
	          "deep(3000) collectgarbage() collectgarbage()\n"));
	REQUIRE(string_block(8001) != NULL);
	CHECK_EQ_U64(string_block(8001)->frame_count, 128);
	CHECK_EQ_U64(ledger_read().live_bytes, counted_by(L));
	lua_close(L);
}

/* --- memory that ends --- */

TEST(no_block_is_live_that_is_not_there_when_memory_ends)
{
	struct memory memory;
	long fail_after;

	for (fail_after = 0; fail_after < 3000; fail_after += 1 + fail_after / 20) {
		lua_State *L = open_state(&memory);

		memory.fail_after = fail_after;
		if (luaL_loadbuffer(L, busy, sizeof(busy) - 1, "=busy") == LUA_OK)
			(void)lua_pcall(L, 0, 0, 0);
		memory.fail_after = -1;
		/* A block that could not grow is there, and no sample any more. */
		CHECK(ledger_read().live_bytes <= counted_by(L));
		CHECK_EQ_U64(ledger_read().reused_count, 0);
		lua_close(L);
		CHECK_EQ_U64(ledger_read().live_count, 0);
		CHECK_EQ_U64(memory.bytes, 0);
	}
}

TEST(a_state_for_which_there_is_no_memory_leaves_nothing)
{
	for (long fail_after = 0; fail_after < 12; fail_after++) {
		struct memory memory = { .fail_after = fail_after };
		lua_State *L;

		ledger_reset();
		L = geiger_lua_newstate(allocate, &memory);
		if (L != NULL)
			lua_close(L);
		CHECK_EQ_U64(ledger_read().live_count, 0);
		CHECK_EQ_U64(memory.bytes, 0);
	}
}

/* `good` where all went well, else NULL. */
static void *work(void *good)
{
	struct memory memory = { .fail_after = -1 };
	lua_State *L = geiger_lua_newstate(allocate, &memory);

	luaL_openlibs(L);
	geiger_lua_coroutines(L);
	for (int i = 0; i < 2; i++)
		if (luaL_loadbuffer(L, busy, sizeof(busy) - 1, "=busy") != LUA_OK ||
		    lua_pcall(L, 0, 0, 0) != LUA_OK)
			return NULL;
	lua_close(L);
	return memory.bytes == 0 ? good : NULL;
}

TEST(states_of_several_threads_do_not_disturb_each_other)
{
	pthread_t threads[4];
	void *result;
	char good;

	ledger_reset();
	for (int i = 0; i < 4; i++)
		CHECK_EQ_I64(pthread_create(&threads[i], NULL, work, &good), 0);
	for (int i = 0; i < 4; i++) {
		CHECK_EQ_I64(pthread_join(threads[i], &result), 0);
		CHECK_EQ_PTR(result, &good);
	}
	CHECK_EQ_U64(ledger_read().live_count, 0);
	CHECK_EQ_U64(ledger_read().reused_count, 0);
}
