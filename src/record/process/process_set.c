/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_set - the processes of a session: finds their regions and notices their ends.
 *
 * A region passes through these steps, each in a part of this file:
 *
 *   1. gg_process_set_scan() finds a file and waits until it is a complete region (an embryo until
 *      then).  The region becomes a member of the set.
 *   2. gg_process_set_drain() reads its ring each round.
 *   3. gg_process_set_listen() notices the end of its process.
 *   4. gg_process_set_finish_ended() writes its final state, once the time and the manner of the
 *      end are known.
 *   5. gg_process_set_committed() removes the file after the next commit.  A recorder that is
 *      killed before that leaves the file for `geiger salvage`.
 */
#include "record/process/process_set.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/time_units.h"
#include "record/diagnose/diagnostics.h"
#include "record/process/final_state.h"
#include "record/process/ingest.h"
#include "record/process/inherited.h"
#include "record/process/reconcile.h"
#include "record/regions/process_alive.h"
#include "region/control.h"
#include "region/reader/view.h"
#include "region/region_file.h"

/* How long a member waits for the region of a possible successor; that may never be complete. */
#define SUCCESSOR_NS GG_NS_PER_S

static void free_member(struct gg_process_set_member *member)
{
	if (member->pidfd >= 0)
		close(member->pidfd);
	free(member);
}

void gg_process_set_begin(struct gg_process_set *set)
{
	gg_succession_begin(&set->succession, &set->directory);
	set->pidfds_fd = epoll_create1(EPOLL_CLOEXEC);
}

void gg_process_set_done(struct gg_process_set *set)
{
	while (set->first != NULL) {
		struct gg_process_set_member *member = set->first;

		set->first = member->next;
		free_member(member);
	}
	gg_process_set_let_go(set, false);
	if (set->pidfds_fd >= 0)
		close(set->pidfds_fd);
	set->pidfds_fd = -1;
	gg_succession_done(&set->succession);
	gg_target_set_done(&set->targets);
	gg_map_done(&set->read_map);
	gg_map_done(&set->unseen);
	gg_map_done(&set->examined);
	gg_array_done(&set->read_names);
}

/* --- new regions --- */

/* Switches sampling off in the process of an open region. */
static void switch_off(int fd)
{
	const struct gg_region_change change = { .set_active = true, .active = false };

	/* After a failure the process goes on sampling, although nobody reads the samples. */
	if (gg_region_control_write(fd, &change, NULL) < 0)
		return;
}

static struct gg_process_set_member *find_by_pid(struct gg_process_set *set, uint32_t pid)
{
	struct gg_process_set_member *member = set->first;

	while (member != NULL && member->target->pid != pid)
		member = member->next;
	return member;
}

/*
 * Returns the profile's id of the process or its nearest ancestor that has a region; 0: there is no
 * such ancestor.  Processes without the agent lie between, such as a static shell.
 */
static uint32_t find_parent(const struct gg_process_set *set, uint32_t pid)
{
	for (int i = 0; i < 64 && pid > 1 && pid != (uint32_t)getpid(); i++) {
		for (const struct gg_target *target = set->targets.first; target != NULL;
		     target = target->next)
			if (target->pid == pid)
				return target->id;
		pid = gg_process_alive_parent(pid);
	}
	return 0;
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

static uint64_t earlier(uint64_t left, uint64_t right)
{
	return left < right ? left : right;
}

static uint64_t later(uint64_t left, uint64_t right)
{
	return left > right ? left : right;
}

/*
 * Finds when the first successor of the member began; UINT64_MAX: the member has no successor.
 * False: one may still be found.
 */
static bool find_successor(const struct gg_process_set *set,
                           const struct gg_process_set_member *member, uint64_t *ret_first_ns)
{
	const struct gg_target *target = member->target;

	return gg_succession_first(
		&set->succession, member->name, !gg_region_file_is_used(target->reader.fd),
		later(member->alive_ns, target->reader.header.start_monotonic_ns), ret_first_ns);
}

/*
 * Returns the end that the agent noted in an orderly exit; 0: it noted none.  If the process was
 * seen alive later, it ended then.
 */
static uint64_t noted_end(struct gg_process_set_member *member)
{
	struct gg_region_reader *reader = &member->target->reader;

	if (gg_region_reader_refresh(reader, NULL) < 0 || reader->header.end_monotonic_ns == 0)
		return 0;
	return later(reader->header.end_monotonic_ns, member->alive_ns);
}

/*
 * Finds when the member ended, in the session's time.
 *
 *   1. The upper bound is the earliest of `before_ns`, the time at which the recorder noticed the
 *      end, and the start of the first successor.
 *   2. Below it, the best value is the end that the agent noted in an orderly exit.
 *   3. If the agent noted no end, the process was killed, or it executed another program.  Its
 *      parent may have waited for it and gone on long before the recorder wakes up.  So it may have
 *      ended at any time since it was last seen alive, but before any process whose region was
 *      closed later.  That the process was alive does not say that it still ran this program.
 *   4. It ended after each process whose region was closed earlier.
 *   5. The last event and the start of the process are lower bounds.  They win over all other
 *      times, because no process allocates before it begins or after it ends.
 */
static struct gg_process_end find_end(struct gg_process_set *set,
                                      struct gg_process_set_member *member, uint64_t before_ns)
{
	struct gg_target *target = member->target;
	bool is_replaced = before_ns != UINT64_MAX || member->unseen_exe[0] != '\0';
	bool is_used = gg_region_file_is_used(target->reader.fd);
	uint64_t latest_ns = earlier(member->noticed_ns, before_ns), noted_ns = noted_end(member);
	uint64_t proof_ns, least_ns, end_ns, successor_ns, last_ns = 0, next_ns = UINT64_MAX;

	gg_ingest_drain(target, true);
	find_successor(set, member, &successor_ns);
	latest_ns = earlier(latest_ns, successor_ns);
	if (!is_used)
		gg_succession_order(&set->succession, member->name, &last_ns, &next_ns);
	if (noted_ns != 0) {
		least_ns = end_ns = later(earlier(noted_ns, latest_ns),
		                          earlier(last_ns + 1, latest_ns));
	} else {
		end_ns = later(earlier(latest_ns, next_ns - 1), earlier(last_ns + 1, latest_ns));
		least_ns = is_replaced ? 0 : earlier(member->alive_ns, end_ns);
	}
	/* A block lives at the instant of its allocation, hence the 1. */
	proof_ns = later(target->last_event_ns + 1, target->reader.header.start_monotonic_ns);
	end_ns = later(end_ns, proof_ns);
	if (!is_used)
		gg_succession_ended(&set->succession, member->name, end_ns);
	return (struct gg_process_end){
		.least_ns = gg_profile_writer_time(set->writer, later(least_ns, proof_ns)),
		.end_ns = gg_profile_writer_time(set->writer, end_ns),
	};
}

/* Notes orderly exits first, because the ends of killed members are compared with these. */
static void note_ends(struct gg_process_set *set)
{
	for (struct gg_process_set_member *member = set->first; member != NULL;
	     member = member->next) {
		uint64_t end_ns = member->noticed_ns != 0 ? noted_end(member) : 0;

		if (end_ns != 0 && !gg_region_file_is_used(member->target->reader.fd))
			gg_succession_ended(&set->succession, member->name, end_ns);
	}
}

/* Writes the final state of an ended member, which the set then forgets. */
static int finish(struct gg_process_set *set, struct gg_process_set_member *member,
                  uint64_t before_ns)
{
	struct gg_process_set_member **link = &set->first;
	struct gg_process_end end;
	int status;

	if (member->noticed_ns == 0)
		member->noticed_ns = gg_clock_monotonic_ns();
	end = find_end(set, member, before_ns);
	gg_diagnostics_add(set, member);
	status = gg_final_state_write(member->target, end, member->ending);
	remove_later(set, member->name);
	while (*link != member)
		link = &(*link)->next;
	*link = member->next;
	set->count--;
	free_member(member);
	return status;
}

/*
 * Finishes the earlier member of that pid, whose region the new one succeeds.  If the start time is
 * the same, the process itself executed another program; otherwise the kernel reused the pid.
 */
static void supersede(struct gg_process_set *set, const struct gg_region_header *header,
                      uint32_t pid, uint32_t *ret_parent)
{
	struct gg_process_set_member *old = find_by_pid(set, pid);

	if (old == NULL)
		return;
	*ret_parent = old->target->parent;
	old->unseen_exe[0] = '\0';
	if (old->target->start_ticks == header->process_start_ticks) {
		gg_profile_writer_event(set->writer, old->target->id, set->writer->now_ns, "exec",
		                        "it executed %.*s", (int)header->exe_bytes, header->exe);
		old->ending = "exec";
	}
	finish(set, old, header->start_monotonic_ns);
}

static int open_pidfd(uint32_t pid)
{
#ifdef SYS_pidfd_open
	return (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
#else
	(void)pid;
	return -1;
#endif
}

/* Adds the pidfd to the epoll set.  True: gg_process_set_listen() will notice the process's end. */
static bool add_pidfd(const struct gg_process_set *set, struct gg_process_set_member *member)
{
	struct epoll_event event = { .events = EPOLLIN, .data = { .ptr = member } };

	return member->pidfd >= 0 && set->pidfds_fd >= 0 &&
	       epoll_ctl(set->pidfds_fd, EPOLL_CTL_ADD, member->pidfd, &event) == 0;
}

static void note_end(const struct gg_process_set *set, struct gg_process_set_member *member)
{
	member->noticed_ns = gg_clock_monotonic_ns();
	if (member->is_asked)
		epoll_ctl(set->pidfds_fd, EPOLL_CTL_DEL, member->pidfd, NULL);
	member->is_asked = false;
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
			struct gg_process_set_member *member = events[i].data.ptr;

			/* The last epoll_wait() did not report it, so it lived at that time. */
			member->alive_ns = later(member->alive_ns, set->asked_ns);
			note_end(set, member);
			one_ended = true;
		}
	} while (count == (int)GG_COUNT(events));
	set->asked_ns = now_ns;
	/* After the pidfds: when a process has ended, the list has every event of its region. */
	set->has_new |= gg_succession_read(&set->succession);
	return one_ended;
}

static void add_member(struct gg_process_set *set, struct gg_target *target, const char *name)
{
	struct gg_process_set_member *member = calloc(1, sizeof(*member));
	uint64_t now_ns;

	if (member == NULL) {
		gg_profile_writer_keep(set->writer, -ENOMEM);
		return;
	}
	member->target = target;
	snprintf(member->name, sizeof(member->name), "%s", name);
	/*
	 * The descriptor is opened before gg_process_alive() checks the start time.  If the time is
	 * right afterwards, the pid was not reused before, so the descriptor is this process's.
	 */
	member->pidfd = open_pidfd(target->pid);
	member->is_asked = add_pidfd(set, member);
	now_ns = gg_clock_monotonic_ns();
	if (gg_process_alive(target->pid, target->start_ticks))
		member->alive_ns = now_ns;
	else
		note_end(set, member);
	member->is_seen = member->noticed_ns != 0;
	member->next = set->first;
	set->first = member;
	set->count++;
}

enum region_outcome { TAKEN, LATER, REMOVE };

/*
 * Opens for writing the file that `read_fd` has open for reading.  Files are read first, since
 * closing a file that was open for writing raises the same inotify event as a dying process
 * (succession.h).  The ids of the file are compared, because another file may have taken the name
 * in between.
 */
static int open_again(int directory_fd, const char *name, int read_fd)
{
	int fd = openat(directory_fd, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct stat before, now;

	if (fd < 0)
		return -errno;
	if (fstat(read_fd, &before) == 0 && fstat(fd, &now) == 0 && before.st_dev == now.st_dev &&
	    before.st_ino == now.st_ino)
		return fd;
	close(fd);
	return -ESTALE;
}

/*
 * Makes a member of a new region.  Closes read_fd.
 *
 *   TAKEN   the set has a new member
 *   LATER   the region is not complete yet, or no descriptor is free
 *   REMOVE  the file is invalid, or its process is not to be recorded
 */
static enum region_outcome take_region(struct gg_process_set *set, int directory_fd,
                                       const char *name, int read_fd)
{
	struct gg_region_header header;
	struct gg_target *target;
	uint32_t parent = 0, pid;
	int fd;

	if (gg_region_header_read(&header, read_fd, name, NULL) < 0) {
		close(read_fd);
		return LATER;
	}
	fd = open_again(directory_fd, name, read_fd);
	close(read_fd);
	if (fd < 0)
		return fd == -EMFILE || fd == -ENFILE ? LATER : REMOVE;
	gg_succession_took(&set->succession, name, header.start_monotonic_ns);
	if (header.pid != (uint32_t)gg_session_directory_region_pid(name)) {
		close(fd);
		return REMOVE; /* an agent names the file by the pid in its header */
	}
	if (set->is_over || (set->only_pid != 0 && header.pid != (uint32_t)set->only_pid)) {
		switch_off(fd);
		set->left_out_count++;
		close(fd);
		return REMOVE;
	}
	pid = gg_process_alive_pid_here(&header, fd);
	supersede(set, &header, pid, &parent);
	if (parent == 0)
		parent = find_parent(set, pid == header.pid ? header.parent_pid
		                                            : gg_process_alive_parent(pid));
	if (gg_target_open(&target, &set->targets, set->writer, fd, pid, parent, true,
	                   set->writer->error) < 0 ||
	    gg_inherited_take(target, set->writer->error) < 0)
		return REMOVE;
	add_member(set, target, name);
	return TAKEN;
}

static void examine_file(struct gg_process_set *set, int directory_fd, const char *name)
{
	int fd, pid = gg_session_directory_region_pid(name);
	enum region_outcome outcome = LATER;
	/*
	 * Checked before the file is read: a process that is gone by now does not complete the file
	 * after the recorder has found it incomplete.
	 */
	bool was_alive = gg_process_alive((uint32_t)pid, 0);
	struct stat file;

	fd = openat(directory_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	was_alive |= fd >= 0 && gg_region_file_is_used(fd);
	if (fd >= 0 && fstat(fd, &file) == 0 && S_ISREG(file.st_mode) && file.st_nlink == 1) {
		outcome = take_region(set, directory_fd, name, fd);
	} else if (fd >= 0) {
		close(fd);
		outcome = REMOVE;
	} else if (errno != EMFILE && errno != ENFILE) {
		outcome = REMOVE;
	}
	if (outcome == LATER) {
		/* Either its process is still creating the region, or it died meanwhile. */
		if (was_alive || fd < 0) {
			set->has_embryo = true;
			return;
		}
		outcome = REMOVE;
	}
	if (outcome == REMOVE) {
		gg_succession_took(&set->succession, name, 0);
		unlinkat(directory_fd, name, 0);
	}
}

/* Returns the second number of a region's name, geiger-PID-NUMBER.region, which grows with time. */
static uint64_t order_of(const char *name)
{
	const char *number = strchr(name + strlen("geiger-"), '-');

	return number != NULL ? strtoull(number + 1, NULL, 10) : 0;
}

static bool is_member(const struct gg_process_set *set, const char *name)
{
	const struct gg_process_set_member *member = set->first;

	while (member != NULL && strcmp(member->name, name) != 0)
		member = member->next;
	return member != NULL || gg_map_get(&set->read_map, hash_of(name)) != GG_MAP_NONE;
}

struct new_region {
	int directory_fd;
	char name[64];
};

struct new_regions {
	GG_ARRAY(struct new_region) list;
};

/* Sorts regions by their creation, so that parents become members before their children. */
static int compare_regions(const void *a, const void *b)
{
	uint64_t left = order_of(((const struct new_region *)a)->name);
	uint64_t right = order_of(((const struct new_region *)b)->name);

	return left < right ? -1 : left > right;
}

static void find_new(struct gg_process_set *set, int directory_fd, struct new_regions *regions)
{
	int fd = openat(directory_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *listing = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;

	if (listing == NULL) {
		if (fd >= 0)
			close(fd);
		set->has_embryo = true;
		return;
	}
	while ((entry = readdir(listing)) != NULL) {
		struct new_region *found;

		if (gg_session_directory_region_pid(entry->d_name) == 0 ||
		    strlen(entry->d_name) >= sizeof(found->name) || is_member(set, entry->d_name))
			continue;
		found = gg_array_add(&regions->list);
		if (found == NULL)
			break;
		found->directory_fd = directory_fd;
		strcpy(found->name, entry->d_name);
	}
	closedir(listing);
}

int gg_process_set_scan(struct gg_process_set *set)
{
	struct new_regions regions = { 0 };

	set->has_embryo = false;
	for (const struct gg_session_directory *d = &set->directory; d != NULL; d = d->spare)
		find_new(set, d->fd, &regions);
	if (regions.list.count > 0)
		qsort(regions.list.items, regions.list.count, sizeof(*regions.list.items),
		      compare_regions);
	for (size_t i = 0; i < regions.list.count; i++)
		examine_file(set, regions.list.items[i].directory_fd, regions.list.items[i].name);
	gg_array_done(&regions.list);
	return set->writer->status;
}

/* --- draining --- */

double gg_process_set_drain(struct gg_process_set *set)
{
	double fullest = 0;

	for (struct gg_process_set_member *member = set->first; member != NULL;
	     member = member->next) {
		double full = gg_ingest_drain(member->target, false);

		fullest = full > fullest ? full : fullest;
	}
	return fullest;
}

void gg_process_set_watch(struct gg_process_set *set)
{
	for (struct gg_process_set_member *member = set->first; member != NULL;
	     member = member->next) {
		gg_target_watch_control(member->target);
		gg_diagnostics_watch(member);
	}
}

/* --- ends --- */

const char *gg_process_set_reaped(struct gg_process_set *set, pid_t pid, int status,
                                  int64_t max_rss_bytes)
{
	uint32_t slot = set->ending_count++ % GG_PROCESS_SET_ENDINGS;

	set->endings[slot].pid = pid;
	set->endings[slot].max_rss_bytes = max_rss_bytes;
	if (WIFSIGNALED(status))
		snprintf(set->endings[slot].text, GG_PROCESS_SET_ENDING_MAX, "killed by signal %d",
		         WTERMSIG(status));
	else
		snprintf(set->endings[slot].text, GG_PROCESS_SET_ENDING_MAX, "exited %d",
		         WEXITSTATUS(status));
	return set->endings[slot].text;
}

static const char *find_ending(const struct gg_process_set *set,
                               struct gg_process_set_member *member)
{
	uint32_t count = set->ending_count < GG_PROCESS_SET_ENDINGS ? set->ending_count
	                                                            : GG_PROCESS_SET_ENDINGS;

	for (uint32_t i = 0; i < count; i++) /* the latest first: the kernel reuses pids */
		if (set->endings[(set->ending_count - 1 - i) % GG_PROCESS_SET_ENDINGS].pid ==
		    (pid_t)member->target->pid)
			return set->endings[(set->ending_count - 1 - i) % GG_PROCESS_SET_ENDINGS]
			        .text;
	/* Another parent has waited for it.  The agent notes the time of an orderly exit. */
	if (gg_region_reader_refresh(&member->target->reader, NULL) == 0 &&
	    member->target->reader.header.end_monotonic_ns != 0)
		return "exited";
	return NULL;
}

/* Adds the maximum RSS that the kernel measured; the recorder's own readings may miss a peak. */
static void add_max_rss(struct gg_process_set *set, const struct gg_process_set_member *member)
{
	struct gg_profile_writer *writer = set->writer;
	uint32_t count = set->ending_count < GG_PROCESS_SET_ENDINGS ? set->ending_count
	                                                            : GG_PROCESS_SET_ENDINGS;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t slot = (set->ending_count - 1 - i) % GG_PROCESS_SET_ENDINGS;
		struct gg_profile_memory memory = gg_memory_unknown(member->target->id,
		                                                    writer->now_ns);

		if (set->endings[slot].pid != (pid_t)member->target->pid)
			continue;
		memory.max_rss_bytes = set->endings[slot].max_rss_bytes;
		if (memory.max_rss_bytes >= 0)
			gg_profile_writer_keep(
				writer,
				gg_profile_add_memory(writer->profile, &memory, writer->error));
		return;
	}
}

/* True if the process has ended.  Polls /proc if the epoll set does not have its pidfd. */
static bool has_ended(const struct gg_process_set *set, struct gg_process_set_member *member)
{
	uint64_t now_ns;

	if (member->noticed_ns != 0 || member->is_asked)
		return member->noticed_ns != 0;
	now_ns = gg_clock_monotonic_ns();
	if (gg_process_alive(member->target->pid, member->target->start_ticks))
		member->alive_ns = now_ns;
	else
		note_end(set, member);
	return member->noticed_ns != 0;
}

/* True if nothing more will become known about its end: its successors are known, or time is up. */
static bool is_end_known(const struct gg_process_set *set,
                         const struct gg_process_set_member *member)
{
	uint64_t successor_ns;

	return find_successor(set, member, &successor_ns) ||
	       gg_clock_monotonic_ns() - member->noticed_ns > SUCCESSOR_NS;
}

bool gg_process_set_finish_ended(struct gg_process_set *set, bool last)
{
	bool one_waits = false;
	struct gg_process_set_member *next;

	gg_process_set_listen(set);
	note_ends(set);
	for (struct gg_process_set_member *member = set->first;
	     member != NULL && set->writer->status == 0; member = next) {
		next = member->next;
		if (!has_ended(set, member)) {
			gg_reconcile_if_lossy(member->target);
		} else if (!last && (!member->is_seen || !is_end_known(set, member))) {
			member->is_seen = one_waits = true;
		} else {
			member->ending = find_ending(set, member);
			add_max_rss(set, member);
			finish(set, member, UINT64_MAX);
		}
	}
	return one_waits;
}

/*
 * Keeps a descriptor of a living member's region for gg_process_set_let_go(), which switches the
 * process off only if the profile is complete.  Without a descriptor it is switched off at once.
 */
static void keep_switch(struct gg_process_set *set, const struct gg_process_set_member *member)
{
	int fd = fcntl(member->target->reader.fd, F_DUPFD_CLOEXEC, 0);

	if (fd >= 0 && gg_array_push(&set->living_fds, fd))
		return;
	switch_off(member->target->reader.fd);
	if (fd >= 0)
		close(fd);
}

void gg_process_set_let_go(struct gg_process_set *set, bool is_recorded)
{
	for (uint32_t i = 0; i < set->living_fds.count; i++) {
		if (is_recorded)
			switch_off(set->living_fds.items[i]);
		close(set->living_fds.items[i]);
	}
	gg_array_done(&set->living_fds);
}

int gg_process_set_finish_all(struct gg_process_set *set)
{
	gg_process_set_finish_ended(set, true);
	while (set->first != NULL) {
		struct gg_process_set_member *member = set->first;

		gg_target_watch_control(member->target);
		keep_switch(set, member);
		gg_diagnostics_add(set, member);
		gg_final_state_write(member->target,
		                     (struct gg_process_end){ GG_TIME_NONE, GG_TIME_NONE },
		                     "lived on");
		remove_later(set, member->name);
		set->first = member->next;
		set->count--;
		free_member(member);
	}
	return set->writer->status;
}
