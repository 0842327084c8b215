/* SPDX-License-Identifier: Apache-2.0 */
/* control - reads and writes the settings in a region that another process uses. */
#include "region/control.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/time_units.h"
#include "region/reader/view.h"

enum { LOCK_ROUND_COUNT = 20, LOCK_ROUND_MS = 10 };

static const char word_name[] = "the region's control word";
static const off_t word_offset = offsetof(struct gg_region_header, control);

/*
 * Checks that the file is a whole region that this user may change.  A second name (a hard link) is
 * refused: it may lead from a directory that others can write to a file of this user.
 */
static int examine(int fd, const char *place, struct gg_error *error)
{
	struct gg_region_header header;
	struct stat file;
	int status;

	if (fstat(fd, &file) < 0)
		return gg_error_set_errno(error, errno, place, NULL);
	if (!S_ISREG(file.st_mode) || file.st_nlink > 1)
		return gg_error_set(error, -EBADMSG, place, NULL, "is not a region");
	if (geteuid() != 0 && file.st_uid != geteuid())
		return gg_error_set(error, -EPERM, place, "Ask as its owner, or as root.",
		                    "the region belongs to another user");
	status = gg_region_header_read(&header, fd, place, error);
	if (status == 0 && (uint64_t)file.st_size < header.file_bytes)
		status = gg_error_set(error, -EBADMSG, place, NULL, "is damaged: it was cut short");
	return status;
}

int gg_region_control_open(const char *path, struct gg_error *error)
{
	int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), status;

	if (fd < 0 && errno == EACCES)
		return gg_error_set_errno(error, EACCES, path, "Ask as its owner, or as root.");
	if (fd < 0)
		return gg_error_set_errno(error, errno, path, NULL);
	status = examine(fd, path, error);
	if (status == 0)
		return fd;
	close(fd);
	return status;
}

int gg_region_control_reopen(int region_fd, const char *place, struct gg_error *error)
{
	char path[64];
	int fd, status;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", region_fd);
	fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return gg_error_set_errno(error, errno, place, NULL);
	status = examine(fd, place, error);
	if (status == 0)
		return fd;
	close(fd);
	return status;
}

/*
 * Takes the lock, or gives up with EBUSY after LOCK_ROUND_COUNT * LOCK_ROUND_MS = 200 ms.  A
 * process that is stopped while it holds the lock must not block others for ever.
 */
static bool lock(int fd)
{
	/* A nonblocking lock in rounds gives a time limit, which flock() itself does not have. */
	const struct timespec pause = { .tv_nsec = LOCK_ROUND_MS * GG_NS_PER_MS };

	for (int i = 0; i < LOCK_ROUND_COUNT; i++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return true;
		if (errno != EWOULDBLOCK && errno != EINTR)
			return false;
		nanosleep(&pause, NULL);
	}
	errno = EBUSY;
	return false;
}

bool gg_region_control_read(int fd, struct gg_region_control *ret_control)
{
	return pread(fd, ret_control, sizeof(*ret_control), word_offset) == sizeof(*ret_control);
}

bool gg_region_control_charge(int fd, const struct gg_region_recorder *costs)
{
	return pwrite(fd, costs, sizeof(*costs), offsetof(struct gg_region_header, recorder)) ==
	       sizeof(*costs);
}

static bool put(int fd, const void *value, size_t bytes, size_t offset)
{
	return pwrite(fd, value, bytes, word_offset + (off_t)offset) == (ssize_t)bytes;
}

/* Changes the number of requests alone: a request changes no setting. */
static bool write_request(int fd)
{
	struct gg_region_control word;

	errno = EIO;
	if (!gg_region_control_read(fd, &word))
		return false;
	word.look_count++;
	return put(fd, &word.look_count, sizeof(word.look_count),
	           offsetof(struct gg_region_control, look_count));
}

/*
 * Changes the word, under the lock.  The count goes last, in a call of its own: an agent that sees
 * the new count sees the new settings as well.
 */
static bool write_word(int fd, const struct gg_region_change *change)
{
	struct gg_region_control word;

	errno = EIO;
	if (!gg_region_control_read(fd, &word))
		return false;
	word.change_count++;
	if (change->set_active)
		word.active = change->active;
	if (change->interval_bytes != 0) {
		word.interval_bytes = change->interval_bytes;
		word.overhead_ppm = word.error_ppm = 0;
	}
	if (change->overhead_ppm != 0)
		word.overhead_ppm = change->overhead_ppm;
	if (change->error_ppm != 0)
		word.error_ppm = change->error_ppm;
	if (change->detach && ++word.detach_count == 0)
		word.detach_count = 1;
	/*
	 * An agent that controls overhead or error writes the interval as well, so the word of
	 * another change leaves the interval alone.
	 */
	return put(fd, &word.detach_count, sizeof(word.detach_count),
	           offsetof(struct gg_region_control, detach_count)) &&
	       put(fd, &word.overhead_ppm, sizeof(word.overhead_ppm),
	           offsetof(struct gg_region_control, overhead_ppm)) &&
	       put(fd, &word.error_ppm, sizeof(word.error_ppm),
	           offsetof(struct gg_region_control, error_ppm)) &&
	       (change->interval_bytes == 0 ||
	        put(fd, &word.interval_bytes, sizeof(word.interval_bytes),
	            offsetof(struct gg_region_control, interval_bytes))) &&
	       put(fd, &word.active, sizeof(word.active),
	           offsetof(struct gg_region_control, active)) &&
	       put(fd, &word.change_count, sizeof(word.change_count),
	           offsetof(struct gg_region_control, change_count));
}

static int end_write(int fd, bool is_done, struct gg_error *error)
{
	int why = errno;

	flock(fd, LOCK_UN);
	return is_done ? 0 : gg_error_set_errno(error, why, word_name, NULL);
}

int gg_region_control_request_look(int fd, struct gg_error *error)
{
	if (!lock(fd))
		return gg_error_set_errno(error, errno, word_name, NULL);
	return end_write(fd, write_request(fd), error);
}

int gg_region_control_write(int fd, const struct gg_region_change *change, struct gg_error *error)
{
	if (change->interval_bytes > GG_REGION_INTERVAL_MAX)
		return gg_error_set(error, -EINVAL, "the sampling interval", "Give 1 to 256TiB.",
		                    "is out of range");
	if (!lock(fd))
		return gg_error_set_errno(error, errno, word_name, NULL);
	return end_write(fd, write_word(fd, change), error);
}
