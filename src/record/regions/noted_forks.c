/* SPDX-License-Identifier: Apache-2.0 */
/* noted_forks - reads the forks that children noted, and counts those without a region. */
#include "record/regions/noted_forks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/regions/process_alive.h"
#include "region/reader/view.h"
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

static bool has_ended(const struct gg_session_fork *fork)
{
	uint64_t least, most, start = gg_process_alive_start_ticks(fork->pid);

	gg_process_alive_ticks_between(fork->fork_ns, fork->noted_ns, &least, &most);
	return start < least || start > most || !gg_process_alive(fork->pid, start);
}

static bool may_hold(const struct noted_forks *forks, const struct gg_session_fork *fork)
{
	uint64_t last_start_ns = gg_map_get(&forks->last_starts, fork->pid);

	if (gg_lineage_has_fork(forks->lineage, fork->pid, fork->fork_ns) ||
	    (fork->is_elsewhere == 0 && last_start_ns != GG_MAP_NONE &&
	     last_start_ns > fork->fork_ns))
		return false;
	return !forks->is_running || fork->is_elsewhere != 0 || !has_ended(fork);
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
		if (is_whole)
			take(forks, &fork);
		/* A full disk leaves a part of a record, and the next one is behind it. */
		at += is_whole ? sizeof(fork) : 1;
	}
	return at;
}

/* Reads the file from its first data on.  False: forks may be missing. */
static bool read_forks(struct noted_forks *forks, int fd)
{
	off_t offset = lseek(fd, 0, SEEK_DATA), begin = offset;
	char *bytes = malloc(NOTED_READ_BYTES);
	ssize_t got = 0;

	if (offset < 0) /* no data, or a file system that does not know */
		offset = begin = 0;
	while (bytes != NULL && offset < FORKS_BYTES_MAX + begin &&
	       (got = pread(fd, bytes, NOTED_READ_BYTES, offset)) >=
	               (ssize_t)sizeof(struct gg_session_fork))
		offset += (off_t)take_bytes(forks, bytes, (size_t)got);
	free(bytes);
	return bytes != NULL && begin == 0 && offset < FORKS_BYTES_MAX && got >= 0;
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
	const char *name = gg_region_counter_name(GG_COUNT_UNNOTED_CHILDREN);

	for (size_t i = 0; i < lineage->processes.count && writer->status == 0; i++) {
		struct gg_lineage_process *process = &lineage->processes.items[i];
		uint64_t added = forks->child_counts[i] + !is_whole;

		process->unseen_child_count += added;
		counts->child_count += forks->child_counts[i];
		if (added > 0)
			gg_profile_writer_keep(
				writer,
				gg_profile_put_counter(writer->profile, process->id, name,
			                               process->unseen_child_count, writer->error));
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
