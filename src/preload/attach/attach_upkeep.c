/* SPDX-License-Identifier: Apache-2.0 */
/* attach_upkeep - decides when to scan, and takes the hooks away. */
#include "preload/attach/attach_upkeep.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/clock.h"
#include "base/time_units.h"
#include "preload/python_adapter.h"
#include "runtime/platform/seccomp.h"
#include "runtime/signals/signal_mask.h"
#include "runtime/start.h"
#include "unwind/walk/module_lookup.h"

enum { REPEATS = 4, REPEAT_FACTOR = 10 };

static uint32_t worker_pid; /* of the process in which a thread scans or detaches; 0: none does */
static uint64_t seen_epoch; /* of the modules, before the last scan */
static uint64_t next_scan_ns;
static uint32_t repeats_left;
static uint64_t repeat_after_ns;

static bool lock(void)
{
	uint32_t holder = gg_load_relaxed(&worker_pid);
	/* gg_process.pid is the parent's in a forked child that has recorded nothing yet. */
	uint32_t pid = gg_seccomp_is_entered() ? gg_process.pid : (uint32_t)getpid();

	/*
	 * A forked child may find its parent's pid, because it was forked while a thread worked.
	 * That thread does not exist here.  Acquire: pairs with the release in unlock().
	 */
	return holder != pid && gg_cas_acq_rel(&worker_pid, &holder, pid);
}

static void unlock(void)
{
	gg_store_release(&worker_pid, 0);
}

static void write_counts(const struct gg_slot_scan_result *scanned)
{
	struct gg_region_attach *attach = &gg_process.region.header->attach;

	gg_store_relaxed(&attach->slot_count, scanned->slot_count);
	gg_store_relaxed(&attach->unwritable_count, scanned->unwritable_count);
	gg_store_relaxed(&attach->foreign_count, scanned->foreign_count);
	gg_add_relaxed(&attach->scan_count, 1);
}

static void plan_repeats(void)
{
	gg_store_relaxed(&repeats_left, REPEATS);
	repeat_after_ns = GG_NS_PER_MS;
	gg_store_relaxed(&next_scan_ns, gg_clock_monotonic_ns() + repeat_after_ns);
}

void gg_attach_upkeep_begin(const struct gg_slot_scan_result *scanned)
{
	gg_store_relaxed(&seen_epoch, gg_module_lookup_epoch());
	plan_repeats();
	write_counts(scanned);
}

/* Between lock() and unlock(). */
static void scan_again(uint64_t epoch)
{
	struct gg_slot_scan_result scanned;

	if (epoch != gg_load_relaxed(&seen_epoch)) {
		gg_store_relaxed(&seen_epoch, epoch);
		plan_repeats();
	} else {
		repeat_after_ns *= REPEAT_FACTOR;
		gg_store_relaxed(&next_scan_ns, gg_clock_monotonic_ns() + repeat_after_ns);
		gg_store_relaxed(&repeats_left, repeats_left - 1);
	}
	scanned = gg_slot_scan_place();
	write_counts(&scanned);
}

static bool is_scan_due(uint64_t epoch)
{
	return epoch != gg_load_relaxed(&seen_epoch) ||
	       (gg_load_relaxed(&repeats_left) != 0 &&
	        gg_clock_monotonic_ns() >= gg_load_relaxed(&next_scan_ns));
}

void gg_attach_upkeep_continue(void)
{
	struct gg_slot_scan_result result;
	uint64_t epoch;
	sigset_t before;
	int saved_errno = errno;

	if (gg_unlikely(gg_region_control(&gg_process.region).detach)) {
		gg_attach_upkeep_detach(&result);
		return;
	}
	epoch = gg_module_lookup_epoch();
	if (gg_likely(!is_scan_due(epoch)) || gg_seccomp_is_entered() || !lock())
		return;
	gg_signal_mask_block(&before);
	if (is_scan_due(epoch) && gg_load_acquire(&gg_process.state) == GG_PROCESS_RUNNING)
		scan_again(epoch);
	unlock();
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = saved_errno;
}

int gg_attach_upkeep_detach(struct gg_slot_scan_result *ret_result)
{
	int saved_errno = errno;
	int status = -EBUSY;
	sigset_t before;

	*ret_result = (struct gg_slot_scan_result){ 0 };
	gg_signal_mask_block(&before);
	if (lock()) {
		status = gg_start_detach() ? 0 : -EALREADY;
		if (status == 0)
			gg_python_adapter_detached();
		/* In a sandbox the hooks stay.  They only pass calls on. */
		if (status == 0 && !gg_seccomp_is_entered())
			*ret_result = gg_slot_scan_remove();
		unlock();
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = saved_errno;
	return status;
}
