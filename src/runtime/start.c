/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start - the changes of gg_process.state, and everything that a start and an adoption consist of.
 *
 * One thread at a time is here: it has exchanged UNSTARTED (or WAITING) for STARTING, or in a child
 * the page's value for ADOPTING.
 */
#include "runtime/start.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/hash.h"
#include "region/writer/adopt.h"
#include "runtime/address_limits.h"
#include "runtime/agent_log.h"
#include "runtime/compat_requests.h"
#include "runtime/dump/dump_options.h"
#include "runtime/dump/dump_trigger.h"
#include "runtime/exact_mode.h"
#include "runtime/exposure.h"
#include "runtime/fork_handlers.h"
#include "runtime/looks/allocator_look.h"
#include "runtime/modules/mapped_modules.h"
#include "runtime/modules/module_table.h"
#include "runtime/overhead_budget.h"
#include "runtime/platform/allocator_functions.h"
#include "runtime/platform/extra_functions.h"
#include "runtime/platform/real_functions.h"
#include "runtime/platform/sanitizer.h"
#include "runtime/platform/seccomp.h"
#include "runtime/process_end.h"
#include "runtime/process_region.h"
#include "runtime/process_settings.h"
#include "runtime/rate_plan.h"
#include "runtime/recorded_session.h"
#include "runtime/signals/sigbus_guard.h"
#include "runtime/syscalls.h"
#include "runtime/thread.h"
#include "unwind/unwind.h"

static struct gg_agent_begin compat_begin;

/* --- settings: the environment, then libgeiger-compat's, then the program's --- */

static void apply_compat(const struct gg_agent_begin *begin)
{
	struct gg_environment *options = &gg_process.options;

	if (begin->interval_bytes != 0) {
		options->sampler.sampling_interval = (double)begin->interval_bytes;
		options->region.interval_bytes = begin->interval_bytes;
	}
	if (begin->max_frames != 0)
		options->region.max_frames = begin->max_frames;
	if (begin->set_active)
		options->region.active = begin->active;
	if (begin->triggers != NULL)
		gg_dump_trigger_set(begin->triggers);
}

static void apply_request(const struct gg_agent_request *request)
{
	struct gg_environment *options = &gg_process.options;

	if (request->interval_bytes != 0) {
		options->sampler.sampling_interval = (double)request->interval_bytes;
		options->region.interval_bytes = request->interval_bytes;
	}
	if (request->seed != 0)
		options->sampler.seed = request->seed;
	if (request->directory != NULL)
		memcpy(options->directory, request->directory, strlen(request->directory) + 1);
	if (request->set_active)
		options->region.active = request->active;
}

static bool is_attached(void)
{
	return gg_process.attach.attached_ns != 0;
}

static void read_settings(const struct gg_agent_request *request)
{
	struct gg_sampler_options *sampler = &gg_process.options.sampler;

	gg_environment_read(&gg_process.options);
	apply_compat(&compat_begin);
	/* Last, because triggers of the environment replace those of libgeiger-compat.  An attached
	 * agent writes no dumps: they need handlers that a detach could not take away. */
	if (!is_attached() && !gg_process.options.exact)
		gg_dump_options_read(&gg_process.options);
	if (request != NULL)
		apply_request(request);
	/* Once here, and not in each thread: a thread's first sample makes as few system calls as
	 * possible. */
	if (sampler->seed == 0)
		sampler->seed = gg_hash_random_seed() | 1;
}

/* --- start --- */

/* Prepares the log and the real allocator, which later steps need before the settings are known. */
static void begin_early(void)
{
	gg_real_find();
	gg_agent_log_init();
	gg_agent_log_to(gg_environment_get("GEIGER_LOG"));
	gg_compat_requests_read(&compat_begin);
}

/* Once, also if a first start fails and the program tries again. */
static int begin_threads(void)
{
	if (gg_process.same_process != NULL)
		return 0;
	gg_thread_init();
	return gg_fork_handlers_init();
}

static void note_exposure(void)
{
	gg_exposure_note(gg_load_relaxed(&gg_process.interval_bytes));
	if (gg_process.options.startup_bytes != 0)
		gg_exposure_note(gg_process.options.startup_interval);
	if (gg_load_relaxed(&gg_process.is_active) == 0)
		gg_exposure_note_off();
	gg_exposure_publish();
}

/* `request` is the program's, which gets the reason of a failure; NULL: the log gets it. */
static int start(const struct gg_agent_request *request)
{
	int status;

	gg_assert(gg_load_relaxed(&gg_process.state) == GG_PROCESS_STARTING);
	gg_assert(gg_load_relaxed(&gg_thread.inside) != 0);
	read_settings(request);
	gg_process.pid = (uint32_t)getpid();
	gg_process_region_remember_temporary();
	gg_address_limits_fit(&gg_process.options.region);
	gg_process.interval_bytes = (uint64_t)gg_process.options.sampler.sampling_interval;
	gg_process.is_active = gg_process.options.region.active;
	gg_process.fork_ns = 0; /* this region inherits nothing */
	gg_process.held_fork_ns = gg_process.held_noted_ns = 0;
	gg_process.startup_used_bytes = 0;
	gg_process.next_stream = 0;
	/* Samplers and blocks of an earlier region differ from these two from now on. */
	gg_add_relaxed(&gg_process.change_count, 1);
	gg_add_relaxed(&gg_process.generation, 1);
	gg_process.adopt = gg_start_prepare;
	gg_exposure_begin();
	gg_overhead_budget_set(gg_process.options.overhead_ppm, gg_process.options.error_ppm,
	                       gg_process.options.planned_interval);
	if (gg_process.options.sampler.scheme == GG_SCHEME_OPTIMAL)
		gg_rate_plan_init(gg_process.options.focus);
	gg_unwind_init_early();
	gg_module_table_init(gg_process.options.modules_by_maps);
	status = begin_threads();
	if (status == 0)
		status = gg_process_region_open(gg_region_init);
	if (status == 0) {
		gg_overhead_budget_publish();
		note_exposure();
	}
	if (status == 0 && gg_process.options.exact)
		status = gg_exact_mode_begin();
	if (status == 0) {
		/* An attach has found the functions under the loader's lock. */
		if (!is_attached()) {
			if (!gg_real.is_own)
				gg_extra_functions_take();
			gg_allocator_functions_find();
		}
		gg_allocator_look_begin();
		gg_dump_trigger_begin();
	} else if (request == NULL) {
		gg_process_region_report("the region of shared memory", status);
		gg_process_region_count_missing(status, false);
	}
	return status;
}

int gg_start_for_program(const struct gg_agent_request *request)
{
	uint32_t state = GG_PROCESS_UNSTARTED;
	int saved_errno = errno, cancel, status;

	if (gg_sanitizer_runtime() != NULL)
		return -ENODEV;
	if (request->directory != NULL &&
	    strlen(request->directory) >= GG_ENVIRONMENT_DIRECTORY_MAX)
		return -ENAMETOOLONG;
	if (!gg_cas_acq_rel(&gg_process.state, &state, GG_PROCESS_STARTING) &&
	    (state != GG_PROCESS_WAITING ||
	     !gg_cas_acq_rel(&gg_process.state, &state, GG_PROCESS_STARTING)))
		return state == GG_PROCESS_RUNNING                               ? 0
		       : state == GG_PROCESS_OFF || state == GG_PROCESS_DETACHED ? -ENODEV
		                                                                 : -EBUSY;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	if (state == GG_PROCESS_UNSTARTED)
		begin_early();
	status = start(request);
	pthread_setcancelstate(cancel, NULL);
	errno = saved_errno;
	/*
	 * A failed start leaves nothing behind that a thread could have seen, so the state goes
	 * back and the program may try again.
	 */
	gg_store_release(&gg_process.state, status == 0 ? GG_PROCESS_RUNNING : state);
	return status;
}

/* --- attach and detach --- */

/*
 * Takes the region of a detached agent for the calling thread.  False: another thread has it, or a
 * thread is on the sample path and will retire the region when it leaves.
 *
 * A thread may come here late.  It left the sample path as the last one before the detach, and
 * others have entered it since: so the count decides, not the way here.
 */
static bool take_region(void)
{
	for (;;) {
		uint32_t detaching = GG_PROCESS_DETACHING;

		/* A new attach finds the process busy meanwhile. */
		if (!gg_cas_seq_cst(&gg_process.state, &detaching, GG_PROCESS_STARTING))
			return false;
		/* A thread that enters the sample path from now on leaves the region alone. */
		if (gg_load_seq_cst(&gg_process.inside_count) == 0)
			return true;
		gg_store_release(&gg_process.state, GG_PROCESS_DETACHING);
		/* Full: a thread that leaves after the next load sees the state. */
		gg_fence_full();
		if (gg_load_seq_cst(&gg_process.inside_count) != 0)
			return false;
	}
}

/* Ends the region of a detached agent. */
static void retire(void)
{
	if (!take_region())
		return;
	gg_add_relaxed(&gg_process.region.header->attach.flags, GG_REGION_DETACHED);
	gg_region_end(&gg_process.region, gg_clock_monotonic_ns());
	/* A filter may forbid the system calls of the rest.  The region then stays mapped. */
	if (gg_seccomp_is_entered()) {
		gg_store_release(&gg_process.state, GG_PROCESS_OFF);
		return;
	}
	gg_sigbus_guard_remove(gg_process.region.header);
	gg_sigbus_guard_end();
	gg_region_retire(&gg_process.region);
	gg_store_release(&gg_process.state, GG_PROCESS_DETACHED);
}

int gg_start_attached(const struct gg_agent_request *request, const struct gg_region_attach *attach)
{
	bool is_child = gg_process.same_process != NULL &&
	                gg_load_acquire(gg_process.same_process) != GG_PROCESS_SAME;
	int status;

	gg_assert(gg_load_relaxed(&gg_process.state) == GG_PROCESS_STARTING);
	gg_unwind_init();
	/* A child that was forked while its parent was detached begins anew. */
	if (is_child)
		gg_store_release(gg_process.same_process, GG_PROCESS_SAME);
	gg_thread_forget_blocks(is_child);
	gg_module_table_forget();
	gg_process.attach = *attach;
	gg_process.retire = retire;
	gg_agent_log_to(gg_environment_get("GEIGER_LOG"));
	status = start(request);
	if (status == 0)
		gg_mapped_modules_refresh();
	return status;
}

/*
 * Cuts a forked child off its parent's region, because the parent may be recording into that file.
 * If that is impossible, the state becomes OFF, so that nothing is written there.
 */
static void leave_parents_region(void)
{
	const struct gg_region_file *map = &gg_process.region.map;

	gg_process.pid = (uint32_t)getpid();
	if (gg_seccomp_is_entered() || !gg_syscall_map_over(map->base, map->bytes))
		gg_store_release(&gg_process.state, GG_PROCESS_OFF);
}

/*
 * True in a forked child of an attached process that got no region: it is off, and has its parent's
 * region mapped, which it does not use.
 */
static bool is_lost_child(void)
{
	return gg_load_acquire(&gg_process.state) == GG_PROCESS_OFF && is_attached() &&
	       gg_process.region.header != NULL &&
	       gg_process.region.header->pid != (uint32_t)getpid() && !gg_seccomp_is_entered();
}

bool gg_start_detach(void)
{
	uint32_t running = GG_PROCESS_RUNNING, same = gg_load_acquire(gg_process.same_process);
	bool is_new_child = gg_process_is_new_child(same), is_lost = is_lost_child();

	if (is_lost)
		running = GG_PROCESS_OFF;

	/* No thread of a new child adopts the region from now on. */
	if (is_new_child && !gg_cas_acq_rel(gg_process.same_process, &same, GG_PROCESS_ADOPTING))
		return false;
	if (!gg_cas_seq_cst(&gg_process.state, &running, GG_PROCESS_DETACHING)) {
		if (is_new_child)
			gg_store_release(gg_process.same_process, same);
		return false;
	}
	/* Hooks are plain jumps from now on, and threads that are inside leave soon. */
	GG_REGION_INIT_VIEW(&gg_process.region);
	if (is_new_child && same == GG_PROCESS_WIPED)
		gg_thread_count_forked();
	if (is_new_child || is_lost) {
		leave_parents_region();
		gg_store_release(gg_process.same_process, GG_PROCESS_SAME);
	}
	return true;
}

/* --- adopt --- */

static void count_lost_child(struct gg_region_header *parents, int status)
{
	/*
	 * A parent may fork thousands of such children.  Its region counts all of them, and only
	 * the first one writes to the log.
	 */
	gg_process_region_count_missing(status, true);
	if (gg_add_relaxed(&parents->counters[GG_COUNT_LOST_CHILDREN], 1) == 0)
		gg_process_region_report("the region of a forked process", status);
}

/*
 * Makes the child's own region.  Frees and samples of other threads do not wait for it: they pass.
 *
 * is_seeded: gg_fork_handlers_in_child() has run.  If not, a bare clone() made the child.  Its
 * first sample point is its parent's, and the generation of its sampler must differ from the
 * generation of this process, so that the next update reseeds it: hence two steps.
 */
static bool adopt(bool is_seeded)
{
	struct gg_region_header *parents = gg_process.region.header;
	int status;

	gg_assert(parents != NULL && gg_process.adopt != NULL);
	if (gg_seccomp_is_entered()) {
		gg_add_relaxed(&parents->counters[GG_COUNT_LOST_CHILDREN], 1);
		return false;
	}
	gg_process.pid = (uint32_t)getpid();
	if (is_attached())
		gg_process.attach.flags |= GG_REGION_ATTACH_INHERITED;
	/* The counted forks have numbers below 2^32, so no other child has this one. */
	if (!is_seeded) {
		gg_process_settings_seed_child(UINT64_C(1) << 32 | gg_process.pid);
		gg_thread_count_forked();
		gg_process.fork_ns = 0;
		gg_process.parent_pid = 0;
		if (gg_real.forked != NULL)
			gg_real.forked();
	}
	status = gg_process_region_open(gg_region_adopt);
	if (status < 0) {
		if (gg_process_region_is_reportable(status))
			count_lost_child(parents, status);
		return false;
	}
	gg_assert(gg_process.region.header != parents);
	gg_process.held_fork_ns = gg_process.held_noted_ns = 0;
	gg_sigbus_guard_remove(parents);
	if (gg_exact_mode_is_on())
		gg_exact_mode_adopted();
	gg_thread_forked();
	gg_mapped_modules_forked();
	gg_rate_plan_forked();
	gg_overhead_budget_forked();
	/* Inherited blocks were exposed to the coarsest interval of the parent. */
	gg_exposure_note(gg_load_relaxed(&gg_process.interval_bytes));
	gg_exposure_publish();
	gg_allocator_look_begin();
	gg_add_relaxed(&gg_process.generation, is_seeded ? 1 : 2);
	gg_add_relaxed(&gg_process.change_count, 1);
	return true;
}

static bool adopt_if_new(void)
{
	uint32_t same = gg_load_acquire(gg_process.same_process), adopting = GG_PROCESS_ADOPTING;
	bool is_done;

	if (!gg_process_is_new_child(same) ||
	    !gg_cas_acq_rel(gg_process.same_process, &same, GG_PROCESS_ADOPTING))
		return same == GG_PROCESS_SAME;
	is_done = adopt(same == GG_PROCESS_FORKED);
	if (!is_done)
		gg_store_release(&gg_process.state, GG_PROCESS_OFF);
	/*
	 * The exchange fails if a handler has forked meanwhile and this is its child, whose page
	 * was wiped.  That child adopts the next time.
	 */
	gg_cas_acq_rel(gg_process.same_process, &adopting, GG_PROCESS_SAME);
	return is_done;
}

/* --- both --- */

static bool start_unasked(void)
{
	bool is_done;

	begin_early();
	if (compat_begin.waits) {
		gg_store_release(&gg_process.state, GG_PROCESS_WAITING);
		return false;
	}
	is_done = start(NULL) == 0;
	gg_store_release(&gg_process.state, is_done ? GG_PROCESS_RUNNING : GG_PROCESS_OFF);
	return is_done;
}

static bool prepare(void)
{
	uint32_t state = GG_PROCESS_UNSTARTED;

	/*
	 * Without an environment the loader is calling us, and libc is not set up yet.  A program
	 * may clear its environment, but only later.
	 */
	if (environ == NULL && gg_load_relaxed(&gg_process.state) == GG_PROCESS_UNSTARTED)
		return false;
	if (gg_cas_acq_rel(&gg_process.state, &state, GG_PROCESS_STARTING))
		return start_unasked();
	return state == GG_PROCESS_RUNNING && adopt_if_new();
}

bool gg_start_prepare(void)
{
	int saved_errno = errno, cancel;
	bool is_done;

	if (gg_sanitizer_runtime() != NULL) {
		gg_store_release(&gg_process.state, GG_PROCESS_OFF);
		return false;
	}
	/* A start opens files, which is a cancellation point; malloc() is not one. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	is_done = prepare();
	pthread_setcancelstate(cancel, NULL);
	errno = saved_errno;
	return is_done;
}

/*
 * A sanitizer's functions may be called from our constructor on, but not earlier.  So this repeats
 * as much of a start as the message needs.
 */
void gg_start_leave_to_sanitizer(const char *runtime)
{
	begin_early();
	gg_environment_read(&gg_process.options);
	if (gg_recorded_session_is_over())
		return;
	gg_agent_log("not profiling: the program is built with a sanitizer, and its ", runtime,
	             " replaces the allocator", GG_AGENT_LOG_END);
	gg_recorded_session_count_missing(GG_SESSION_MISSING_SANITIZER);
}

void gg_start_leave_to_allocator(const char *file)
{
	begin_early();
	gg_environment_read(&gg_process.options);
	if (gg_recorded_session_is_over())
		return;
	gg_agent_log("not profiling: ", file, " serves malloc(), and libgeiger-malloc.so does not",
	             GG_AGENT_LOG_END);
	gg_recorded_session_count_missing(GG_SESSION_MISSING_OTHER);
}

/* Here and not in process_end.c, because a static link takes only those objects of libgeiger.a that
 * other objects refer to. */
__attribute__((destructor)) static void destruct(void)
{
	gg_process_end_in_order();
}
