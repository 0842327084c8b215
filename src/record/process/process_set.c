/* SPDX-License-Identifier: Apache-2.0 */
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
#include "record/regions/process_alive.h"
#include "region/control.h"
#include "region/reader/view.h"
#include "region/region_file.h"

/* A region that a successor is making is waited for, but not for ever: it may be nobody's. */
#define SUCCESSOR_NS GG_NS_PER_S

static void free_follower(struct gg_follower *follower)
{
	if (follower->pidfd >= 0)
		close(follower->pidfd);
	free(follower);
}

void gg_process_set_begin(struct gg_process_set *follow)
{
	gg_succession_begin(&follow->succession, &follow->directory);
	follow->pidfds_fd = epoll_create1(EPOLL_CLOEXEC);
}

void gg_process_set_done(struct gg_process_set *follow)
{
	while (follow->first != NULL) {
		struct gg_follower *follower = follow->first;

		follow->first = follower->next;
		free_follower(follower);
	}
	gg_process_set_let_go(follow, false);
	if (follow->pidfds_fd >= 0)
		close(follow->pidfds_fd);
	follow->pidfds_fd = -1;
	gg_succession_done(&follow->succession);
	gg_target_set_done(&follow->targets);
	gg_map_done(&follow->read_map);
	gg_map_done(&follow->unseen);
	gg_map_done(&follow->examined);
	gg_array_done(&follow->read_names);
}

/* --- new regions --- */

/* It records nothing more; if it hears of it. */
static void switch_off(int fd)
{
	const struct gg_region_change change = { .set_active = true, .active = false };

	/* A failure leaves a process that samples for nobody. */
	if (gg_region_control_write(fd, &change, NULL) < 0)
		return;
}

static struct gg_follower *find_by_pid(struct gg_process_set *follow, uint32_t pid)
{
	struct gg_follower *follower = follow->first;

	while (follower != NULL && follower->target->pid != pid)
		follower = follower->next;
	return follower;
}

/* The nearest ancestor that is in the session. */
static uint32_t find_parent(const struct gg_process_set *follow, uint32_t pid)
{
	for (int i = 0; i < 64 && pid > 1 && pid != (uint32_t)getpid(); i++) {
		for (const struct gg_target *target = follow->targets.first; target != NULL;
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

/* Its content is in the profile, and is safe there from the next commit on. */
static void remove_later(struct gg_process_set *follow, const char *name)
{
	struct gg_process_set_name *added;

	if (!gg_array_reserve(&follow->read_names, follow->read_names.count + 1) ||
	    gg_map_put(&follow->read_map, hash_of(name), follow->read_names.count) < 0) {
		gg_profile_writer_keep(follow->output, -ENOMEM);
		return;
	}
	added = gg_array_add(&follow->read_names);
	snprintf(added->text, sizeof(added->text), "%s", name);
}

/* From the directory that has it. */
static void remove_region(const struct gg_process_set *follow, const char *name)
{
	const struct gg_session_directory *directory = &follow->directory;

	while (directory != NULL && unlinkat(directory->fd, name, 0) < 0)
		directory = directory->spare;
}

void gg_process_set_committed(struct gg_process_set *follow)
{
	for (uint32_t i = 0; i < follow->read_names.count; i++)
		remove_region(follow, follow->read_names.items[i].text);
	follow->read_names.count = 0;
	gg_map_done(&follow->read_map);
}

static uint64_t earlier(uint64_t left, uint64_t right)
{
	return left < right ? left : right;
}

static uint64_t later(uint64_t left, uint64_t right)
{
	return left > right ? left : right;
}

/* *ret_first_ns: when the first successor began; UINT64_MAX: there is none.  False: one may still be found. */
static bool find_successor(const struct gg_process_set *follow, const struct gg_follower *follower,
                           uint64_t *ret_first_ns)
{
	const struct gg_target *target = follower->target;

	return gg_succession_first(
		&follow->succession, follower->name, !gg_region_file_is_used(target->source.fd),
		later(follower->alive_ns, target->source.header.start_monotonic_ns), ret_first_ns);
}

/* When it ended; before `before_ns`. */
static uint64_t find_end(const struct gg_process_set *follow, struct gg_follower *follower,
                         uint64_t before_ns)
{
	struct gg_target *target = follower->target;
	uint64_t latest_ns = earlier(follower->noticed_ns, before_ns), end_ns, successor_ns;

	gg_target_drain(target, true);
	find_successor(follow, follower, &successor_ns);
	latest_ns = earlier(latest_ns, successor_ns);
	end_ns = latest_ns;
	if (gg_region_reader_refresh(&target->source, NULL) == 0 &&
	    target->source.header.end_monotonic_ns != 0)
		end_ns = earlier(later(target->source.header.end_monotonic_ns, follower->alive_ns),
		                 latest_ns);
	end_ns = later(end_ns, target->last_event_ns);
	return later(end_ns, target->source.header.start_monotonic_ns);
}

static int finish(struct gg_process_set *follow, struct gg_follower *follower, uint64_t before_ns)
{
	struct gg_follower **link = &follow->first;
	int64_t end_ns;
	int status;

	if (follower->noticed_ns == 0)
		follower->noticed_ns = gg_clock_monotonic_ns();
	end_ns = gg_profile_writer_time(follow->output, find_end(follow, follower, before_ns));
	gg_diagnostics_add(follow, follower);
	status = gg_target_finish(follower->target, end_ns, follower->ending);
	remove_later(follow, follower->name);
	while (*link != follower)
		link = &(*link)->next;
	*link = follower->next;
	follow->count--;
	free_follower(follower);
	return status;
}

/* The same process executed another program.  The name of the file has said which process it is. */
static void supersede(struct gg_process_set *follow, const struct gg_region_header *header,
                      uint32_t pid, uint32_t *ret_parent)
{
	struct gg_follower *old = find_by_pid(follow, pid);

	if (old == NULL)
		return;
	*ret_parent = old->target->parent;
	old->unseen_exe[0] = '\0';
	if (old->target->start_ticks == header->process_start_ticks) {
		gg_profile_writer_event(follow->output, old->target->id, follow->output->now_ns,
		                        "exec", "it executed %.*s", (int)header->exe_bytes,
		                        header->exe);
		old->ending = "exec";
	}
	finish(follow, old, header->start_monotonic_ns);
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

/* True: gg_process_set_listen() hears of its end. */
static bool add_pidfd(const struct gg_process_set *follow, struct gg_follower *follower)
{
	struct epoll_event event = { .events = EPOLLIN, .data = { .ptr = follower } };

	return follower->pidfd >= 0 && follow->pidfds_fd >= 0 &&
	       epoll_ctl(follow->pidfds_fd, EPOLL_CTL_ADD, follower->pidfd, &event) == 0;
}

static void note_end(const struct gg_process_set *follow, struct gg_follower *follower)
{
	follower->noticed_ns = gg_clock_monotonic_ns();
	if (follower->is_asked)
		epoll_ctl(follow->pidfds_fd, EPOLL_CTL_DEL, follower->pidfd, NULL);
	follower->is_asked = false;
}

bool gg_process_set_listen(struct gg_process_set *follow)
{
	struct epoll_event events[64];
	uint64_t now_ns = gg_clock_monotonic_ns();
	bool one_ended = false;
	int count = 0;

	do {
		if (follow->pidfds_fd >= 0)
			count = epoll_wait(follow->pidfds_fd, events, (int)GG_COUNT(events), 0);
		for (int i = 0; i < count; i++) {
			struct gg_follower *follower = events[i].data.ptr;

			follower->alive_ns = later(follower->alive_ns, follow->asked_ns);
			note_end(follow, follower);
			one_ended = true;
		}
	} while (count == (int)GG_COUNT(events));
	follow->asked_ns = now_ns;
	/* Last: where a process has ended, all is in the list that happened to its region. */
	follow->has_new |= gg_succession_read(&follow->succession);
	return one_ended;
}

static void begin_to_follow(struct gg_process_set *follow, struct gg_target *target,
                            const char *name)
{
	struct gg_follower *follower = calloc(1, sizeof(*follower));
	uint64_t now_ns;

	if (follower == NULL) {
		gg_profile_writer_keep(follow->output, -ENOMEM);
		return;
	}
	follower->target = target;
	snprintf(follower->name, sizeof(follower->name), "%s", name);
	/* First the descriptor, then the look: it is of the process that is there at the look. */
	follower->pidfd = open_pidfd(target->pid);
	follower->is_asked = add_pidfd(follow, follower);
	now_ns = gg_clock_monotonic_ns();
	if (gg_process_alive(target->pid, target->start_ticks))
		follower->alive_ns = now_ns;
	else
		note_end(follow, follower);
	follower->is_seen = follower->noticed_ns != 0;
	follower->next = follow->first;
	follow->first = follower;
	follow->count++;
}

enum outcome { TAKEN, LATER, REMOVE };

/* The same file, to write: it is read first, as closing a file that was open to write looks like a dying process. */
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

/* Takes read_fd over. */
static enum outcome take_region(struct gg_process_set *follow, int directory_fd, const char *name,
                                int read_fd)
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
	gg_succession_took(&follow->succession, name, header.start_monotonic_ns);
	if (header.pid != (uint32_t)gg_session_directory_region_pid(name)) {
		close(fd);
		return REMOVE; /* no agent makes that */
	}
	if (follow->is_over ||
	    (follow->only_pid != 0 && header.pid != (uint32_t)follow->only_pid)) {
		switch_off(fd);
		follow->left_out_count++;
		close(fd);
		return REMOVE;
	}
	pid = gg_process_alive_pid_here(&header, fd);
	supersede(follow, &header, pid, &parent);
	if (parent == 0)
		parent = find_parent(follow, pid == header.pid ? header.parent_pid
		                                               : gg_process_alive_parent(pid));
	if (gg_target_open(&target, &follow->targets, follow->output, fd, pid, parent, true,
	                   follow->output->error) < 0)
		return REMOVE;
	begin_to_follow(follow, target, name);
	return TAKEN;
}

static void look_at(struct gg_process_set *follow, int directory_fd, const char *name)
{
	int fd, pid = gg_session_directory_region_pid(name);
	enum outcome outcome = LATER;
	/* Asked before it is read: who is gone by now completes nothing later. */
	bool was_alive = gg_process_alive((uint32_t)pid, 0);
	struct stat file;

	fd = openat(directory_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	was_alive |= fd >= 0 && gg_region_file_is_used(fd);
	if (fd >= 0 && fstat(fd, &file) == 0 && S_ISREG(file.st_mode) && file.st_nlink == 1) {
		outcome = take_region(follow, directory_fd, name, fd);
	} else if (fd >= 0) {
		close(fd);
		outcome = REMOVE;
	} else if (errno != EMFILE && errno != ENFILE) {
		outcome = REMOVE;
	}
	if (outcome == LATER) {
		/* Not all there yet, or its process died over it. */
		if (was_alive || fd < 0) {
			follow->has_embryo = true;
			return;
		}
		outcome = REMOVE;
	}
	if (outcome == REMOVE) {
		gg_succession_took(&follow->succession, name, 0);
		unlinkat(directory_fd, name, 0);
	}
}

static uint64_t order_of(const char *name)
{
	const char *number = strchr(name + strlen("geiger-"), '-');

	return number != NULL ? strtoull(number + 1, NULL, 10) : 0;
}

static bool is_followed(const struct gg_process_set *follow, const char *name)
{
	const struct gg_follower *follower = follow->first;

	while (follower != NULL && strcmp(follower->name, name) != 0)
		follower = follower->next;
	return follower != NULL || gg_map_get(&follow->read_map, hash_of(name)) != GG_MAP_NONE;
}

struct new_region {
	int directory_fd;
	char name[64];
};

struct new_regions {
	GG_ARRAY(struct new_region) list;
};

/* In the order in which they were made: parents before their children. */
static int compare_regions(const void *a, const void *b)
{
	uint64_t left = order_of(((const struct new_region *)a)->name);
	uint64_t right = order_of(((const struct new_region *)b)->name);

	return left < right ? -1 : left > right;
}

static void find_new(struct gg_process_set *follow, int directory_fd, struct new_regions *regions)
{
	int fd = openat(directory_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *listing = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;

	if (listing == NULL) {
		if (fd >= 0)
			close(fd);
		follow->has_embryo = true;
		return;
	}
	while ((entry = readdir(listing)) != NULL) {
		struct new_region *found;

		if (gg_session_directory_region_pid(entry->d_name) == 0 ||
		    strlen(entry->d_name) >= sizeof(found->name) ||
		    is_followed(follow, entry->d_name))
			continue;
		found = gg_array_add(&regions->list);
		if (found == NULL)
			break;
		found->directory_fd = directory_fd;
		strcpy(found->name, entry->d_name);
	}
	closedir(listing);
}

int gg_process_set_scan(struct gg_process_set *follow)
{
	struct new_regions regions = { 0 };

	follow->has_embryo = false;
	for (const struct gg_session_directory *d = &follow->directory; d != NULL; d = d->spare)
		find_new(follow, d->fd, &regions);
	if (regions.list.count > 0)
		qsort(regions.list.items, regions.list.count, sizeof(*regions.list.items),
		      compare_regions);
	for (size_t i = 0; i < regions.list.count; i++)
		look_at(follow, regions.list.items[i].directory_fd, regions.list.items[i].name);
	gg_array_done(&regions.list);
	return follow->output->status;
}

/* --- draining --- */

double gg_process_set_drain(struct gg_process_set *follow)
{
	double fullest = 0;

	for (struct gg_follower *f = follow->first; f != NULL; f = f->next) {
		double full = gg_target_drain(f->target, false);

		fullest = full > fullest ? full : fullest;
	}
	return fullest;
}

void gg_process_set_watch(struct gg_process_set *follow)
{
	for (struct gg_follower *f = follow->first; f != NULL; f = f->next) {
		gg_target_watch_control(f->target);
		gg_diagnostics_watch(f);
	}
}

/* --- ends --- */

const char *gg_process_set_reaped(struct gg_process_set *follow, pid_t pid, int status,
                                  int64_t max_rss_bytes)
{
	uint32_t place = follow->ending_count++ % GG_PROCESS_SET_ENDINGS;

	follow->endings[place].pid = pid;
	follow->endings[place].max_rss_bytes = max_rss_bytes;
	if (WIFSIGNALED(status))
		snprintf(follow->endings[place].text, GG_PROCESS_SET_ENDING_MAX,
		         "killed by signal %d", WTERMSIG(status));
	else
		snprintf(follow->endings[place].text, GG_PROCESS_SET_ENDING_MAX, "exited %d",
		         WEXITSTATUS(status));
	return follow->endings[place].text;
}

static const char *find_ending(const struct gg_process_set *follow, struct gg_follower *follower)
{
	uint32_t count = follow->ending_count < GG_PROCESS_SET_ENDINGS ? follow->ending_count
	                                                               : GG_PROCESS_SET_ENDINGS;

	for (uint32_t i = 0; i < count; i++) /* the latest first: pids come back */
		if (follow->endings[(follow->ending_count - 1 - i) % GG_PROCESS_SET_ENDINGS].pid ==
		    (pid_t)follower->target->pid)
			return follow
			        ->endings[(follow->ending_count - 1 - i) % GG_PROCESS_SET_ENDINGS]
			        .text;
	/* Its own parent waited for it; the agent notes an end in order. */
	if (gg_region_reader_refresh(&follower->target->source, NULL) == 0 &&
	    follower->target->source.header.end_monotonic_ns != 0)
		return "exited";
	return NULL;
}

/* The kernel's own maximum: no reading can have missed it. */
static void add_max_rss(struct gg_process_set *follow, const struct gg_follower *follower)
{
	struct gg_profile_writer *output = follow->output;
	uint32_t count = follow->ending_count < GG_PROCESS_SET_ENDINGS ? follow->ending_count
	                                                               : GG_PROCESS_SET_ENDINGS;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t place = (follow->ending_count - 1 - i) % GG_PROCESS_SET_ENDINGS;
		struct gg_profile_memory memory = gg_memory_unknown(follower->target->id,
		                                                    output->now_ns);

		if (follow->endings[place].pid != (pid_t)follower->target->pid)
			continue;
		memory.max_rss_bytes = follow->endings[place].max_rss_bytes;
		if (memory.max_rss_bytes >= 0)
			gg_profile_writer_keep(
				output,
				gg_profile_add_memory(output->profile, &memory, output->error));
		return;
	}
}

static bool has_ended(const struct gg_process_set *follow, struct gg_follower *follower)
{
	uint64_t now_ns;

	if (follower->noticed_ns != 0 || follower->is_asked)
		return follower->noticed_ns != 0;
	now_ns = gg_clock_monotonic_ns();
	if (gg_process_alive(follower->target->pid, follower->target->start_ticks))
		follower->alive_ns = now_ns;
	else
		note_end(follow, follower);
	return follower->noticed_ns != 0;
}

/* Is all known of how and when it ended that will be? */
static bool is_settled(const struct gg_process_set *follow, const struct gg_follower *follower)
{
	uint64_t successor_ns;

	return find_successor(follow, follower, &successor_ns) ||
	       gg_clock_monotonic_ns() - follower->noticed_ns > SUCCESSOR_NS;
}

bool gg_process_set_finish_ended(struct gg_process_set *follow, bool last)
{
	bool one_waits = false;
	struct gg_follower *next;

	gg_process_set_listen(follow);
	for (struct gg_follower *f = follow->first; f != NULL && follow->output->status == 0;
	     f = next) {
		next = f->next;
		if (!has_ended(follow, f)) {
			gg_target_settle_if_lossy(f->target);
		} else if (!last && (!f->is_seen || !is_settled(follow, f))) {
			f->is_seen = one_waits = true;
		} else {
			f->ending = find_ending(follow, f);
			add_max_rss(follow, f);
			finish(follow, f, UINT64_MAX);
		}
	}
	return one_waits;
}

/* For gg_process_set_let_go(). */
static void keep_living(struct gg_process_set *follow, const struct gg_follower *follower)
{
	int fd = fcntl(follower->target->source.fd, F_DUPFD_CLOEXEC, 0);

	if (fd >= 0 && gg_array_push(&follow->living_fds, fd))
		return;
	switch_off(follower->target->source.fd);
	if (fd >= 0)
		close(fd);
}

void gg_process_set_let_go(struct gg_process_set *follow, bool is_recorded)
{
	for (uint32_t i = 0; i < follow->living_fds.count; i++) {
		if (is_recorded)
			switch_off(follow->living_fds.items[i]);
		close(follow->living_fds.items[i]);
	}
	gg_array_done(&follow->living_fds);
}

int gg_process_set_finish_all(struct gg_process_set *follow)
{
	gg_process_set_finish_ended(follow, true);
	while (follow->first != NULL) {
		struct gg_follower *follower = follow->first;

		gg_target_watch_control(follower->target);
		keep_living(follow, follower);
		gg_diagnostics_add(follow, follower);
		gg_target_finish(follower->target, GG_TIME_NONE, "lived on");
		remove_later(follow, follower->name);
		follow->first = follower->next;
		follow->count--;
		free_follower(follower);
	}
	return follow->output->status;
}
