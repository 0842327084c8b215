/* SPDX-License-Identifier: Apache-2.0 */
#include "region/region_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum {
	FD_FLOOR = 768,   /* out of the way of programs that number their descriptors */
	TRY_COUNT = 1000, /* of a system call that signals interrupt */
	/* That must be free.  It is not taken yet: a build runs thousands of programs that end without a
	 * sample, and each page costs microseconds. */
	START_BYTES = 128 * 1024
};

/*
 * A file system is roomy with so much free, or if at least half of it is: containers' /dev/shm has 64 MiB in
 * all, and a busy process takes some 4 MiB (with the recorder's ring).
 */
#define ROOMY_BYTES       (UINT64_C(256) << 20)
#define ROOMY_BYTES_LEAST (UINT64_C(8) << 20)

/* ftruncate() beyond the limit would raise SIGXFSZ, which ends the program. */
static bool exceeds_limit(uint64_t bytes)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
	       bytes > limit.rlim_cur;
}

static bool is_ours(int fd, const struct gg_region_file *map)
{
	struct stat status;

	return fstat(fd, &status) == 0 && status.st_dev == map->device &&
	       status.st_ino == map->inode;
}

/* Through the mapping: by whole pages, as its start is one. */
static int populate(const struct gg_region_file *map, uint64_t offset, uint64_t bytes)
{
	uint64_t start = offset & ~(uint64_t)(getauxval(AT_PAGESZ) - 1);

	for (int i = 0; i < TRY_COUNT; i++) {
		if (madvise(map->base + start, offset + bytes - start, MADV_POPULATE_WRITE) == 0)
			return 0;
		if (errno != EINTR && errno != EAGAIN)
			break;
	}
	return errno == EFAULT ? -ENOSPC : -errno;
}

static struct flock first_byte(short type)
{
	return (struct flock){ .l_type = type, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1 };
}

/* Shared, as it is for the next owner of the mapping, too; one of the open file, which a mapping keeps. */
static bool lock(int fd)
{
	struct flock lock = first_byte(F_RDLCK);

	return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

bool gg_region_file_is_used(int fd)
{
	struct flock lock = first_byte(F_WRLCK);

	return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

/* An emulator may take any advice, and do nothing. */
static bool has_space(int fd)
{
	struct stat status;

	return fstat(fd, &status) == 0 && status.st_blocks > 0;
}

/* File systems without a limit, or that do not tell, have no blocks. */
static void look_at_room(struct gg_region_file *map, int fd)
{
	struct statfs system;
	uint64_t free_bytes;

	map->is_full = map->is_tight = false;
	if (fstatfs(fd, &system) < 0 || system.f_blocks == 0)
		return;
	free_bytes = (uint64_t)system.f_bavail * (uint64_t)system.f_bsize;
	map->is_full = free_bytes < START_BYTES;
	map->is_tight = free_bytes < ROOMY_BYTES_LEAST ||
	                (free_bytes < ROOMY_BYTES && system.f_bavail < system.f_blocks / 2);
}

/*
 * Checks the new file and maps it.  Fills the rest of *map; the caller closes fd on failure.
 * must_keep: the descriptor is all that leads to the file.
 */
static int map_new_file(struct gg_region_file *map, int fd, uint64_t bytes, bool must_keep)
{
	struct stat status;
	void *base;
	int high;

	if (fstat(fd, &status) < 0)
		return -errno;
	if (!S_ISREG(status.st_mode) || status.st_uid != geteuid() || status.st_nlink > 1)
		return -EPERM;
	if (fchmod(fd, 0600) < 0) /* whatever the umask or a default ACL made of it */
		return -errno;
	if (exceeds_limit(bytes))
		return -EFBIG;
	if (ftruncate(fd, (off_t)bytes) < 0)
		return -errno;
	base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (base == MAP_FAILED)
		return -errno;
	map->base = base;
	map->bytes = bytes;
	map->is_locked = lock(fd);
	look_at_room(map, fd);
	map->device = status.st_dev;
	map->inode = status.st_ino;
	if (!must_keep && populate(map, 0, 1) == 0 && has_space(fd)) {
		close(fd);
		map->fd = -1;
		return 0;
	}
	high = fcntl(fd, F_DUPFD_CLOEXEC, FD_FLOOR);
	map->fd = high >= 0 ? high : fd;
	if (high >= 0)
		close(fd);
	return 0;
}

static int create_in(struct gg_region_file *ret_map, const char *directory, const char *name,
                     uint64_t bytes)
{
	struct gg_region_file map = { 0 };
	size_t directory_length = strlen(directory), name_length = strlen(name);
	int fd, status;

	if (directory_length == 0 || directory_length + 1 + name_length >= sizeof(map.path))
		return -ENAMETOOLONG;
	memcpy(map.path, directory, directory_length);
	map.path[directory_length] = '/';
	memcpy(map.path + directory_length + 1, name, name_length + 1);
	fd = open(map.path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	status = map_new_file(&map, fd, bytes, false);
	if (status < 0) {
		unlink(map.path);
		close(fd);
		return status;
	}
	*ret_map = map;
	return 0;
}

int gg_region_file_create_roomier(struct gg_region_file *map, int status, const char *directory,
                                  const char *name, uint64_t bytes)
{
	struct gg_region_file other;
	int saved_errno = errno;

	if (status == 0 && !map->is_full && !map->is_tight)
		return 0;
	if (create_in(&other, directory, name, bytes) == 0) {
		if (status < 0 || (map->is_full && !other.is_full) || !other.is_tight) {
			if (status == 0)
				gg_region_file_done(map, true);
			*map = other;
			status = 0;
		} else {
			gg_region_file_done(&other, true);
		}
	}
	errno = saved_errno;
	return status;
}

/* By the environment. */
static int create_anywhere(struct gg_region_file *map, const char *name, uint64_t bytes)
{
	const char *asked = secure_getenv("GEIGER_DIR"), *temporary = secure_getenv("TMPDIR");
	int status = create_in(map, asked != NULL ? asked : "/dev/shm", name, bytes);

	if (asked == NULL && temporary != NULL)
		status = gg_region_file_create_roomier(map, status, temporary, name, bytes);
	if (asked == NULL)
		status = gg_region_file_create_roomier(map, status, "/tmp", name, bytes);
	return status;
}

int gg_region_file_create(struct gg_region_file *ret_map, const char *directory, const char *name,
                          uint64_t bytes)
{
	struct gg_region_file map;
	int saved_errno = errno;
	int status = directory != NULL ? create_in(&map, directory, name, bytes)
	                               : create_anywhere(&map, name, bytes);

	if (status == 0)
		*ret_map = map;
	errno = saved_errno;
	return status;
}

int gg_region_file_create_anonymous(struct gg_region_file *ret_map, const char *name,
                                    uint64_t bytes)
{
	struct gg_region_file map = { 0 };
	int saved_errno = errno, fd = memfd_create(name, MFD_CLOEXEC), status;

	status = fd < 0 ? -errno : map_new_file(&map, fd, bytes, true);
	if (status == 0)
		*ret_map = map;
	else if (fd >= 0)
		close(fd);
	errno = saved_errno;
	return status;
}

static int allocate(const struct gg_region_file *map, uint64_t offset, uint64_t bytes)
{
	for (int i = 0; i < TRY_COUNT; i++) {
		/* The size stays: if another thread has just given our number to a file of its own, that
		 * has some more space, and is as it was. */
		if (fallocate(map->fd, FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)bytes) == 0)
			return 0;
		if (errno != EINTR) /* tmpfs gives up for any signal */
			break;
	}
	if (errno != EOPNOTSUPP)
		return -errno;
	return -posix_fallocate(map->fd, (off_t)offset, (off_t)bytes);
}

static int touch(const struct gg_region_file *map, uint64_t offset, uint64_t bytes)
{
	uint64_t page = getauxval(AT_PAGESZ);

	for (uint64_t at = offset & ~(page - 1); at < offset + bytes; at += page)
		if (!map->touch(map->base + at))
			return -ENOSPC;
	return 0;
}

int gg_region_file_reserve(struct gg_region_file *map, uint64_t offset, uint64_t bytes)
{
	int saved_errno = errno, status, cancel;

	if (offset > map->bytes || bytes > map->bytes - offset)
		return -ERANGE;
	if (map->touch != NULL)
		return touch(map, offset, bytes);
	/* The only cancellation points of a sample, and the program's malloc() is none. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	status = is_ours(map->fd, map) ? allocate(map, offset, bytes)
	                               : populate(map, offset, bytes);
	pthread_setcancelstate(cancel, NULL);
	errno = saved_errno;
	return status;
}

void gg_region_file_detach(const struct gg_region_file *map)
{
	int saved_errno = errno, fd = map->fd;

	if (map->base == NULL)
		return;
	if (fd < 0 && map->path[0] != '\0')
		fd = open(map->path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	/* Where it fails, all is as it was. */
	if (is_ours(fd, map))
		mmap(map->base, map->bytes, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, fd, 0);
	if (fd >= 0 && map->fd < 0)
		close(fd);
	errno = saved_errno;
}

void gg_region_file_done(struct gg_region_file *map, bool remove)
{
	int saved_errno = errno;

	if (map->base == NULL)
		return;
	munmap(map->base, map->bytes);
	if (is_ours(map->fd, map))
		close(map->fd);
	if (remove && map->path[0] != '\0')
		unlink(map->path);
	*map = (struct gg_region_file){ .fd = -1 };
	errno = saved_errno;
}
