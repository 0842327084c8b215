/* SPDX-License-Identifier: Apache-2.0 */
/* own_allocator - the client of the allocator, and the agent's real functions. */
#include "preload/own/own_allocator.h"

#include <link.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "abi/attach_request.h"
#include "base/hash.h"
#include "base/percent.h"
#include "geiger/malloc.h"
#include "malloc/class_counts.h"
#include "malloc/class_sampling.h"
#include "malloc/guarded_blocks.h"
#include "preload/own/guard_report.h"
#include "preload/sample.h"
#include "runtime/agent_log.h"
#include "runtime/dump/dump_trigger.h"
#include "runtime/environment.h"
#include "runtime/exposure.h"
#include "runtime/overhead_budget.h"
#include "runtime/platform/allocator_functions.h"
#include "runtime/platform/elf_lookup.h"
#include "runtime/platform/real_functions.h"
#include "runtime/platform/sanitizer.h"
#include "runtime/process.h"
#include "runtime/process_settings.h"
#include "runtime/rate_plan.h"
#include "runtime/start.h"
#include "runtime/thread.h"
#include "stats/sampling/error_control.h"

enum { VISIT_BYTES = 1 << 20 };

gg_attach_entry geiger_agent_attach;

void *memalign(size_t alignment, size_t bytes);
void *valloc(size_t bytes);
void *pvalloc(size_t bytes);
void free_sized(void *p, size_t bytes);
void free_aligned_sized(void *p, size_t alignment, size_t bytes);

/* The functions of the next allocator, for pointers that are not ours, and if it must serve. */
static void *(*next_malloc)(size_t bytes);
static void *(*next_memalign)(size_t alignment, size_t bytes);
static void (*next_free)(void *p);
static size_t (*next_usable_size)(void *p);

/*
 * The process of which a thread applies the settings; 0: none.  In a forked child, that of its
 * parent means nothing, because that thread did not come along.
 */
static uint32_t applying_pid;
static uint32_t applied_change;

/* The size for the record of a sample: guarding a block changes no estimate of slack. */
static size_t usable_size(void *p)
{
	struct gg_malloc_guarded block;

	return gg_malloc_guard_has((uintptr_t)p) && gg_malloc_guard_find(p, &block)
	               ? gg_malloc_class_bytes(block.class)
	               : malloc_usable_size(p);
}

void gg_real_replace(struct gg_real *real)
{
	next_malloc = real->malloc;
	next_memalign = real->memalign;
	next_free = real->free;
	next_usable_size = real->malloc_usable_size;
	real->malloc = malloc;
	real->calloc = calloc;
	real->realloc = realloc;
	real->reallocarray = reallocarray;
	real->free = free;
	real->posix_memalign = posix_memalign;
	real->aligned_alloc = aligned_alloc;
	real->memalign = memalign;
	real->valloc = valloc;
	real->pvalloc = pvalloc;
	real->free_sized = free_sized;
	real->free_aligned_sized = free_aligned_sized;
	real->malloc_usable_size = usable_size;
	real->forked = gg_malloc_forked;
	real->is_own = true;
	gg_rate_plan_use_counts(gg_malloc_count_classes);
	gg_allocator_functions.own_slab = gg_malloc_count_slab;
	gg_allocator_functions.own_totals = gg_malloc_count_bytes;
}

#ifdef GG_STATIC
/* The linker has put this allocator into the program, so there is no other one and no sanitizer. */

static bool is_passing(void)
{
	return false;
}

const char *gg_real_other_allocator(void)
{
	return NULL;
}

static void log_other_allocator(void)
{
}
#else
/* The first object in the loader's order that has a malloc(), from `map` on. */
static const struct link_map *find_malloc(const struct link_map *map)
{
	struct gg_elf_lookup_tables tables;
	struct gg_elf_lookup symbol;

	for (; map != NULL; map = map->l_next)
		if (gg_elf_lookup_tables(map, &tables) &&
		    gg_elf_lookup_find(&tables, "malloc", &symbol))
			break;
	return map;
}

/* The loader gives the program an empty name. */
static const char *file_of(const struct link_map *map)
{
	return map->l_name != NULL && map->l_name[0] != '\0' ? map->l_name : "the program";
}

/* The file of LeakSanitizer's runtime; NULL: it is not loaded.  The agent can stand before it. */
static const char *find_leak_sanitizer(void)
{
	for (const struct link_map *map = _r_debug.r_map; map != NULL; map = map->l_next)
		if (map->l_name != NULL && (strstr(map->l_name, "/liblsan.so") != NULL ||
		                            strstr(map->l_name, "/libclang_rt.lsan") != NULL))
			return map->l_name;
	return NULL;
}

/*
 * A sanitizer must see all blocks of its program (runtime/platform/sanitizer.h).  The loader's list
 * has all libraries of the start before any of them runs.
 */
static bool is_passing(void)
{
	static uint32_t known; /* 0: not yet, 1: no, 2: yes */
	uint32_t answer = gg_load_relaxed(&known);

	if (gg_unlikely(answer == 0)) {
		answer = gg_sanitizer_runtime() != NULL || find_leak_sanitizer() != NULL ? 2 : 1;
		gg_store_relaxed(&known, answer);
	}
	return answer == 2;
}

const char *gg_real_other_allocator(void)
{
	const struct link_map *first = find_malloc(_r_debug.r_map);
	const char *sanitizer = find_leak_sanitizer();

	if (sanitizer != NULL)
		return sanitizer;
	return first != NULL && first->l_ld != _DYNAMIC ? file_of(first) : NULL;
}

bool gg_own_allocator_serves(void)
{
	static uint32_t known; /* 0: not yet, 1: no, 2: yes */
	uint32_t answer = gg_load_relaxed(&known);

	/*
	 * The list begins with what was loaded with the program, which stays, and the search ends
	 * at this library at the latest.
	 */
	if (gg_unlikely(answer == 0)) {
		const struct link_map *first = find_malloc(_r_debug.r_map);

		answer = first != NULL && first->l_ld == _DYNAMIC && !is_passing() ? 2 : 1;
		gg_store_relaxed(&known, answer);
	}
	return answer == 2;
}

/*
 * A session notes that another allocator is loaded and serves nothing.  Without a session, the line
 * would be among the program's own messages.
 */
static void log_other_allocator(void)
{
	const struct link_map *ours = find_malloc(_r_debug.r_map), *next;

	if (ours == NULL || gg_environment_get("GEIGER_LOG") == NULL)
		return;
	next = find_malloc(ours->l_next);
	if (next != NULL && strstr(file_of(next), "/libc.so") == NULL &&
	    strstr(file_of(next), "/ld-") == NULL && strstr(file_of(next), "/libgeiger-") == NULL)
		gg_agent_log("libgeiger-malloc.so serves malloc(), and ", file_of(next),
		             " does not", GG_AGENT_LOG_END);
}
#endif

/*
 * How many times the interval a class of sizes may have while the interval follows an error; 0: it
 * does not.  If it follows an overhead as well, it may be too coarse for the error already.
 */
static double error_coarser(void)
{
	uint32_t overhead_ppm, error_ppm;

	gg_overhead_budget_read(&overhead_ppm, &error_ppm);
	return error_ppm != 0 && overhead_ppm == 0
	               ? gg_error_control_coarser((double)error_ppm / GG_PPM)
	               : 0;
}

/* The interval of the process, as process_settings.c chooses it for threads. */
static void set_plan(void)
{
	double coarser = error_coarser();
	uint64_t interval_bytes = gg_load_relaxed(&gg_process.interval_bytes);
	uint64_t seed = gg_process.options.sampler.seed;
	const struct gg_optimal_rates *rates = NULL;

	if (gg_load_relaxed(&gg_process.is_active) == 0) {
		gg_malloc_set_interval(0, 0);
		return;
	}
	if (gg_process_settings_is_startup())
		interval_bytes = gg_process.options.startup_interval;
	else if (coarser > 0)
		rates = gg_rate_plan_rates_for_error(interval_bytes, coarser);
	else
		rates = gg_rate_plan_rates(interval_bytes);
	if (coarser > 0 && rates != NULL)
		gg_exposure_note((uint64_t)((double)interval_bytes * coarser) + 1);
	if (rates != NULL)
		gg_malloc_set_rates((double)interval_bytes, rates, seed);
	else
		gg_malloc_set_interval((double)interval_bytes, seed);
}

/* Brings new settings to the allocator.  On the sample path of a process that records. */
static void apply_settings(void)
{
	uint64_t interval_bytes;
	uint32_t applying, pid, change_count;
	double coarser;
	bool is_new;

	gg_process_settings_refresh();
	interval_bytes = gg_load_relaxed(&gg_process.interval_bytes);
	coarser = error_coarser();
	is_new = coarser > 0 ? gg_rate_plan_visit_for_error(interval_bytes, coarser)
	                     : gg_rate_plan_visit(interval_bytes);
	/* Release: a thread that sees the count sees the plan. */
	if (gg_unlikely(is_new))
		gg_add_release(&gg_process.change_count, 1);
	/* Acquire: pairs with the release of the thread that changed the settings. */
	change_count = gg_load_acquire(&gg_process.change_count);
	if (gg_likely(change_count == gg_load_relaxed(&applied_change)))
		return;
	pid = gg_load_relaxed(&gg_process.pid);
	applying = gg_load_relaxed(&applying_pid);
	if (applying == pid || !gg_cas_acq_rel(&applying_pid, &applying, pid))
		return;
	set_plan();
	gg_store_relaxed(&applied_change, change_count);
	gg_store_release(&applying_pid, 0);
}

static void free_foreign(void *p)
{
	if (next_free == NULL)
		gg_real_find();
	if (next_free != NULL && next_free != free)
		next_free(p);
}

static size_t foreign_size(void *p)
{
	if (next_free == NULL)
		gg_real_find();
	return next_usable_size != NULL && next_usable_size != malloc_usable_size
	               ? next_usable_size(p)
	               : 0;
}

static void *allocate_next(size_t bytes, size_t alignment_bytes)
{
	if (next_malloc == NULL)
		gg_real_find();
	if (alignment_bytes > 1)
		return next_memalign != NULL ? next_memalign(alignment_bytes, bytes) : NULL;
	return next_malloc != NULL ? next_malloc(bytes) : NULL;
}

/* geiger refuses these schemes; a program's environment may still ask for one. */
static void log_other_scheme(void)
{
	enum gg_scheme scheme = gg_process.options.sampler.scheme;

	if (scheme != GG_SCHEME_POISSON && scheme != GG_SCHEME_OPTIMAL)
		gg_agent_log("libgeiger-malloc.so has no scheme ", gg_scheme_name(scheme),
		             "; using poisson, with the interval in bytes", GG_AGENT_LOG_END);
}

#ifdef GG_STATIC
static bool is_recorder(void)
{
	return true;
}
#else
/* Without the members that sample. */
static const struct gg_malloc_client quiet_client = {
	.free_foreign = free_foreign,
	.foreign_size = foreign_size,
	.is_passing = is_passing,
	.allocate_next = allocate_next,
};

/* False, and nothing is recorded from now on, if the agent comes first in the loader's order. */
static bool is_recorder(void)
{
	static uint32_t is_known; /* 1: yes */

	if (gg_likely(gg_load_relaxed(&is_known) != 0))
		return true;
	if (gg_elf_lookup_any(GG_ATTACH_ENTRY) == (void *)geiger_agent_attach) {
		gg_store_relaxed(&is_known, 1);
		return true;
	}
	gg_malloc_set_client(&quiet_client);
	gg_store_release(&gg_process.state, GG_PROCESS_OFF);
	return false;
}
#endif

/* A forked child needs no region before its first sample. */
static bool is_child_without_region(void)
{
	/* Acquire: pairs with the release of the starting thread. */
	return gg_load_acquire(&gg_process.state) == GG_PROCESS_RUNNING && !gg_process_is_current();
}

static void prepare(bool is_sample)
{
	struct gg_thread *t = &gg_thread;

	if (!is_recorder() || (!is_sample && is_child_without_region()) || !gg_thread_enter(t))
		return;
	if (gg_start_ensure())
		apply_settings();
	else
		gg_malloc_set_interval(0, 0);
	gg_thread_leave(t);
	gg_dump_trigger_check_pending();
}

static void visit(void)
{
	prepare(false);
}

/*
 * True while the thread allocates for another allocator, which reports its blocks itself
 * (embed/upstream.c).  Such a sample is discarded.  Each block is drawn by itself, so the draws of
 * all other blocks stay as they are.
 */
static bool is_hidden(void)
{
	return gg_unlikely(gg_thread.upstream_left_bytes != 0);
}

static void sampled(void *p, size_t bytes, const struct gg_draw *draw)
{
	prepare(true);
	if (!is_hidden())
		gg_sample_drawn(p, bytes, draw, NULL);
}

_Static_assert(sizeof(struct gg_malloc_note) == sizeof(struct gg_region_place),
               "the slot has room for the place of the record");

static struct gg_region_place *place_of(struct gg_malloc_note *note)
{
	return (struct gg_region_place *)(void *)note;
}

static void sampled_in_slot(void *p, size_t bytes, const struct gg_draw *draw,
                            struct gg_malloc_note *note)
{
	prepare(true);
	if (is_hidden())
		place_of(note)->id = 0; /* the slot may have had a sample before */
	else
		gg_sample_drawn(p, bytes, draw, place_of(note));
}

static void freed_in_slot(void *p, struct gg_malloc_note *note)
{
	if (place_of(note)->id != 0)
		gg_sample_close_at(p, place_of(note));
}

static void freed(void *p)
{
	if (gg_sample_is_possible(p))
		gg_sample_close(p, 0);
}

static void dropped(void)
{
	prepare(true);
	/* Acquire: pairs with the release of the starting thread. */
	if (gg_load_acquire(&gg_process.state) == GG_PROCESS_RUNNING && gg_process_is_current())
		gg_region_count(&gg_process.region, GG_COUNT_DROP_MEMORY, 1);
}

const struct gg_malloc_client gg_malloc_first_client = {
	.sampled = sampled,
	.freed = freed,
	.sampled_in_slot = sampled_in_slot,
	.freed_in_slot = freed_in_slot,
	.guarded = gg_guard_report_guarded,
	.fault = gg_guard_report_fault,
	.dropped = dropped,
	.visit = visit,
	.visit_bytes = VISIT_BYTES,
	.free_foreign = free_foreign,
	.foreign_size = foreign_size,
	.is_passing = is_passing,
	.allocate_next = allocate_next,
};

static void start_guard(void)
{
	const struct gg_environment *options = &gg_process.options;
	uint64_t seed = options->sampler.seed;

	if (options->guard_share != 0)
		gg_guard_report_start(options->guard_share,
		                      seed != 0 ? seed : gg_hash_random_seed(),
		                      options->guard_ends);
}

/* Runs after construct() of constructor.c, which is linked before this file. */
__attribute__((constructor)) static void construct_allocator(void)
{
	void *first = malloc(1);

	/* All that the first allocation does, before the program may enter a sandbox. */
	__asm__ volatile("" : "+r"(first));
	free(first);
	visit();
	if (gg_load_relaxed(&gg_process.state) == GG_PROCESS_RUNNING) {
		log_other_allocator();
		log_other_scheme();
		start_guard();
	}
}
