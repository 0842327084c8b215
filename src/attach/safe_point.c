/* SPDX-License-Identifier: Apache-2.0 */
/* safe_point - plants traps and waits (attach/safe_point.h). */
#include "attach/safe_point.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "attach/idle_thread.h"
#include "base/atomic.h"
#include "base/clock.h"
#include "base/time_units.h"

enum {
	PAUSE_LEAST_MS = 1,
	PAUSE_MOST_MS = 32,
	SERIES_AFTER = 8, /* refused entries */
	SERIES_ENTRIES = 100,
	SERIES_MS = 4, /* threads make little progress meanwhile */
};

/* --- the search --- */

/* Lets all threads run whose stops are waiting.  Returns 0, or -ESRCH if the process is gone. */
static int drain(struct gg_tracer *tracer, uint64_t until_ns, struct gg_error *error)
{
	enum gg_tracer_event event;
	pid_t tid;

	while ((event = gg_tracer_wait(tracer, until_ns, &tid)) != GG_TRACER_TIMEOUT) {
		if (event == GG_TRACER_ENDED || event == GG_TRACER_EXEC)
			return gg_tracer_gone(tracer->pid, event, error);
		gg_tracer_release(tracer, tid);
	}
	return 0;
}

/* Whether a thread that has entered the allocator may be taken; its registers are then known. */
static bool accepts(struct gg_safe_point_search *search, pid_t tid, struct gg_safe_point *point)
{
	return !gg_tracer_is_foreign(search->tracer, tid) &&
	       !gg_tracer_has_signal(search->tracer, tid) &&
	       gg_tracer_read_registers(tid, &point->registers) == 0 &&
	       gg_stack_check_accepts(search, &point->registers, false);
}

/*
 * A thread has entered the allocator.  Returns 1 if it is taken, 0 if it runs on, -ESRCH.  A signal
 * that waits for the thread must not wait until it is given back.
 */
static int judge_hit(struct gg_safe_point_search *search, pid_t tid, struct gg_safe_point *point,
                     struct gg_error *error)
{
	int status = drain(search->tracer, 0, error);

	if (status < 0)
		return status;
	if (accepts(search, tid, point)) {
		point->tid = tid;
		point->is_idle = false;
		return 1;
	}
	search->refused_count++;
	gg_tracer_release(search->tracer, tid);
	return 0;
}

/* Plants the traps while no thread runs that could execute one which is half written. */
static int plant(struct gg_safe_point_search *search, struct gg_error *error)
{
	struct gg_tracer *tracer = search->tracer;
	enum gg_tracer_event event = gg_held_threads_take(&search->held, tracer);
	int status = event == GG_TRACER_TIMEOUT ? gg_tracer_plant(tracer, error)
	                                        : gg_tracer_gone(tracer->pid, event, error);

	gg_held_threads_release(&search->held, tracer);
	return status;
}

/* Removes the traps in the same way.  Returns 0, or -ESRCH if the process is gone. */
static int remove_traps(struct gg_safe_point_search *search, struct gg_error *error)
{
	enum gg_tracer_event event = gg_held_threads_take(&search->held, search->tracer);

	gg_tracer_remove(search->tracer);
	gg_held_threads_release(&search->held, search->tracer);
	return event == GG_TRACER_TIMEOUT ? 0 : gg_tracer_gone(search->tracer->pid, event, error);
}

/* Waits for one entry. */
static enum gg_tracer_event wait_for_entry(struct gg_tracer *tracer, uint64_t until_ns, pid_t *tid)
{
	enum gg_tracer_event event;

	while ((event = gg_tracer_wait(tracer, until_ns, tid)) == GG_TRACER_INTERRUPTED)
		gg_tracer_release(tracer, *tid);
	return event;
}

/*
 * Waits for entries until one may be taken, and returns the last one.  The first entry after a
 * random moment is nearly always the one that follows the program's longest pause.  A program may
 * have that within the loader each time; the entries that follow one another are all of them.
 */
static enum gg_tracer_event wait_for_good_entry(struct gg_safe_point_search *search,
                                                uint64_t until_ns, struct gg_safe_point *point,
                                                pid_t *tid)
{
	struct gg_tracer *tracer = search->tracer;
	enum gg_tracer_event event = wait_for_entry(tracer, until_ns, tid);
	uint64_t end_ns = gg_clock_monotonic_ns() + (uint64_t)(SERIES_MS * GG_NS_PER_MS);

	for (int i = 1; i < SERIES_ENTRIES && event == GG_TRACER_HIT; i++) {
		if (accepts(search, *tid, point) || !gg_tracer_pass(tracer, *tid))
			break;
		search->refused_count++;
		event = wait_for_entry(tracer, end_ns, tid);
	}
	return event;
}

/*
 * Waits for an entry, or for a series.  Returns 1: taken; 0: refused; -EAGAIN: there was no entry;
 * or -Exxx.
 */
static int try_entries(struct gg_safe_point_search *search, uint64_t until_ns,
                       struct gg_safe_point *point, struct gg_error *error)
{
	struct gg_tracer *tracer = search->tracer;
	enum gg_tracer_event event;
	int status = plant(search, error);
	pid_t tid;

	if (status < 0)
		return status;
	/* Every other time: a program that is slow may be in handlers of its timer all the time. */
	search->is_series = search->refused_count >= SERIES_AFTER && !search->is_series;
	event = search->is_series ? wait_for_good_entry(search, until_ns, point, &tid)
	                          : wait_for_entry(tracer, until_ns, &tid);
	if (event == GG_TRACER_HIT || event == GG_TRACER_TIMEOUT)
		status = remove_traps(search, error);
	else
		status = gg_tracer_gone(tracer->pid, event, error);
	if (status == 0)
		status = event == GG_TRACER_HIT ? judge_hit(search, tid, point, error) : -EAGAIN;
	return status;
}

static bool is_cancelled(const struct gg_safe_point_search *search)
{
	if (search->guardian != 0 && getppid() != search->guardian)
		return true;
	/* Pairs with the store of the guardian. */
	return search->is_cancelled != NULL && gg_load_acquire(search->is_cancelled) != 0;
}

int gg_safe_point_find(struct gg_safe_point *ret_point, struct gg_safe_point_search *search,
                       struct gg_error *error)
{
	uint64_t pause_ms = PAUSE_LEAST_MS, now_ns, end_ns, idle_ns;
	char place[16];

	snprintf(place, sizeof(place), "%d", (int)search->tracer->pid);
	search->begin_ns = gg_clock_monotonic_ns();
	end_ns = search->begin_ns + (uint64_t)(GG_SAFE_POINT_LIMIT_SECONDS * GG_NS_PER_S);
	idle_ns = search->begin_ns + (uint64_t)(GG_SAFE_POINT_IDLE_MS * GG_NS_PER_MS);
	while ((now_ns = gg_clock_monotonic_ns()) < end_ns && !is_cancelled(search)) {
		int status = try_entries(search, now_ns + 50 * GG_NS_PER_MS, ret_point, error);

		if (status != 0 && status != -EAGAIN)
			return status > 0 ? 0 : status;
		if (gg_clock_monotonic_ns() >= idle_ns) {
			int taken = gg_idle_thread_take(search, ret_point, error);

			if (taken != -EAGAIN)
				return taken;
		}
		if (status == -EAGAIN)
			continue;
		status = drain(search->tracer, gg_clock_monotonic_ns() + pause_ms * GG_NS_PER_MS,
		               error);
		if (status < 0)
			return status;
		pause_ms = pause_ms < PAUSE_MOST_MS ? 2 * pause_ms : PAUSE_MOST_MS;
	}
	if (is_cancelled(search))
		return gg_error_set(error, -ECANCELED, place, NULL, "cancelled");
	return gg_error_set(error, -ETIMEDOUT, place, "Attach again when it does something.",
	                    search->refused_count > 0
	                            ? "not attached: busy: no thread was at a safe point"
	                            : "not attached: idle: no thread entered the allocator");
}
