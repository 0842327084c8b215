/* SPDX-License-Identifier: Apache-2.0 */
/* noted_forks - reads the forks that children noted, and counts those without a region. */
#include "record/regions/noted_forks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/process/unseen_children.h"
#include "record/regions/process_alive.h"
#include "region/session_files.h"

enum {
	NOTED_READ_BYTES = 64 * 1024,
	FORKS_BYTES_MAX = 64 << 20, /* a million forks */
};

struct noted_forks {
	const struct gg_lineage *lineage;
	struct gg_map last_starts; /* by pid: the start of its latest region */
	uint64_t *child_counts;    /* by number in the lineage, less one */
	uint64_t orphan_count;
	bool is_running; /* a process of a region lives */
};

static bool has_ended(const struct noted_forks *forks, const struct gg_session_fork *fork)
{
	uint64_t least, most, start = gg_process_alive_start_ticks(fork->pid);

	gg_unseen_children_start(forks->lineage, fork, &least, &most);
	return start < least || start > most || !gg_process_alive(fork->pid, start);
}

static bool may_hold(const struct noted_forks *forks, const struct gg_session_fork *fork)
{
	uint64_t last_start_ns = gg_map_get(&forks->last_starts, fork->pid);

	if (gg_lineage_has_fork(forks->lineage, fork->pid, fork->fork_ns) ||
	    (fork->is_elsewhere == 0 && last_start_ns != GG_MAP_NONE &&
	     last_start_ns > fork->fork_ns))
		return false;
	return !forks->is_running || fork->is_elsewhere != 0 || !has_ended(forks, fork);
}

static void take(struct noted_forks *forks, const struct gg_session_fork *fork)
{
	uint32_t ancestor = gg_lineage_find(forks->lineage, fork->ancestor_pid,
	                                    fork->ancestor_start_ns);

	if (may_hold(forks, fork))
		*(ancestor != 0 ? &forks->child_counts[ancestor - 1] : &forks->orphan_count) += 1;
}

/* Takes the whole records of the bytes.  Returns how many bytes are done with. */
static size_t take_bytes(struct noted_forks *forks, const char *bytes, size_t count)
{
	struct gg_session_fork fork;
	size_t at = 0;

	while (at + sizeof(fork) <= count) {
		bool is_whole;

		memcpy(&fork, bytes + at, sizeof(fork));
		is_whole = fork.mark == GG_SESSION_FORK_MARK;
		if (is_whole && fork.pid != 0)
			take(forks, &fork);
		/* A full disk leaves a part of a record, and the next one is behind it. */
		at += is_whole ? sizeof(fork) : 1;
	}
	return at;
}

/*
 * True if the file begins with the first fork, or with a head behind which all forks are that the
 * recorder had not seen end.  Otherwise the recorder gave back the space of forks, or a kill
 * stopped it before it had written those that it kept.
 */
static bool has_begin(int fd)
{
	struct gg_session_forks_head head;
	ssize_t got = pread(fd, &head, sizeof(head), 0);

	if (got >= 0 && got < (ssize_t)sizeof(head)) /* no fork, or a part of one */
		return true;
	return got == (ssize_t)sizeof(head) && head.mark == GG_SESSION_FORK_MARK &&
	       (head.no_pid != 0 || head.is_complete == 1);
}

/* The next data from the offset on; a file system that knows no holes says that there is some. */
static off_t skip_hole(int fd, off_t offset)
{
	off_t data = lseek(fd, offset, SEEK_DATA);

	if (data >= 0)
		return data;
	return errno == ENXIO ? lseek(fd, 0, SEEK_END) : offset;
}

/* Reads the file.  False: forks may be missing. */
static bool read_forks(struct noted_forks *forks, int fd)
{
	off_t offset = 0, done_bytes = 0;
	char *bytes = malloc(NOTED_READ_BYTES);
	ssize_t got = 0;

	while (bytes != NULL && done_bytes < FORKS_BYTES_MAX) {
		size_t taken;

		offset = skip_hole(fd, offset);
		got = pread(fd, bytes, NOTED_READ_BYTES, offset);
		if (got < (ssize_t)sizeof(struct gg_session_fork))
			break;
		taken = take_bytes(forks, bytes, (size_t)got);
		offset += (off_t)taken;
		done_bytes += (off_t)taken;
	}
	free(bytes);
	return bytes != NULL && has_begin(fd) && done_bytes < FORKS_BYTES_MAX && got >= 0;
}

static int look_at_regions(struct noted_forks *forks)
{
	for (size_t i = 0; i < forks->lineage->processes.count; i++) {
		const struct gg_lineage_process *process = &forks->lineage->processes.items[i];
		uint64_t known_ns = gg_map_get(&forks->last_starts, process->pid);

		if ((known_ns == GG_MAP_NONE || known_ns < process->start_ns) &&
		    gg_map_put(&forks->last_starts, process->pid, process->start_ns) < 0)
			return -ENOMEM;
		forks->is_running |= process->end_ns == INT64_MAX;
	}
	return 0;
}

static int write_counts(struct gg_profile_writer *writer, struct gg_lineage *lineage,
                        const struct noted_forks *forks, bool is_whole,
                        struct gg_noted_fork_counts *counts)
{
	for (size_t i = 0; i < lineage->processes.count && writer->status == 0; i++) {
		struct gg_lineage_process *process = &lineage->processes.items[i];
		uint64_t added = forks->child_counts[i] + !is_whole;

		process->unseen_child_count += added;
		counts->child_count += forks->child_counts[i];
		if (added > 0)
			gg_unseen_children_write(writer, process);
	}
	counts->orphan_count += forks->orphan_count;
	return writer->status;
}

static int open_forks(int directory_fd)
{
	int fd = openat(directory_fd, GG_SESSION_FORKS,
	                O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat file;

	if (fd >= 0 && (fstat(fd, &file) < 0 || !S_ISREG(file.st_mode))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

int gg_noted_forks_write(struct gg_profile_writer *writer, struct gg_lineage *lineage,
                         int directory_fd, struct gg_noted_fork_counts *counts)
{
	struct noted_forks forks = { .lineage = lineage };
	int fd = open_forks(directory_fd);

	if (fd < 0)
		return writer->status;
	forks.child_counts = calloc(lineage->processes.count + 1, sizeof(*forks.child_counts));
	if (forks.child_counts == NULL || look_at_regions(&forks) < 0)
		gg_profile_writer_keep(writer, -ENOMEM);
	else
		write_counts(writer, lineage, &forks, read_forks(&forks, fd), counts);
	free(forks.child_counts);
	gg_map_done(&forks.last_starts);
	close(fd);
	return writer->status;
}
