/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attach_entry - the functions that `geiger attach` and `geiger detach` call in a running process.
 *
 * The order of an attach, so that the program can run on at every step:
 *   1. find the real functions, so that each hook is complete before any thread can reach it
 *   2. read how much memory is in use: blocks of before are never samples
 *   3. make the region, and start recording; no hook is reachable yet
 *   4. lead the slots of all modules to the hooks, frees first
 *   5. in a Java VM, load the adapter, whose thread joins the VM later
 *   6. in a program with CPython, load the adapter, which puts its hooks in front of Python's
 *      allocators at once
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "abi/attach_request.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/time_units.h"
#include "preload/attach/attach_upkeep.h"
#include "preload/attach/bytes_in_use.h"
#include "preload/attach/loader_lock.h"
#include "preload/attach/redirects.h"
#include "preload/jvm_adapter.h"
#include "preload/python_adapter.h"
#include "runtime/agent_log.h"
#include "runtime/platform/allocator_functions.h"
#include "runtime/platform/elf_lookup.h"
#include "runtime/platform/real_functions.h"
#include "runtime/platform/sanitizer.h"
#include "runtime/platform/seccomp.h"
#include "runtime/process.h"
#include "runtime/signals/signal_mask.h"
#include "runtime/start.h"
#include "runtime/syscalls.h"
#include "runtime/thread.h"

static_assert((int)GG_ATTACH_SOURCE_NONE == (int)GG_REGION_IN_USE_UNKNOWN, "same numbers");
static_assert((int)GG_ATTACH_SOURCE_GLIBC == (int)GG_REGION_IN_USE_GLIBC, "same numbers");
static_assert((int)GG_ATTACH_SOURCE_JEMALLOC == (int)GG_REGION_IN_USE_JEMALLOC, "same numbers");
static_assert((int)GG_ATTACH_SOURCE_TCMALLOC == (int)GG_REGION_IN_USE_TCMALLOC, "same numbers");

GG_EXPORT gg_attach_entry geiger_agent_attach;
GG_EXPORT gg_detach_entry geiger_agent_detach;

static int fail(struct gg_attach_result *result, int status, const char *reason)
{
	size_t length = strnlen(reason, sizeof(result->reason) - 1);

	memcpy(result->reason, reason, length);
	result->reason[length] = '\0';
	result->status = status;
	return status;
}

static enum gg_attach_state state_now(void)
{
	switch (gg_load_acquire(&gg_process.state)) {
	case GG_PROCESS_RUNNING:
		return gg_process.attach.attached_ns != 0 ? GG_ATTACH_STATE_ATTACHED
		                                          : GG_ATTACH_STATE_NOTHING;
	case GG_PROCESS_STARTING:
	case GG_PROCESS_DETACHING:
		return GG_ATTACH_STATE_PENDING;
	default:
		return gg_process.attach.attached_ns != 0 ? GG_ATTACH_STATE_DETACHED
		                                          : GG_ATTACH_STATE_NOTHING;
	}
}

static void begin_result(struct gg_attach_result *result)
{
	*result = (struct gg_attach_result){
		.version = GG_ATTACH_VERSION,
		.bytes = sizeof(*result),
		.in_use_bytes = GG_REGION_OLDER_UNKNOWN_BYTES,
	};
}

static void end_result(struct gg_attach_result *result, uint64_t begin_ns)
{
	result->state = state_now();
	result->attached_ns = gg_process.attach.attached_ns;
	if (result->state == GG_ATTACH_STATE_ATTACHED)
		memcpy(result->region, gg_process.region.map.path,
		       strnlen(gg_process.region.map.path, sizeof(result->region) - 1));
	result->stood_still_ns = gg_clock_monotonic_ns() - begin_ns;
}

/* A vfork child has the memory of its parent: what it changes here, it changes there. */
static int refuse_vforked(struct gg_attach_result *result)
{
	return gg_process_is_vforked()
	               ? fail(result, -EPERM,
	                      "the process shares the memory of another one (vfork)")
	               : 0;
}

/* --- attach --- */

static int check(const struct gg_attach_request *request, struct gg_attach_result *result)
{
	static const uint64_t zeros[GG_COUNT(request->reserved)];

	if (request->version != GG_ATTACH_VERSION || request->bytes != sizeof(*request))
		return fail(result, -EPROTO, "the agent in the process is of another version");
	if (memchr(request->directory, '\0', sizeof(request->directory)) == NULL ||
	    memchr(request->options, '\0', sizeof(request->options)) == NULL ||
	    request->flags != 0 || memcmp(request->reserved, zeros, sizeof(zeros)) != 0)
		return fail(result, -EINVAL, "the request of the attach is damaged");
	if (!gg_elf_lookup_is_late())
		return fail(result, -EPERM, "the process was started with the agent");
	if (gg_sanitizer_runtime() != NULL)
		return fail(result, -ENOTSUP, "the program is built with a sanitizer");
	return refuse_vforked(result);
}

/* Under the loader's lock. */
static void find_functions(void *context)
{
	bool *found = context;

	gg_real_find();
	*found = gg_redirects_find();
	gg_allocator_functions_find();
}

static void put_placed(struct gg_attach_result *result, const struct gg_slot_scan_result *placed)
{
	result->module_count = placed->module_count;
	result->slot_count = placed->slot_count;
	result->unwritable_count = placed->unwritable_count;
	result->foreign_count = placed->foreign_count;
}

/* How long the process has existed; 0: unknown.  The kernel states its start in 1/100 s. */
static uint64_t read_age_ns(void)
{
	const uint64_t tick_ns = GG_NS_PER_S / 100;
	uint64_t start_ns = gg_syscall_start_ticks() * tick_ns, now_ns = gg_clock_boot_ns();

	return start_ns > 0 && start_ns < now_ns ? now_ns - start_ns : 0;
}

/* No allocation would reach the agent, so this would be no attach.  Ends it, and leaves no file. */
static int give_up(struct gg_attach_result *result)
{
	struct gg_slot_scan_result removed;

	unlink(gg_process.region.map.path);
	gg_attach_upkeep_detach(&removed);
	return fail(result, -ENOTSUP, "no slot of its modules can be led to the agent");
}

/* With the state STARTING, on the sample path, and with signals blocked. */
static int attach(const struct gg_attach_request *request, struct gg_attach_result *result)
{
	const struct gg_agent_request settings = {
		.interval_bytes = request->interval_bytes,
		.seed = request->seed,
		.directory = request->directory[0] != '\0' ? request->directory : NULL,
	};
	struct gg_region_attach attach = { .attached_ns = gg_clock_monotonic_ns(),
		                           .age_ns = read_age_ns() };
	struct gg_slot_scan_result placed;
	struct gg_bytes_in_use in_use;
	bool found = false;
	int status;

	gg_loader_lock_call(find_functions, &found);
	if (!found)
		return fail(result, -ENOTSUP,
		            "no loaded library has the functions malloc and free");
	if (gg_real.is_own) /* its blocks and the program's would have two allocators */
		return fail(result, -EPERM, "libgeiger-malloc cannot be attached");
	if (!gg_environment_use_text(request->options, strlen(request->options)))
		return fail(result, -EINVAL, "the options are too long");
	in_use = gg_bytes_in_use_read();
	attach.older_bytes = result->in_use_bytes = in_use.bytes;
	attach.older_source = result->in_use_source = in_use.source;
	status = gg_start_attached(&settings, &attach);
	if (status < 0)
		return fail(result, status, gg_agent_log_reason(status));
	gg_store_release(&gg_process.state, GG_PROCESS_RUNNING);
	placed = gg_slot_scan_place();
	put_placed(result, &placed);
	gg_attach_upkeep_begin(&placed);
	return placed.slot_count > 0 ? 0 : give_up(result);
}

/* As attach(), while no other thread forks. */
static int attach_between_forks(const struct gg_attach_request *request,
                                struct gg_attach_result *result)
{
	int status;

	gg_loader_lock_begin();
	gg_loader_lock_hold_forks();
	status = attach(request, result);
	gg_loader_lock_release_forks();
	return status;
}

/* Takes the state from DETACHED to STARTING.  0, or why it cannot. */
static int claim(struct gg_attach_result *result)
{
	uint32_t state = GG_PROCESS_DETACHED;

	if (gg_cas_acq_rel(&gg_process.state, &state, GG_PROCESS_STARTING))
		return 0;
	/* A forked child has no region before its first sample, so it makes one now. */
	if (state == GG_PROCESS_RUNNING && gg_start_ensure())
		return fail(result, -EALREADY, "the agent is recording already");
	if (state == GG_PROCESS_OFF)
		return fail(result, -EALREADY, "the agent lost its region, and is off for good");
	return fail(result, -EBUSY, "another thread is attaching or detaching");
}

static int attach_here(const struct gg_attach_request *request, struct gg_attach_result *result)
{
	struct gg_thread *t = &gg_thread;
	sigset_t before;
	int cancel, status;

	/* From now on every thread that gets here is counted, so that a detach can wait for it. */
	gg_store_release(&gg_process.counts_threads, 1);
	if (!gg_thread_enter(t))
		return fail(result, -EBUSY, "the thread is taking a sample");
	status = claim(result);
	if (status == 0) {
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
		gg_signal_mask_block(&before);
		status = attach_between_forks(request, result);
		/* Otherwise give_up() has begun a detach. */
		if (status < 0 && gg_load_acquire(&gg_process.state) == GG_PROCESS_STARTING)
			gg_store_release(&gg_process.state, GG_PROCESS_DETACHED);
		pthread_sigmask(SIG_SETMASK, &before, NULL);
		pthread_setcancelstate(cancel, NULL);
	}
	gg_thread_leave(t);
	return status;
}

int geiger_agent_attach(const struct gg_attach_request *request, struct gg_attach_result *result)
{
	uint64_t begin_ns = gg_clock_monotonic_ns();
	int saved_errno = errno, status;

	begin_result(result);
	status = check(request, result);
	if (status == 0)
		status = attach_here(request, result);
	if (status == 0) {
		gg_jvm_adapter_load();
		result->python = gg_python_adapter_attach(result->reason, sizeof(result->reason));
	}
	end_result(result, begin_ns);
	errno = saved_errno;
	return status;
}

/* --- detach --- */

static int detach_here(struct gg_attach_result *result)
{
	struct gg_thread *t = &gg_thread;
	struct gg_slot_scan_result removed;
	int status;

	if (gg_process.attach.attached_ns == 0)
		return gg_elf_lookup_is_late()
		               ? fail(result, -EALREADY, "the agent is not attached")
		               : fail(result, -EPERM, "the process was started with the agent");
	status = refuse_vforked(result);
	if (status < 0)
		return status;
	if (!gg_thread_enter(t))
		return fail(result, -EBUSY, "the thread is taking a sample");
	status = gg_attach_upkeep_detach(&removed);
	gg_thread_leave(t);
	if (status == -EBUSY || (status < 0 && state_now() == GG_ATTACH_STATE_PENDING))
		return fail(result, -EBUSY, "another thread is attaching or detaching");
	if (status < 0)
		return fail(result, status, "the agent is not attached");
	put_placed(result, &removed);
	return 0;
}

int geiger_agent_detach(struct gg_attach_result *result)
{
	uint64_t begin_ns = gg_clock_monotonic_ns();
	int saved_errno = errno, status;

	begin_result(result);
	status = detach_here(result);
	/* In a sandbox the hooks stay. */
	if (status == 0 && !gg_seccomp_is_entered())
		gg_python_adapter_leave();
	end_result(result, begin_ns);
	errno = saved_errno;
	return status;
}
