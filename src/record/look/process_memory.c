/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_memory - /proc/PID/pagemap and process_vm_readv() (look/process_memory.h).
 */
#include "record/look/process_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { CALL_RANGES_MAX = 1024 }; /* UIO_MAXIOV: as many as a call takes */

static int read_pages(void *context, uint64_t first, size_t count, uint64_t *ret_words)
{
	const struct gg_process_memory *memory = context;
	char *next = (char *)ret_words;
	size_t left = count * sizeof(*ret_words);
	off_t offset = (off_t)(first * sizeof(*ret_words));

	while (left > 0) {
		ssize_t got = pread(memory->pagemap, next, left, offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		next += got;
		offset += got;
		left -= (size_t)got;
	}
	memset(next, 0, left);
	return 0;
}

/* Copies at most CALL_RANGES_MAX ranges; returns as gg_memory_source.read_ranges does. */
static ssize_t read_some(pid_t pid, const struct gg_memory_range *ranges, size_t count)
{
	struct iovec to[CALL_RANGES_MAX], from[CALL_RANGES_MAX];
	ssize_t got, done = 0;

	for (size_t i = 0; i < count; i++) {
		to[i] = (struct iovec){ ranges[i].to, ranges[i].bytes };
		from[i] = (struct iovec){ (void *)(uintptr_t)ranges[i].address, ranges[i].bytes };
	}
	got = process_vm_readv(pid, to, count, from, count, 0);
	if (got < 0)
		return errno == EFAULT ? 0 : -errno;
	while ((size_t)done < count && (size_t)got >= ranges[done].bytes)
		got -= (ssize_t)ranges[done++].bytes;
	return done;
}

static ssize_t read_ranges(void *context, const struct gg_memory_range *ranges, size_t count)
{
	const struct gg_process_memory *memory = context;
	size_t done = 0;

	while (done < count) {
		size_t some = count - done < CALL_RANGES_MAX ? count - done : CALL_RANGES_MAX;
		ssize_t got = read_some(memory->pid, ranges + done, some);

		if (got < 0)
			return got;
		done += (size_t)got;
		if ((size_t)got < some)
			break;
	}
	return (ssize_t)done;
}

int gg_process_memory_open(struct gg_process_memory *memory, pid_t pid, struct gg_error *error)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return gg_error_set_errno(error, errno, path, NULL);
	*memory = (struct gg_process_memory){ .pid = pid, .pagemap = fd };
	memory->source = (struct gg_memory_source){ memory, read_pages, read_ranges };
	return 0;
}

void gg_process_memory_close(struct gg_process_memory *memory)
{
	close(memory->pagemap);
	memory->pagemap = -1;
}
