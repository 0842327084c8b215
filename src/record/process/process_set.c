/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_set - keeps the processes of a session from their regions to their ends.
 *
 * A region passes through these steps:
 *
 *   1. gg_new_regions_scan() finds a file and waits until it is a complete region (an embryo until
 *      then).  gg_process_set_add() makes it a member of the set.
 *   2. gg_process_set_drain() reads its ring each round.
 *   3. gg_process_set_listen() notices the end of its process.
 *   4. gg_process_set_finish_ended() writes its final state, once the time and the manner of the
 *      end are known.
 *   5. gg_process_set_committed() removes the file after the next commit.  A recorder that is
 *      killed before that leaves the file for `geiger salvage`.
 */
#include "record/process/process_set.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/time_units.h"
#include "record/diagnose/diagnostics.h"
#include "record/process/attach_record.h"
#include "record/process/end_time.h"
#include "record/process/exact_history.h"
#include "record/process/final_state.h"
#include "record/process/ingest.h"
#include "record/process/reconcile.h"
#include "region/control.h"
#include "region/region_file.h"

void gg_process_set_begin(struct gg_process_set *set)
{
	gg_succession_begin(&set->succession, &set->directory);
	set->pidfds_fd = epoll_create1(EPOLL_CLOEXEC);
}

void gg_process_set_done(struct gg_process_set *set)
{
	while (set->first != NULL) {
		struct gg_member *member = set->first;

		set->first = member->next;
		gg_member_free(member);
	}
	gg_process_set_let_go(set, false);
	if (set->pidfds_fd >= 0)
		close(set->pidfds_fd);
	set->pidfds_fd = -1;
	gg_succession_done(&set->succession);
	gg_target_set_done(&set->targets);
	gg_map_done(&set->read_map);
	gg_map_done(&set->noted_ends);
	gg_findings_done(&set->findings);
	gg_array_done(&set->read_names);
}

void gg_process_set_switch_off(int fd)
{
	/* An attached agent takes its hooks away; a preloaded one ignores that request. */
	const struct gg_region_change change = { .set_active = true,
		                                 .active = false,
		                                 .detach = true };

	/* After a failure the process goes on sampling, although nobody reads the samples. */
	if (gg_region_control_write(fd, &change, NULL) < 0)
		return;
}

struct gg_member *gg_process_set_find(struct gg_process_set *set, uint32_t pid)
{
	struct gg_member *member = set->first;

	while (member != NULL && member->target->pid != pid)
		member = member->next;
	return member;
}

static uint64_t hash_of(const char *name)
{
	return gg_hash_bytes(name, strlen(name), 0);
}

/* Marks a region for removal: its content is in the profile, but safe only after a commit. */
static void remove_later(struct gg_process_set *set, const char *name)
{
	struct gg_process_set_name *added;

	if (!gg_array_reserve(&set->read_names, set->read_names.count + 1) ||
	    gg_map_put(&set->read_map, hash_of(name), set->read_names.count) < 0) {
		gg_profile_writer_keep(set->writer, -ENOMEM);
		return;
	}
	added = gg_array_add(&set->read_names);
	snprintf(added->text, sizeof(added->text), "%s", name);
}

/* Removes the file from the directory that has it: the session's first one or its spare. */
static void remove_region(const struct gg_process_set *set, const char *name)
{
	const struct gg_session_directory *directory = &set->directory;

	while (directory != NULL && unlinkat(directory->fd, name, 0) < 0)
		directory = directory->spare;
}

void gg_process_set_committed(struct gg_process_set *set)
{
	for (uint32_t i = 0; i < set->read_names.count; i++)
		remove_region(set, set->read_names.items[i].text);
	set->read_names.count = 0;
	gg_map_done(&set->read_map);
}

static uint64_t later(uint64_t left, uint64_t right)
{
	return left > right ? left : right;
}

static uint64_t hash_of_pid(uint32_t pid)
{
	return gg_hash_bytes((const char *)&pid, sizeof(pid), 0);
}

/*
 * Finds the end of the parent of a process without a noted end, if the parent waited for it: some
 * process did, and the recorder, which adopts orphans, did not.  The parent outlived the process's
 * start and the last time it was seen alive; otherwise it is another process with that pid, or a
 * process that is no parent any more.
 */
static void find_waiter(const struct gg_process_set *set, struct gg_member *member)
{
	const struct gg_region_header *header = &member->target->reader.header;
	uint64_t end_ns = gg_map_get(&set->noted_ends, hash_of_pid(header->parent_pid));

	if (end_ns == GG_MAP_NONE || header->pid != member->target->pid ||
	    end_ns <= header->start_monotonic_ns || end_ns <= member->alive_ns ||
	    gg_end_time_noted(member) != 0 || !gg_member_is_waited_for(member) ||
	    gg_exit_statuses_find(&set->exit_statuses, (pid_t)header->pid) != NULL)
		return;
	member->waited_by_ns = end_ns;
}

/* Notes orderly exits first, because the ends of killed members are compared with these. */
static void note_ends(struct gg_process_set *set)
{
	for (struct gg_member *member = set->first; member != NULL; member = member->next) {
		uint64_t end_ns = member->noticed_ns != 0 ? gg_end_time_noted(member) : 0;

		if (end_ns != 0 &&
		    gg_map_put(&set->noted_ends, hash_of_pid(member->target->pid), end_ns) < 0)
			gg_profile_writer_keep(set->writer, -ENOMEM);
		if (end_ns != 0 && !gg_region_file_is_used(member->target->reader.fd))
			gg_succession_ended(&set->succession, member->name, end_ns);
	}
}

int gg_process_set_finish(struct gg_process_set *set, struct gg_member *member, uint64_t before_ns)
{
	struct gg_member **link = &set->first;
	struct gg_end_bounds end;
	int status;

	if (member->noticed_ns == 0)
		member->noticed_ns = gg_clock_monotonic_ns();
	find_waiter(set, member);
	end = gg_end_time_find(&set->succession, member, before_ns);
	gg_diagnostics_add(&set->findings, member);
	status = gg_final_state_write(member->target, end, member->ending);
	remove_later(set, member->name);
	gg_assert(set->count > 0);
	while (*link != member) {
		gg_assert(*link != NULL);
		link = &(*link)->next;
	}
	*link = member->next;
	set->count--;
	gg_member_free(member);
	return status;
}

void gg_process_set_add(struct gg_process_set *set, struct gg_target *target, const char *name)
{
	struct gg_member *member = gg_member_new(target, name, set->pidfds_fd);

	if (member == NULL) {
		gg_profile_writer_keep(set->writer, -ENOMEM);
		return;
	}
	member->next = set->first;
	set->first = member;
	set->count++;
}

bool gg_process_set_listen(struct gg_process_set *set)
{
	struct epoll_event events[64];
	uint64_t now_ns = gg_clock_monotonic_ns();
	bool one_ended = false;
	int count = 0;

	do {
		if (set->pidfds_fd >= 0)
			count = epoll_wait(set->pidfds_fd, events, (int)GG_COUNT(events), 0);
		for (int i = 0; i < count; i++) {
			struct gg_member *member = events[i].data.ptr;

			gg_assert(member->is_asked);
			/* The last epoll_wait() did not report it, so it lived at that time. */
			member->alive_ns = later(member->alive_ns, set->asked_ns);
			gg_member_note_end(member, set->pidfds_fd);
			one_ended = true;
		}
	} while (count == (int)GG_COUNT(events));
	set->asked_ns = now_ns;
	/* After the pidfds: when a process has ended, the list has every event of its region. */
	set->has_new |= gg_succession_read(&set->succession);
	return one_ended;
}

bool gg_process_set_has(const struct gg_process_set *set, const char *name)
{
	const struct gg_member *member = set->first;

	while (member != NULL && strcmp(member->name, name) != 0)
		member = member->next;
	return member != NULL || gg_map_get(&set->read_map, hash_of(name)) != GG_MAP_NONE;
}

/* --- rounds --- */

static uint64_t count_ends(const struct gg_process_set *set)
{
	uint64_t count = 0;

	for (const struct gg_member *member = set->first; member != NULL; member = member->next)
		count += member->target->live_set.ended_count;
	return count;
}

void gg_process_set_count_round(struct gg_process_set *set, bool is_recent)
{
	if (set->has_embryo && (is_recent || count_ends(set) < GG_PROCESS_SET_ENDED_MAX))
		return;
	set->targets.forgot_early |= set->has_embryo;
	set->targets.round_count++;
}

/* --- draining --- */

double gg_process_set_drain(struct gg_process_set *set)
{
	double fullest = 0;

	for (struct gg_member *member = set->first; member != NULL; member = member->next) {
		double full = gg_ingest_drain(member->target, false);

		if (member->target->exact != NULL)
			gg_exact_history_tick(member->target);

		fullest = full > fullest ? full : fullest;
	}
	return fullest;
}

void gg_process_set_watch(struct gg_process_set *set)
{
	for (struct gg_member *member = set->first; member != NULL; member = member->next) {
		gg_target_watch_control(member->target);
		gg_target_watch_collections(member->target, false);
		gg_diagnostics_watch(member);
	}
}

/* --- ends --- */

static const char *find_ending(const struct gg_process_set *set, struct gg_member *member)
{
	const struct gg_exit_status *exit_status = gg_exit_statuses_find(
		&set->exit_statuses, (pid_t)member->target->pid);

	if (exit_status != NULL)
		return exit_status->text;
	/* Another parent has waited for it.  The agent notes the time of an orderly exit. */
	return gg_end_time_noted(member) != 0
	               ? gg_attach_record_ending(&member->target->reader.header)
	               : NULL;
}

/* Adds the maximum RSS that the kernel measured; the recorder's own readings may miss a peak. */
static void add_max_rss(struct gg_process_set *set, const struct gg_member *member)
{
	struct gg_profile_writer *writer = set->writer;
	struct gg_profile_memory memory = gg_profile_memory_unknown(member->target->id,
	                                                            writer->now_ns);
	const struct gg_exit_status *exit_status = gg_exit_statuses_find(
		&set->exit_statuses, (pid_t)member->target->pid);

	if (exit_status == NULL || exit_status->max_rss_bytes < 0)
		return;
	memory.max_rss_bytes = exit_status->max_rss_bytes;
	gg_profile_writer_keep(writer,
	                       gg_profile_add_memory(writer->profile, &memory, writer->error));
}

bool gg_process_set_finish_ended(struct gg_process_set *set, bool last)
{
	bool one_waits = false;
	struct gg_member *next;

	gg_process_set_listen(set);
	note_ends(set);
	for (struct gg_member *member = set->first; member != NULL && set->writer->status == 0;
	     member = next) {
		next = member->next;
		if (!gg_member_has_ended(member, set->pidfds_fd)) {
			gg_reconcile_if_lossy(member->target);
		} else if (!last &&
		           (!member->is_seen || !gg_end_time_is_known(&set->succession, member))) {
			member->is_seen = one_waits = true;
		} else {
			member->ending = find_ending(set, member);
			add_max_rss(set, member);
			gg_process_set_finish(set, member, UINT64_MAX);
		}
	}
	return one_waits;
}

/*
 * Keeps a descriptor of a living member's region for gg_process_set_let_go(), which switches the
 * process off only if the profile is complete.  Without a descriptor it is switched off at once.
 */
static void keep_switch(struct gg_process_set *set, const struct gg_member *member)
{
	int fd = fcntl(member->target->reader.fd, F_DUPFD_CLOEXEC, 0);

	if (fd >= 0 && gg_array_push(&set->living_fds, fd))
		return;
	gg_process_set_switch_off(member->target->reader.fd);
	if (fd >= 0)
		close(fd);
}

void gg_process_set_let_go(struct gg_process_set *set, bool is_recorded)
{
	for (uint32_t i = 0; i < set->living_fds.count; i++) {
		if (is_recorded)
			gg_process_set_switch_off(set->living_fds.items[i]);
		close(set->living_fds.items[i]);
	}
	gg_array_done(&set->living_fds);
}

int gg_process_set_finish_all(struct gg_process_set *set)
{
	gg_process_set_finish_ended(set, true);
	while (set->first != NULL) {
		struct gg_member *member = set->first;

		gg_target_watch_control(member->target);
		keep_switch(set, member);
		gg_diagnostics_add(&set->findings, member);
		gg_final_state_write(member->target,
		                     (struct gg_end_bounds){ GG_TIME_NONE, GG_TIME_NONE },
		                     "lived on");
		remove_later(set, member->name);
		set->first = member->next;
		set->count--;
		gg_member_free(member);
	}
	return set->writer->status;
}
