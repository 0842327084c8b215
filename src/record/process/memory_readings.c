/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_readings - reads the memory of processes in rounds (process/memory_readings.h).
 *
 * A round reads /proc/PID/status of all processes at once, which is cheap.  The walks through
 * /proc/PID/smaps are expensive for the profiled programs, so each has its own schedule:
 * is_walk_due() and are_all_due() keep the share of time that they take below a bound.
 */
#include "record/process/memory_readings.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/time_units.h"
#include "record/look/target_look.h"
#include "record/process/look_schedule.h"
#include "record/process/proc_file.h"
#include "region/reader/view.h"

/* The shortest and the longest pause between two regular rounds. */
#define ROUND_LEAST_NS  INT64_C(20000000)
#define ROUND_MOST_NS   GG_NS_PER_S
#define GROWTH_LEAST_NS INT64_C(10000000) /* from any round to one that growth triggers */
#define SETTLED_NS      INT64_C(50000000) /* from a round of growth to the next one */

enum {
	CHECK_PART = 100, /* after a comparison that took t, the next one waits 100 t */
	CHANGE_LEAST_BYTES = 1 << 18,
	ROUND_PART = 50, /* after a round that took t, growth triggers no round within 50 t */
	GROWTH_LEAST_BYTES = 1 << 20,
	WALK_PART = 500,       /* after a walk that took t, the next one waits 500 t */
	FIRST_WALK_PART = 100, /* the same if a process began since then, and for its first walk */
	ALL_WALKS_PART = 25,   /* the same for all walks of a round together, if a process began */
	WALK_NS = 100000,      /* estimate of a walk: the fixed part ... */
	WALK_PAGE_NS = 25,     /* ... and the part for each resident page */
	WALKS_MS = 10,         /* processor time for the walks of one round */
	ALL_WALKS_MS = 40,     /* the same in a round that walks all processes */
	PAGE_BYTES = 4096,
};

#define GROWTH_SHARE 1.05
#define CHANGE_SHARE 0.01

/* The shortest pause between two comparisons of RSS. */
#define CHECK_LEAST_NS INT64_C(20000000)
#define CHECK_NS       INT64_C(100000000)

/* Rounds that are older than this are thinned out, once in each bucket's time. */
#define THIN_AFTER_NS  (3600 * GG_NS_PER_S)
#define THIN_BUCKET_NS (60 * GG_NS_PER_S)

/* Returns the memory of the recorder's control group, with all processes in it; -1: unknown. */
static int64_t read_cgroup(struct gg_buf *text)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf usage = { 0 };
	const char *line;
	bool is_read = false;

	if (!gg_proc_file_read(text, "/proc/self/cgroup"))
		return -1;
	if ((line = strstr(gg_buf_text(text), ":memory:")) != NULL)
		is_read = gg_proc_file_read(&usage,
		                            "/sys/fs/cgroup/memory%.*s/memory.usage_in_bytes",
		                            (int)strcspn(line + 8, "\n"), line + 8);
	else if ((line = strstr(gg_buf_text(text), "0::")) != NULL)
		is_read = gg_proc_file_read(&usage, "/sys/fs/cgroup%.*s/memory.current",
		                            (int)strcspn(line + 3, "\n"), line + 3);
	return is_read ? strtoll(gg_buf_text(&usage), NULL, 10) : -1;
}

int64_t gg_memory_readings_max_rss(pid_t pid)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	return gg_proc_file_read(&text, "/proc/%d/status", (int)pid)
	               ? gg_proc_file_find_kb(gg_buf_text(&text), "VmHWM")
	               : -1;
}

/* By this factor, pauses are longer than usual: a session may have to hold a small overhead. */
static double frugality_of(const struct gg_process_set *set)
{
	return 1 + set->writer->extra_pause;
}

/* --- walks --- */

/*
 * True if the process is due in this round: it missed the last walk of all processes, or it is new
 * and old enough that an estimated walk takes a small part of its life.
 */
static bool is_walk_due(const struct gg_memory_readings *readings, const struct gg_process_set *set,
                        const struct gg_member *member)
{
	int64_t age_ns = set->writer->now_ns - member->target->record.start_ns;
	double cost_ns = WALK_NS + (double)member->reading.rss_bytes / PAGE_BYTES * WALK_PAGE_NS;
	double allowed_ns = (double)age_ns / frugality_of(set);

	/* All walks of a young process take at most 1 % of its life. */
	if (age_ns < GG_LOOK_YOUNG_NS && member->walked_ns != 0 &&
	    gg_look_schedule_is_due(member, gg_clock_monotonic_ns()) &&
	    (double)member->walks_cost_ns + cost_ns <= allowed_ns / FIRST_WALK_PART)
		return true;
	if (member->walked_ns != 0 || readings->walks_begin)
		return member->walked_ns < readings->walks_ns;
	/*
	 * With several processes a new one soon triggers a walk of all of them (are_all_due), so
	 * its own first walk is worth less, and waits longer.
	 */
	return allowed_ns >= cost_ns * (set->first->next != NULL ? WALK_PART : FIRST_WALK_PART);
}

/* Reads the mappings of a process into member->parts.  Returns the processor time; 0: failed. */
static uint64_t read_mappings(struct gg_member *member, struct gg_buf *text)
{
	uint64_t before_ns = gg_clock_thread_ns(), cost_ns;

	if (!gg_proc_file_read(text, "/proc/%u/smaps", member->target->pid))
		return 0;
	cost_ns = gg_clock_thread_ns() - before_ns;
	gg_smaps_add_up(&member->parts, gg_buf_text(text),
	                &(struct gg_smaps_hints){
				.private_bytes = gg_target_private_bytes(member->target),
				.is_exact = gg_region_is_exact(&member->target->reader.header) });
	return cost_ns > 0 ? cost_ns : 1;
}

/* Walks through the mappings, as a part of a look if one is due. */
static void walk(struct gg_memory_readings *readings, struct gg_member *member, struct gg_buf *text)
{
	struct gg_profile_memory *reading = &member->reading;
	const struct gg_smaps *parts = &member->parts;
	uint64_t cost_ns = 0;

	if (gg_look_schedule_is_due(member, gg_clock_monotonic_ns()))
		cost_ns = gg_look_schedule_take(member);
	if (cost_ns > 0)
		readings->heap_walks_ns += (int64_t)member->looks.heap_walks.extra_ns;
	else
		cost_ns = read_mappings(member, text);
	if (cost_ns == 0)
		return;
	if (cost_ns > readings->longest_walk_ns)
		readings->longest_walk_ns = cost_ns;
	readings->all_walks_ns += cost_ns;
	member->walks_cost_ns += cost_ns;
	member->walked_ns = gg_clock_monotonic_ns();
	reading->pss_bytes = parts->pss_bytes;
	reading->pss_file_bytes = parts->pss_file_bytes;
	reading->pss_stack_bytes = parts->pss_stack_bytes;
	reading->pss_geiger_bytes = parts->pss_geiger_bytes;
}

/*
 * True if all processes are due in this round.  If one of several processes began after the last
 * such walk, its sum lacks that process.  Then the next walk may begin earlier than otherwise.
 */
static bool are_all_due(const struct gg_memory_readings *readings, const struct gg_process_set *set,
                        uint64_t now_ns)
{
	double since_ns = (double)(now_ns - readings->walks_ns) / frugality_of(set);
	size_t count = 0, new_count = 0;

	if (now_ns >= readings->next_walks_ns)
		return true;
	if (since_ns < (double)readings->longest_walk_ns * FIRST_WALK_PART ||
	    since_ns < (double)readings->all_walks_ns * ALL_WALKS_PART)
		return false;
	for (const struct gg_member *member = set->first; member != NULL; member = member->next) {
		count += member->reading.rss_bytes >= 0;
		new_count += member->reading.rss_bytes >= 0 && member->walked_ns == 0;
	}
	return count > 1 && new_count > 0;
}

/*
 * Walks the processes that are due.  Sums need all processes walked in one round, so they become
 * due together, and the longest walk decides when they are due again.  If the processor time runs
 * out, the rest stays due, and the next round goes on with it: next_walks_ns is UINT64_MAX until
 * all are walked.
 */
static void walk_all(struct gg_memory_readings *readings, struct gg_process_set *set,
                     uint64_t start_ns, struct gg_buf *text)
{
	uint64_t now_ns = gg_clock_monotonic_ns(),
		 end_ns = gg_clock_thread_ns() + WALKS_MS * GG_NS_PER_MS;

	readings->walks_begin = are_all_due(readings, set, now_ns);
	if (readings->walks_begin) {
		end_ns += (ALL_WALKS_MS - WALKS_MS) * GG_NS_PER_MS;
		readings->walks_ns = now_ns;
		readings->next_walks_ns = UINT64_MAX;
		readings->longest_walk_ns = readings->all_walks_ns = 0;
	}
	for (struct gg_member *member = set->first; member != NULL; member = member->next) {
		if (member->reading.rss_bytes < 0 || !is_walk_due(readings, set, member))
			continue;
		if (gg_clock_thread_ns() >= end_ns)
			return;
		walk(readings, member, text);
		member->reading.span_ns = (int64_t)(gg_clock_monotonic_ns() - start_ns);
	}
	if (readings->next_walks_ns == UINT64_MAX)
		readings->next_walks_ns = readings->walks_ns +
		                          (uint64_t)((double)readings->longest_walk_ns * WALK_PART *
		                                     frugality_of(set));
}

/* --- rounds --- */

static void read_status(struct gg_member *member, int64_t time_ns, uint64_t start_ns,
                        struct gg_buf *text)
{
	struct gg_target *target = member->target;
	struct gg_profile_memory *reading = &member->reading;

	*reading = gg_profile_memory_unknown(target->id, time_ns);
	if (!gg_proc_file_read(text, "/proc/%u/status", target->pid))
		return;
	reading->rss_bytes = gg_proc_file_find_kb(gg_buf_text(text),
	                                          "VmRSS"); /* a zombie lacks this line */
	reading->max_rss_bytes = gg_proc_file_find_kb(gg_buf_text(text), "VmHWM");
	reading->anonymous_bytes = gg_proc_file_find_kb(gg_buf_text(text), "RssAnon");
	reading->file_bytes = gg_proc_file_find_kb(gg_buf_text(text), "RssFile");
	reading->shared_bytes = gg_proc_file_find_kb(gg_buf_text(text), "RssShmem");
	reading->swap_bytes = gg_proc_file_find_kb(gg_buf_text(text), "VmSwap");
	reading->live_bytes = target->live_bytes;
	reading->span_ns = (int64_t)(gg_clock_monotonic_ns() - start_ns);
	if (reading->anonymous_bytes > target->anonymous_most_bytes)
		target->anonymous_most_bytes = reading->anonymous_bytes;
}

/*
 * Returns the estimate of live memory of all processes together.  A block that a process shares
 * with its running ancestor counts once.
 */
static double live_bytes(const struct gg_process_set *set)
{
	double bytes = 0;

	for (const struct gg_member *member = set->first; member != NULL; member = member->next) {
		bytes += member->target->live_bytes;
		if (member->target->ancestor != NULL && !member->target->ancestor->is_finished)
			bytes -= member->target->inherited_bytes;
	}
	return bytes;
}

/* Adds a value to a sum that is -1 as long as it has no known value. */
static void add_known(int64_t *sum, int64_t bytes)
{
	if (bytes >= 0)
		*sum = (*sum > 0 ? *sum : 0) + bytes;
}

/*
 * Writes the readings of all processes and adds them up.  The sum of proportional sizes is unknown
 * unless each process was walked in this round.
 */
static int write_round(struct gg_process_set *set, struct gg_profile_memory *all)
{
	struct gg_profile_writer *writer = set->writer;
	bool has_shares = true;

	for (struct gg_member *member = set->first; member != NULL && writer->status == 0;
	     member = member->next) {
		struct gg_profile_memory *reading = &member->reading;

		if (reading->rss_bytes < 0)
			continue;
		if (member->walked_ns != 0) {
			reading->heap_bytes = member->parts.heap_bytes;
			reading->stack_bytes = member->parts.stack_bytes;
			reading->geiger_bytes = member->parts.geiger_bytes;
			reading->geiger_file_bytes = member->parts.geiger_file_bytes;
		}
		add_known(&all->rss_bytes, reading->rss_bytes);
		add_known(&all->pss_bytes, reading->pss_bytes);
		has_shares &= reading->pss_bytes >= 0;
		if (reading->span_ns > all->span_ns)
			all->span_ns = reading->span_ns;
		gg_profile_writer_keep(
			writer, gg_profile_add_memory(writer->profile, reading, writer->error));
	}
	if (!has_shares)
		all->pss_bytes = -1;
	return writer->status;
}

int gg_memory_readings_take(struct gg_memory_readings *readings, struct gg_process_set *set)
{
	struct gg_profile_writer *writer = set->writer;
	uint64_t start_ns = gg_clock_monotonic_ns();
	struct gg_profile_memory all;
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	/* The round begins here: draining the rings before may have taken long. */
	writer->now_ns = (int64_t)(start_ns - writer->start_ns);
	readings->heap_walks_ns = 0;
	all = gg_profile_memory_unknown(0, writer->now_ns);
	all.live_bytes = live_bytes(set);
	for (struct gg_member *member = set->first; member != NULL; member = member->next) {
		read_status(member, all.time_ns, start_ns, &text);
		gg_look_schedule_pass(member);
	}
	walk_all(readings, set, start_ns, &text);
	readings->last_ns = writer->now_ns;
	readings->cost_ns = (int64_t)(gg_clock_monotonic_ns() - start_ns) - readings->heap_walks_ns;
	readings->rss_bytes = 0;
	for (const struct gg_member *member = set->first; member != NULL; member = member->next)
		readings->rss_bytes += member->reading.rss_bytes > 0 ? member->reading.rss_bytes
		                                                     : 0;
	if (all.live_bytes > readings->most_live_bytes)
		readings->most_live_bytes = all.live_bytes;
	all.cgroup_bytes = read_cgroup(&text);
	if (writer->status == 0 && write_round(set, &all) == 0)
		gg_profile_writer_keep(writer,
		                       gg_profile_add_memory(writer->profile, &all, writer->error));
	return writer->status;
}

int gg_memory_readings_end(struct gg_memory_readings *readings, struct gg_process_set *set)
{
	readings->next_walks_ns = 0;
	for (struct gg_member *member = set->first; member != NULL; member = member->next)
		member->looks.next_ns = member->looks.last_ns = 0;
	return gg_memory_readings_take(readings, set);
}

/* True if the live estimate exceeds its maximum of all rounds so far that a round is due. */
static bool has_grown(const struct gg_memory_readings *readings, const struct gg_process_set *set)
{
	int64_t pause_ns = readings->cost_ns * ROUND_PART;
	double live = live_bytes(set);

	if (pause_ns < GROWTH_LEAST_NS)
		pause_ns = GROWTH_LEAST_NS;
	return live > readings->most_live_bytes * GROWTH_SHARE + GROWTH_LEAST_BYTES &&
	       (double)(set->writer->now_ns - readings->last_ns) >=
	               (double)pause_ns * frugality_of(set);
}

/* Returns the resident bytes of all processes together, in less time than a round takes. */
static int64_t read_all_rss(const struct gg_process_set *set)
{
	int64_t bytes = 0;

	for (const struct gg_member *member = set->first; member != NULL; member = member->next) {
		int64_t rss_bytes = gg_proc_file_rss_bytes(member->target->pid);

		bytes += rss_bytes > 0 ? rss_bytes : 0;
	}
	return bytes;
}

/* True if RSS differs from that of the last round; compares it as often as its cost allows. */
static bool has_changed(struct gg_memory_readings *readings, const struct gg_process_set *set)
{
	int64_t now_ns = set->writer->now_ns, pause_ns = readings->check_cost_ns * CHECK_PART;
	int64_t least_ns = now_ns < GG_NS_PER_S ? CHECK_LEAST_NS : CHECK_NS;
	uint64_t start_ns;
	int64_t change;

	if (pause_ns < least_ns)
		pause_ns = least_ns;
	pause_ns = (int64_t)((double)pause_ns * frugality_of(set));
	if (now_ns - readings->checked_ns < pause_ns || now_ns - readings->last_ns < least_ns)
		return false;
	start_ns = gg_clock_monotonic_ns();
	change = llabs(read_all_rss(set) - readings->rss_bytes);
	readings->checked_ns = now_ns;
	readings->check_cost_ns = (int64_t)(gg_clock_monotonic_ns() - start_ns);
	return change > CHANGE_LEAST_BYTES &&
	       (double)change > (double)readings->rss_bytes * CHANGE_SHARE;
}

/* Thins out rounds of long ago. */
static void thin_out(struct gg_memory_readings *readings, struct gg_profile_writer *writer)
{
	int64_t limit_ns = writer->now_ns - THIN_AFTER_NS;

	if (limit_ns < THIN_BUCKET_NS || writer->now_ns - readings->thinned_ns < THIN_BUCKET_NS)
		return;
	readings->thinned_ns = writer->now_ns;
	gg_profile_writer_keep(writer, gg_profile_thin_memory(writer->profile,
	                                                      limit_ns - limit_ns % THIN_BUCKET_NS,
	                                                      THIN_BUCKET_NS, &readings->thinned_id,
	                                                      writer->error));
}

int gg_memory_readings_watch(struct gg_memory_readings *readings, struct gg_process_set *set)
{
	int64_t now_ns = set->writer->now_ns, pause_ns = now_ns / 4;
	bool has_more = has_grown(readings, set);

	thin_out(readings, set->writer);
	if (now_ns < readings->next_ns && !has_more) {
		if (has_changed(readings, set))
			gg_memory_readings_take(readings, set);
		return set->writer->status;
	}
	/* At the first call no process has started yet. */
	if (readings->next_ns > 0 || has_more)
		gg_memory_readings_take(readings, set);
	/* With a pause of a quarter of the run, no reading is older than a quarter of the run. */
	if (pause_ns < ROUND_LEAST_NS)
		pause_ns = ROUND_LEAST_NS;
	if (pause_ns > ROUND_MOST_NS)
		pause_ns = ROUND_MOST_NS;
	if (has_more && pause_ns > SETTLED_NS)
		pause_ns = SETTLED_NS;
	pause_ns = (int64_t)((double)pause_ns * frugality_of(set));
	readings->next_ns = now_ns + pause_ns;
	return set->writer->status;
}
