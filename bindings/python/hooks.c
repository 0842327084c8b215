/* SPDX-License-Identifier: Apache-2.0 */
/* hooks - how the hooks of the three domains are installed, and come back. */
#include "hooks.h"

#include <geiger/geiger.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

#include "base/atomic.h"
#include "domain_hooks.h"
#include "embed/sampling_settings.h"
#include "frames.h"
#include "lines.h"

enum {
	/*
	 * Larger blocks may come from the raw domain.  That begins below 512 bytes, because debug
	 * hooks enlarge blocks.
	 */
	SMALL_BYTES = 256,

	/* Samples that are taken from malloc cost a program at most a sixtieth of its memory. */
	FROM_MALLOC_INTERVAL_BYTES = 32768
};

static const struct gg_python *python;
static struct gg_python_arenas real_arenas;

/* Hooks that leave samples in arenas were installed since the set of samples was empty. */
static bool has_samples_in_arenas;

/*
 * Hooks of mem and obj are wanted, and a call of check_hooks() is pending.  Relaxed: both only
 * decide when that looks, which it does with the interpreter's lock.
 */
static uint32_t is_wanted, is_check_pending;

/*
 * The hooks were put in front of the domain, and not taken away by gg_python_uninstall().  Another
 * tool may be in front of them, or may have removed them.
 */
static bool is_placed[GG_PYTHON_OBJ + 1];

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

static bool is_ours(enum gg_python_domain which, const struct gg_python_allocator *now)
{
	for (int i = 0; i < GG_PYTHON_HOOKS_KINDS; i++)
		if (now->malloc == gg_python_hook_tables[i][which].malloc)
			return true;
	return false;
}

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
	gg_python_hooks_leave_if_unwanted();
	return real_arenas.alloc(context, bytes);
}

static void free_arena(void *context, void *p, size_t bytes)
{
	gg_python_hooks_wait();
	real_arenas.free(context, p, bytes);
}

/* --- installing --- */

/*
 * Malloc's samples get Python's frames.  A walk without the lock needs a hook wherever Python frees
 * what the walk reads.
 */
static void offer_frames(void)
{
	static struct gg_agent_frame_source source = { .read = gg_python_read_frames };
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
	return is_ours(GG_PYTHON_OBJ, &now);
}

static void *(*known_malloc)(void *context, size_t bytes); /* takes blocks from arenas */

/* CPython's own allocator, if it was seen alone.  Its blocks up to 512 bytes come from arenas. */
static void *(*pymalloc)(void *context, size_t bytes);

/*
 * Python has not started, so it has the allocators that it was built with.  Asking for their name
 * would crash CPython 3.12.  If there are arenas, mem and obj share one allocator.  That of a debug
 * build has contexts.
 */
static bool find_arenas_early(const struct gg_python_allocator *obj_now)
{
	struct gg_python_allocator raw_now, mem_now;

	python->get_allocator(GG_PYTHON_RAW, &raw_now);
	python->get_allocator(GG_PYTHON_MEM, &mem_now);
	if (mem_now.malloc == raw_now.malloc)
		return false;
	known_malloc = obj_now->malloc;
	if (mem_now.malloc == obj_now->malloc && mem_now.free == obj_now->free &&
	    mem_now.context == NULL && obj_now->context == NULL)
		pymalloc = obj_now->malloc;
	return true;
}

/*
 * Later on, no name stands for hooks in one of the domains, ours or those of another tool: then the
 * function decides, if it was seen with its name.
 */
static bool find_arenas(void)
{
	struct gg_python_allocator now;
	const char *name;

	python->get_allocator(GG_PYTHON_OBJ, &now);
	if (!python->is_initialized())
		return find_arenas_early(&now);
	name = python->allocator_name != NULL ? python->allocator_name() : NULL;
	if (name == NULL)
		return known_malloc != NULL && now.malloc == known_malloc;
	if (strcmp(name, "pymalloc") == 0)
		pymalloc = known_malloc = now.malloc;
	return strncmp(name, "pymalloc", 8) == 0;
}

/*
 * Samples from malloc take more memory than blocks of arenas, so a small interval has the hooks
 * that work with any allocator.  These also serve as long as arenas have samples, whose frees need
 * hooks.
 */
static enum gg_python_hooks_kind kind_of(const struct gg_python_allocator *underneath)
{
	if (gg_python_hooks.exact != NULL)
		return GG_PYTHON_HOOKS_EXACT;
	if (underneath->malloc == pymalloc && !has_samples_in_arenas &&
	    geiger_interval() >= FROM_MALLOC_INTERVAL_BYTES)
		return GG_PYTHON_HOOKS_ARENAS;
	has_samples_in_arenas = true;
	return GG_PYTHON_HOOKS_ANY;
}

/* A hook that is NULL stands for the function underneath. */
static void put_in_front(enum gg_python_domain which, struct gg_python_counted *domain,
                         const char *name)
{
	struct gg_python_allocator now, front;

	domain->heap = geiger_heap_register(name, NULL);
	python->get_allocator(which, &now);
	if (is_ours(which, &now))
		return;
	domain->real = now;
	front = gg_python_hook_tables[which == GG_PYTHON_RAW && gg_python_hooks.exact == NULL
	                                      ? GG_PYTHON_HOOKS_ANY
	                                      : kind_of(&now)][which];
	front.context = now.context;
	if (front.free == NULL)
		front.free = now.free;
	python->set_allocator(which, &front);
	is_placed[which] = true;
}

/*
 * Both kinds have the same functions underneath, and a sample of either kind is in the same set.
 * So a block that one of them has made is freed or resized by the other one.  ARENAS stays if the
 * hooks of another tool are in front and call it.
 */
void gg_python_hooks_follow_interval(void)
{
	struct gg_python_allocator front;

	if (geiger_interval() >= FROM_MALLOC_INTERVAL_BYTES)
		return;
	for (int i = GG_PYTHON_MEM; i <= GG_PYTHON_OBJ; i++) {
		void *context;

		python->get_allocator((enum gg_python_domain)i, &front);
		if (front.malloc != gg_python_hook_tables[GG_PYTHON_HOOKS_ARENAS][i].malloc)
			continue;
		context = front.context;
		has_samples_in_arenas = true;
		front = gg_python_hook_tables[GG_PYTHON_HOOKS_ANY][i];
		front.context = context;
		python->set_allocator((enum gg_python_domain)i, &front);
	}
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
static bool is_called(enum gg_python_domain which, struct gg_python_counted *domain,
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
	struct gg_python_counted *domains = gg_python_hooks.domains;
	bool has_obj = can_probe && is_called(GG_PYTHON_OBJ, &domains[GG_PYTHON_OBJ], probe_obj);

	if (!has_obj)
		gg_python_hooks.arena_limit_bytes = find_arenas() ? SMALL_BYTES : 0;
	if (!can_probe || !is_called(GG_PYTHON_RAW, &domains[GG_PYTHON_RAW], probe_raw))
		put_in_front(GG_PYTHON_RAW, &domains[GG_PYTHON_RAW], "python.raw");
	if (!can_probe || !is_called(GG_PYTHON_MEM, &domains[GG_PYTHON_MEM], probe_mem))
		put_in_front(GG_PYTHON_MEM, &domains[GG_PYTHON_MEM], "python.mem");
	if (!has_obj)
		put_in_front(GG_PYTHON_OBJ, &domains[GG_PYTHON_OBJ], "python.obj");
}

static bool are_same(const struct gg_python_allocator *a, const struct gg_python_allocator *b)
{
	return a->context == b->context && a->malloc == b->malloc && a->calloc == b->calloc &&
	       a->realloc == b->realloc && a->free == b->free;
}

/*
 * Returns whether the functions that Python calls now do surely not call the hooks.  Either these
 * were never there, or they are taken away, or what they have found is there again, or no other
 * tool has hooks.
 */
static bool is_surely_uncalled(enum gg_python_domain which, const struct gg_python_allocator *now)
{
	return !is_placed[which] || are_same(now, &gg_python_hooks.domains[which].real) ||
	       (python->is_initialized() && stand_alone());
}

/*
 * As put_all_in_front() without Python's lock, so it allocates nothing.  Another thread may change
 * the allocators at this moment, as the start of tracemalloc does.  Then one of the two changes may
 * be lost, which look_after_hooks() finds.
 */
static void put_in_front_without_lock(void)
{
	static const char *const names[] = { "python.raw", "python.mem", "python.obj" };
	struct gg_python_allocator now;

	for (int i = GG_PYTHON_RAW; i <= GG_PYTHON_OBJ; i++) {
		enum gg_python_domain which = (enum gg_python_domain)i;

		python->get_allocator(which, &now);
		if (!is_ours(which, &now) && !is_surely_uncalled(which, &now))
			continue;
		if (which == GG_PYTHON_OBJ && !is_ours(which, &now))
			gg_python_hooks.arena_limit_bytes = find_arenas() ? SMALL_BYTES : 0;
		put_in_front(which, &gg_python_hooks.domains[which], names[which]);
	}
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

static void take_away(enum gg_python_domain which)
{
	struct gg_python_allocator now;

	python->get_allocator(which, &now);
	if (!is_ours(which, &now))
		return;
	python->set_allocator(which, &gg_python_hooks.domains[which].real);
	is_placed[which] = false;
}

static void take_all_away(void)
{
	take_away(GG_PYTHON_MEM);
	take_away(GG_PYTHON_OBJ);
	/* Frees pass unseen from now on, so that the set would be wrong. */
	gg_python_hooks_forget();
	has_samples_in_arenas = false;
}

void gg_python_uninstall(void)
{
	if (python == NULL)
		return;
	gg_store_relaxed(&is_wanted, 0);
	take_all_away();
}

void gg_python_detached(void)
{
	gg_store_relaxed(&is_wanted, 0);
}

/* Full fence: if another thread attaches meanwhile, it sees no hooks, or this one sees its wish. */
void gg_python_hooks_leave_if_unwanted(void)
{
	struct gg_python_allocator now;

	if (gg_load_relaxed(&is_wanted) != 0)
		return;
	python->get_allocator(GG_PYTHON_OBJ, &now);
	if (!is_ours(GG_PYTHON_OBJ, &now))
		return;
	take_all_away();
	gg_fence_full();
	if (gg_load_relaxed(&is_wanted) != 0)
		put_in_front_without_lock();
}

static int never(void)
{
	return 0;
}

/* Finds the interpreter.  Returns NULL, or the reason why the adapter knows none. */
static const char *find_python(void)
{
	const char *why;

	python = gg_python_find(&why);
	gg_python_hooks.python = python;
	gg_python_hooks.is_finalizing = never;
	if (python == NULL)
		return why != NULL ? why : "there is no Python in this process";
	if (python->is_finalizing != NULL)
		gg_python_hooks.is_finalizing = python->is_finalizing;
	pthread_atfork(NULL, NULL, gg_python_hooks_forked);
	gg_python_hooks.exact = find_exact_calls();
	gg_python_watch_codes(python);
	note_own();
	return NULL;
}

const char *gg_python_install(bool native)
{
	const char *why = NULL;
	bool is_first = python == NULL;

	gg_python_hooks.with_native = native;
	gg_embed_settings_find_agent(); /* geiger.record() loads both, perhaps after this library */
	gg_store_relaxed(&is_wanted, 1);
	if (is_first)
		why = find_python();
	if (why != NULL)
		return why;
	if (is_first || python->is_initialized())
		put_all_in_front(python->is_initialized() != 0);
	offer_frames();
	return NULL;
}

const char *gg_python_attach(const struct gg_agent_functions *agent)
{
	const char *why = NULL;

	gg_embed_settings_use_agent(agent);
	if (gg_embed_agent() != agent)
		return "the process records itself";
	if (python == NULL)
		why = find_python();
	if (why != NULL)
		return why;
	if (gg_python_hooks.is_finalizing())
		return "Python ends";
	/* Sequentially consistent: gg_python_hooks_leave_if_unwanted(). */
	gg_exchange_seq_cst(&is_wanted, 1);
	geiger_thread_interval(0); /* applies the settings to this thread at once */
	put_in_front_without_lock();
	offer_frames();
	return NULL;
}
