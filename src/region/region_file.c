/* SPDX-License-Identifier: Apache-2.0 */
/* region_file - makes, maps, and locks the file of a region, and allocates its space. */
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
	FD_FLOOR = 768,   /* above the numbers that programs assign to their own descriptors */
	TRY_COUNT = 1000, /* tries of a system call that signals interrupt */
	/*
	 * Bytes that must be free.  They are not allocated yet: a build runs thousands of programs
	 * that end without a sample, and each page costs microseconds.
	 */
	FREE_BYTES_LEAST = 128 * 1024
};

/*
 * A file system is roomy if it has so much free space, or if at least half of it is free.  The
 * second case is for the /dev/shm of containers, which has 64 MiB in all; a busy process takes some
 * 4 MiB (with the recorder's ring).
 */
#define ROOMY_BYTES       (UINT64_C(256) << 20)
#define ROOMY_BYTES_LEAST (UINT64_C(8) << 20)

/*
 * True if the size exceeds the limit of this process.  ftruncate() beyond the limit would raise
 * SIGXFSZ, which ends the program.
 */
static bool exceeds_limit(uint64_t bytes)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
	       bytes > limit.rlim_cur;
}

/*
 * True if the descriptor is still that of the region's file.  The program may have closed it and
 * reused its number for a file of its own.
 */
static bool is_ours(int fd, const struct gg_region_file *map)
{
	struct stat status;

	return fstat(fd, &status) == 0 && status.st_dev == map->device &&
	       status.st_ino == map->inode;
}

/*
 * Allocates space through the mapping, in whole pages: the mapping starts at a page.  EFAULT means
 * that a store would raise SIGBUS, so the file system is full.
 */
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

/*
 * Takes the lock of gg_region_file_is_used().  It is shared, so that the next owner of the mapping
 * can take it as well.  It belongs to the open file, which the mapping keeps after the descriptor
 * is closed.
 */
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

/* Checks that the advice had an effect: an emulator may accept any advice and do nothing. */
static bool has_space(int fd)
{
	struct stat status;

	return fstat(fd, &status) == 0 && status.st_blocks > 0;
}

/*
 * Checks the free space of the file system.  One without a limit, or without this information,
 * reports 0 blocks and counts as roomy.
 */
static void look_at_room(struct gg_region_file *map, int fd)
{
	struct statfs system;
	uint64_t free_bytes;

	map->is_full = map->is_tight = false;
	if (fstatfs(fd, &system) < 0 || system.f_blocks == 0)
		return;
	free_bytes = (uint64_t)system.f_bavail * (uint64_t)system.f_bsize;
	map->is_full = free_bytes < FREE_BYTES_LEAST;
	map->is_tight = free_bytes < ROOMY_BYTES_LEAST ||
	                (free_bytes < ROOMY_BYTES && system.f_bavail < system.f_blocks / 2);
}

/*
 * Checks the new file and maps it.  Fills the other fields of *map; on failure the caller closes
 * fd.  must_keep: nothing but the descriptor leads to the file.
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
	if (fchmod(fd, 0600) < 0) /* the umask or a default ACL may have changed the mode */
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
	/*
	 * If populating works, the descriptor is not needed any more.  Otherwise it moves to a high
	 * number, so that the program's own descriptors keep the low ones.
	 */
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
		/* The other file wins if there was no file, or if its file system has more room. */
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

/*
 * Makes the file in a directory of the environment.  A setuid program ignores these variables
 * (secure_getenv()).
 */
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
		/*
		 * FALLOC_FL_KEEP_SIZE bounds the damage of a race: if another thread has just given
		 * this number to a file of its own, that file gets some space, and its size and
		 * contents stay.
		 */
		if (fallocate(map->fd, FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)bytes) == 0)
			return 0;
		if (errno != EINTR) /* tmpfs gives up when any signal arrives */
			break;
	}
	if (errno != EOPNOTSUPP)
		return -errno;
	return -posix_fallocate(map->fd, (off_t)offset, (off_t)bytes);
}

/* Allocates space by stores, for a process that may make no system calls. */
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
	/*
	 * These calls would be the only cancellation points of a sample, and the program does not
	 * expect one in malloc().
	 */
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
	/* If this fails, the mapping stays as it was. */
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
