/* SPDX-License-Identifier: Apache-2.0 */
/* syscalls - wrappers that keep errno and are no cancellation points. */
#include "runtime/syscalls.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/time_units.h"

/*
 * Under the thread sanitizer, memory comes from mmap() and not from the bare system call.  The
 * sanitizer intercepts mmap(), and learns that a later thread has new memory at the same address.
 */
#if defined(__SANITIZE_THREAD__)
#define SANITIZES_THREADS 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SANITIZES_THREADS 1
#endif
#endif

#ifdef SANITIZES_THREADS
void *gg_syscall_map(size_t bytes)
{
	int saved_errno = errno;
	void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	errno = saved_errno;
	return pages == MAP_FAILED ? NULL : pages;
}

void gg_syscall_unmap(void *pages, size_t bytes)
{
	int saved_errno = errno;

	munmap(pages, bytes);
	errno = saved_errno;
}
#else
void *gg_syscall_map(size_t bytes)
{
	int saved_errno = errno;
	long address = syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
	                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);

	errno = saved_errno;
	return address == -1 ? NULL : (void *)address;
}

void gg_syscall_unmap(void *pages, size_t bytes)
{
	int saved_errno = errno;

	syscall(SYS_munmap, pages, bytes);
	errno = saved_errno;
}
#endif

/* MAP_NORESERVE: the memory replaces a region that may be much larger than its used part. */
bool gg_syscall_map_over(void *pages, size_t bytes)
{
	int saved_errno = errno;
	long address = syscall(SYS_mmap, pages, bytes, PROT_READ | PROT_WRITE,
	                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0L);

	errno = saved_errno;
	return address != -1;
}

bool gg_syscall_protect(void *pages, size_t bytes, int protection)
{
	int saved_errno = errno;
	bool done = syscall(SYS_mprotect, pages, bytes, protection) == 0;

	errno = saved_errno;
	return done;
}

uint32_t gg_syscall_tid(void)
{
	return (uint32_t)syscall(SYS_gettid);
}

bool gg_syscall_has_thread(uint32_t tid)
{
	int saved_errno = errno;
	bool is_there = syscall(SYS_tgkill, getpid(), tid, 0) == 0;

	errno = saved_errno;
	return is_there;
}

#ifdef GG_MUSL
/*
 * musl keeps the thread id in the thread's descriptor, at a place that differs between releases.
 * The first call comes before a filter may forbid gettid(), and finds the place.  A mutex as below
 * would enter a list of the thread, which the interrupted code may be changing.  The id follows
 * pointers, so it is where a pointer might be, and never the upper half of one, which may be equal.
 */
uint32_t gg_syscall_known_tid(void)
{
	enum { FIRST_PLACE = 16, LAST_PLACE = 96 };
	static uint32_t place; /* all threads find the same; 0: not found */
	const char *descriptor = (const char *)pthread_self();
	uint32_t known = gg_load_relaxed(&place), tid = known == 0 ? gg_syscall_tid() : 0;

	for (uint32_t at = FIRST_PLACE; known == 0 && at < LAST_PLACE; at += sizeof(void *))
		if (gg_load_relaxed((const uint32_t *)(const void *)(descriptor + at)) == tid)
			known = at;
	gg_store_relaxed(&place, known);
	if (known != 0)
		tid = gg_load_relaxed((const uint32_t *)(const void *)(descriptor + known));
	return tid;
}
#else
uint32_t gg_syscall_known_tid(void)
{
	/*
	 * An error-checking mutex stores the thread id of its owner.  libc takes that id from the
	 * thread's descriptor, so reading it back from the mutex needs no system call.
	 */
	pthread_mutex_t mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
	uint32_t tid = 0;

	if (pthread_mutex_trylock(&mutex) == 0) {
		tid = (uint32_t)mutex.__data.__owner;
		pthread_mutex_unlock(&mutex);
	}
	return tid;
}
#endif

void gg_syscall_thread_name(char name[16])
{
	int saved_errno = errno;

	syscall(SYS_prctl, PR_GET_NAME, name);
	errno = saved_errno;
}

/* open(), read() and close() of libc are cancellation points; the bare system calls are not. */
ssize_t gg_syscall_read_file(const char *path, void *bytes, size_t size)
{
	int saved_errno = errno;
	long fd = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW, 0);
	ssize_t total = fd < 0 ? -1 : 0, got;

	if (fd >= 0) {
		/* Files in /proc may return less than a read asks for, so read on until the end. */
		while ((size_t)total < size && (got = syscall(SYS_read, fd, (char *)bytes + total,
		                                              size - (size_t)total)) > 0)
			total += got;
		syscall(SYS_close, fd);
	}
	errno = saved_errno;
	return total;
}

/* Root can change any file of ours already, so it need not be kept out. */
static bool is_trusted(uid_t user)
{
	return user == 0 || user == geteuid();
}

/*
 * Opens the directory of the path.  *ret_is_shared is true if users other than root and us can
 * write it, so that its names may be planted.  Returns the descriptor or -Exxx.
 */
static int open_directory(const char *path, bool *ret_is_shared)
{
	const char *slash = strrchr(path, '/');
	char directory[512] = ".";
	struct stat status;
	int fd;

	if (slash != NULL) {
		size_t length = slash == path ? 1 : (size_t)(slash - path);

		if (length >= sizeof(directory))
			return -ENAMETOOLONG;
		memcpy(directory, path, length);
		directory[length] = '\0';
	}
	fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	*ret_is_shared = fstat(fd, &status) < 0 || !is_trusted(status.st_uid) ||
	                 (status.st_mode & (S_IWGRP | S_IWOTH)) != 0;
	return fd;
}

int gg_syscall_open_shared(const char *path, int flags)
{
	const char *slash = strrchr(path, '/');
	int saved_errno = errno, fd = -1;
	bool is_shared = true;
	struct stat status;
	int directory = open_directory(path, &is_shared);

	if (directory < 0) {
		errno = saved_errno;
		return directory;
	}
	/*
	 * The check of the directory holds for the file, because openat() uses that directory and
	 * not its name.  O_NONBLOCK: the file may be a pipe without a reader.
	 */
	flags |= O_CLOEXEC | O_NOCTTY | O_NONBLOCK | (is_shared ? O_NOFOLLOW : 0);
	fd = openat(directory, slash != NULL ? slash + 1 : path, flags, 0600);
	/*
	 * Another user may have planted a hard link to a file of ours, so a file with a second link
	 * is refused.
	 */
	if (fd < 0) {
		fd = -errno;
	} else if (is_shared && (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) ||
	                         status.st_nlink != 1 || !is_trusted(status.st_uid))) {
		close(fd);
		fd = -EPERM;
	}
	close(directory);
	errno = saved_errno;
	return fd;
}

int gg_syscall_open_own(const char *path, int flags)
{
	int saved_errno = errno;
	int fd = open(path, flags | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0600);
	struct stat status;

	if (fd < 0) {
		fd = -errno;
	} else if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) ||
	           status.st_uid != geteuid() || status.st_nlink != 1) {
		close(fd);
		fd = -EPERM;
	}
	errno = saved_errno;
	return fd;
}

ssize_t gg_syscall_read_link(const char *path, char *text, size_t size)
{
	int saved_errno = errno;
	ssize_t length = readlink(path, text, size - 1);

	if (length >= 0)
		text[length] = '\0';
	errno = saved_errno;
	return length;
}

bool gg_syscall_is_same_file(const char *one, const char *other)
{
	struct stat left, right;
	int saved_errno = errno;
	bool is_same = stat(one, &left) == 0 && stat(other, &right) == 0 &&
	               left.st_dev == right.st_dev && left.st_ino == right.st_ino;

	errno = saved_errno;
	return is_same;
}

void gg_syscall_sleep(long ns)
{
	const struct timespec time = { .tv_sec = ns / GG_NS_PER_S, .tv_nsec = ns % GG_NS_PER_S };
	int saved_errno = errno;

	syscall(SYS_nanosleep, &time, NULL);
	errno = saved_errno;
}

uint64_t gg_syscall_start_ticks(void)
{
	char stat[1024];
	ssize_t length = gg_syscall_read_file("/proc/self/stat", stat, sizeof(stat) - 1);
	uint64_t ticks = 0;
	const char *at;
	int field =
		2; /* of the name in brackets; it may hold anything, so the last bracket ends it */

	if (length <= 0)
		return 0;
	stat[length] = '\0';
	at = strrchr(stat, ')');
	while (at != NULL && *at != '\0' && field < 22)
		field += *at++ == ' ';
	for (; at != NULL && *at >= '0' && *at <= '9'; at++)
		ticks = ticks * 10 + (uint64_t)(*at - '0');
	return ticks;
}
