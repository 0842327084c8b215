/* SPDX-License-Identifier: Apache-2.0 */
/* exact_mode - begins to count every allocation, and goes on in forked children. */
#include "runtime/exact_mode.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/fast_clock.h"
#include "base/stream_list.h"
#include "runtime/process.h"
#include "runtime/syscalls.h"
#include "runtime/thread.h"

struct gg_exact gg_exact_mode;

/* Cells that say "perhaps" to every address: gg_filter_view_maybe(). */
static uint8_t all_maybe[128] __attribute__((aligned(64)));

/* True while this thread is between the handlers of a fork. */
static _Thread_local bool is_forking __attribute__((tls_model("initial-exec")));

static void let_all_frees_pass(void)
{
	memset(all_maybe, 2, sizeof(all_maybe));
	gg_store_release(&gg_process.region.filter.view, (uint64_t)(uintptr_t)all_maybe + 63);
}

/* True if the kernel reads its clock by the processor's counter of ticks. */
static bool has_counter(void)
{
	char name[8];
	ssize_t length = gg_syscall_read_file(
		"/sys/devices/system/clocksource/clocksource0/current_clocksource", name,
		sizeof(name));

	return length == 4 && memcmp(name, "tsc\n", 4) == 0;
}

int gg_exact_mode_begin(void)
{
	if (!gg_exact_init(&gg_exact_mode, &gg_process.region, gg_process.options.exact_live_most))
		return -ENOMEM;
	gg_fast_clock_use_counter(has_counter());
	let_all_frees_pass();
	return 0;
}

void gg_exact_mode_adopted(void)
{
	/* A bare clone() calls no handlers, and other threads may have held locks. */
	gg_exact_open_locks(&gg_exact_mode);
	gg_exact_adopt(&gg_exact_mode, gg_clock_monotonic_ns());
	let_all_frees_pass();
}

/*
 * Handlers of the program that run between these two may allocate on this thread, which holds all
 * locks.  So the thread is on the sample path, where its calls pass uncounted.
 */
void gg_exact_mode_before_fork(void)
{
	if (!gg_exact_mode_is_on() || !gg_thread_enter(&gg_thread))
		return;
	/* No thread waits for one of these locks while it holds another one. */
	for (;;) {
		gg_stream_list_lock();
		if (gg_exact_before_fork(&gg_exact_mode))
			break;
		gg_stream_list_unlock();
		gg_exact_wait_for_locks(&gg_exact_mode);
	}
	is_forking = true;
}

static bool end_fork(void)
{
	if (!is_forking)
		return false;
	is_forking = false;
	gg_exact_after_fork(&gg_exact_mode);
	return true;
}

void gg_exact_mode_after_fork(void)
{
	if (!end_fork())
		return;
	gg_stream_list_unlock();
	gg_thread_leave(&gg_thread);
}

void gg_exact_mode_in_child(void)
{
	if (!end_fork())
		return;
	gg_stream_list_reset();
	gg_thread_leave(&gg_thread);
}
