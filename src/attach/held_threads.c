/* SPDX-License-Identifier: Apache-2.0 */
/* held_threads - interrupts running threads and waits for their stops (attach/held_threads.h). */
#include "attach/held_threads.h"

#include "base/clock.h"
#include "base/time_units.h"

/* A stopped thread can have resumed another one just before, so the search is repeated. */
enum { SEARCHES_MAX = 3 };

static bool is_asked(const struct gg_held_threads *held, pid_t tid)
{
	for (size_t i = 0; i < held->asked.count; i++)
		if (held->asked.items[i] == tid)
			return true;
	return false;
}

/* Interrupts the threads that run.  Returns how many these were. */
static size_t ask(struct gg_held_threads *held, struct gg_tracer *tracer)
{
	size_t before = held->asked.count;

	for (size_t i = 0; i < tracer->tracees.count; i++) {
		const struct gg_tracee *tracee = &tracer->tracees.items[i];

		if (!tracee->is_new && !is_asked(held, tracee->tid) &&
		    gg_trap_watch_is_running(tracer->pid, tracee->tid))
			(void)gg_array_push(&held->asked, tracee->tid);
	}
	for (size_t i = before; i < held->asked.count; i++)
		gg_tracer_interrupt(tracer, held->asked.items[i]);
	return held->asked.count - before;
}

static void note_stop(struct gg_held_threads *held, pid_t tid)
{
	for (size_t i = 0; i < held->asked.count; i++)
		if (held->asked.items[i] == tid)
			held->asked.items[i--] = held->asked.items[--held->asked.count];
	(void)gg_array_push(&held->stopped, tid);
}

/* Waits until all have stopped, or until the deadline. */
static enum gg_tracer_event wait_for_stops(struct gg_held_threads *held, struct gg_tracer *tracer,
                                           uint64_t deadline_ns)
{
	pid_t tid;

	while (held->asked.count > 0) {
		enum gg_tracer_event event = gg_tracer_wait(tracer, deadline_ns, &tid);

		if (event != GG_TRACER_INTERRUPTED && event != GG_TRACER_HIT)
			return event;
		note_stop(held, tid);
	}
	return GG_TRACER_TIMEOUT;
}

enum gg_tracer_event gg_held_threads_take(struct gg_held_threads *held, struct gg_tracer *tracer)
{
	enum gg_tracer_event event = GG_TRACER_TIMEOUT;
	uint64_t deadline_ns;

	held->asked.count = held->stopped.count = 0;
	held->begin_ns = gg_clock_monotonic_ns();
	deadline_ns = held->begin_ns + (uint64_t)(GG_HELD_THREADS_US * GG_NS_PER_US);
	for (int i = 0; i < SEARCHES_MAX && event == GG_TRACER_TIMEOUT; i++) {
		if (ask(held, tracer) == 0)
			break;
		event = wait_for_stops(held, tracer, deadline_ns);
	}
	return event;
}

void gg_held_threads_release(struct gg_held_threads *held, struct gg_tracer *tracer)
{
	uint64_t stood_ns;

	for (size_t i = 0; i < held->stopped.count; i++)
		gg_tracer_release(tracer, held->stopped.items[i]);
	for (size_t i = 0; i < held->asked.count; i++)
		gg_tracer_cancel_interrupt(tracer, held->asked.items[i]);
	if (held->stopped.count == 0)
		return;
	stood_ns = gg_clock_monotonic_ns() - held->begin_ns;
	if (stood_ns > tracer->longest_stand_ns)
		tracer->longest_stand_ns = stood_ns;
}
