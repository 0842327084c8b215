/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample - decides, captures the stack, and records.
 *
 * The path of one sample:
 *   1. decide()      before the real call: does a sample point fall on these bytes?
 *   2. the real call, off the sample path, because handlers may allocate while the allocator works
 *   3. record()      after it: enters the sample path again, and gets the thread's block
 *   4. capture.h     unwinds and interns the stack, and registers the modules of new frames
 *   5. put_sample()  publishes the sample in the region, and informs probes, history and rate plan
 */
#include "preload/sample.h"

#include <errno.h>
#include <stdint.h>

#include "base/clock.h"
#include "preload/attach/attach_upkeep.h"
#include "preload/capture.h"
#include "preload/exact_hooks.h"
#include "preload/probes.h"
#include "region/writer/record.h"
#include "runtime/compat_requests.h"
#include "runtime/dump/dump_trigger.h"
#include "runtime/exact_mode.h"
#include "runtime/history.h"
#include "runtime/looks/allocator_look.h"
#include "runtime/overhead_budget.h"
#include "runtime/platform/extra_functions.h"
#include "runtime/platform/real_functions.h"
#include "runtime/process.h"
#include "runtime/process_settings.h"
#include "runtime/rate_plan.h"
#include "runtime/start.h"
#include "runtime/thread.h"
#include "stats/sampling/weight.h"

enum {
	/* One sample in 16 is timed and counts for 16, because reading the clock takes a tenth of a
	 * sample's time. */
	TIMED_EVERY = 16
};

/*
 * Gives a function that calls the real allocator a frame pointer.  LeakSanitizer walks stacks by
 * frame pointers, and would lose the caller otherwise.  Only the sampled path pays for it.
 */
#define KEEP_FRAME_POINTER() __asm__ volatile("" : : "r"(__builtin_frame_address(0)))

/* The caller of the hook, because the hook ended in a jump to its twin. */
#define CALLER __builtin_return_address(0)

static inline void leave(struct gg_thread *t)
{
	gg_thread_leave(t);
	gg_dump_trigger_check_pending();
}

/*
 * Bytes until the thread checks the settings again while nothing is sampled.  After a switch to on,
 * the rest of them stays hidden.
 */
static uint64_t pause_bytes(void)
{
	uint64_t interval_bytes = gg_load_relaxed(&gg_process.interval_bytes);

	/*
	 * 0: the settings are not read yet.  With an attached agent a visit takes longer, because
	 * it counts the threads inside.
	 */
	if (interval_bytes == 0 || interval_bytes >= GG_ENVIRONMENT_PAUSED_MOST_BYTES ||
	    gg_load_relaxed(&gg_process.counts_threads) != 0)
		return GG_ENVIRONMENT_PAUSED_MOST_BYTES;
	return interval_bytes > GG_ENVIRONMENT_PAUSED_LEAST_BYTES
	               ? interval_bytes
	               : GG_ENVIRONMENT_PAUSED_LEAST_BYTES;
}

/* The same while the process is not ready: off for good, or being started or adopted right now. */
static uint64_t pause_unready_bytes(void)
{
	uint32_t state = gg_load_relaxed(&gg_process.state);

	return state == GG_PROCESS_OFF       ? UINT64_MAX
	       : state == GG_PROCESS_WAITING ? pause_bytes()
	                                     : 0;
}

/*
 * Passes an allocation that cannot be recorded now.  While an attached agent is detached, the
 * sampler goes on, and its samples are dropped: a pause would hide allocations that follow the next
 * attach.  A new sampler waits for that attach.
 * During the attach all samplers wait, because they have to restart.
 */
static void pass_unready(struct gg_thread *t, size_t bytes)
{
	struct gg_draw dropped;

	if (gg_load_relaxed(&gg_process.counts_threads) == 0)
		gg_sampler_pause(&t->sampler, pause_unready_bytes());
	else if (gg_sampler_is_started(&t->sampler) &&
	         gg_load_relaxed(&gg_process.state) != GG_PROCESS_STARTING)
		gg_sampler_take(&t->sampler, bytes, &dropped);
	else
		gg_sampler_put_back(&t->sampler, bytes);
	/*
	 * Full: either this thread sees that an attach wants a restart, or the attach sees what
	 * was left here, and tries again.
	 */
	gg_fence_full();
	gg_thread_restart_if_wanted(t);
}

/*
 * The recorder that ends an attach switches sampling off as well.  A pause would outlive the detach
 * and hide allocations that follow the next attach.
 */
static bool is_leaving(void)
{
	return gg_load_relaxed(&gg_process.counts_threads) != 0 &&
	       (gg_load_relaxed(&gg_process.state) != GG_PROCESS_RUNNING ||
	        gg_region_control(&gg_process.region).detach);
}

static bool is_sampled(struct gg_thread *t)
{
	return gg_load_relaxed(&gg_process.is_active) != 0 &&
	       !gg_thread_is_off(t, gg_load_relaxed(&gg_compat_requests.new_threads_are_off) != 0);
}

/*
 * True if the allocation becomes a sample.  It may be due for a sample point, for a checkpoint, for
 * new settings, or because nothing was set up yet.
 *
 * If the allocator's operator new calls its malloc(), the hook of operator new has counted the
 * block.  A sample point that falls on the inner call is ignored; points are independent, so that
 * changes the odds of no other allocation.
 */
static bool decide(struct gg_thread *t, size_t bytes, const void *caller, struct gg_draw *ret_draw)
{
	bool sampled = false, is_ready, is_restarted;

	if (bytes > PTRDIFF_MAX || !gg_thread_enter(t)) {
		gg_sampler_put_back(&t->sampler, bytes);
		return false;
	}
	is_ready = gg_start_ensure();
	/* After the state, which the attach sets last. */
	is_restarted = gg_thread_restart_if_wanted(t);
	if (gg_likely(!is_restarted))
		gg_thread_count(t);
	if (gg_unlikely(!is_ready)) {
		/* A restarted sampler has nothing left, so the next allocation is due. */
		if (!is_restarted)
			pass_unready(t, bytes);
	} else if (gg_unlikely(gg_exact_mode_is_on())) {
		/* This call has just started the process; later ones do not come here. */
		t->sampler.left_bytes = 0;
		sampled = true;
	} else {
		gg_attach_upkeep();
		gg_process_settings_refresh();
		if (gg_unlikely(t->seen_change != gg_load_relaxed(&gg_process.change_count)))
			gg_process_settings_update(t);
		if (gg_likely(is_sampled(t))) {
			sampled = gg_sampler_take(&t->sampler, bytes, ret_draw) &&
			          !gg_extra_functions_has_code(caller);
			if (!sampled && gg_unlikely(gg_overhead_budget_is_on()))
				gg_overhead_budget_visited();
		} else if (is_leaving()) {
			pass_unready(t, bytes);
		} else {
			if (t->sampler.point_is_pending)
				gg_region_count(&gg_process.region, GG_COUNT_DROP_OFF, 1);
			gg_sampler_pause(&t->sampler, pause_bytes());
		}
	}
	t->counted_left_bytes = t->sampler.left_bytes;
	leave(t);
	return sampled;
}

/* Returns the time of the sample. */
static uint64_t put_sample(struct gg_thread *t, struct gg_thread_block *block, void *p,
                           size_t bytes, const struct gg_draw *draw, uint8_t flags,
                           struct gg_region_place *place)
{
	struct gg_region *region = &gg_process.region;
	struct gg_allocation sample = {
		.address = (uintptr_t)p,
		.time_ns = gg_clock_monotonic_ns(),
		.size_bytes = bytes,
		.usable_bytes = bytes,
		.draw = *draw,
		.flags = flags,
	};
	struct gg_region_sample live;
	uint64_t id, took_ns = 0;

	sample.stack = gg_capture_stack(block, sample.time_ns);
	if (flags == 0 && gg_real.malloc_usable_size != NULL)
		sample.usable_bytes = gg_real.malloc_usable_size(p);
	id = gg_region_record_alloc_at(region, &block->record, &sample, place);
	if (id != 0)
		gg_probe_alloc(&sample, id);
	if (gg_history_is_on() && gg_region_find_at(region, p, place, &live))
		gg_history_allocated(&live);
	if (gg_unlikely(gg_rate_plan_is_on()) && flags == 0 && id != 0)
		gg_process_settings_learn(gg_region_last_count(&block->record), bytes);
	if (gg_unlikely(gg_process_settings_is_startup()))
		gg_process_settings_count_startup(draw, bytes);
	if (++block->sample_count % TIMED_EVERY == 0) {
		took_ns = gg_clock_monotonic_ns() - sample.time_ns;
		gg_region_count(region, GG_COUNT_SAMPLE_PATH_NS, took_ns * TIMED_EVERY);
	}
	if (gg_unlikely(gg_overhead_budget_is_on()))
		gg_overhead_budget_sampled(id != 0 ? gg_region_last_count(&block->record) : 0,
		                           bytes, took_ns, sample.time_ns);
	if (gg_unlikely(t->busy_count != 0)) {
		gg_region_count(region, GG_COUNT_DROP_BUSY, t->busy_count);
		t->busy_count = 0;
	}
	return sample.time_ns;
}

/*
 * Records a sample, after the real call and only if that returned a block.  Between decide() and
 * here the thread was off the sample path, so that handlers which allocate meanwhile are sampled as
 * well.
 */
static GG_APART void record_at(void *p, size_t bytes, const struct gg_draw *draw, uint8_t flags,
                               struct gg_region_place *place)
{
	struct gg_thread *t = &gg_thread;
	struct gg_thread_block *block;
	int saved_errno = errno;
	uint64_t now_ns;

	if (gg_unlikely(gg_exact_mode_is_on())) {
		gg_exact_hooks_record(p, bytes);
		return;
	}
	if (p == NULL || !gg_thread_enter(t))
		return;
	/* A handler may have forked meanwhile, and this may be its child. */
	if (gg_process_ensure_current()) {
		block = gg_thread_block(t);
		if (gg_likely(block != NULL)) {
			now_ns = put_sample(t, block, p, bytes, draw, flags, place);
			if (gg_unlikely(gg_allocator_look_is_due(now_ns)) && flags == 0)
				gg_allocator_look_continue(t, block);
		} else {
			gg_region_count(&gg_process.region, GG_COUNT_DROP_MEMORY, 1);
		}
		gg_thread_put_block(t, block);
		if (gg_dump_trigger_is_on())
			gg_dump_trigger_sampled(draw, bytes, gg_clock_monotonic_ns());
	}
	leave(t);
	errno = saved_errno;
}

static void record(void *p, size_t bytes, const struct gg_draw *draw, uint8_t flags)
{
	record_at(p, bytes, draw, flags, NULL);
}

/*
 * True if the process counts every allocation.  With no bytes left in the sampler, the next
 * allocation of the thread is due again.
 */
static inline bool is_counted(void)
{
	if (gg_likely(!gg_exact_mode_is_on()))
		return false;
	gg_store_relaxed(&gg_thread.sampler.left_bytes, 0);
	return true;
}

bool gg_sample_find(const void *p, struct gg_region_sample *ret_sample)
{
	struct gg_thread *t = &gg_thread;
	bool found;

	if (!gg_sample_is_possible(p) || !gg_thread_enter(t))
		return false;
	found = gg_process_ensure_current() && gg_region_find(&gg_process.region, p, ret_sample);
	gg_thread_leave(t);
	return found;
}

/* Adds the estimated bytes of the sample to those that the calling thread has freed. */
static void count_freed(const struct gg_region_sample *sample)
{
	struct gg_draw draw = gg_region_sample_draw(sample);

	gg_thread.byte_counts[1] += (uint64_t)(gg_weight_of(&draw, sample->size_bytes).bytes + 0.5);
}

/* One free in TIMED_EVERY is timed, by the number of its sample. */
static bool id_is_timed(uint64_t id)
{
	return id % TIMED_EVERY == 0;
}

/* Returns the time of the free.  0: another thread has freed it meanwhile. */
static uint64_t put_free(struct gg_thread_block *block, void *p,
                         const struct gg_region_live_hit *hit, uint64_t id,
                         struct gg_region_sample *ret_freed)
{
	struct gg_region *region = &gg_process.region;
	uint64_t now_ns = gg_clock_monotonic_ns();
	uint32_t stack = GG_STACK_EMPTY;
	bool remembers = gg_history_remembers_frees();

	if (gg_process.options.free_stacks || remembers)
		stack = gg_capture_stack(block, now_ns);
	if (!gg_region_record_close(region, &block->record, hit, id, now_ns, stack, ret_freed))
		return 0;
	gg_probe_free(p);
	if (gg_load_relaxed(&gg_compat_requests.counts_frees) != 0)
		count_freed(ret_freed);
	if (remembers)
		gg_history_freed(ret_freed, now_ns, stack, block->record.thread);
	if (gg_unlikely(gg_overhead_budget_is_on()))
		gg_overhead_budget_freed(
			id_is_timed(ret_freed->id) ? gg_clock_monotonic_ns() - now_ns : 0);
	if (gg_rate_plan_is_on() && !(ret_freed->flags & GG_REGION_SAMPLE_MAPPING))
		gg_rate_plan_freed(gg_region_last_count(&block->record), ret_freed->size_bytes);
	return now_ns;
}

static void check_triggers(const struct gg_region_sample *freed)
{
	struct gg_draw draw = gg_region_sample_draw(freed);

	gg_dump_trigger_freed(&draw, freed->size_bytes);
}

static bool look_up(void *p, const struct gg_region_place *place,
                    struct gg_region_live_hit *ret_hit)
{
	return place != NULL ? gg_region_look_up_at(&gg_process.region, p, place, ret_hit)
	                     : gg_region_look_up(&gg_process.region, p, ret_hit);
}

/* place: NULL, or where the sample of that id is. */
static inline void close_one(void *p, uint64_t id, struct gg_region_place *place)
{
	struct gg_thread *t = &gg_thread;
	struct gg_thread_block *block;
	struct gg_region_live_hit hit;
	struct gg_region_sample freed;
	uint64_t freed_ns = 0;
	int saved_errno = errno;

	if (gg_unlikely(gg_exact_mode_is_on())) {
		gg_exact_hooks_close(p);
		return;
	}
	if (!gg_thread_enter(t))
		return;
	if (gg_likely(gg_process_ensure_current()))
		gg_attach_upkeep();
	/* The filter has false positives (filter.h); they cost this look-up. */
	if (gg_likely(gg_process_is_current()) && look_up(p, place, &hit)) {
		block = gg_thread_block(t);
		if (gg_likely(block != NULL))
			freed_ns = put_free(block, p, &hit, id, &freed);
		else
			gg_region_count(&gg_process.region, GG_COUNT_DROP_MEMORY, 1);
		if (place != NULL && freed_ns != 0)
			place->id = 0;
		/* While a program frees memory, it may take no samples for long. */
		if (freed_ns != 0 && gg_unlikely(gg_allocator_look_is_due(freed_ns)) &&
		    (freed.flags & GG_REGION_SAMPLE_MAPPING) == 0)
			gg_allocator_look_continue(t, block);
		gg_thread_put_block(t, block);
		if (freed_ns != 0 && gg_dump_trigger_is_on())
			check_triggers(&freed);
	}
	leave(t);
	errno = saved_errno;
}

void gg_sample_close(void *p, uint64_t id)
{
	close_one(p, id, NULL);
}

void gg_sample_close_at(void *p, struct gg_region_place *place)
{
	close_one(p, place->id, place);
}

void gg_sample_drawn(void *p, size_t bytes, const struct gg_draw *draw,
                     struct gg_region_place *place)
{
	if (is_sampled(&gg_thread))
		record_at(p, bytes, draw, 0, place);
}

/* True if the allocator's own operator calls: the hook of the operator counts that block. */
static inline bool serves_operator(const void *caller)
{
	return gg_unlikely(gg_extra_functions_has_code(caller));
}

void *gg_sample_malloc(size_t bytes)
{
	struct gg_draw draw;
	bool sampled;
	void *p;

	if (is_counted())
		return serves_operator(CALLER) ? gg_real.malloc(bytes)
		                               : gg_exact_hooks_malloc(bytes);
	sampled = decide(&gg_thread, bytes, CALLER, &draw);
	p = gg_real.malloc(bytes);
	KEEP_FRAME_POINTER();
	if (sampled)
		record(p, bytes, &draw, 0);
	return p;
}

void *gg_sample_calloc(size_t count, size_t bytes)
{
	struct gg_draw draw;
	bool sampled;
	void *p;

	if (is_counted())
		return serves_operator(CALLER) ? gg_real.calloc(count, bytes)
		                               : gg_exact_hooks_calloc(count, bytes);
	sampled = decide(&gg_thread, count * bytes, CALLER, &draw);
	p = gg_real.calloc(count, bytes);
	KEEP_FRAME_POINTER();
	if (sampled)
		record(p, count * bytes, &draw, 0);
	return p;
}

/* Flags of a sample whose block this function makes. */
static uint8_t flags_of(const void *function)
{
	return gg_unlikely(gg_real_is_foreign(function)) ? GG_REGION_SAMPLE_FOREIGN : 0;
}

int gg_sample_posix_memalign(void **ret_p, size_t alignment, size_t bytes)
{
	struct gg_draw draw;
	bool sampled;
	int status;

	if (is_counted())
		return serves_operator(CALLER)
		               ? gg_real.posix_memalign(ret_p, alignment, bytes)
		               : gg_exact_hooks_posix_memalign(ret_p, alignment, bytes);
	sampled = decide(&gg_thread, bytes, CALLER, &draw);
	status = gg_real.posix_memalign(ret_p, alignment, bytes);
	KEEP_FRAME_POINTER();
	if (sampled && status == 0)
		record(*ret_p, bytes, &draw, flags_of((void *)gg_real.posix_memalign));
	return status;
}

void *gg_sample_aligned(void *(*real)(size_t, size_t), size_t alignment, size_t bytes)
{
	struct gg_draw draw;
	bool sampled;
	void *p;

	if (is_counted())
		return serves_operator(CALLER) ? real(alignment, bytes)
		                               : gg_exact_hooks_aligned(real, alignment, bytes);
	sampled = decide(&gg_thread, bytes, CALLER, &draw);
	p = real(alignment, bytes);
	KEEP_FRAME_POINTER();
	if (sampled)
		record(p, bytes, &draw, flags_of((void *)real));
	return p;
}

void *gg_sample_whole_pages(void *(*real)(size_t), size_t bytes)
{
	struct gg_draw draw;
	bool sampled;
	void *p;

	if (is_counted())
		return serves_operator(CALLER) ? real(bytes)
		                               : gg_exact_hooks_whole_pages(real, bytes);
	sampled = decide(&gg_thread, bytes, CALLER, &draw);
	p = real(bytes);
	KEEP_FRAME_POINTER();
	if (sampled)
		record(p, bytes, &draw, flags_of((void *)real));
	return p;
}

/* The state that is needed after the real realloc(), collected before it. */
struct change {
	struct gg_draw draw; /* for the new size */
	bool sampled;        /* true: `draw` is a sample of the new size */
	uint64_t old_id;     /* id of the sample at the old address; 0: the block is no sample */
	int errno_before;
};

static struct change begin_change(void *p, size_t bytes, bool due, const void *caller)
{
	struct change change = { .errno_before = errno };
	struct gg_region_sample old;

	change.sampled = due && decide(&gg_thread, bytes, caller, &change.draw);
	if (gg_sample_find(p, &old))
		change.old_id = old.id;
	/* For size 0, NULL means a failure or a free; errno tells which, so it must be 0 before. */
	if (bytes == 0)
		errno = 0;
	return change;
}

static void end_change(const struct change *change, void *p, size_t bytes, void *moved)
{
	bool is_freed = moved == NULL && p != NULL && bytes == 0 && errno != ENOMEM;

	if (bytes == 0 && errno == 0)
		errno = change->errno_before;
	if (change->old_id != 0 && (moved != NULL || is_freed))
		gg_sample_close(p, change->old_id);
	if (change->sampled)
		record(moved, bytes, &change->draw, 0);
}

void *gg_sample_realloc(void *p, size_t bytes, bool due)
{
	struct change change;
	void *moved;

	if (is_counted())
		return gg_exact_hooks_realloc(p, bytes);
	change = begin_change(p, bytes, due, CALLER);
	KEEP_FRAME_POINTER();
	moved = gg_real.realloc(p, bytes);
	end_change(&change, p, bytes, moved);
	return moved;
}

void gg_sample_free(void *p)
{
	gg_sample_close(p, 0);
	gg_real.free(p);
}

void gg_sample_free_sized(void *p, size_t bytes)
{
	gg_sample_close(p, 0);
	gg_real.free_sized(p, bytes);
}

void gg_sample_free_aligned_sized(void *p, size_t alignment, size_t bytes)
{
	gg_sample_close(p, 0);
	gg_real.free_aligned_sized(p, alignment, bytes);
}

void *gg_sample_allocate(gg_extra_functions_allocate *real, size_t bytes, uintptr_t second,
                         uintptr_t third)
{
	struct gg_draw draw;
	bool sampled;
	void *p;

	if (is_counted())
		return gg_exact_hooks_allocate(real, bytes, second, third);
	sampled = decide(&gg_thread, bytes, CALLER, &draw);
	p = real(bytes, second, third); /* may throw */
	if (sampled)
		record(p, bytes, &draw, 0);
	return p;
}

void gg_sample_release(gg_extra_functions_free *real, void *p, uintptr_t second, uintptr_t third)
{
	gg_sample_close(p, 0);
	real(p, second, third);
}

void *gg_sample_rallocx(void *p, size_t bytes, int flags, bool due)
{
	struct change change;
	void *moved;

	if (is_counted())
		return gg_exact_hooks_rallocx(p, bytes, flags);
	change = begin_change(p, bytes, due, CALLER);
	moved = gg_extra_functions.rallocx(p, bytes, flags);
	end_change(&change, p, bytes, moved);
	return moved;
}

void gg_sample_resized(void *p, size_t bytes, bool due)
{
	struct gg_draw draw;
	bool sampled;

	if (is_counted()) {
		gg_exact_hooks_resized(p, bytes);
		return;
	}
	sampled = due && decide(&gg_thread, bytes, CALLER, &draw);
	gg_sample_close(p, 0);
	if (sampled)
		record(p, bytes, &draw, 0);
}

void gg_sample_mapping(void *p, size_t bytes)
{
	static const struct gg_draw certain = { .sampling_interval = 1, .sample_point_count = 1 };

	record(p, bytes, &certain, GG_REGION_SAMPLE_MAPPING);
}
