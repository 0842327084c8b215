/* SPDX-License-Identifier: Apache-2.0 */
/* remote_memory - reads and writes /proc/PID/mem (attach/remote_memory.h). */
#include "attach/remote_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int gg_remote_memory_open(struct gg_remote_memory *memory, pid_t pid, struct gg_error *error)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	*memory = (struct gg_remote_memory){ pid, open(path, O_RDWR | O_CLOEXEC) };
	if (memory->fd < 0)
		return gg_error_set_errno(error, errno == ENOENT ? ESRCH : errno, path, NULL);
	return 0;
}

void gg_remote_memory_close(struct gg_remote_memory *memory)
{
	if (memory->fd >= 0)
		close(memory->fd);
	memory->fd = -1;
}

size_t gg_remote_memory_read_most(const struct gg_remote_memory *memory, uint64_t address, void *to,
                                  size_t bytes)
{
	size_t done = 0;

	while (done < bytes) {
		ssize_t got = pread(memory->fd, (char *)to + done, bytes - done,
		                    (off_t)(address + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		done += (size_t)got;
	}
	return done;
}

int gg_remote_memory_read(const struct gg_remote_memory *memory, uint64_t address, void *to,
                          size_t bytes)
{
	errno = 0;
	if (gg_remote_memory_read_most(memory, address, to, bytes) == bytes)
		return 0;
	return errno != 0 ? -errno : -ESRCH;
}

bool gg_remote_memory_is_gone(const struct gg_remote_memory *memory)
{
	char byte;

	/* Whether this byte is mapped, which gives another error, does not matter. */
	return gg_remote_memory_read(memory, 0, &byte, sizeof(byte)) == -ESRCH;
}

int gg_remote_memory_write(const struct gg_remote_memory *memory, uint64_t address,
                           const void *from, size_t bytes)
{
	size_t done = 0;

	while (done < bytes) {
		ssize_t got = pwrite(memory->fd, (const char *)from + done, bytes - done,
		                     (off_t)(address + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : -ESRCH;
		done += (size_t)got;
	}
	return 0;
}

int gg_remote_memory_read_text(const struct gg_remote_memory *memory, uint64_t address, char *text,
                               size_t size)
{
	size_t got = gg_remote_memory_read_most(memory, address, text, size - 1);

	text[got] = '\0';
	return got > 0 ? 0 : -EIO;
}
