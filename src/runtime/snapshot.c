/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot - copies tables until a copy is of one instant. */
#include "runtime/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "runtime/syscalls.h"

enum { ATTEMPTS = 50, SNAPSHOT_PATH_MAX = 4096, BUFFER_WORDS = 512 };

_Static_assert(sizeof(struct gg_region_header) % sizeof(uint64_t) == 0, "copied as words");

/*
 * Copies words that other threads may be writing.  A torn record does no harm: either the whole
 * copy is made again, or no other record refers to it yet.  The thread sanitizer cannot know that.
 */
__attribute__((no_sanitize("thread"))) static void copy_words(uint64_t *to, const uint64_t *from,
                                                              size_t count)
{
	for (size_t i = 0; i < count; i++)
		to[i] = ((const volatile uint64_t *)from)[i];
}

static int write_all(int fd, const void *bytes, uint64_t count, uint64_t offset)
{
	const uint8_t *next = bytes;

	while (count > 0) {
		ssize_t written = pwrite(fd, next, count, (off_t)offset);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return -errno;
		next += written;
		offset += (uint64_t)written;
		count -= (uint64_t)written;
	}
	return 0;
}

/* A table without space has only records of zeros, and so has a hole in the file. */
static uint64_t used_bytes(const struct gg_region *region, int table)
{
	const struct gg_region_space *space = &region->tables[table];
	uint64_t used = (uint64_t)gg_load_acquire(&space->used_count) * space->record_bytes;

	/* Acquire: pairs with the thread that reserved the space. */
	return gg_load_acquire(&space->reserved_bytes) == 0 ? 0 : used;
}

static int write_table(int fd, const struct gg_region *region, int table)
{
	const struct gg_region_space *space = &region->tables[table];
	uint64_t left = used_bytes(region, table), at = 0;
	uint64_t buffer[BUFFER_WORDS];
	int status = 0;

	gg_assert(((uintptr_t)space->base & (sizeof(buffer[0]) - 1)) == 0);
	while (left > 0 && status == 0) {
		size_t bytes = left < sizeof(buffer) ? (size_t)left : sizeof(buffer);

		/* A table begins and ends at page boundaries, so its last word is complete. */
		copy_words(buffer, (const uint64_t *)(const void *)(space->base + at),
		           (bytes + sizeof(*buffer) - 1) / sizeof(*buffer));
		status = write_all(fd, buffer, bytes, space->offset + at);
		at += bytes;
		left -= bytes;
	}
	return status;
}

static uint64_t state_of(const struct gg_region *region, uint32_t slot)
{
	const struct gg_region_redo_slot *redo = gg_region_at(region, GG_TABLE_SLOTS, slot);

	/* Acquire: the operation was applied before its announcement was taken back. */
	return gg_load_acquire(&redo->state);
}

/*
 * Writes redo slots, site totals and live samples.  *ret_is_whole is true if no thread began or
 * ended an operation meanwhile: then the three tables are of one instant.  The fences keep the
 * copies between the two readings of the states.
 */
static int write_state(int fd, const struct gg_region *region, uint64_t *states,
                       uint32_t slot_count, bool *ret_is_whole)
{
	int status;

	for (uint32_t i = 0; i < slot_count; i++)
		states[i] = state_of(region, i);
	gg_fence_full();
	status = write_table(fd, region, GG_TABLE_SLOTS);
	if (status == 0)
		status = write_table(fd, region, GG_TABLE_SITE_TOTALS);
	if (status == 0)
		status = write_table(fd, region, GG_TABLE_LIVE);
	gg_fence_full();
	*ret_is_whole = gg_load_acquire(&region->tables[GG_TABLE_SLOTS].used_count) == slot_count;
	for (uint32_t i = 0; *ret_is_whole && i < slot_count; i++)
		*ret_is_whole = states[i] == state_of(region, i);
	return status;
}

/*
 * Writes the tables that samples and totals refer to.  Their records existed before, and never
 * change.  The header comes last, because it makes the file a region.
 */
static int write_rest(int fd, const struct gg_region *region)
{
	struct gg_region_header header;
	int status = 0;

	for (int table = 0; table < GG_TABLE_COUNT && status == 0; table++)
		if (table != GG_TABLE_SLOTS && table != GG_TABLE_SITE_TOTALS &&
		    table != GG_TABLE_LIVE && table != GG_TABLE_RING)
			status = write_table(fd, region, table);
	copy_words((uint64_t *)(void *)&header, (const uint64_t *)(const void *)region->header,
	           sizeof(header) / sizeof(uint64_t));
	header.ring_tail = header.ring_head;
	if (status == 0)
		status = write_all(fd, &header, sizeof(header), 0);
	return status;
}

static int write_copy(int fd, const struct gg_region *region)
{
	uint32_t slot_count = gg_load_acquire(&region->tables[GG_TABLE_SLOTS].used_count);
	size_t bytes = (size_t)slot_count * sizeof(uint64_t) + 1;
	uint64_t *states = gg_syscall_map(bytes);
	bool is_whole = false;
	int status = 0;

	if (states == NULL)
		return -ENOMEM;
	if (ftruncate(fd, (off_t)region->map.bytes) < 0)
		status = -errno;
	for (int i = 0; i < ATTEMPTS && status == 0 && !is_whole; i++) {
		const struct timespec pause = { .tv_nsec = i * 200000L };

		if (i > 0)
			nanosleep(&pause, NULL);
		status = write_state(fd, region, states, slot_count, &is_whole);
		if (gg_load_acquire(&region->tables[GG_TABLE_SLOTS].used_count) != slot_count)
			break; /* a thread has begun, so `states` is too short: begin again */
	}
	gg_syscall_unmap(states, bytes);
	if (status == 0)
		status = is_whole ? write_rest(fd, region) : -EAGAIN;
	return status;
}

static int write_file(const struct gg_region *region, const char *path, const char *whole_path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	int status = fd < 0 ? -errno : -EAGAIN;

	for (int i = 0; i < ATTEMPTS && status == -EAGAIN; i++)
		status = write_copy(fd, region);
	if (status == -EAGAIN)
		status = -EBUSY;
	if (fd >= 0 && close(fd) < 0 && status == 0)
		status = -errno;
	if (status == 0 && rename(path, whole_path) < 0)
		status = -errno;
	if (fd >= 0 && status < 0)
		unlink(path);
	return status;
}

int gg_snapshot_write(const struct gg_region *region, const char *path)
{
	char unfinished[SNAPSHOT_PATH_MAX];
	int saved_errno = errno, cancel, status;

	if (strlen(path) + sizeof(".part") > sizeof(unfinished))
		return -ENAMETOOLONG;
	stpcpy(stpcpy(unfinished, path), ".part");
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	status = write_file(region, unfinished, path);
	pthread_setcancelstate(cancel, NULL);
	errno = saved_errno;
	return status;
}
