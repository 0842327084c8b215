/* SPDX-License-Identifier: Apache-2.0 */
/* trap_watch - reads the states of threads in /proc (attach/trap_watch.h). */
#include "attach/trap_watch.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/time_units.h"
#include "record/process/proc_file.h"

#define LOOK_LEAST_NS  (20 * GG_NS_PER_US)
#define LOOK_MOST_NS   (500 * GG_NS_PER_US)
#define PROBE_LEAST_NS (50 * GG_NS_PER_US)
#define PROBE_MOST_NS  (1 * GG_NS_PER_MS)

void gg_trap_watch_begin(struct gg_trap_watch *watch, uint64_t now_ns)
{
	watch->planted_ns = now_ns;
	watch->next_ns = now_ns;
	if (watch->pause_ns == 0)
		watch->pause_ns = LOOK_LEAST_NS;
}

void gg_trap_watch_end(struct gg_trap_watch *watch)
{
	watch->planted_ns = 0;
}

bool gg_trap_watch_is_running(pid_t pid, pid_t tid)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	return gg_proc_file_read(&text, "/proc/%d/task/%d/syscall", (int)pid, (int)tid) &&
	       gg_buf_text(&text)[0] == 'r';
}

/* Returns how often the thread has given up the processor by itself. */
static uint64_t read_sleeps(pid_t pid, pid_t tid)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	static const char name[] = "\nvoluntary_ctxt_switches:";
	const char *at;

	if (!gg_proc_file_read(&text, "/proc/%d/task/%d/status", (int)pid, (int)tid))
		return 0;
	at = strstr(gg_buf_text(&text), name);
	return at != NULL ? strtoull(at + strlen(name), NULL, 10) : 0;
}

bool gg_trap_watch_look(const struct gg_trap_watch *watch, struct gg_watched *watched, pid_t pid,
                        pid_t tid, uint64_t now_ns)
{
	uint64_t sleeps, before_ns = watched->ran_ns;

	watched->ran_ns = 0;
	if (!gg_trap_watch_is_running(pid, tid)) {
		watched->elsewhere_ns = now_ns;
		watched->pause_ns = PROBE_LEAST_NS;
		return false;
	}
	watched->ran_ns = before_ns > watch->planted_ns ? before_ns : now_ns;
	if (watched->is_probed || now_ns < watched->not_before_ns)
		return false;
	sleeps = read_sleeps(pid, tid);
	if (before_ns > watch->planted_ns && sleeps == watched->sleeps)
		return true;
	/* If it has slept since the look before, it was at no trap then. */
	if (before_ns > watched->elsewhere_ns)
		watched->elsewhere_ns = before_ns;
	watched->sleeps = sleeps;
	watched->ran_ns = now_ns;
	return false;
}

void gg_trap_watch_schedule(struct gg_trap_watch *watch, bool is_soon, uint64_t now_ns)
{
	watch->pause_ns += watch->pause_ns / 4;
	if (watch->pause_ns > (uint64_t)LOOK_MOST_NS)
		watch->pause_ns = LOOK_MOST_NS;
	watch->next_ns = now_ns + (is_soon ? (uint64_t)LOOK_LEAST_NS : watch->pause_ns);
}

void gg_trap_watch_refute(struct gg_watched *watched, uint64_t now_ns)
{
	watched->elsewhere_ns = now_ns;
	watched->ran_ns = 0;
	watched->not_before_ns = now_ns + watched->pause_ns;
	watched->pause_ns = 2 * watched->pause_ns;
	if (watched->pause_ns > (uint64_t)PROBE_MOST_NS)
		watched->pause_ns = PROBE_MOST_NS;
}

void gg_trap_watch_pass(struct gg_watched *watched, uint64_t now_ns)
{
	watched->elsewhere_ns = now_ns;
	watched->ran_ns = 0;
	watched->not_before_ns = now_ns;
	watched->pause_ns = PROBE_LEAST_NS;
}

uint64_t gg_trap_watch_stand_ns(const struct gg_trap_watch *watch, const struct gg_watched *watched,
                                uint64_t now_ns)
{
	uint64_t from_ns = watched->elsewhere_ns;

	return now_ns - (from_ns > watch->planted_ns ? from_ns : watch->planted_ns);
}
