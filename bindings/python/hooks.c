/* SPDX-License-Identifier: Apache-2.0 */
/* hooks - the hooks of the three domains, and how they are installed. */
#include "hooks.h"

#include <errno.h>
#include <geiger/geiger.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

#include "base/atomic.h"
#include "embed/sampling_settings.h"
#include "frames.h"
#include "object_types.h"
#include "sampled.h"

enum {
	PYTHON_FRAMES_MAX = 128,

	/* Room for the names of one stack that are not ASCII; further names become "?". */
	TEXTS_BYTES = 4096,
	FRAME_TEXT_BYTES = 256, /* of one name */

	/*
	 * Larger blocks may come from the raw domain.  That begins below 512 bytes, because debug
	 * hooks enlarge blocks.
	 */
	SMALL_BYTES = 256,
	DEBUG_BYTES = 64, /* more than debug hooks add to a block */

	TYPE_NAME_BYTES = 128
};

struct domain {
	struct gg_python_allocator real;
	uint32_t heap; /* 0: not installed */
};

static struct domain raw, mem, obj;

static const struct gg_python *python;

/*
 * The blocks of mem and obj that are samples.  Interpreters may have a lock each (3.12), so the set
 * has a lock of its own; looking whether a block may be in it needs none, because the thread that
 * frees a block knows that it was allocated.
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

static bool with_native;

/*
 * Blocks of mem and obj of at most this size come from Python's arenas.  0: all of them may come
 * from malloc.
 */
static size_t arena_limit_bytes;

/*
 * The call of mem or obj that the allocator underneath is serving now.  If that allocator takes the
 * block from the raw domain or from malloc, the block is counted already.  It may also allocate
 * tables of its own meanwhile; their sizes differ, and they do count.
 */
static __thread struct {
	uint32_t depth;
	size_t bytes;
} served __attribute__((tls_model("initial-exec")));

struct before {
	int64_t upstream;
	size_t bytes;
};

static inline struct before begin_served(size_t bytes)
{
	struct before before = { geiger_upstream_begin(), served.bytes };

	served.depth++;
	served.bytes = bytes;
	return before;
}

static inline void end_served(struct before before)
{
	served.depth--;
	served.bytes = before.bytes;
	geiger_upstream_end(before.upstream);
}

static inline bool is_served(size_t bytes)
{
	return served.depth != 0 && bytes - served.bytes < DEBUG_BYTES;
}

/* A block of 0 bytes comes from malloc. */
static inline bool is_piece_of_arena(size_t bytes)
{
	return bytes - 1 < arena_limit_bytes;
}

/* --- stacks --- */

struct texts {
	char *bytes;
	size_t max_bytes, used_bytes;
};

static const char *text_of(const void *text, struct texts *texts)
{
	size_t left_bytes = texts->max_bytes - texts->used_bytes;
	char *copy = texts->bytes + texts->used_bytes;
	const char *ascii = gg_python_ascii(python, text);

	if (ascii != NULL)
		return ascii;
	if (left_bytes < 8)
		return "?";
	gg_python_text(python, text, copy,
	               left_bytes < FRAME_TEXT_BYTES ? left_bytes : FRAME_TEXT_BYTES);
	texts->used_bytes += strlen(copy) + 1;
	return copy;
}

static size_t stack_of(struct geiger_frame *frames, struct texts *texts, bool held)
{
	struct gg_python_frame found[PYTHON_FRAMES_MAX];
	size_t i, count = gg_python_frames(python, found, PYTHON_FRAMES_MAX, held);

	for (i = 0; i < count; i++) {
		frames[i].function = text_of(found[i].name, texts);
		frames[i].file = text_of(found[i].file, texts);
		frames[i].line = (uint32_t)found[i].line;
		frames[i].native = with_native ? found[i].native : NULL;
	}
	return count;
}

/* --- types --- */

/* The caller has known_lock. */
static void find_type(void)
{
	char name[TYPE_NAME_BYTES];

	if (untyped.block != NULL &&
	    gg_python_object_type(python, untyped.block, untyped.bytes, name, sizeof(name)))
		geiger_set_type(obj.heap, untyped.block, name);
	untyped.block = NULL;
}

/* The caller frees or resizes the block afterwards. */
static __attribute__((cold, noinline)) void find_type_of(const void *block)
{
	int saved_errno = errno;

	pthread_mutex_lock(&known_lock);
	if (untyped.block == block)
		find_type();
	pthread_mutex_unlock(&known_lock);
	errno = saved_errno;
}

/* For the stacks of malloc's samples (abi/agent_functions.h). */
static size_t read_frames(struct gg_agent_frame *frames, size_t max, char *texts_bytes,
                          size_t texts_max)
{
	struct gg_python_frame found[PYTHON_FRAMES_MAX];
	struct texts texts = { .bytes = texts_bytes, .max_bytes = texts_max };
	size_t i, count;

	count = gg_python_frames(python, found, max < PYTHON_FRAMES_MAX ? max : PYTHON_FRAMES_MAX,
	                         false);
	for (i = 0; i < count; i++) {
		frames[i].function = text_of(found[i].name, &texts);
		frames[i].file = text_of(found[i].file, &texts);
		frames[i].line = (uint32_t)found[i].line;
		frames[i].native = found[i].native;
	}
	return count;
}

static struct gg_agent_frame_source source = { .read = read_frames };

/* The slow call.  It keeps errno. */
static __attribute__((cold, noinline)) void sampled(const struct domain *domain, void *p,
                                                    size_t bytes, bool held)
{
	struct geiger_frame frames[PYTHON_FRAMES_MAX];
	struct geiger_sample sample;
	char texts_bytes[TEXTS_BYTES];
	struct texts texts = { .bytes = texts_bytes, .max_bytes = sizeof(texts_bytes) };
	int saved_errno = errno;

	if (p == NULL) {
		geiger_put_back(bytes);
	} else if (geiger_take(bytes, &sample)) {
		sample.object = p;
		sample.frame_count = stack_of(frames, &texts, held);
		sample.frames = sample.frame_count > 0 ? frames : NULL;
		if (sample.frame_count > 0 && !with_native)
			sample.flags |= GEIGER_SAMPLE_NO_NATIVE;
		if (geiger_record(domain->heap, &sample) && held) {
			pthread_mutex_lock(&known_lock);
			gg_sampled_add(&known, p);
			find_type();
			if (domain == &obj) {
				untyped.block = p;
				untyped.bytes = bytes;
			}
			pthread_mutex_unlock(&known_lock);
		}
	}
	errno = saved_errno;
}

static __attribute__((cold, noinline)) void close_sample(const struct domain *domain, void *p)
{
	int saved_errno = errno;
	bool is_sample;

	pthread_mutex_lock(&known_lock);
	is_sample = p != NULL && gg_sampled_take(&known, p);
	if (is_sample && untyped.block == p)
		find_type();
	pthread_mutex_unlock(&known_lock);
	if (is_sample)
		geiger_freed(domain->heap, p);
	errno = saved_errno;
}

/* --- common to mem and obj; each hook below calls one of these with constants --- */

static inline __attribute__((always_inline)) void *count(const struct domain *domain, void *p,
                                                         size_t bytes, bool held)
{
	if (geiger_due(bytes))
		sampled(domain, p, bytes, held);
	return p;
}

/*
 * A block that is no piece of an arena, or that is due.  It is counted after the allocator's call,
 * because that may count blocks of its own meanwhile.
 */
static inline __attribute__((always_inline)) void *do_malloc_slowly(const struct domain *domain,
                                                                    void *context, size_t bytes)
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

static inline __attribute__((always_inline)) void *do_calloc(const struct domain *domain,
                                                             void *context, size_t number,
                                                             size_t bytes)
{
	struct before before = begin_served(number * bytes);
	void *p = domain->real.calloc(context, number, bytes);

	end_served(before);
	return count(domain, p, number * bytes, true); /* Python has checked for an overflow */
}

/* This thread has the lock, so no other one gets the old address before it is reported. */
static inline __attribute__((always_inline)) void *do_realloc(const struct domain *domain,
                                                              void *context, void *p, size_t bytes)
{
	struct before before;
	void *moved;

	if (gg_sampled_maybe(&known, p) && p != NULL)
		find_type_of(p);
	before = begin_served(bytes);
	moved = domain->real.realloc(context, p, bytes);
	end_served(before);
	if (gg_sampled_maybe(&known, p) && moved != NULL)
		close_sample(domain, p);
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
	return do_malloc_slowly(&mem, context, bytes);
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
	return geiger_due(bytes) ? mem_malloc_due(context, bytes) : mem.real.malloc(context, bytes);
}

static void *mem_calloc(void *context, size_t number, size_t bytes)
{
	return do_calloc(&mem, context, number, bytes);
}

static void *mem_realloc(void *context, void *p, size_t bytes)
{
	return do_realloc(&mem, context, p, bytes);
}

static __attribute__((cold, noinline)) void mem_free_slowly(void *context, void *p)
{
	close_sample(&mem, p);
	mem.real.free(context, p);
}

static void mem_free(void *context, void *p)
{
	if (gg_sampled_maybe(&known, p))
		mem_free_slowly(context, p);
	else
		mem.real.free(context, p);
}

static __attribute__((noinline)) void *obj_malloc_slowly(void *context, size_t bytes)
{
	return do_malloc_slowly(&obj, context, bytes);
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
	return geiger_due(bytes) ? obj_malloc_due(context, bytes) : obj.real.malloc(context, bytes);
}

static void *obj_calloc(void *context, size_t number, size_t bytes)
{
	return do_calloc(&obj, context, number, bytes);
}

static void *obj_realloc(void *context, void *p, size_t bytes)
{
	return do_realloc(&obj, context, p, bytes);
}

static __attribute__((cold, noinline)) void obj_free_slowly(void *context, void *p)
{
	close_sample(&obj, p);
	obj.real.free(context, p);
}

static void obj_free(void *context, void *p)
{
	if (gg_sampled_maybe(&known, p))
		obj_free_slowly(context, p);
	else
		obj.real.free(context, p);
}

/* --- raw, and arenas --- */

/* Thread states are blocks of raw; frames and code lie in arenas. */
static void wait_for_walks(void)
{
	if (python->is_finalizing != NULL)
		gg_python_frames_wait(python);
}

/* Each block of this domain is one of malloc. */
static void *raw_malloc(void *context, size_t bytes)
{
	int64_t before;
	void *p;

	if (is_served(bytes))
		return raw.real.malloc(context, bytes);
	before = geiger_upstream_begin();
	p = raw.real.malloc(context, bytes);
	geiger_upstream_end(before);
	return count(&raw, p, bytes, false);
}

static void *raw_calloc(void *context, size_t number, size_t bytes)
{
	int64_t before;
	void *p;

	if (is_served(number * bytes))
		return raw.real.calloc(context, number, bytes);
	before = geiger_upstream_begin();
	p = raw.real.calloc(context, number, bytes);
	geiger_upstream_end(before);
	return count(&raw, p, number * bytes, false);
}

/*
 * Another thread may get the old address as soon as the block has moved, so the sample is closed
 * before.  If the resize fails, the block stays, without its sample.
 */
static void *raw_realloc(void *context, void *p, size_t bytes)
{
	int64_t before;
	void *moved;

	if (is_served(bytes))
		return raw.real.realloc(context, p, bytes);
	if (p != NULL)
		geiger_freed(raw.heap, p);
	before = geiger_upstream_begin();
	moved = raw.real.realloc(context, p, bytes);
	geiger_upstream_end(before);
	return count(&raw, moved, bytes, false);
}

static void raw_free(void *context, void *p)
{
	if (p != NULL)
		geiger_freed(raw.heap, p);
	wait_for_walks();
	raw.real.free(context, p);
}

static struct gg_python_arenas real_arenas;

/*
 * Hooks of mem and obj are wanted, and a call of check_hooks() is pending.  Relaxed: both only
 * decide when that looks, which it does with the interpreter's lock.
 */
static uint32_t is_wanted, is_check_pending;

static int check_hooks(void *nothing);

static bool are_in_front(void);
static void put_all_in_front(bool can_probe);

/*
 * Python's own allocators, if they stood alone before the first hook.  Only 3.8 needs them.  Later
 * versions have a lock there, which is not ready before Python starts.
 */
static struct gg_python_allocator own[GG_PYTHON_OBJ + 1];
static bool has_own;

static bool stand_alone(void)
{
	return python->allocator_name != NULL && python->allocator_name() != NULL;
}

static void note_own(void)
{
	has_own = python->layout->version == 0x0308 && stand_alone();
	for (int i = GG_PYTHON_RAW; has_own && i <= GG_PYTHON_OBJ; i++)
		python->get_allocator((enum gg_python_domain)i, &own[i]);
}

static bool is_ours(enum gg_python_domain which, const struct gg_python_allocator *now);

/* Returns whether nobody else's hooks are in place.  That of raw stays after a recording. */
static bool has_no_other_hooks(void)
{
	struct gg_python_allocator now;

	if (stand_alone())
		return true;
	for (int i = GG_PYTHON_RAW; i <= GG_PYTHON_OBJ; i++) {
		python->get_allocator((enum gg_python_domain)i, &now);
		if (!has_own ||
		    (now.malloc != own[i].malloc && !is_ours((enum gg_python_domain)i, &now)))
			return false;
	}
	return true;
}

/*
 * Others may take the hooks away: Python itself when it starts with PYTHONMALLOC or -X dev, and a
 * tool such as tracemalloc that restores what it found.  Nobody replaces the hooks of arenas, and
 * small objects need a new arena sooner or later.
 *
 * This is the middle of an allocation, so check_hooks() has to wait for a pending call.  3.8 gives
 * none: once the interpreter ends, its Py_AddPendingCall() raises an exception and prints it by
 * Python code, which allocates in the middle of this allocation.  That crashes.
 */
static void look_after_hooks(void)
{
	if (gg_load_relaxed(&is_wanted) == 0 || !python->is_initialized() ||
	    (python->is_finalizing != NULL && python->is_finalizing()) || are_in_front())
		return;
	if (python->layout->version == 0x0308) {
		if (has_no_other_hooks())
			put_all_in_front(false);
		return;
	}
	if (python->add_pending_call != NULL && gg_exchange_acq_rel(&is_check_pending, 1) == 0 &&
	    python->add_pending_call(check_hooks, NULL) < 0)
		gg_store_relaxed(&is_check_pending, 0);
}

static void *alloc_arena(void *context, size_t bytes)
{
	look_after_hooks();
	return real_arenas.alloc(context, bytes);
}

static void free_arena(void *context, void *p, size_t bytes)
{
	wait_for_walks();
	real_arenas.free(context, p, bytes);
}

/*
 * --- where every allocation is counted ---
 *
 * The agent takes the place of the samples.  It counts pieces of arenas.  Malloc's hooks count all
 * other blocks, those of raw among them.
 */

static const struct gg_exact_calls *exact; /* NULL: the process samples */

/* Malloc's hooks count these. */
static void *raw_exact_malloc(void *context, size_t bytes)
{
	return raw.real.malloc(context, bytes);
}

static void *raw_exact_calloc(void *context, size_t number, size_t bytes)
{
	return raw.real.calloc(context, number, bytes);
}

static void *raw_exact_realloc(void *context, void *p, size_t bytes)
{
	return raw.real.realloc(context, p, bytes);
}

static void raw_exact_free(void *context, void *p)
{
	wait_for_walks();
	raw.real.free(context, p);
}

static inline __attribute__((always_inline)) void *exact_malloc(const struct domain *domain,
                                                                void *context, size_t bytes)
{
	uint64_t begun = exact->begin();
	void *p = domain->real.malloc(context, bytes);

	exact->allocated(begun, p, bytes);
	return p;
}

static inline __attribute__((always_inline)) void *exact_calloc(const struct domain *domain,
                                                                void *context, size_t number,
                                                                size_t bytes)
{
	uint64_t begun = exact->begin();
	void *p = domain->real.calloc(context, number, bytes);

	exact->allocated(begun, p, number * bytes);
	return p;
}

static inline __attribute__((always_inline)) void exact_free(const struct domain *domain,
                                                             void *context, void *p)
{
	exact->freed(p);
	domain->real.free(context, p);
}

static void *mem_exact_malloc(void *context, size_t bytes)
{
	return exact_malloc(&mem, context, bytes);
}

static void *mem_exact_calloc(void *context, size_t number, size_t bytes)
{
	return exact_calloc(&mem, context, number, bytes);
}

static void *mem_exact_realloc(void *context, void *p, size_t bytes)
{
	return exact->resize(mem.real.realloc, context, p, bytes);
}

static void mem_exact_free(void *context, void *p)
{
	exact_free(&mem, context, p);
}

static void *obj_exact_malloc(void *context, size_t bytes)
{
	return exact_malloc(&obj, context, bytes);
}

static void *obj_exact_calloc(void *context, size_t number, size_t bytes)
{
	return exact_calloc(&obj, context, number, bytes);
}

static void *obj_exact_realloc(void *context, void *p, size_t bytes)
{
	return exact->resize(obj.real.realloc, context, p, bytes);
}

static void obj_exact_free(void *context, void *p)
{
	exact_free(&obj, context, p);
}

/* --- installing --- */

/* If another thread held the lock at the fork, the child's set may be half changed. */
static void in_child(void)
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

static void put_in_front(enum gg_python_domain which, struct domain *domain, const char *name,
                         const struct gg_python_allocator *hooks)
{
	struct gg_python_allocator now, front = *hooks;

	domain->heap = geiger_heap_register(name, NULL);
	python->get_allocator(which, &now);
	if (now.malloc == front.malloc)
		return;
	domain->real = now;
	front.context = now.context;
	python->set_allocator(which, &front);
}

/*
 * Malloc's samples get Python's frames.  A walk without the lock needs a hook wherever Python frees
 * what the walk reads.
 */
static void offer_frames(void)
{
	struct gg_python_arenas arenas;

	if (python->get_arenas == NULL || python->set_arenas == NULL)
		return;
	python->get_arenas(&arenas);
	if (arenas.free != free_arena) {
		real_arenas = arenas;
		arenas.alloc = alloc_arena;
		arenas.free = free_arena;
		python->set_arenas(&arenas);
	}
	if (python->layout->loops == GG_PYTHON_LOOPS_UNKNOWN)
		source.loop = (struct gg_runtime_loop){ python->loop_begin, python->loop_end };
	gg_embed_agent()->set_frame_source(&source);
}

bool gg_python_installed(void)
{
	struct gg_python_allocator now;

	if (python == NULL)
		return false;
	python->get_allocator(GG_PYTHON_OBJ, &now);
	return now.malloc == (exact != NULL ? obj_exact_malloc : obj_malloc);
}

/*
 * Before Python has started, only the allocators are there that it was built with, and asking for
 * their name crashes CPython 3.12.  Later on, NULL stands for hooks in one of the domains, ours or
 * those of another tool: then the function decides, if it was seen with its name.
 */
static bool find_arenas(void)
{
	static void *(*known_malloc)(void *context, size_t bytes); /* takes blocks from arenas */
	struct gg_python_allocator raw_now, mem_now, obj_now;
	const char *name;

	python->get_allocator(GG_PYTHON_OBJ, &obj_now);
	if (!python->is_initialized()) {
		python->get_allocator(GG_PYTHON_RAW, &raw_now);
		python->get_allocator(GG_PYTHON_MEM, &mem_now);
		if (mem_now.malloc == raw_now.malloc)
			return false;
		known_malloc = obj_now.malloc;
		return true;
	}
	name = python->allocator_name != NULL ? python->allocator_name() : NULL;
	if (name == NULL)
		return known_malloc != NULL && obj_now.malloc == known_malloc;
	if (strcmp(name, "pymalloc") == 0)
		known_malloc = obj_now.malloc;
	return strncmp(name, "pymalloc", 8) == 0;
}

/* --- whether the hooks are still called --- */

/* The functions that the probes stand for.  A thread may still be in a probe after its end. */
static void *(*before_probe[GG_PYTHON_OBJ + 1])(void *context, size_t bytes);
static uint32_t was_reached; /* relaxed: by the probing thread, or by another one */

static void *probe_raw(void *context, size_t bytes)
{
	gg_store_relaxed(&was_reached, 1);
	return before_probe[GG_PYTHON_RAW](context, bytes);
}

static void *probe_mem(void *context, size_t bytes)
{
	gg_store_relaxed(&was_reached, 1);
	return before_probe[GG_PYTHON_MEM](context, bytes);
}

static void *probe_obj(void *context, size_t bytes)
{
	gg_store_relaxed(&was_reached, 1);
	return before_probe[GG_PYTHON_OBJ](context, bytes);
}

/*
 * Python puts its own allocators in place when it starts with PYTHONMALLOC or -X dev.  Hooks of
 * another tool that are in front of ours look the same, so the only way to know is an allocation.
 * Hooks that were in front of and behind the same other one would call each other for ever.
 */
static bool is_called(enum gg_python_domain which, struct domain *domain,
                      void *(*probe)(void *context, size_t bytes))
{
	struct gg_python_allocator now;
	void *p;

	if (domain->real.malloc == NULL)
		return false;
	python->get_allocator(which, &now);
	before_probe[which] = domain->real.malloc;
	gg_store_relaxed(&was_reached, 0);
	domain->real.malloc = probe;
	p = now.malloc(now.context, 1);
	domain->real.malloc = before_probe[which];
	now.free(now.context, p);
	return gg_load_relaxed(&was_reached) != 0;
}

static bool is_ours(enum gg_python_domain which, const struct gg_python_allocator *now)
{
	switch (which) {
	case GG_PYTHON_RAW:
		return now->malloc == (exact != NULL ? raw_exact_malloc : raw_malloc);
	case GG_PYTHON_MEM:
		return now->malloc == (exact != NULL ? mem_exact_malloc : mem_malloc);
	default:
		return now->malloc == (exact != NULL ? obj_exact_malloc : obj_malloc);
	}
}

/* Returns whether the hooks are the first functions that Python calls, in all domains. */
static bool are_in_front(void)
{
	struct gg_python_allocator now;

	for (int i = GG_PYTHON_RAW; i <= GG_PYTHON_OBJ; i++) {
		python->get_allocator((enum gg_python_domain)i, &now);
		if (!is_ours((enum gg_python_domain)i, &now))
			return false;
	}
	return true;
}

/*
 * Puts hooks in front where they are not called.  Without `can_probe`, that is where they are not
 * the first; the caller knows that nobody else's are.
 */
static void put_all_in_front(bool can_probe)
{
	static const struct gg_python_allocator hooks[] = {
		{ NULL, raw_malloc, raw_calloc, raw_realloc, raw_free },
		{ NULL, mem_malloc, mem_calloc, mem_realloc, mem_free },
		{ NULL, obj_malloc, obj_calloc, obj_realloc, obj_free },
	};
	static const struct gg_python_allocator exact_hooks[] = {
		{ NULL, raw_exact_malloc, raw_exact_calloc, raw_exact_realloc, raw_exact_free },
		{ NULL, mem_exact_malloc, mem_exact_calloc, mem_exact_realloc, mem_exact_free },
		{ NULL, obj_exact_malloc, obj_exact_calloc, obj_exact_realloc, obj_exact_free },
	};
	const struct gg_python_allocator *ours = exact != NULL ? exact_hooks : hooks;
	bool has_obj = can_probe && is_called(GG_PYTHON_OBJ, &obj, probe_obj);

	if (!has_obj)
		arena_limit_bytes = find_arenas() ? SMALL_BYTES : 0;
	if (!can_probe || !is_called(GG_PYTHON_RAW, &raw, probe_raw))
		put_in_front(GG_PYTHON_RAW, &raw, "python.raw", &ours[GG_PYTHON_RAW]);
	if (!can_probe || !is_called(GG_PYTHON_MEM, &mem, probe_mem))
		put_in_front(GG_PYTHON_MEM, &mem, "python.mem", &ours[GG_PYTHON_MEM]);
	if (!has_obj)
		put_in_front(GG_PYTHON_OBJ, &obj, "python.obj", &ours[GG_PYTHON_OBJ]);
}

/* NULL: the process samples.  An older agent has a shorter table. */
static const struct gg_exact_calls *find_exact_calls(void)
{
	const struct gg_agent_functions *agent = gg_embed_agent();
	const size_t known_bytes = offsetof(struct gg_agent_functions, exact);

	if (agent->bytes <= known_bytes || agent->exact == NULL || !agent->exact->is_on())
		return NULL;
	return agent->exact;
}

/* The main thread calls it, with the interpreter's lock and outside of every allocation. */
static int check_hooks(void *nothing)
{
	(void)nothing;
	gg_store_relaxed(&is_check_pending, 0);
	if (gg_load_relaxed(&is_wanted) != 0 &&
	    (python->is_finalizing == NULL || !python->is_finalizing()))
		put_all_in_front(true);
	return 0;
}

static void take_away(enum gg_python_domain which, struct domain *domain,
                      void *(*hook)(void *context, size_t bytes))
{
	struct gg_python_allocator now;

	python->get_allocator(which, &now);
	if (now.malloc == hook)
		python->set_allocator(which, &domain->real);
}

void gg_python_uninstall(void)
{
	if (python == NULL)
		return;
	gg_store_relaxed(&is_wanted, 0);
	take_away(GG_PYTHON_MEM, &mem, mem_malloc);
	take_away(GG_PYTHON_OBJ, &obj, obj_malloc);
	/* Frees pass unseen from now on, so that the set would be wrong. */
	pthread_mutex_lock(&known_lock);
	untyped.block = NULL;
	gg_sampled_done(&known);
	known = (struct gg_sampled){ 0 };
	pthread_mutex_unlock(&known_lock);
}

const char *gg_python_install(bool native)
{
	const char *why;

	with_native = native;
	gg_embed_settings_find_agent(); /* geiger.record() loads both, perhaps after this library */
	gg_store_relaxed(&is_wanted, 1);
	if (python != NULL) {
		offer_frames();
		if (python->is_initialized())
			put_all_in_front(true);
		return NULL;
	}
	python = gg_python_find(&why);
	if (python == NULL)
		return why != NULL ? why : "there is no Python in this process";
	pthread_atfork(NULL, NULL, in_child);
	exact = find_exact_calls();
	note_own();
	put_all_in_front(python->is_initialized() != 0);
	offer_frames();
	return NULL;
}
