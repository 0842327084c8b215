/* SPDX-License-Identifier: Apache-2.0 */
/* dump_trigger - keeps the settings of triggers, checks their conditions, and dumps. */
#include "runtime/dump/dump_trigger.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "region/writer/private_live_table.h"
#include "runtime/agent_log.h"
#include "runtime/digits.h"
#include "runtime/dump/dump.h"
#include "runtime/dump/dump_name.h"
#include "runtime/dump/dump_signal.h"
#include "runtime/dump/memory_usage.h"
#include "runtime/process.h"
#include "runtime/syscalls.h"
#include "runtime/thread.h"
#include "stats/sampling/weight.h"

enum {
	CHECK_NS = 100000000, /* between two checks of RSS and control group */
	COPY_PAUSE_NS = 50000,
	COPY_PAUSES_MAX = 100000 /* the owner may not be running meanwhile */
};

uint32_t gg_dump_trigger_flags;
int32_t gg_dump_trigger_signal_number;

/* The settings.  Samples read single words of them; copy() reads all. */
static struct gg_agent_triggers settings;
static uint64_t
	settings_owner; /* 1 + generation of the process whose thread copies them; 0: none */

/* The state of the triggers. */
static uint64_t allocated_bytes;   /* estimated, since the first sample with this trigger */
static uint64_t freed_bytes;       /* the same for freed samples */
static uint64_t high_water_bytes;  /* live bytes at which the next dump is due */
static uint64_t next_time_ns;      /* of the next dump by time; 0: not set yet */
static uint64_t next_check_ns;     /* of RSS and control group */
static uint64_t next_usage_ns;     /* the earliest time of a dump by RSS or control group */
static uint32_t is_failure_logged; /* a failed dump was logged */

/* --- settings --- */

/* Locks the settings while 1 KiB is copied.  A child takes the lock from a thread of its parent. */
static bool lock_settings(void)
{
	uint64_t mine = (uint64_t)gg_load_relaxed(&gg_process.generation) + 1;

	/* An owner with another generation belongs to the parent, and does not exist here. */
	for (int i = 0; i < COPY_PAUSES_MAX; i++) {
		uint64_t seen = gg_load_relaxed(&settings_owner);

		/* Acquire: pairs with the release in unlock_settings(). */
		if (seen != mine && gg_cas_acq_rel(&settings_owner, &seen, mine))
			return true;
		gg_syscall_sleep(COPY_PAUSE_NS);
	}
	return false;
}

static void unlock_settings(void)
{
	gg_store_release(&settings_owner, 0);
}

/* Copies word by word, because samples read single words without the lock. */
static void copy(struct gg_agent_triggers *to, const struct gg_agent_triggers *from)
{
	const uint64_t *source = (const uint64_t *)(const void *)from;
	uint64_t *target = (uint64_t *)(void *)to;

	_Static_assert(sizeof(*to) % sizeof(uint64_t) == 0, "copied as words");
	for (size_t i = 0; i < sizeof(*to) / sizeof(uint64_t); i++)
		gg_store_relaxed(&target[i], gg_load_relaxed(&source[i]));
}

static bool is_valid(const struct gg_agent_triggers *t)
{
	return t->form <= GG_AGENT_DUMP_GPERFTOOLS && t->names <= GG_AGENT_NAMES_GPERFTOOLS &&
	       t->keep <= GG_AGENT_DUMPS_KEPT_MAX &&
	       strnlen(t->prefix, sizeof(t->prefix)) < sizeof(t->prefix);
}

/* Changes one bit; other threads may change the other one meanwhile. */
static void set_flag(uint32_t bit, bool is_set)
{
	uint32_t seen = gg_load_relaxed(&gg_dump_trigger_flags);

	while (!gg_cas_acq_rel(&gg_dump_trigger_flags, &seen, is_set ? seen | bit : seen & ~bit))
		;
}

/* True if a trigger needs a check at each sample. */
static bool checks_samples(const struct gg_agent_triggers *t)
{
	return t->prefix[0] != '\0' && !t->is_off &&
	       (t->allocated_bytes | t->freed_bytes | t->growth_bytes | t->growth_percent |
	        t->time_ns | t->rss_bytes | t->cgroup_percent) != 0;
}

int gg_dump_trigger_set(const struct gg_agent_triggers *triggers)
{
	if (!is_valid(triggers))
		return -EINVAL;
	if (!lock_settings())
		return -EBUSY;
	copy(&settings, triggers);
	if (settings.form == 0)
		gg_store_relaxed(&settings.form, GG_AGENT_DUMP_HEAP_V2);
	unlock_settings();
	gg_store_relaxed(&high_water_bytes, triggers->growth_bytes);
	gg_store_relaxed(&next_time_ns, 0);
	gg_store_relaxed(&next_usage_ns, 0);
	gg_store_relaxed(&gg_dump_trigger_signal_number, triggers->signal);
	/* Acquire: pairs with the release of the starting thread. */
	if (gg_load_acquire(&gg_process.state) == GG_PROCESS_RUNNING)
		gg_dump_trigger_begin();
	set_flag(GG_DUMP_TRIGGER_SAMPLES, checks_samples(triggers));
	return 0;
}

int gg_dump_trigger_get(struct gg_agent_triggers *ret_triggers)
{
	if (!lock_settings())
		return -EBUSY;
	copy(ret_triggers, &settings);
	unlock_settings();
	return 0;
}

static gg_dump_signal_handler signalled;

void gg_dump_trigger_begin(void)
{
	if (gg_load_relaxed(&settings.growth_bytes) != 0)
		gg_region_meter(&gg_process.region);
	gg_dump_signal_take(gg_dump_trigger_signal(), signalled);
}

/* --- a dump --- */

/* Too large for a program's stack. */
struct dump_trigger_job {
	struct gg_agent_triggers triggers;
	char name[GG_DUMP_NAME_MAX];
};

/* Logs the first failure only: there may be thousands. */
static void log_failure(const char *name, int status)
{
	char digits[GG_DIGITS_MAX];
	uint32_t logged = 0;

	if (status == -EBUSY || status == -ECHILD ||
	    !gg_cas_acq_rel(&is_failure_logged, &logged, 1))
		return;
	gg_agent_log("no dump: ", name, ": ", gg_agent_log_reason(status), " (error ",
	             gg_digits((uint64_t)-status, digits), ")", GG_AGENT_LOG_END);
}

static int dump(struct dump_trigger_job *job, char kind)
{
	bool is_child = gg_load_relaxed(&gg_process.generation) > 1;
	struct gg_dump_serial number;
	int status = gg_dump_trigger_get(&job->triggers);

	if (status < 0)
		log_failure("", status);
	if (status < 0 || job->triggers.prefix[0] == '\0')
		return status < 0 ? status : -EINVAL;
	number = gg_dump_name_next(kind);
	gg_dump_name_write(job->name, &job->triggers, &number, is_child);
	status = gg_agent_dump(job->name, (enum gg_agent_dump_form)job->triggers.form);
	if (status < 0)
		log_failure(job->name, status);
	else
		gg_dump_name_register(job->name, &job->triggers, &number, is_child);
	return status;
}

int gg_dump_trigger_dump(char kind)
{
	struct dump_trigger_job *job = gg_syscall_map(sizeof(*job));
	int status;

	gg_assert(gg_load_relaxed(&gg_thread.inside) != 0);
	if (job == NULL)
		return -ENOMEM;
	status = dump(job, kind);
	gg_syscall_unmap(job, sizeof(*job));
	return status;
}

/* --- conditions --- */

/*
 * Adds the weight of an allocated or freed sample, and dumps if the sum crosses a multiple of
 * `every`.
 */
static void check_sum(uint64_t *sum, uint64_t every, const struct gg_draw *draw,
                      uint64_t size_bytes)
{
	uint64_t before, bytes;

	if (every == 0)
		return;
	bytes = (uint64_t)(gg_weight_of(draw, size_bytes).bytes + 0.5);
	before = gg_add_relaxed(sum, bytes);
	if (before / every != (before + bytes) / every)
		gg_dump_trigger_dump('i');
}

static void check_high_water(void)
{
	uint64_t growth = gg_load_relaxed(&settings.growth_bytes), live, high_water, more;

	if (growth == 0)
		return;
	live = gg_load_relaxed(&gg_process.region.live_bytes);
	high_water = gg_load_relaxed(&high_water_bytes);
	more = live / 100 * gg_load_relaxed(&settings.growth_percent);
	/* A free that is counted before its allocation makes the sum "negative" for a moment. */
	if (live < high_water || live > INT64_MAX ||
	    !gg_cas_acq_rel(&high_water_bytes, &high_water, live + (more > growth ? more : growth)))
		return;
	gg_dump_trigger_dump('u');
}

/* True for the one thread that moves a time which has come. */
static bool is_time(uint64_t *next_ns, uint64_t now_ns, uint64_t then_ns)
{
	uint64_t next = gg_load_relaxed(next_ns);

	return now_ns >= next && gg_cas_acq_rel(next_ns, &next, then_ns);
}

static void check_time(uint64_t now_ns)
{
	uint64_t every = gg_load_relaxed(&settings.time_ns);
	uint64_t next = gg_load_relaxed(&next_time_ns);

	if (every == 0 || now_ns < next || !gg_cas_acq_rel(&next_time_ns, &next, now_ns + every))
		return;
	if (next != 0) /* 0: this sample only begins the first period */
		gg_dump_trigger_dump('i');
}

static void check_usage(uint64_t now_ns)
{
	uint64_t rss = gg_load_relaxed(&settings.rss_bytes);
	uint32_t percent = gg_load_relaxed(&settings.cgroup_percent);

	if ((rss == 0 && percent == 0) || now_ns < gg_load_relaxed(&next_usage_ns) ||
	    !is_time(&next_check_ns, now_ns, now_ns + CHECK_NS))
		return;
	if ((rss != 0 && gg_memory_usage_rss_bytes() >= rss) ||
	    (percent != 0 &&
	     gg_memory_usage_cgroup_percent("/sys/fs/cgroup", "/proc/self/cgroup") >= percent)) {
		if (is_time(&next_usage_ns, now_ns, now_ns + gg_load_relaxed(&settings.every_ns)))
			gg_dump_trigger_dump('u');
	}
}

void gg_dump_trigger_sampled(const struct gg_draw *draw, uint64_t size_bytes, uint64_t now_ns)
{
	if ((gg_load_relaxed(&gg_dump_trigger_flags) & GG_DUMP_TRIGGER_SAMPLES) == 0)
		return;
	check_sum(&allocated_bytes, gg_load_relaxed(&settings.allocated_bytes), draw, size_bytes);
	check_high_water();
	check_time(now_ns);
	check_usage(now_ns);
}

void gg_dump_trigger_freed(const struct gg_draw *draw, uint64_t size_bytes)
{
	if ((gg_load_relaxed(&gg_dump_trigger_flags) & GG_DUMP_TRIGGER_SAMPLES) != 0)
		check_sum(&freed_bytes, gg_load_relaxed(&settings.freed_bytes), draw, size_bytes);
}

/* Off the sample path.  A signal does not start recording. */
static void dump_for_signal(struct gg_thread *t)
{
	if (!gg_thread_enter(t))
		return;
	if (gg_load_acquire(&gg_process.state) == GG_PROCESS_RUNNING && gg_process_ensure_current())
		gg_dump_trigger_dump('m');
	gg_thread_leave(t);
}

static void signalled(void)
{
	struct gg_thread *t = &gg_thread;
	int saved_errno = errno;

	/* Not gg_thread_enter(), which would count a dropped sample. */
	if (gg_load_relaxed(&t->inside) != 0)
		set_flag(GG_DUMP_TRIGGER_PENDING, true);
	else
		dump_for_signal(t);
	errno = saved_errno;
}

void gg_dump_trigger_run_pending(void)
{
	struct gg_thread *t = &gg_thread;
	int saved_errno = errno;

	/* Several threads may see the bit; the one that clears it writes the dump. */
	if (gg_load_relaxed(&t->inside) == 0 &&
	    (gg_and_acq_rel(&gg_dump_trigger_flags, ~(uint32_t)GG_DUMP_TRIGGER_PENDING) &
	     GG_DUMP_TRIGGER_PENDING) != 0)
		dump_for_signal(t);
	errno = saved_errno;
}

/* Logs the live memory in jemalloc's words. */
static bool log_leak(const struct gg_agent_triggers *triggers)
{
	char bytes[GG_DIGITS_MAX], count[GG_DIGITS_MAX], stacks[GG_DIGITS_MAX];
	uint64_t byte_count, object_count;
	struct gg_agent_leak leak;

	if (gg_agent_dump_live(&leak) < 0 || !(leak.live.count > 0))
		return false;
	byte_count = (uint64_t)(leak.live.bytes + 0.5);
	object_count = (uint64_t)(leak.live.count + 0.5);
	gg_agent_log("Leak approximation summary: ~", gg_digits(byte_count, bytes), " byte",
	             byte_count != 1 ? "s" : "", ", ~", gg_digits(object_count, count), " object",
	             object_count != 1 ? "s" : "", ", >= ", gg_digits(leak.stack_count, stacks),
	             " context", leak.stack_count != 1 ? "s" : "", GG_AGENT_LOG_END);
	if (triggers->final && triggers->prefix[0] != '\0')
		gg_agent_log("Run jeprof on dump output for leak detail", GG_AGENT_LOG_END);
	if (triggers->leak_error)
		gg_agent_log("Exiting with error code because memory leaks were detected",
		             GG_AGENT_LOG_END);
	return triggers->leak_error;
}

bool gg_dump_trigger_exit(void)
{
	struct dump_trigger_job *job;
	bool is_error = false;

	if (!gg_load_relaxed(&settings.final) && !gg_load_relaxed(&settings.leak) &&
	    !gg_load_relaxed(&settings.leak_error))
		return false;
	job = gg_syscall_map(sizeof(*job));
	if (job == NULL)
		return false;
	if (gg_dump_trigger_get(&job->triggers) == 0) {
		if (job->triggers.final && job->triggers.prefix[0] != '\0')
			gg_dump_trigger_dump('f');
		if (job->triggers.leak || job->triggers.leak_error)
			is_error = log_leak(&job->triggers);
	}
	gg_syscall_unmap(job, sizeof(*job));
	return is_error;
}
