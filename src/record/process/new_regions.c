/* SPDX-License-Identifier: Apache-2.0 */
/*
 * new_regions - lists the session's directories and opens regions (process/new_regions.h).
 */
#include "record/process/new_regions.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "record/process/idle_children.h"
#include "record/process/inherited.h"
#include "record/regions/process_alive.h"
#include "region/reader/view.h"
#include "region/region_file.h"

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
 * Finishes the earlier member of that pid, whose region the new one succeeds.  If the start time is
 * the same, the process itself executed another program; otherwise the kernel reused the pid.
 */
static void supersede(struct gg_process_set *set, const struct gg_region_header *header,
                      uint32_t pid, uint32_t *ret_parent)
{
	struct gg_member *old = gg_process_set_find(set, pid);

	if (old == NULL)
		return;
	*ret_parent = old->target->parent;
	old->unseen_exe[0] = '\0';
	if (old->target->start_ticks == header->process_start_ticks) {
		gg_profile_writer_event(set->writer, old->target->id, set->writer->now_ns, "exec",
		                        "it executed %.*s", (int)header->exe_bytes, header->exe);
		old->ending = "exec";
	}
	gg_process_set_finish(set, old, header->start_monotonic_ns);
}

enum region_outcome { TAKEN, LATER, REMOVE };

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

	gg_assert(read_fd >= 0);
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
		gg_process_set_switch_off(fd);
		set->left_out_count++;
		close(fd);
		return REMOVE;
	}
	pid = gg_process_alive_pid_here(&header, fd);
	supersede(set, &header, pid, &parent);
	if (parent == 0)
		parent = find_parent(set, pid == header.pid ? header.parent_pid
		                                            : gg_process_alive_parent(pid));
	set->targets.known_id = gg_idle_children_take(set, &header);
	if (gg_target_open(&target, &set->targets, set->writer, fd, pid, parent, true,
	                   set->writer->error) < 0 ||
	    gg_inherited_take(target, set->writer->error) < 0)
		return REMOVE;
	gg_process_set_add(set, target, name);
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
			gg_idle_children_postpone(set, (uint32_t)pid);
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

struct found_region {
	int directory_fd;
	char name[64];
};

struct found_regions {
	GG_ARRAY(struct found_region) list;
};

/* Sorts regions by their creation, so that parents become members before their children. */
static int compare_regions(const void *a, const void *b)
{
	uint64_t left = order_of(((const struct found_region *)a)->name);
	uint64_t right = order_of(((const struct found_region *)b)->name);

	return left < right ? -1 : left > right;
}

static void find_new(struct gg_process_set *set, int directory_fd, struct found_regions *regions)
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
		struct found_region *found;

		if (gg_session_directory_region_pid(entry->d_name) == 0 ||
		    strlen(entry->d_name) >= sizeof(found->name) ||
		    gg_process_set_has(set, entry->d_name))
			continue;
		found = gg_array_add(&regions->list);
		if (found == NULL)
			break;
		found->directory_fd = directory_fd;
		strcpy(found->name, entry->d_name);
	}
	closedir(listing);
}

int gg_new_regions_scan(struct gg_process_set *set)
{
	struct found_regions regions = { 0 };

	set->has_embryo = false;
	set->scan_count++;
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
