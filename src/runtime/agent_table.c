/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_table - the table of functions that libgeiger and libgeiger-compat call
 * (abi/agent_functions.h).
 *
 * Samples of heaps inside the program go the way of malloc's samples: thread, region, modules.
 * Only their stacks come from libgeiger, which knows the frames of the language runtime.
 *
 * Every function enters the sample path first, so that handlers on this thread keep away.
 */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "abi/agent_functions.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/percent.h"
#include "region/control.h"
#include "region/writer/prefetch.h"
#include "region/writer/private_live_table.h"
#include "region/writer/record.h"
#include "region/writer/stack_table.h"
#include "runtime/compat_calls.h"
#include "runtime/dump/dump.h"
#include "runtime/dump/dump_trigger.h"
#include "runtime/exact_mode.h"
#include "runtime/exposure.h"
#include "runtime/history.h"
#include "runtime/modules/mapped_modules.h"
#include "runtime/modules/module_table.h"
#include "runtime/overhead_budget.h"
#include "runtime/platform/real_functions.h"
#include "runtime/platform/seccomp.h"
#include "runtime/process.h"
#include "runtime/process_settings.h"
#include "runtime/runtime_frames.h"
#include "runtime/snapshot.h"
#include "runtime/start.h"
#include "runtime/thread.h"
#include "stats/sampling/overhead_control.h"

/* True if the process records.  Unlike gg_start_ensure(), it starts nothing. */
static bool is_running(void)
{
	/* Acquire: what was set up before is seen. */
	return gg_load_acquire(&gg_process.state) == GG_PROCESS_RUNNING;
}

/* Enters the sample path and gets the thread's block.  NULL: it did not enter. */
static struct gg_thread_block *enter(struct gg_thread *t)
{
	struct gg_thread_block *block = NULL;

	/* Samples have no place in a region with exact counts. */
	if (!is_running() || gg_exact_mode_is_on() || !gg_thread_enter(t))
		return NULL;
	if (gg_process_ensure_current())
		block = gg_thread_block(t);
	if (block == NULL)
		gg_thread_leave(t);
	return block;
}

static void leave(struct gg_thread *t, struct gg_thread_block *block)
{
	gg_thread_put_block(t, block);
	gg_thread_leave(t);
	gg_dump_trigger_check_pending();
}

/* Puts the thread on the sample path, to change the control word.  NULL: nothing is recorded. */
static struct gg_region_control *begin_change(struct gg_thread *t)
{
	if (!is_running() || !gg_thread_enter(t))
		return NULL;
	if (gg_process_ensure_current())
		return &gg_process.region.header->control;
	gg_thread_leave(t);
	return NULL;
}

static int change(const struct gg_agent_request *request)
{
	struct gg_thread *t = &gg_thread;
	struct gg_region_control *control;

	if (request->interval_bytes > GG_REGION_INTERVAL_MAX)
		return -EINVAL;
	control = begin_change(t);
	if (control == NULL)
		return -ENOENT;
	if (request->interval_bytes != 0) {
		/* A fixed interval ends the control of both. */
		gg_store_relaxed(&control->overhead_ppm, 0);
		gg_store_relaxed(&control->error_ppm, 0);
		gg_store_relaxed(&control->interval_bytes, request->interval_bytes);
	}
	if (request->set_active)
		gg_store_relaxed(&control->active, request->active);
	/*
	 * Release: pairs with the acquire in gg_region_control(), so that a thread which sees the
	 * count sees the request.
	 */
	gg_add_release(&control->change_count, 1);
	gg_process_settings_refresh();
	gg_thread_leave(t);
	return 0;
}

static bool is_in_range(const uint32_t *ppm, uint32_t least)
{
	return ppm == NULL || *ppm == 0 || (*ppm >= least && *ppm <= GG_PPM);
}

static int hold(const uint32_t *overhead_ppm, const uint32_t *error_ppm)
{
	struct gg_thread *t = &gg_thread;
	struct gg_region_control *control;

	if (!is_in_range(overhead_ppm, GG_REGION_OVERHEAD_LEAST_PPM) ||
	    !is_in_range(error_ppm, GG_REGION_ERROR_LEAST_PPM))
		return -EINVAL;
	control = begin_change(t);
	if (control == NULL)
		return -ENOENT;
	if (!gg_overhead_control_serves(gg_process.options.sampler.scheme)) {
		gg_thread_leave(t);
		return -EINVAL;
	}
	if (overhead_ppm != NULL)
		gg_store_relaxed(&control->overhead_ppm, *overhead_ppm);
	if (error_ppm != NULL)
		gg_store_relaxed(&control->error_ppm, *error_ppm);
	/* Release: as in change(). */
	gg_add_release(&control->change_count, 1);
	gg_process_settings_refresh();
	gg_thread_leave(t);
	return 0;
}

static int start(const struct gg_agent_request *request)
{
	struct gg_thread *t = &gg_thread;
	int status = 0;

	if (request->interval_bytes > GG_REGION_INTERVAL_MAX)
		return -EINVAL;
	if (!is_running()) {
		if (!gg_thread_enter(t))
			return -EBUSY;
		status = gg_start_for_program(request);
		gg_thread_leave(t);
	}
	return status < 0 ? status : change(request);
}

static void read_settings(struct gg_agent_settings *ret_settings)
{
	*ret_settings = (struct gg_agent_settings){ 0 };
	/* After a request to detach the process records nothing more, also before the detach. */
	if (!is_running() ||
	    (gg_process.attach.attached_ns != 0 && gg_region_control(&gg_process.region).detach))
		return;
	gg_process_settings_refresh();
	/*
	 * Acquire: pairs with the release in process_settings.c; the other settings are visible
	 * then.
	 */
	ret_settings->change_count = gg_load_acquire(&gg_process.change_count);
	ret_settings->generation = gg_load_relaxed(&gg_process.generation);
	ret_settings->is_active = gg_load_relaxed(&gg_process.is_active) != 0;
	ret_settings->interval_bytes = gg_load_relaxed(&gg_process.interval_bytes);
	ret_settings->seed = gg_process.options.sampler.seed;
	ret_settings->scheme = gg_process.options.sampler.scheme;
}

static void thread_interval(uint64_t interval_bytes)
{
	struct gg_thread *t = &gg_thread;

	if (!gg_thread_enter(t))
		return;
	t->interval_bytes = interval_bytes;
	if (is_running() && gg_process_ensure_current())
		gg_process_settings_update(t);
	gg_thread_leave(t);
}

static void expose(uint64_t interval_bytes)
{
	struct gg_thread *t = &gg_thread;
	struct gg_thread_block *block = enter(t);

	if (block == NULL)
		return;
	gg_exposure_note(interval_bytes);
	leave(t, block);
}

static uint32_t name(enum gg_region_table_id table, const char *text, size_t bytes)
{
	struct gg_thread *t = &gg_thread;
	struct gg_thread_block *block = enter(t);
	uint32_t id;

	if (block == NULL)
		return 0;
	id = gg_region_add_name(&gg_process.region, table, text, bytes);
	leave(t, block);
	return id;
}

static uint64_t record_timed(const struct gg_agent_sample *sample, uint64_t begin_ns,
                             bool has_hooks)
{
	struct gg_thread *t = &gg_thread;
	struct gg_region *region = &gg_process.region;
	int saved_errno = errno;
	struct gg_thread_block *block = enter(t);
	struct gg_allocation allocation = {
		.address = sample->key,
		.time_ns = gg_clock_monotonic_ns(),
		.size_bytes = sample->size_bytes,
		.usable_bytes = sample->size_bytes,
		.draw = sample->draw,
		.heap = sample->heap,
		.type = sample->type,
		.flags = sample->flags,
	};
	uint64_t id;

	if (block == NULL)
		return 0;
	/* Before the sample, so that a reader of its sums knows. */
	if (gg_unlikely(sample->draw.scheme == GG_SCHEME_BIASED))
		gg_region_count(region, GG_COUNT_BIASED, 1);
	gg_mapped_modules_refresh();
	allocation.stack = gg_region_intern(region, &block->record, sample->pcs, sample->pc_count);
	/*
	 * The unwinder of malloc's samples remembers another stack than the one interned here, so
	 * its tag must not match any more.
	 */
	block->stack_tag += 1;
	gg_module_table_register(allocation.stack, sample->pcs, sample->pc_count,
	                         allocation.time_ns);
	id = gg_region_record_alloc(region, &block->record, &allocation);
	if (gg_dump_trigger_is_on())
		gg_dump_trigger_sampled(&sample->draw, sample->size_bytes, allocation.time_ns);
	if (gg_unlikely(gg_overhead_budget_is_on()))
		gg_overhead_budget_object_sampled(
			id != 0 ? gg_region_last_count(&block->record) : 0, sample->size_bytes,
			gg_clock_monotonic_ns() - (begin_ns != 0 ? begin_ns : allocation.time_ns),
			allocation.time_ns, has_hooks);
	leave(t, block);
	errno = saved_errno;
	return id;
}

static uint64_t record(const struct gg_agent_sample *sample)
{
	return record_timed(sample, 0, true);
}

static void prefetch_record(uint64_t key)
{
	struct gg_thread *t = &gg_thread;
	struct gg_thread_block *block = enter(t);

	if (block == NULL)
		return;
	gg_region_prefetch_alloc(&gg_process.region, &block->record, key);
	leave(t, block);
}

static void prefetch_objects(const uint64_t *keys, uint32_t count)
{
	struct gg_thread *t = &gg_thread;
	struct gg_thread_block *block = enter(t);

	if (block == NULL)
		return;
	gg_region_prefetch_free(&gg_process.region, keys, count);
	leave(t, block);
}

/* Runs on the sample path, which is empty while the region of a child is made. */
static uint64_t find(uint64_t key)
{
	struct gg_thread *t = &gg_thread;
	struct gg_thread_block *block = enter(t);
	struct gg_region_sample sample;
	uint64_t id = 0;

	if (block == NULL)
		return 0;
	if (gg_region_find(&gg_process.region, (const void *)(uintptr_t)key, &sample))
		id = sample.id;
	leave(t, block);
	return id;
}

static bool close_object(uint64_t key, uint64_t id)
{
	struct gg_thread *t = &gg_thread;
	int saved_errno = errno;
	struct gg_thread_block *block = enter(t);
	bool closed;

	if (block == NULL)
		return false;
	closed = gg_region_record_free(&gg_process.region, &block->record,
	                               (const void *)(uintptr_t)key, id, gg_clock_monotonic_ns(),
	                               GG_STACK_EMPTY);
	if (closed && gg_unlikely(gg_overhead_budget_is_on()))
		gg_overhead_budget_freed(0);
	leave(t, block);
	errno = saved_errno;
	return closed;
}

static uint64_t frame(const struct gg_frame_info *info)
{
	struct gg_thread *t = &gg_thread;
	struct gg_thread_block *block = enter(t);
	uint64_t pc;

	if (block == NULL)
		return 0;
	pc = gg_runtime_frames_intern(block, info);
	leave(t, block);
	return pc;
}

static bool move_object(uint64_t from, uint64_t to, uint64_t id)
{
	struct gg_thread *t = &gg_thread;
	struct gg_thread_block *block = enter(t);
	bool moved;

	if (block == NULL)
		return false;
	moved = gg_region_record_move(&gg_process.region, &block->record,
	                              (const void *)(uintptr_t)from, (const void *)(uintptr_t)to,
	                              id, gg_clock_monotonic_ns());
	leave(t, block);
	return moved;
}

static bool promote(uint64_t key, uint64_t id)
{
	struct gg_thread *t = &gg_thread;
	struct gg_thread_block *block = enter(t);
	bool promoted;

	if (block == NULL)
		return false;
	promoted = gg_region_record_promote(&gg_process.region, &block->record,
	                                    (const void *)(uintptr_t)key, id);
	leave(t, block);
	return promoted;
}

static bool set_type(uint64_t key, uint64_t id, uint16_t type)
{
	struct gg_thread *t = &gg_thread;
	struct gg_thread_block *block = enter(t);
	bool is_set;

	if (block == NULL)
		return false;
	is_set = gg_region_record_type(&gg_process.region, &block->record,
	                               (const void *)(uintptr_t)key, id, type);
	leave(t, block);
	return is_set;
}

static void each(uint32_t heap, gg_agent_visit *visit, void *context)
{
	struct gg_thread *t = &gg_thread;
	struct gg_thread_block *block = enter(t);
	const struct gg_region *region = &gg_process.region;
	struct gg_region_sample sample;
	uint32_t count;

	if (block == NULL)
		return;
	count = gg_load_acquire(&region->tables[GG_TABLE_LIVE].used_count);
	for (uint32_t i = 0; i < count; i++)
		if (gg_region_live_copy(region, i, &sample) && sample.heap == heap)
			visit(sample.address, sample.id, (sample.flags & GG_REGION_SAMPLE_OLD) != 0,
			      context);
	leave(t, block);
}

static int snapshot(const char *path)
{
	struct gg_thread *t = &gg_thread;
	int status;

	if (!is_running() || !gg_thread_enter(t))
		return -ENOENT;
	status = gg_process_ensure_current() ? gg_snapshot_write(&gg_process.region, path)
	                                     : -ENOENT;
	gg_thread_leave(t);
	return status;
}

/* Enters the sample path without a block, to read the region only. */
static bool enter_reader(struct gg_thread *t)
{
	if (!is_running() || !gg_thread_enter(t))
		return false;
	if (gg_process_ensure_current())
		return true;
	gg_thread_leave(t);
	return false;
}

static void leave_reader(struct gg_thread *t, int saved_errno)
{
	gg_thread_leave(t);
	gg_dump_trigger_check_pending();
	errno = saved_errno;
}

static int dump(const char *path, enum gg_agent_dump_form form)
{
	struct gg_thread *t = &gg_thread;
	int saved_errno = errno, status;

	if (!enter_reader(t))
		return -ENOENT;
	status = gg_agent_dump(path, form);
	leave_reader(t, saved_errno);
	return status;
}

static int dump_to(enum gg_agent_dump_form form, gg_dump_flush *flush, void *context)
{
	struct gg_thread *t = &gg_thread;
	int saved_errno = errno, status;

	if (!enter_reader(t))
		return -ENOENT;
	status = gg_agent_dump_to(form, flush, context);
	leave_reader(t, saved_errno);
	return status;
}

static int dump_reset(void)
{
	struct gg_thread *t = &gg_thread;
	int saved_errno = errno, status;

	if (!enter_reader(t))
		return -ENOENT;
	status = gg_agent_dump_reset();
	leave_reader(t, saved_errno);
	return status;
}

static int dump_next(char kind)
{
	struct gg_thread *t = &gg_thread;
	int saved_errno = errno, status;

	if (kind == '\0' || strchr("iumf", kind) == NULL)
		return -EINVAL;
	if (!enter_reader(t))
		return -ENOENT;
	status = gg_dump_trigger_dump(kind);
	leave_reader(t, saved_errno);
	return status;
}

/*
 * On the sample path, because a handler on this thread would wait for the settings that it
 * interrupted.  Also before the start.
 */
static int set_triggers(const struct gg_agent_triggers *triggers)
{
	struct gg_thread *t = &gg_thread;
	int saved_errno = errno, status;

	if (!gg_thread_enter(t))
		return -EBUSY;
	status = gg_dump_trigger_set(triggers);
	leave_reader(t, saved_errno);
	return status;
}

static int get_triggers(struct gg_agent_triggers *ret_triggers)
{
	struct gg_thread *t = &gg_thread;
	int saved_errno = errno, status;

	if (!gg_thread_enter(t))
		return -EBUSY;
	status = gg_dump_trigger_get(ret_triggers);
	leave_reader(t, saved_errno);
	return status;
}

/*
 * With exact counts, heaps of libgeiger have no samples, so nothing may hide the blocks that they
 * take from malloc.  An allocator of the library's own does not count the sampler's bytes down, so
 * it has a number of its own there.
 */
static int64_t *malloc_left_bytes(void)
{
	static _Thread_local int64_t hides_nothing __attribute__((tls_model("initial-exec")));

	if (gg_exact_mode_is_on())
		return &hides_nothing;
	return gg_real.is_own ? &gg_thread.upstream_left_bytes : &gg_thread.sampler.left_bytes;
}

static bool is_sandboxed(void)
{
	return gg_seccomp_is_entered();
}

/* Another thread may be about to store a collection that began earlier: the latest one wins. */
static void collected(uint64_t begin_ns)
{
	struct gg_thread *t = &gg_thread;
	struct gg_thread_block *block = enter(t);
	uint64_t *word, before;

	if (block == NULL)
		return;
	word = &gg_process.region.header->counters[GG_COUNT_FULL_COLLECTION_NS];
	before = gg_load_relaxed(word);
	while (begin_ns > before && !gg_cas_acq_rel(word, &before, begin_ns))
		;
	leave(t, block);
}

static void set_java_state(enum gg_region_java state)
{
	struct gg_thread *t = &gg_thread;
	struct gg_thread_block *block = enter(t);

	if (block == NULL)
		return;
	gg_store_relaxed(&gg_process.region.header->counters[GG_COUNT_JAVA_STATE], state);
	leave(t, block);
}

/* Relaxed: only the number matters. */
static void raise_count(uint64_t *counter, uint64_t to)
{
	uint64_t before = gg_load_relaxed(counter);

	while (before < to && !gg_cas_acq_rel(counter, &before, to))
		;
}

/*
 * Without an attach nothing is promised of a time when threads ran already.  Each attach has a
 * region of its own, so no count is ever taken back.
 */
static bool count_java_threads(uint32_t thread_count, uint32_t sampled_count, uint32_t ended_count)
{
	struct gg_thread *t = &gg_thread;
	struct gg_thread_block *block = enter(t);
	uint64_t *counters;

	if (block == NULL)
		return false;
	counters = gg_process.region.header->counters;
	if (gg_process.attach.attached_ns != 0) {
		raise_count(&counters[GG_COUNT_JAVA_THREADS], thread_count);
		raise_count(&counters[GG_COUNT_JAVA_THREADS_SAMPLED], sampled_count);
		raise_count(&counters[GG_COUNT_JAVA_THREADS_ENDED], ended_count);
	}
	leave(t, block);
	return true;
}

static uint32_t max_frames(void)
{
	return gg_process.options.region.max_frames;
}

const struct gg_agent_functions gg_agent_functions = {
	.version = GG_AGENT_FUNCTIONS_VERSION,
	.bytes = sizeof(gg_agent_functions),
	.filter_view = &gg_process.region.filter.view,
	.start = start,
	.change = change,
	.read_settings = read_settings,
	.thread_interval = thread_interval,
	.name = name,
	.record = record,
	.find = find,
	.close = close_object,
	.frame = frame,
	.move = move_object,
	.promote = promote,
	.each = each,
	.snapshot = snapshot,
	.log = gg_compat_calls_log,
	.thread_active = gg_compat_calls_thread_active,
	.thread_active_init = gg_compat_calls_thread_active_init,
	.thread_name = gg_compat_calls_thread_name,
	.thread_bytes = gg_compat_calls_thread_bytes,
	.apply_settings = gg_compat_calls_apply_settings,
	.history = &gg_history_calls,
	.dump = dump,
	.dump_to = dump_to,
	.dump_reset = dump_reset,
	.dump_next = dump_next,
	.set_triggers = set_triggers,
	.get_triggers = get_triggers,
	.prefetch_record = prefetch_record,
	.prefetch_objects = prefetch_objects,
	.malloc_left_bytes = malloc_left_bytes,
	.set_type = set_type,
	.set_frame_source = gg_runtime_frames_set_source,
	.exact = &gg_exact_calls,
	.hold = hold,
	.record_timed = record_timed,
	.is_sandboxed = is_sandboxed,
	.collected = collected,
	.set_java_state = set_java_state,
	.expose = expose,
	.count_java_threads = count_java_threads,
	.max_frames = max_frames,
};
