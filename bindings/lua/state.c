/* SPDX-License-Identifier: Apache-2.0 */
#include "state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <geiger/lua.h>

/* For a new object, Lua passes its type in place of the old size. */
static const char *type_of(const void *block, size_t old_bytes)
{
	static const char *const types[] = {
		[LUA_TSTRING] = "string",         [LUA_TTABLE] = "table",
		[LUA_TFUNCTION] = "function",     [LUA_TUSERDATA] = "userdata",
		[LUA_TTHREAD] = "thread",         [LUA_NUMTYPES] = "upvalue",
		[LUA_NUMTYPES + 1] = "prototype",
	};

	if (block != NULL || old_bytes >= sizeof(types) / sizeof(types[0]) ||
	    types[old_bytes] == NULL)
		return "array";
	return types[old_bytes];
}

static uint32_t heap(void)
{
	static uint32_t known;
	uint32_t id = __atomic_load_n(&known, __ATOMIC_RELAXED);

	/*
	 * Two threads that register the heap at once get the same number, so either may store it.
	 */
	if (id == 0) {
		id = geiger_heap_register("lua", NULL);
		__atomic_store_n(&known, id, __ATOMIC_RELAXED);
	}
	return id;
}

static void close_sample(struct gg_lua_state *state, void *block)
{
	if (gg_sampled_maybe(&state->known, block) && gg_sampled_take(&state->known, block))
		geiger_freed(heap(), block);
}

/* Blocks that the allocator underneath takes from malloc count as Lua's only. */
static inline void *real_allocate(const struct gg_lua_state *state, void *block, size_t old_bytes,
                                  size_t new_bytes)
{
	int64_t before = geiger_upstream_begin();
	void *p = state->real(state->user, block, old_bytes, new_bytes);

	geiger_upstream_end(before);
	return p;
}

/*
 * The slow call.  It reads the frames before the block is allocated or moved, and records the
 * sample afterwards.
 */
static __attribute__((cold, noinline)) void *sampled(struct gg_lua_state *state, void *block,
                                                     size_t old_bytes, size_t new_bytes)
{
	struct geiger_frame frames[GG_LUA_FRAMES_MAX];
	struct gg_lua_texts texts;
	struct geiger_sample sample;
	bool is_sample = geiger_take(new_bytes, &sample);
	void *moved;

	if (is_sample) {
		sample.type = type_of(block, old_bytes);
		sample.frame_count = gg_lua_frames(state->running, frames, GG_LUA_FRAMES_MAX,
		                                   &texts, block != NULL ? old_bytes : 0);
		sample.frames = sample.frame_count > 0 ? frames : NULL;
		if (sample.frame_count > 0)
			sample.flags |= GEIGER_SAMPLE_NO_NATIVE;
	}
	if (block != NULL)
		close_sample(state, block);
	moved = real_allocate(state, block, old_bytes, new_bytes);
	if (is_sample && moved != NULL) {
		int saved_errno = errno;

		sample.object = moved;
		if (geiger_record(heap(), &sample))
			gg_sampled_add(&state->known, moved);
		errno = saved_errno;
	}
	return moved;
}

static void drop_state(struct gg_lua_state *state)
{
	gg_sampled_done(&state->known);
	state->real(state->user, state, sizeof(*state), 0);
}

/* The state's own block is the last one, so the adapter's data is freed after it. */
static void *release(struct gg_lua_state *state, void *block, size_t old_bytes)
{
	bool is_last = block != NULL && block == state->own_block;
	lua_Alloc real = state->real;
	void *user = state->user;

	if (block != NULL)
		close_sample(state, block);
	real(user, block, old_bytes, 0);
	if (is_last)
		drop_state(state);
	return NULL;
}

/*
 * The sample of a block is closed before the block is resized: as soon as it has moved, a state in
 * another thread may get its old address.  If the resize fails, the block stays and is no sample
 * any more.
 */
void *gg_lua_allocate(void *user, void *block, size_t old_bytes, size_t new_bytes)
{
	struct gg_lua_state *state = user;

	if (new_bytes == 0)
		return release(state, block, old_bytes);
	if (geiger_due(new_bytes))
		return sampled(state, block, old_bytes, new_bytes);
	if (block != NULL)
		close_sample(state, block);
	return real_allocate(state, block, old_bytes, new_bytes);
}

/* --- states --- */

static void *default_allocate(void *user, void *block, size_t old_bytes, size_t new_bytes)
{
	(void)user, (void)old_bytes;
	if (new_bytes == 0) {
		free(block);
		return NULL;
	}
	return realloc(block, new_bytes);
}

static struct gg_lua_state *new_state(lua_Alloc real, void *user)
{
	struct gg_lua_state *state = real(user, NULL, 0, sizeof(*state));

	if (state != NULL) {
		memset(state, 0, sizeof(*state));
		state->real = real;
		state->user = user;
	}
	return state;
}

/* From here on, the adapter can read the frames of the state. */
static void begin(struct gg_lua_state *state, lua_State *main)
{
	state->main.state = main;
	state->running = &state->main;
	state->own_block = lua_getextraspace(main); /* the block begins with this space */
}

lua_State *geiger_lua_newstate(lua_Alloc allocate, void *user)
{
	lua_Alloc real = allocate != NULL ? allocate : default_allocate;
	struct gg_lua_state *state = new_state(real, user);
	lua_State *L = state != NULL ? lua_newstate(gg_lua_allocate, state) : NULL;

	if (L != NULL)
		begin(state, L);
	else if (state != NULL)
		drop_state(state);
	return L;
}

struct gg_lua_state *gg_lua_state_of(lua_State *L)
{
	void *user;

	return lua_getallocf(L, &user) == gg_lua_allocate ? user : NULL;
}

/*
 * A coroutine may call this.  The adapter did not see it resumed, so it counts as the main thread.
 */
int geiger_lua_install(lua_State *L)
{
	struct gg_lua_state *state;
	lua_Alloc real;
	lua_State *main;
	void *user;

	if (gg_lua_state_of(L) != NULL)
		return 0;
	real = lua_getallocf(L, &user);
	if ((state = new_state(real, user)) == NULL)
		return -ENOMEM;
	lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
	main = lua_tothread(L, -1);
	lua_pop(L, 1);
	begin(state, main);
	lua_setallocf(L, gg_lua_allocate, state);
	return 0;
}
