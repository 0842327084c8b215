/* SPDX-License-Identifier: Apache-2.0 */
/* idle_children - watches children without a region, and writes what they held. */
#include "record/process/idle_children.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/time_units.h"
#include "record/diagnose/agent_presence.h"
#include "record/process/forgotten.h"
#include "record/process/reconcile.h"
#include "record/process/unseen_children.h"
#include "record/regions/process_alive.h"
#include "region/reader/view.h"

enum {
	READ_AT_ONCE = 64,
	SAMPLES_MAX = 1 << 20, /* of all idle children of a session */
	EXAMINED_CLOSELY = 8,  /* with more children, each is examined once a second */
	EXAMINED_PART = 100,   /* and all examinations take this part of the time at most */
	DESCRIPTORS_EACH = 2,  /* pidfd and region_fd */
};

#define SOON_NS (100 * GG_NS_PER_MS)
/* Time for examinations that was not used is kept up to that. */
#define EXAMINED_SPARE_NS ((int64_t)(20 * GG_NS_PER_MS))
/*
 * After that time a child is written although it lives on.  Compaction leaves the samples that it
 * refers to, and begins with those that were freed an hour ago.
 */
#define LONG_NS (600 * GG_NS_PER_S)
/* The end of a child is corrected if the recording ends within that time. */
#define CORRECTED_NS (60 * GG_NS_PER_S)
/* So long a child waits for the region of its ancestor to be found. */
#define ANCESTOR_NS (10 * GG_NS_PER_S)

struct gg_idle_child {
	struct gg_idle_child *next;
	struct gg_session_fork fork;
	int region_fd;        /* of its ancestor's region, which it still writes; -1: unknown */
	uint32_t ancestor;    /* its number in the lineage; 0: not found yet */
	uint64_t start_ticks; /* 0: unknown */
	int pidfd;            /* -1: the recorder polls /proc */
	bool is_elsewhere;    /* its pid is of another namespace: nobody knows when it ends */
	bool is_over;         /* it has ended, or executed another program */
	uint64_t
		over_scan; /* the number of the last scan for new regions before that was noticed */
	bool is_settled;   /* what it held is in the profile; only its end may change */
	bool is_waited_for; /* its parent waited for it */
	bool is_told;       /* unsettled_child_count of its ancestor has it */
	/* CLOCK_MONOTONIC: when it was last known to be idle; an upper bound of its end. */
	uint64_t idle_ns, end_ns;
	uint64_t examined_ns;
	char region[64]; /* the file of its ancestor's region; "": unknown */
	/* In the profile; id 0: it is not there yet.  The child owns the texts. */
	struct gg_profile_process record;
};

static void close_child(struct gg_idle_child *child)
{
	if (child->pidfd >= 0)
		close(child->pidfd);
	if (child->region_fd >= 0)
		close(child->region_fd);
	child->pidfd = child->region_fd = -1;
}

/* Counts the child among those of its ancestor that are not settled, or no more. */
static void tell(struct gg_process_set *set, struct gg_idle_child *child, bool is_unsettled)
{
	struct gg_lineage_process *ancestor = gg_lineage_at(&set->targets.lineage, child->ancestor);

	if (child->is_told == is_unsettled)
		return;
	child->is_told = is_unsettled;
	ancestor->unsettled_child_count += is_unsettled ? 1 : UINT64_MAX;
	gg_unseen_children_write(set->writer, ancestor);
}

static void free_child(struct gg_idle_child *child)
{
	close_child(child);
	free((char *)child->record.exe);
	free((char *)child->record.command);
	free(child);
}

void gg_idle_children_done(struct gg_process_set *set)
{
	while (set->idle_children != NULL) {
		struct gg_idle_child *child = set->idle_children;

		set->idle_children = child->next;
		free_child(child);
	}
}

static struct gg_target *find_target(const struct gg_process_set *set, uint32_t lineage)
{
	struct gg_target *target = set->targets.first;

	while (target != NULL && target->lineage != lineage)
		target = target->next;
	return target;
}

/* --- new ones --- */

/*
 * False if idle children have a quarter of the recorder's descriptors, because active processes
 * need the others.  Further children are polled, and count in upper ends alone.
 */
static bool may_open(const struct gg_process_set *set)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
	       set->idle_open_count < limit.rlim_cur / 4 / DESCRIPTORS_EACH;
}

/*
 * Opens the child.  If its pid has another start, it has ended, or its pid is of another
 * namespace.  The descriptor comes first, so that a right start proves that it is the child's.
 */
static void open_child(const struct gg_process_set *set, struct gg_idle_child *child)
{
	uint64_t least, most;

	child->pidfd = -1;
	child->is_elsewhere = child->fork.is_elsewhere != 0;
	if (child->is_elsewhere)
		return;
	if (may_open(set))
		child->pidfd = gg_member_open_pidfd(child->fork.pid);
	child->start_ticks = gg_process_alive_start_ticks(child->fork.pid);
	gg_unseen_children_start(&set->targets.lineage, &child->fork, &least, &most);
	if (child->start_ticks >= least && child->start_ticks <= most)
		return;
	child->is_elsewhere = child->start_ticks != 0 && child->start_ticks < least;
	child->start_ticks = 0;
	child->is_over = !child->is_elsewhere;
	child->end_ns = gg_clock_monotonic_ns();
	if (child->pidfd >= 0)
		close(child->pidfd);
	child->pidfd = -1;
}

/* The name of the ancestor's region, if the ancestor lives or has just ended. */
static void name_region(const struct gg_process_set *set, const struct gg_target *ancestor,
                        char name[64])
{
	for (const struct gg_member *member = set->first; member != NULL; member = member->next)
		if (member->target == ancestor)
			memcpy(name, member->name, sizeof(member->name));
}

/* Finds the ancestor, whose region may be found later than the fork was read. */
static void find_ancestor(const struct gg_process_set *set, struct gg_idle_child *child)
{
	const struct gg_target *ancestor;

	child->ancestor = gg_lineage_find(&set->targets.lineage, child->fork.ancestor_pid,
	                                  child->fork.ancestor_start_ns);
	ancestor = child->ancestor != 0 ? find_target(set, child->ancestor) : NULL;
	if (ancestor == NULL || ancestor->reader.fd < 0)
		return;
	if (may_open(set))
		child->region_fd = fcntl(ancestor->reader.fd, F_DUPFD_CLOEXEC, 0);
	name_region(set, ancestor, child->region);
	/* Its pid may be of another namespace, in which it has another one. */
	if (child->is_over && ancestor->pid != ancestor->reader.header.pid) {
		child->is_over = false;
		child->is_elsewhere = true;
	}
}

static void add(struct gg_process_set *set, const struct gg_session_fork *fork)
{
	struct gg_idle_child *child;

	if (fork->pid == 0 || fork->fork_ns > fork->noted_ns ||
	    fork->noted_ns > gg_clock_monotonic_ns() || fork->held_fork_ns > fork->fork_ns ||
	    fork->held_noted_ns > fork->noted_ns || fork->held_fork_ns > fork->held_noted_ns ||
	    gg_lineage_has_fork(&set->targets.lineage, fork->pid, fork->fork_ns))
		return;
	child = calloc(1, sizeof(*child));
	if (child == NULL) {
		gg_profile_writer_keep(set->writer, -ENOMEM);
		return;
	}
	*child = (struct gg_idle_child){ .fork = *fork,
		                         .idle_ns = fork->noted_ns,
		                         .region_fd = -1,
		                         .next = set->idle_children };
	open_child(set, child);
	child->over_scan = set->scan_count;
	find_ancestor(set, child);
	set->idle_open_count += child->pidfd >= 0 || child->region_fd >= 0;
	set->idle_children = child;
}

/* Leaves the forks of children that may still be idle in the file, for a salvage. */
static void keep_forks(struct gg_process_set *set)
{
	GG_ARRAY(struct gg_session_fork) kept = { 0 };
	bool has_failed = false;

	for (const struct gg_idle_child *child = set->idle_children; child != NULL;
	     child = child->next)
		if (!child->is_over)
			has_failed |= !gg_array_push(&kept, child->fork);
	if (!has_failed)
		gg_session_directory_keep_forks(&set->directory, kept.items, kept.count);
	gg_array_done(&kept);
}

void gg_idle_children_read(struct gg_process_set *set)
{
	struct gg_session_fork forks[READ_AT_ONCE];
	size_t count;

	set->idle_open_count = 0;
	for (const struct gg_idle_child *child = set->idle_children; child != NULL;
	     child = child->next)
		set->idle_open_count += child->pidfd >= 0 || child->region_fd >= 0;
	do {
		count = gg_session_directory_read_forks(&set->directory, forks, READ_AT_ONCE);
		for (size_t i = 0; i < count && set->writer->status == 0; i++)
			if (set->only_pid == 0 && !set->is_over)
				add(set, &forks[i]);
	} while (count == READ_AT_ONCE);
	if (gg_session_directory_has_old_forks(&set->directory))
		keep_forks(set);
}

/* --- ends --- */

static void end_child(const struct gg_process_set *set, struct gg_idle_child *child)
{
	child->is_over = true;
	child->over_scan = set->scan_count;
	child->end_ns = gg_clock_monotonic_ns();
}

/*
 * The child has a region now, in which all is that it held.  Returns its id in the profile, or 0
 * if it was not there yet.
 */
static uint32_t wake(struct gg_process_set *set, struct gg_idle_child *child)
{
	struct gg_profile_writer *writer = set->writer;
	uint32_t id = child->record.id;

	if (id == 0)
		return 0;
	gg_profile_writer_flush(writer);
	gg_profile_writer_keep(writer,
	                       gg_profile_remove_samples(writer->profile, id, writer->error));
	gg_profile_writer_keep(writer,
	                       gg_profile_put_counter(writer->profile, id, GG_PROFILE_COUNTER_IDLE,
	                                              0, writer->error));
	return id;
}

void gg_idle_children_postpone(struct gg_process_set *set, uint32_t pid)
{
	for (struct gg_idle_child *child = set->idle_children; child != NULL; child = child->next)
		if (child->fork.pid == pid)
			child->over_scan = set->scan_count;
}

uint32_t gg_idle_children_take(struct gg_process_set *set, const struct gg_region_header *header)
{
	struct gg_idle_child **link = &set->idle_children;

	for (; *link != NULL; link = &(*link)->next) {
		struct gg_idle_child *child = *link;
		uint32_t id;

		if (child->fork.pid != header->pid)
			continue;
		if (child->fork.fork_ns == header->fork_ns) {
			id = wake(set, child);
			tell(set, child, false);
			*link = child->next;
			free_child(child);
			return id;
		}
		if (!child->is_over && child->fork.fork_ns < header->start_monotonic_ns) {
			end_child(set, child);
			child->end_ns = header->start_monotonic_ns;
			if (child->idle_ns > child->end_ns)
				child->idle_ns = child->end_ns;
			return 0;
		}
	}
	return 0;
}

/*
 * Examines a child that lived at now_ns.  It has its ancestor's region mapped until it executes
 * another program, or makes a region of its own.
 */
static void examine(const struct gg_process_set *set, struct gg_idle_child *child, uint64_t now_ns)
{
	child->examined_ns = now_ns;
	if (child->region[0] == '\0')
		return;
	if (gg_agent_presence_is_mapped(child->fork.pid, child->region, false))
		child->idle_ns = now_ns;
	/* One that ends just now has no mappings any more, and has not executed anything. */
	else if (!gg_agent_presence_is_mapped(child->fork.pid, child->region, true) &&
	         gg_process_alive(child->fork.pid, child->start_ticks))
		end_child(set, child);
}

/* Finds the living child that was examined the longest ago; NULL: no child is due. */
static struct gg_idle_child *find_due(const struct gg_process_set *set, uint64_t now_ns,
                                      uint64_t pause_ns)
{
	struct gg_idle_child *due = NULL;

	for (struct gg_idle_child *child = set->idle_children; child != NULL; child = child->next)
		if (!child->is_over && !child->is_elsewhere && child->examined_ns < now_ns &&
		    now_ns - child->examined_ns >= pause_ns &&
		    (due == NULL || child->examined_ns < due->examined_ns))
			due = child;
	return due;
}

/*
 * Examines those that are due, as long as there is time for it: a child with many mappings takes
 * milliseconds.  A child is idle for certain only until its last examination, so the bounds of its
 * end are wider if it has to wait for the next one.
 */
static void examine_due(struct gg_process_set *set, size_t living_count, uint64_t now_ns)
{
	uint64_t pause_ns = living_count <= EXAMINED_CLOSELY ? 0 : GG_NS_PER_S;
	double part = EXAMINED_PART * (1 + set->writer->extra_pause);
	struct gg_idle_child *child;

	if (set->examined_ns != 0)
		set->examine_left_ns += (int64_t)((double)(now_ns - set->examined_ns) / part);
	if (set->examined_ns == 0 || set->examine_left_ns > EXAMINED_SPARE_NS)
		set->examine_left_ns = EXAMINED_SPARE_NS;
	set->examined_ns = now_ns;
	while (set->examine_left_ns > 0 && (child = find_due(set, now_ns, pause_ns)) != NULL) {
		uint64_t begin_ns = gg_clock_thread_ns();

		examine(set, child, now_ns);
		set->examine_left_ns -= (int64_t)(gg_clock_thread_ns() - begin_ns);
	}
}

static bool is_polled(const struct gg_idle_child *child)
{
	return !child->is_over && !child->is_elsewhere && child->pidfd >= 0;
}

/* Finds those that have ended by one poll() of their descriptors. */
static void find_ends(struct gg_process_set *set)
{
	uint64_t now_ns = gg_clock_monotonic_ns();
	struct gg_idle_child *child = set->idle_children;
	GG_ARRAY(struct pollfd) fds = { 0 };
	size_t next = 0, count = 0;
	bool has_ended;

	for (; child != NULL; child = child->next) {
		count += !child->is_over;
		if (is_polled(child) &&
		    !gg_array_push(&fds,
		                   ((struct pollfd){ .fd = child->pidfd, .events = POLLIN }))) {
			gg_profile_writer_keep(set->writer, -ENOMEM);
			goto out;
		}
	}
	if (fds.count > 0)
		poll(fds.items, fds.count, 0);
	for (child = set->idle_children; child != NULL; child = child->next) {
		if (child->is_over || child->is_elsewhere)
			continue;
		has_ended = is_polled(child)
		                    ? fds.items[next++].revents != 0
		                    : !gg_process_alive(child->fork.pid, child->start_ticks);
		if (has_ended)
			end_child(set, child);
	}
	examine_due(set, count, now_ns);
out:
	gg_array_done(&fds);
}

/* --- what they held --- */

/* A scan for the children of one ancestor. */
struct held_scan {
	struct gg_idle_child *child;
	const struct gg_lineage_process *ancestor;
	int64_t fork_ns, noted_ns; /* in session time: when it left the ancestor */
	GG_ARRAY(struct gg_profile_sample) samples;
	uint64_t unknown_count; /* blocks of which nobody knows if it held them */
};

/*
 * Takes a block of the ancestor.  If only one thread of the ancestor ever sampled, then nothing
 * happened between the time before the fork and the fork itself.
 */
static int take(const struct gg_profile_sample *sample, void *context)
{
	struct held_scan *scan = context;
	bool is_single = scan->ancestor->thread_count <= 1;
	int64_t certain_ns = is_single ? scan->fork_ns : scan->noted_ns;
	struct gg_profile_sample *taken;

	if (sample->alloc_ns > scan->fork_ns) {
		scan->unknown_count += sample->alloc_ns <= certain_ns;
		return 0;
	}
	if (sample->free_ns != GG_TIME_NONE && sample->free_ns < scan->fork_ns)
		return 0;
	if (sample->free_ns <= certain_ns ||
	    (sample->free_ns != GG_TIME_NONE &&
	     (sample->flags & (GG_PROFILE_SAMPLE_LATE_FREE | GG_PROFILE_SAMPLE_LOST_FREE)) != 0)) {
		scan->unknown_count++;
		return 0;
	}
	taken = gg_array_add(&scan->samples);
	if (taken == NULL)
		return -ENOMEM;
	*taken = *sample;
	taken->id = 0;
	taken->origin = sample->origin != 0 ? sample->origin : sample->id;
	taken->free_ns = GG_TIME_NONE;
	taken->thread = taken->free_thread = taken->free_stack = 0;
	taken->flags &= ~(uint32_t)(GG_PROFILE_SAMPLE_LATE_FREE | GG_PROFILE_SAMPLE_LOST_FREE);
	return 0;
}

/*
 * The recorder notices the end of an idle child late, as it does that of any process that is
 * killed.  So nothing tells the order if another process ended meanwhile, which matters for what
 * is live at the end.  A child whose parent waited for it ended before the parent.  Otherwise the
 * end of the session's last process is as likely as any.
 */
static void correct_end(const struct gg_process_set *set, struct gg_idle_child *child)
{
	const struct gg_lineage *lineage = &set->targets.lineage;
	const struct gg_lineage_process *ancestor = gg_lineage_at(lineage, child->ancestor);
	struct gg_profile_process *record = &child->record;
	int64_t least_ns = record->end_ns - record->end_range_ns, end_ns = record->end_ns;

	if (!child->is_over)
		return;
	if (child->is_waited_for && ancestor->end_ns > least_ns && ancestor->end_ns <= end_ns)
		end_ns = ancestor->end_ns - 1;
	else if (lineage->last_end_ns >= least_ns && lineage->last_end_ns < end_ns)
		end_ns = lineage->last_end_ns;
	if (end_ns == record->end_ns)
		return;
	record->end_ns = end_ns;
	record->end_range_ns = end_ns - least_ns;
	gg_profile_writer_keep(set->writer,
	                       gg_profile_update_process(set->writer->profile, record->id, record,
	                                                 set->writer->error));
}

/* Writes the end of a child that is in the profile. */
static void write_end(struct gg_process_set *set, struct gg_idle_child *child)
{
	const struct gg_exit_status *exit_status = gg_exit_statuses_find(&set->exit_statuses,
	                                                                 (pid_t)child->fork.pid);
	struct gg_profile_process *record = &child->record;
	struct gg_profile_writer *writer = set->writer;

	record->end_ns = GG_TIME_NONE;
	record->ending = "lived on";
	if (child->is_over) {
		record->end_ns = gg_profile_writer_time(writer, child->end_ns);
		record->end_range_ns = record->end_ns -
		                       gg_profile_writer_time(writer, child->idle_ns);
		record->ending = exit_status != NULL ? exit_status->text : NULL;
		child->is_waited_for = exit_status == NULL && child->pidfd >= 0 &&
		                       gg_member_is_reaped(child->pidfd);
	}
	gg_profile_writer_keep(writer, gg_profile_update_process(writer->profile, record->id,
	                                                         record, writer->error));
}

static char *copy_of(const char *text)
{
	return text != NULL ? strdup(text) : NULL;
}

/* Adds the child to the profile, with what it held. */
static void write_child(struct gg_process_set *set, struct held_scan *scan)
{
	struct gg_profile_writer *writer = set->writer;
	struct gg_idle_child *child = scan->child;
	const struct gg_target *ancestor = find_target(set, child->ancestor);
	uint32_t id;

	if (scan->samples.count == 0 && scan->unknown_count == 0)
		return;
	gg_assert(child->record.id == 0);
	child->record = (struct gg_profile_process){
		.pid = child->fork.pid,
		.parent = scan->ancestor->id,
		.start_ns = gg_profile_writer_time(writer, child->fork.fork_ns),
		.end_ns = GG_TIME_NONE,
		.exe = ancestor != NULL ? copy_of(ancestor->record.exe) : NULL,
		.command = ancestor != NULL ? copy_of(ancestor->record.command) : NULL,
		.interval_bytes = scan->ancestor->interval_bytes,
		.scheme = scan->ancestor->scheme,
	};
	if (gg_profile_writer_keep(writer, gg_profile_add_process(writer->profile, &child->record,
	                                                          &id, writer->error)) < 0)
		return;
	child->record.id = id;
	writer->counts.process_count++;
	for (size_t i = 0; i < scan->samples.count && writer->status == 0; i++) {
		scan->samples.items[i].process = id;
		gg_profile_writer_sample(writer, &scan->samples.items[i]);
	}
	set->idle_sample_count += scan->samples.count;
	writer->counts.unseen_child_count += scan->unknown_count > 0;
	gg_profile_writer_keep(writer,
	                       gg_profile_put_counter(writer->profile, id, GG_PROFILE_COUNTER_IDLE,
	                                              scan->samples.count + scan->unknown_count,
	                                              writer->error));
}

/*
 * True if it may have freed blocks nevertheless.  A child that cannot create its region counts
 * itself in that of its ancestor, and goes on without one.
 */
static bool may_have_freed(const struct gg_idle_child *child)
{
	const struct gg_region_reader reader = { .fd = child->region_fd };
	uint64_t count;

	return child->region_fd < 0 ||
	       !gg_region_reader_counter(&reader, GG_COUNT_LOST_CHILDREN, &count) || count > 0;
}

/* True if some block may have lived on in the child when its ancestor held it no more. */
static bool has_outlived(const struct gg_process_set *set, const struct gg_idle_child *child)
{
	const struct gg_target *ancestor = find_target(set, child->ancestor);

	return ancestor == NULL || ancestor->is_finished || ancestor->exact != NULL ||
	       gg_reconcile_is_lossy(ancestor) ||
	       ancestor->last_free_ns >= child->fork.held_fork_ns;
}

/*
 * Counts a child that could not make its region, or that may live until the end of the recording or
 * have ended long ago.  It is no process of the profile: the former is missing, and the end of the
 * latter would decide what is live at the end.
 */
static void count_unseen(struct gg_process_set *set, struct gg_lineage_process *ancestor)
{
	if (!ancestor->has_samples)
		return;
	ancestor->unseen_child_count++;
	set->writer->counts.unnoted_child_count++;
	gg_unseen_children_write(set->writer, ancestor);
}

static bool may_search(const struct gg_process_set *set)
{
	return set->idle_sample_count < SAMPLES_MAX && gg_forgotten_has_time(&set->targets);
}

/* Writes what the child held, unless it is in the profile. */
static void settle(struct gg_process_set *set, struct gg_idle_child *child)
{
	struct gg_lineage_process *ancestor = gg_lineage_at(&set->targets.lineage, child->ancestor);
	struct gg_profile_writer *writer = set->writer;
	uint64_t begin_ns = gg_clock_monotonic_ns();
	struct held_scan scan = {
		.child = child,
		.ancestor = ancestor,
		.fork_ns = gg_profile_writer_time(writer, child->fork.held_fork_ns),
		.noted_ns = gg_profile_writer_time(writer, child->fork.held_noted_ns),
	};
	struct gg_target *target = find_target(set, child->ancestor);
	bool is_idle = !child->is_over || child->end_ns - child->fork.fork_ns >= SOON_NS;

	if (target != NULL)
		gg_target_tell_lineage(target);
	if ((child->is_elsewhere && !child->is_over) || may_have_freed(child)) {
		if (has_outlived(set, child))
			count_unseen(set, ancestor);
		return;
	}
	if (!is_idle && !has_outlived(set, child))
		return;
	if (is_idle && may_search(set)) {
		gg_profile_writer_flush(writer);
		gg_profile_writer_keep(writer, gg_profile_each_sample_of(
						       writer->profile, ancestor->id, scan.noted_ns,
						       scan.fork_ns, take, &scan, writer->error));
		gg_forgotten_charge(&set->targets, begin_ns);
		scan.unknown_count += ancestor->is_lossy;
	} else {
		scan.unknown_count = ancestor->has_samples;
	}
	if (writer->status == 0)
		write_child(set, &scan);
	gg_array_done(&scan.samples);
}

/* Writes the child if that is due.  True: nothing more is to be done with it. */
static bool settle_if_due(struct gg_process_set *set, struct gg_idle_child *child, bool all)
{
	uint64_t now_ns = gg_clock_monotonic_ns();
	/* A later scan finds the region that the child has made, if it has. */
	bool ends = (child->is_over && set->scan_count > child->over_scan) || all;

	if (child->ancestor == 0)
		find_ancestor(set, child);
	/* The region of an ancestor that is not recorded never comes. */
	if (child->ancestor == 0)
		return ends || now_ns - child->fork.noted_ns > ANCESTOR_NS;
	if (child->record.id == 0 && (ends || now_ns - child->fork.fork_ns >= LONG_NS))
		settle(set, child);
	if (!ends)
		return false;
	child->is_settled = true;
	if (child->record.id != 0)
		write_end(set, child);
	return child->record.id == 0;
}

static void settle_ended(struct gg_process_set *set, bool all)
{
	struct gg_idle_child **link = &set->idle_children;

	while (*link != NULL && set->writer->status == 0) {
		struct gg_idle_child *child = *link;
		bool is_old = child->is_settled && !all &&
		              gg_clock_monotonic_ns() - child->end_ns > CORRECTED_NS;

		if (is_old || (!child->is_settled && settle_if_due(set, child, all))) {
			tell(set, child, false);
			*link = child->next;
			free_child(child);
			continue;
		}
		if (child->is_settled)
			close_child(child);
		if (child->record.id != 0)
			tell(set, child, false);
		link = &child->next;
	}
}

void gg_idle_children_watch(struct gg_process_set *set)
{
	if (set->idle_children == NULL)
		return;
	find_ends(set);
	settle_ended(set, false);
}

void gg_idle_children_tell(struct gg_process_set *set)
{
	struct gg_idle_child *child = set->idle_children;

	for (; child != NULL && set->writer->status == 0; child = child->next) {
		const struct gg_lineage_process *ancestor = gg_lineage_at(&set->targets.lineage,
		                                                          child->ancestor);
		struct gg_target *target;

		if (ancestor == NULL || child->is_told || child->record.id != 0 ||
		    !has_outlived(set, child))
			continue;
		target = find_target(set, child->ancestor);
		if (target != NULL)
			gg_target_tell_lineage(target);
		if (ancestor->has_samples)
			tell(set, child, true);
	}
}

void gg_idle_children_finish(struct gg_process_set *set)
{
	find_ends(set);
	settle_ended(set, true);
	for (struct gg_idle_child *child = set->idle_children; child != NULL; child = child->next)
		if (child->is_settled && child->record.id != 0)
			correct_end(set, child);
}
