/* SPDX-License-Identifier: Apache-2.0 */
/* domain_hooks - the hooks of the three domains: how they count, sample, and close samples. */
#include "domain_hooks.h"

#include <errno.h>
#include <geiger/geiger.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

#include "embed/object_events.h"
#include "embed/sampling_settings.h"
#include "frames.h"
#include "object_types.h"
#include "sampled.h"

enum {
	PYTHON_FRAMES_MAX = 128,

	/* Room for the names of one stack that are not ASCII; further names become "?". */
	TEXTS_BYTES = 4096,
	FRAME_TEXT_BYTES = 256, /* of one name */

	DEBUG_BYTES = 64, /* more than debug hooks add to a block */

	TYPE_NAME_BYTES = 128,

	/* The largest block that CPython's own allocator takes from an arena (3.8 to 3.14). */
	ARENA_BLOCK_BYTES = 512
};

/* No size of a block is less than DEBUG_BYTES above it. */
#define SERVES_NOTHING ((size_t)1 << 62)

struct gg_python_domain_hooks gg_python_hooks;

static struct gg_python_counted *const raw = &gg_python_hooks.domains[GG_PYTHON_RAW];
static struct gg_python_counted *const mem = &gg_python_hooks.domains[GG_PYTHON_MEM];
static struct gg_python_counted *const obj = &gg_python_hooks.domains[GG_PYTHON_OBJ];

/*
 * The blocks that are samples.  The raw domain needs no lock of Python's, and interpreters may have
 * a lock each (3.12), so the set has a lock of its own; looking whether a block may be in it needs
 * none, because the thread that frees a block knows that it was allocated.
 */
static struct gg_sampled known;
static pthread_mutex_t known_lock = PTHREAD_MUTEX_INITIALIZER;

/*
 * The last sample of obj, whose type is not known yet.  Python writes the object after the hook,
 * so the type is read when the next sample is taken, or before the block is freed or resized.
 * known_lock guards this variable, and with it the block.
 */
static struct {
	const void *block; /* NULL: none */
	size_t bytes;
} untyped;

/*
 * The size of the call of mem or obj that the allocator underneath is serving now.  If that
 * allocator takes the block from the raw domain or from malloc, the block is counted already.  It
 * may also allocate tables of its own meanwhile; their sizes differ, and they do count.
 */
static __thread size_t served_bytes __attribute__((tls_model("initial-exec"))) = SERVES_NOTHING;

struct before {
	int64_t upstream;
	size_t bytes;
};

static inline struct before begin_served(size_t bytes)
{
	struct before before = { geiger_upstream_begin(), served_bytes };

	served_bytes = bytes;
	return before;
}

static inline void end_served(struct before before)
{
	served_bytes = before.bytes;
	geiger_upstream_end(before.upstream);
}

/* Debug hooks underneath enlarge blocks. */
static inline bool is_served(size_t bytes)
{
	return bytes - served_bytes < DEBUG_BYTES;
}

/* A block of 0 bytes comes from malloc. */
static inline bool is_piece_of_arena(size_t bytes)
{
	return bytes - 1 < gg_python_hooks.arena_limit_bytes;
}

/* --- stacks --- */

struct texts {
	char *bytes;
	size_t max_bytes, used_bytes;
};

static const char *text_of(const void *text, const char *ascii, struct texts *texts)
{
	size_t left_bytes = texts->max_bytes - texts->used_bytes;
	char *copy = texts->bytes + texts->used_bytes;

	if (ascii != NULL)
		return ascii;
	if (left_bytes < 8)
		return "?";
	gg_python_text(gg_python_hooks.python, text, copy,
	               left_bytes < FRAME_TEXT_BYTES ? left_bytes : FRAME_TEXT_BYTES);
	texts->used_bytes += strlen(copy) + 1;
	return copy;
}

static size_t stack_of(struct geiger_frame *frames, struct texts *texts, bool held)
{
	struct gg_python_frame found[PYTHON_FRAMES_MAX];
	size_t i, count = gg_python_frames(gg_python_hooks.python, found, PYTHON_FRAMES_MAX, held);

	for (i = 0; i < count; i++) {
		frames[i].function = text_of(found[i].name, found[i].name_ascii, texts);
		frames[i].file = text_of(found[i].file, found[i].file_ascii, texts);
		frames[i].line = (uint32_t)found[i].line;
		frames[i].native = gg_python_hooks.with_native ? found[i].native : NULL;
	}
	return count;
}

/* --- types --- */

/* The caller has known_lock.  A sandbox may kill the program for the call that this makes. */
static void find_type(void)
{
	char name[TYPE_NAME_BYTES];

	if (untyped.block != NULL && !gg_embed_agent()->is_sandboxed() &&
	    gg_python_object_type(gg_python_hooks.python, untyped.block, untyped.bytes, name,
	                          sizeof(name)))
		geiger_set_type(obj->heap, untyped.block, name);
	untyped.block = NULL;
}

size_t gg_python_read_frames(struct gg_agent_frame *frames, size_t max, char *texts_bytes,
                             size_t texts_max)
{
	struct gg_python_frame found[PYTHON_FRAMES_MAX];
	struct texts texts = { .bytes = texts_bytes, .max_bytes = texts_max };
	size_t i, count;

	count = gg_python_frames(gg_python_hooks.python, found,
	                         max < PYTHON_FRAMES_MAX ? max : PYTHON_FRAMES_MAX, false);
	for (i = 0; i < count; i++) {
		frames[i].function = text_of(found[i].name, found[i].name_ascii, &texts);
		frames[i].file = text_of(found[i].file, found[i].file_ascii, &texts);
		frames[i].line = (uint32_t)found[i].line;
		frames[i].native = found[i].native;
	}
	return count;
}

/* Records a block that covers a sample point. */
static __attribute__((noinline)) void record_sample(const struct gg_python_counted *domain, void *p,
                                                    struct geiger_sample *sample, bool held)
{
	struct geiger_frame frames[PYTHON_FRAMES_MAX];
	char texts_bytes[TEXTS_BYTES];
	struct texts texts = { .bytes = texts_bytes, .max_bytes = sizeof(texts_bytes) };

	sample->object = p;
	sample->frame_count = stack_of(frames, &texts, held);
	sample->frames = sample->frame_count > 0 ? frames : NULL;
	if (sample->frame_count > 0 && !gg_python_hooks.with_native)
		sample->flags |= GEIGER_SAMPLE_NO_NATIVE;
	if (!geiger_record(domain->heap, sample))
		return;
	pthread_mutex_lock(&known_lock);
	gg_sampled_add(&known, p);
	if (held) {
		find_type();
		if (domain == obj) {
			untyped.block = p;
			untyped.bytes = sample->bytes;
		}
	}
	pthread_mutex_unlock(&known_lock);
}

/* The slow call.  It keeps errno. */
static __attribute__((cold, noinline)) void sampled(const struct gg_python_counted *domain, void *p,
                                                    size_t bytes, bool held)
{
	struct geiger_sample sample;
	int saved_errno = errno;

	if (p == NULL)
		geiger_put_back(bytes);
	else if (geiger_take(bytes, &sample))
		record_sample(domain, p, &sample, held);
	else if (held)
		gg_python_hooks_leave_if_unwanted();
	errno = saved_errno;
}

/* Returns whether the block was a sample.  Its type is read as long as it is there. */
static bool take_sample(const void *p)
{
	bool is_sample;

	if (p == NULL)
		return false;
	pthread_mutex_lock(&known_lock);
	is_sample = gg_sampled_take(&known, p);
	if (is_sample && untyped.block == p)
		find_type();
	pthread_mutex_unlock(&known_lock);
	return is_sample;
}

/*
 * Before the block is freed: once it is, another thread may own it, and be sampled.  The raw domain
 * frees blocks of all three, of which one at most is a sample.
 */
static __attribute__((cold, noinline)) void close_sample(const void *p)
{
	int saved_errno = errno;

	if (take_sample(p)) {
		geiger_freed(obj->heap, p);
		geiger_freed(mem->heap, p);
		geiger_freed(raw->heap, p);
	}
	errno = saved_errno;
}

static inline __attribute__((always_inline)) void close_if_sample(const void *p)
{
	if (gg_sampled_maybe(&known, p))
		close_sample(p);
}

/* The samples of a block of mem or obj while it is resized; one of them at most has an id. */
struct resized {
	struct gg_embed_sample_id of_obj, of_mem;
};

/* Returns whether the block of mem or obj, which is to be resized, was a sample. */
static __attribute__((cold, noinline)) bool resize_begins(const void *p,
                                                          struct resized *ret_resized)
{
	int saved_errno = errno;
	bool is_sample = take_sample(p);

	if (is_sample) {
		ret_resized->of_obj = gg_embed_find_sample(obj->heap, p);
		ret_resized->of_mem = gg_embed_find_sample(mem->heap, p);
	}
	errno = saved_errno;
	return is_sample;
}

/*
 * If the resize failed, the block is still a sample.  Otherwise another thread may have a sample at
 * the old address: one of raw, or of an interpreter that has a lock of its own.
 */
static __attribute__((cold, noinline)) void resize_ends(const void *p,
                                                        const struct resized *resized, bool is_done)
{
	int saved_errno = errno;

	if (is_done) {
		gg_embed_close_sample(resized->of_obj);
		gg_embed_close_sample(resized->of_mem);
	} else {
		pthread_mutex_lock(&known_lock);
		gg_sampled_add(&known, p);
		pthread_mutex_unlock(&known_lock);
	}
	errno = saved_errno;
}

/* --- common to mem and obj; each hook below calls one of these with constants --- */

static inline __attribute__((always_inline)) void *count(const struct gg_python_counted *domain,
                                                         void *p, size_t bytes, bool held)
{
	if (geiger_due(bytes))
		sampled(domain, p, bytes, held);
	return p;
}

/*
 * A block that is no piece of an arena, or that is due.  It is counted after the allocator's call,
 * because that may count blocks of its own meanwhile.
 */
static inline __attribute__((always_inline)) void *do_malloc_slowly(
	const struct gg_python_counted *domain, void *context, size_t bytes)
{
	struct before before;
	void *p;

	if (is_piece_of_arena(bytes))
		return count(domain, domain->real.malloc(context, bytes), bytes, true);
	before = begin_served(bytes);
	p = domain->real.malloc(context, bytes);
	end_served(before);
	return count(domain, p, bytes, true);
}

static inline __attribute__((always_inline)) void *do_calloc(const struct gg_python_counted *domain,
                                                             void *context, size_t number,
                                                             size_t bytes)
{
	struct before before = begin_served(number * bytes);
	void *p = domain->real.calloc(context, number, bytes);

	end_served(before);
	return count(domain, p, number * bytes, true); /* Python has checked for an overflow */
}

static inline __attribute__((always_inline)) void *do_realloc(
	const struct gg_python_counted *domain, void *context, void *p, size_t bytes)
{
	struct resized resized;
	bool is_sample = gg_sampled_maybe(&known, p) && resize_begins(p, &resized);
	struct before before = begin_served(bytes);
	void *moved = domain->real.realloc(context, p, bytes);

	end_served(before);
	if (is_sample)
		resize_ends(p, &resized, moved != NULL);
	return count(domain, moved, bytes, true);
}

/*
 * --- mem and obj ---
 *
 * Python calls these for each object, so what is common ends in a jump to the allocator underneath,
 * and saves no registers.
 */

static __attribute__((noinline)) void *mem_malloc_slowly(void *context, size_t bytes)
{
	return do_malloc_slowly(mem, context, bytes);
}

static __attribute__((cold, noinline)) void *mem_malloc_due(void *context, size_t bytes)
{
	geiger_put_back(bytes);
	return mem_malloc_slowly(context, bytes);
}

static void *mem_malloc(void *context, size_t bytes)
{
	if (!is_piece_of_arena(bytes))
		return mem_malloc_slowly(context, bytes);
	return geiger_due(bytes) ? mem_malloc_due(context, bytes)
	                         : mem->real.malloc(context, bytes);
}

static void *mem_calloc(void *context, size_t number, size_t bytes)
{
	return do_calloc(mem, context, number, bytes);
}

static void *mem_realloc(void *context, void *p, size_t bytes)
{
	return do_realloc(mem, context, p, bytes);
}

static __attribute__((cold, noinline)) void mem_free_slowly(void *context, void *p)
{
	close_sample(p);
	mem->real.free(context, p);
}

static void mem_free(void *context, void *p)
{
	if (gg_sampled_maybe(&known, p))
		mem_free_slowly(context, p);
	else
		mem->real.free(context, p);
}

static __attribute__((noinline)) void *obj_malloc_slowly(void *context, size_t bytes)
{
	return do_malloc_slowly(obj, context, bytes);
}

static __attribute__((cold, noinline)) void *obj_malloc_due(void *context, size_t bytes)
{
	geiger_put_back(bytes);
	return obj_malloc_slowly(context, bytes);
}

static void *obj_malloc(void *context, size_t bytes)
{
	if (!is_piece_of_arena(bytes))
		return obj_malloc_slowly(context, bytes);
	return geiger_due(bytes) ? obj_malloc_due(context, bytes)
	                         : obj->real.malloc(context, bytes);
}

static void *obj_calloc(void *context, size_t number, size_t bytes)
{
	return do_calloc(obj, context, number, bytes);
}

static void *obj_realloc(void *context, void *p, size_t bytes)
{
	return do_realloc(obj, context, p, bytes);
}

static __attribute__((cold, noinline)) void obj_free_slowly(void *context, void *p)
{
	close_sample(p);
	obj->real.free(context, p);
}

static void obj_free(void *context, void *p)
{
	if (gg_sampled_maybe(&known, p))
		obj_free_slowly(context, p);
	else
		obj->real.free(context, p);
}

/*
 * --- mem and obj, in front of CPython's own allocator ---
 *
 * That allocator takes larger blocks from the raw domain, and gives back to the raw domain whatever
 * does not lie in its arenas.  So a sampled block is made larger than any block of an arena.  Then
 * frees need no hooks: the interpreter frees small blocks by code that its compiler has put where
 * they are freed, and the raw domain's hook sees the frees of all samples.
 */

/* Counts the bytes; an empty block is one of raw.  True: as for geiger_due(). */
static inline __attribute__((always_inline)) bool is_due(size_t bytes)
{
#if defined(__x86_64__)
	bool borrow;

	__asm__("subq %2, %0" : "+m"(geiger_left_bytes), "=@ccb"(borrow) : "r"(bytes));
	return __builtin_expect(borrow, 0);
#else
	uint64_t left = (uint64_t)geiger_left_bytes;

	geiger_left_bytes = (int64_t)(left - bytes);
	return __builtin_expect(left < bytes, 0);
#endif
}

/* The raw domain takes the note of the size away with the block. */
static inline __attribute__((always_inline)) void serve_larger(size_t bytes)
{
	if (bytes > ARENA_BLOCK_BYTES)
		served_bytes = bytes;
}

/* The size of the block that is made for a sample. */
static size_t outside_arenas(size_t bytes)
{
	return bytes > ARENA_BLOCK_BYTES ? bytes : ARENA_BLOCK_BYTES + 1;
}

/* `p`: the block to be resized, or NULL. */
static inline __attribute__((always_inline)) void *make_block(
	const struct gg_python_counted *domain, void *context, void *p, size_t bytes,
	bool is_cleared)
{
	served_bytes = bytes;
	p = p != NULL    ? domain->real.realloc(context, p, bytes)
	    : is_cleared ? domain->real.calloc(context, 1, bytes)
	                 : domain->real.malloc(context, bytes);
	served_bytes = SERVES_NOTHING;
	return p;
}

/*
 * The block's bytes are counted and due.  If malloc has no memory for a sample, an arena may still
 * have a block.
 */
static inline __attribute__((always_inline)) void *resize_due(
	const struct gg_python_counted *domain, void *context, void *p, size_t bytes,
	bool is_cleared)
{
	int saved_errno = errno;
	struct geiger_sample sample;
	bool is_sample = geiger_take(bytes, &sample);
	void *made = NULL;

	if (is_sample)
		gg_python_hooks_follow_interval();
	else
		gg_python_hooks_leave_if_unwanted();
	errno = saved_errno;
	if (is_sample)
		made = make_block(domain, context, p, outside_arenas(bytes), is_cleared);
	if (made == NULL)
		return make_block(domain, context, p, bytes, is_cleared);
	saved_errno = errno;
	record_sample(domain, made, &sample, true);
	errno = saved_errno;
	return made;
}

static __attribute__((cold, noinline)) void *mem_pymalloc_due(void *context, size_t bytes)
{
	return resize_due(mem, context, NULL, bytes, false);
}

static __attribute__((cold, noinline)) void *mem_pycalloc_due(void *context, size_t bytes)
{
	return resize_due(mem, context, NULL, bytes, true);
}

static __attribute__((cold, noinline)) void *mem_pyrealloc_due(void *context, void *p, size_t bytes)
{
	return resize_due(mem, context, p, bytes, false);
}

static void *mem_pymalloc(void *context, size_t bytes)
{
	if (is_due(bytes))
		return mem_pymalloc_due(context, bytes);
	serve_larger(bytes);
	return mem->real.malloc(context, bytes);
}

static void *mem_pycalloc(void *context, size_t number, size_t bytes)
{
	if (is_due(number * bytes)) /* Python has checked for an overflow */
		return mem_pycalloc_due(context, number * bytes);
	serve_larger(number * bytes);
	return mem->real.calloc(context, number, bytes);
}

/* A small block may come from an arena, so that nobody takes the note of the size away. */
static void *mem_pyrealloc(void *context, void *p, size_t bytes)
{
	if (geiger_due(bytes))
		return mem_pyrealloc_due(context, p, bytes);
	served_bytes = bytes;
	p = mem->real.realloc(context, p, bytes);
	served_bytes = SERVES_NOTHING;
	return p;
}

static __attribute__((cold, noinline)) void *obj_pymalloc_due(void *context, size_t bytes)
{
	return resize_due(obj, context, NULL, bytes, false);
}

static __attribute__((cold, noinline)) void *obj_pycalloc_due(void *context, size_t bytes)
{
	return resize_due(obj, context, NULL, bytes, true);
}

static __attribute__((cold, noinline)) void *obj_pyrealloc_due(void *context, void *p, size_t bytes)
{
	return resize_due(obj, context, p, bytes, false);
}

static void *obj_pymalloc(void *context, size_t bytes)
{
	if (is_due(bytes))
		return obj_pymalloc_due(context, bytes);
	serve_larger(bytes);
	return obj->real.malloc(context, bytes);
}

static void *obj_pycalloc(void *context, size_t number, size_t bytes)
{
	if (is_due(number * bytes)) /* Python has checked for an overflow */
		return obj_pycalloc_due(context, number * bytes);
	serve_larger(number * bytes);
	return obj->real.calloc(context, number, bytes);
}

/* A small block may come from an arena, so that nobody takes the note of the size away. */
static void *obj_pyrealloc(void *context, void *p, size_t bytes)
{
	if (geiger_due(bytes))
		return obj_pyrealloc_due(context, p, bytes);
	served_bytes = bytes;
	p = obj->real.realloc(context, p, bytes);
	served_bytes = SERVES_NOTHING;
	return p;
}

/* --- raw, and arenas --- */

/* Thread states are blocks of raw; frames and code lie in arenas. */
static inline __attribute__((always_inline)) void wait_for_walks(void)
{
	if (gg_python_hooks.is_finalizing())
		gg_python_frames_wait(gg_python_hooks.python);
}

/*
 * Each block of this domain is one of malloc.  A block that it serves to mem or obj is counted
 * there.
 */
static void *raw_malloc(void *context, size_t bytes)
{
	int64_t before = geiger_upstream_begin();
	void *p = raw->real.malloc(context, bytes);

	geiger_upstream_end(before);
	if (is_served(bytes)) {
		served_bytes = SERVES_NOTHING;
		return p;
	}
	return count(raw, p, bytes, false);
}

static void *raw_calloc(void *context, size_t number, size_t bytes)
{
	int64_t before = geiger_upstream_begin();
	void *p = raw->real.calloc(context, number, bytes);

	geiger_upstream_end(before);
	if (is_served(number * bytes)) {
		served_bytes = SERVES_NOTHING;
		return p;
	}
	return count(raw, p, number * bytes, false);
}

/*
 * Another thread may get the old address as soon as the block has moved, so a sample of raw is
 * closed before.  If the resize fails, the block stays, without its sample.
 */
static void *raw_realloc(void *context, void *p, size_t bytes)
{
	bool serves = is_served(bytes), is_sample = false;
	struct resized resized;
	int64_t before;
	void *moved;

	if (serves)
		is_sample = gg_sampled_maybe(&known, p) && resize_begins(p, &resized);
	else
		close_if_sample(p);
	before = geiger_upstream_begin();
	moved = raw->real.realloc(context, p, bytes);
	geiger_upstream_end(before);
	if (is_sample)
		resize_ends(p, &resized, moved != NULL);
	if (!serves)
		return count(raw, moved, bytes, false);
	served_bytes = SERVES_NOTHING;
	return moved;
}

static void raw_free(void *context, void *p)
{
	close_if_sample(p);
	wait_for_walks();
	raw->real.free(context, p);
}

void gg_python_hooks_wait(void)
{
	wait_for_walks();
}

/*
 * --- where every allocation is counted ---
 *
 * The agent takes the place of the samples.  It counts pieces of arenas.  Malloc's hooks count all
 * other blocks, those of raw among them.
 */

/* Malloc's hooks count these. */
static void *raw_exact_malloc(void *context, size_t bytes)
{
	return raw->real.malloc(context, bytes);
}

static void *raw_exact_calloc(void *context, size_t number, size_t bytes)
{
	return raw->real.calloc(context, number, bytes);
}

static void *raw_exact_realloc(void *context, void *p, size_t bytes)
{
	return raw->real.realloc(context, p, bytes);
}

static void raw_exact_free(void *context, void *p)
{
	wait_for_walks();
	raw->real.free(context, p);
}

static inline __attribute__((always_inline)) void *exact_malloc(
	const struct gg_python_counted *domain, void *context, size_t bytes)
{
	uint64_t begun = gg_python_hooks.exact->begin();
	void *p = domain->real.malloc(context, bytes);

	gg_python_hooks.exact->allocated(begun, p, bytes);
	return p;
}

static inline __attribute__((always_inline)) void *exact_calloc(
	const struct gg_python_counted *domain, void *context, size_t number, size_t bytes)
{
	uint64_t begun = gg_python_hooks.exact->begin();
	void *p = domain->real.calloc(context, number, bytes);

	gg_python_hooks.exact->allocated(begun, p, number * bytes);
	return p;
}

static inline __attribute__((always_inline)) void exact_free(const struct gg_python_counted *domain,
                                                             void *context, void *p)
{
	gg_python_hooks.exact->freed(p);
	domain->real.free(context, p);
}

static void *mem_exact_malloc(void *context, size_t bytes)
{
	return exact_malloc(mem, context, bytes);
}

static void *mem_exact_calloc(void *context, size_t number, size_t bytes)
{
	return exact_calloc(mem, context, number, bytes);
}

static void *mem_exact_realloc(void *context, void *p, size_t bytes)
{
	return gg_python_hooks.exact->resize(mem->real.realloc, context, p, bytes);
}

static void mem_exact_free(void *context, void *p)
{
	exact_free(mem, context, p);
}

static void *obj_exact_malloc(void *context, size_t bytes)
{
	return exact_malloc(obj, context, bytes);
}

static void *obj_exact_calloc(void *context, size_t number, size_t bytes)
{
	return exact_calloc(obj, context, number, bytes);
}

static void *obj_exact_realloc(void *context, void *p, size_t bytes)
{
	return gg_python_hooks.exact->resize(obj->real.realloc, context, p, bytes);
}

static void obj_exact_free(void *context, void *p)
{
	exact_free(obj, context, p);
}

/* If another thread held the lock at the fork, the child's set may be half changed. */
void gg_python_hooks_forked(void)
{
	gg_python_frames_forked();
	if (pthread_mutex_trylock(&known_lock) != 0) {
		untyped.block = NULL;
		known.is_full = true;
		memset(known.front, GG_SAMPLED_MANY, sizeof(known.front));
		known_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
		return;
	}
	pthread_mutex_unlock(&known_lock);
}

void gg_python_hooks_forget(void)
{
	pthread_mutex_lock(&known_lock);
	untyped.block = NULL;
	gg_sampled_done(&known);
	known = (struct gg_sampled){ 0 };
	pthread_mutex_unlock(&known_lock);
}

const struct gg_python_allocator gg_python_hook_tables[][GG_PYTHON_OBJ + 1] = {
	[GG_PYTHON_HOOKS_ANY] = {
		{ NULL, raw_malloc, raw_calloc, raw_realloc, raw_free },
		{ NULL, mem_malloc, mem_calloc, mem_realloc, mem_free },
		{ NULL, obj_malloc, obj_calloc, obj_realloc, obj_free },
	},
	[GG_PYTHON_HOOKS_ARENAS] = {
		{ NULL, raw_malloc, raw_calloc, raw_realloc, raw_free },
		{ NULL, mem_pymalloc, mem_pycalloc, mem_pyrealloc, NULL },
		{ NULL, obj_pymalloc, obj_pycalloc, obj_pyrealloc, NULL },
	},
	[GG_PYTHON_HOOKS_EXACT] = {
		{ NULL, raw_exact_malloc, raw_exact_calloc, raw_exact_realloc, raw_exact_free },
		{ NULL, mem_exact_malloc, mem_exact_calloc, mem_exact_realloc, mem_exact_free },
		{ NULL, obj_exact_malloc, obj_exact_calloc, obj_exact_realloc, obj_exact_free },
	},
};
