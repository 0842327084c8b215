/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_directory - the directory in which the regions of one session appear.
 *
 * Its name has the recorder's pid, which tells later if that recorder is gone (region_list.c).  The
 * lock comes first and the files last, so that a directory is never seen complete and unlocked.
 */
#include "record/regions/session_directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/regions/process_root.h"
#include "region/session_files.h"

enum {
	LOG_BYTES = 16 * 1024,     /* space for some hundred lines */
	MISSING_BYTES = 16 * 1024, /* space for that many processes, one byte each */
	FORKS_BYTES = 64 * 1024,   /* space for 1170 forks; read ones give their space back */
};

/* A directory below which that of the session may be created. */
struct parent {
	char path[64 + GG_SESSION_DIRECTORY_PATH_MAX]; /* for the recorder */
	const char *name;                              /* for the processes */
	int fd;                                        /* of one inside; otherwise -1 */
};

/* Creates the session's directory below `parent`; mkdtemp() gives it mode 0700. */
static int create_in(struct gg_session_directory *directory, const struct parent *parent)
{
	int length = snprintf(directory->outer, sizeof(directory->outer),
	                      "%s/" GG_SESSION_DIRECTORY_PREFIX "%d-XXXXXX", parent->path,
	                      (int)getpid());

	if (length < 0 || (size_t)length >= sizeof(directory->outer) - 40)
		return -ENAMETOOLONG;
	if (mkdtemp(directory->outer) == NULL)
		return -errno;
	memcpy(directory->path, directory->outer, sizeof(directory->path));
	return 0;
}

/* Sets what processes call the directory; its path for the recorder begins with the parent's. */
static int name_inside(struct gg_session_directory *directory, const struct parent *parent)
{
	int length = snprintf(directory->name, sizeof(directory->name), "%s%s", parent->name,
	                      directory->path + strlen(parent->path));

	return length < 0 || (size_t)length >= sizeof(directory->name) ? -ENAMETOOLONG : 0;
}

/*
 * Creates the inner directory for processes that are no longer root.  All users may pass through
 * the outer directory but not list it (0711), so they would have to guess the inner one's name of
 * 96 random bits.  In the inner one they may create files but not remove those of other users
 * (sticky, 01733).
 */
static int open_to_all(struct gg_session_directory *directory)
{
	uint8_t random[12];
	size_t length = strlen(directory->path);

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return -EIO;
	directory->path[length++] = '/';
	for (size_t i = 0; i < sizeof(random); i++, length += 2)
		snprintf(directory->path + length, 3, "%02x", random[i]);
	if (mkdir(directory->path, 0700) < 0)
		return -errno;
	if (chmod(directory->path, 01733) < 0 || chmod(directory->outer, 0711) < 0) {
		int status = -errno;

		rmdir(directory->path);
		return status;
	}
	return 0;
}

/*
 * Creates a file to which agents append, and allocates `bytes` for it.  Returns a descriptor for
 * reading it.
 */
static int create_file(const struct gg_session_directory *directory, const char *name, off_t bytes)
{
	mode_t mode = geteuid() == 0 ? 0622 : 0600; /* root's processes may become other users */
	int fd = openat(directory->fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
	                0600);
	int status;

	if (fd < 0)
		return -errno;
	/* If the file system cannot allocate in advance, it may still have the space later. */
	if (fchmod(fd, mode) < 0 || (fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, bytes) < 0 &&
	                             (errno == ENOSPC || errno == EDQUOT))) {
		status = -errno;
		close(fd);
		unlinkat(directory->fd, name, 0);
		return status;
	}
	return fd;
}

static int create_files(struct gg_session_directory *directory)
{
	static const char *const names[] = { GG_SESSION_DIRECTORY_LOG, GG_SESSION_MISSING,
		                             GG_SESSION_FORKS };
	static const off_t bytes[] = { LOG_BYTES, MISSING_BYTES, FORKS_BYTES };
	int fds[GG_COUNT(names)], status = 0;
	size_t count = 0;

	for (; count < GG_COUNT(names); count++) {
		fds[count] = status = create_file(directory, names[count], bytes[count]);
		if (status < 0)
			break;
	}
	if (status >= 0) {
		close(fds[0]);
		directory->missing_fd = fds[1];
		directory->forks_fd = fds[2];
		return 0;
	}
	for (size_t i = 0; i < count; i++) {
		close(fds[i]);
		unlinkat(directory->fd, names[i], 0);
	}
	return status;
}

/*
 * Locks the new directory, creates root's inner one, and creates the files; the spare has no files.
 * A failure removes everything again.
 */
static int complete(struct gg_session_directory *directory, bool is_spare)
{
	int status = 0;

	directory->lock_fd = open(directory->outer, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (directory->lock_fd < 0 || flock(directory->lock_fd, LOCK_EX | LOCK_NB) < 0)
		status = -errno;
	if (status == 0 && geteuid() == 0)
		status = open_to_all(directory);
	if (status == 0) {
		directory->fd = open(directory->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		status = directory->fd < 0 ? -errno : 0;
	}
	if (status == 0 && !is_spare)
		status = create_files(directory);
	if (status == 0)
		return 0;
	if (directory->fd >= 0)
		close(directory->fd);
	if (directory->lock_fd >= 0)
		close(directory->lock_fd);
	directory->fd = directory->lock_fd = -1;
	if (strcmp(directory->path, directory->outer) != 0)
		rmdir(directory->path);
	rmdir(directory->outer);
	return status;
}

static int create_below(struct gg_session_directory *ret_directory, const struct parent *parent,
                        bool is_spare)
{
	struct gg_session_directory directory = {
		.fd = -1, .lock_fd = -1, .missing_fd = -1, .forks_fd = -1, .parent_fd = parent->fd
	};
	int status = create_in(&directory, parent);

	if (status == 0)
		status = complete(&directory, is_spare);
	if (status == 0)
		status = name_inside(&directory, parent);
	if (status == 0)
		*ret_directory = directory;
	return status;
}

/* True if there is no directory yet, or if the parent is on another file system. */
static bool is_elsewhere(const char *parent, const struct gg_session_directory *first)
{
	struct stat there, known;

	return first == NULL || (stat(parent, &there) == 0 && fstat(first->fd, &known) == 0 &&
	                         there.st_dev != known.st_dev);
}

/*
 * Creates the directory below the first parent that permits it.  For a spare, `first` is the
 * session's directory, and the parent must be on another file system.
 */
static int create_first(struct gg_session_directory *ret_directory,
                        const struct gg_session_directory *first)
{
	const char *names[] = { "/dev/shm", getenv("TMPDIR"), "/tmp" };
	int status = -ENOENT;

	for (size_t i = 0; status < 0 && i < GG_COUNT(names); i++) {
		struct parent parent = { .name = names[i], .fd = -1 };

		if (names[i] == NULL || names[i][0] != '/' || !is_elsewhere(names[i], first))
			continue;
		snprintf(parent.path, sizeof(parent.path), "%s", names[i]);
		status = create_below(ret_directory, &parent, first != NULL);
	}
	return status;
}

/* Does the same in places that a process with another root directory can reach. */
static int create_first_inside(struct gg_session_directory *ret_directory, int root,
                               const struct gg_session_directory *first)
{
	static const char *const names[] = { "/dev/shm", "/tmp", "/var/tmp", "/run" };
	int status = -ENOENT;

	for (size_t i = 0; status < 0 && i < GG_COUNT(names); i++) {
		struct parent parent = { .name = names[i],
			                 .fd = gg_process_root_open_directory(root, names[i]) };

		if (parent.fd < 0) {
			status = status == -ENOENT ? parent.fd : status;
			continue;
		}
		snprintf(parent.path, sizeof(parent.path), "/proc/self/fd/%d", parent.fd);
		if (is_elsewhere(parent.path, first))
			status = create_below(ret_directory, &parent, first != NULL);
		if (status < 0)
			close(parent.fd);
	}
	return status;
}

/* Creates the spare and a link to it.  A failure is ignored: most sessions need no spare. */
static void create_spare(struct gg_session_directory *directory, int root)
{
	struct gg_session_directory *spare = calloc(1, sizeof(*spare));
	int status = -ENOMEM;

	if (spare != NULL)
		status = root >= 0 ? create_first_inside(spare, root, directory)
		                   : create_first(spare, directory);
	if (status < 0) {
		free(spare);
		return;
	}
	directory->spare = spare;
	if (symlinkat(spare->name, directory->fd, GG_SESSION_NEXT) < 0) {
		gg_session_directory_done(spare, true);
		free(spare);
		directory->spare = NULL;
	}
}

int gg_session_directory_create(struct gg_session_directory *ret_directory, struct gg_error *error)
{
	int status = create_first(ret_directory, NULL);

	if (status < 0)
		return gg_error_set_errno(
			error, -status, "a directory for the session",
			status == -EMFILE   ? "Allow more open files: ulimit -n."
			: status == -ENFILE ? NULL
					    : "Set TMPDIR to a directory that can be written.");
	create_spare(ret_directory, -1);
	return 0;
}

int gg_session_directory_create_inside(struct gg_session_directory *ret_directory, pid_t pid,
                                       int root, struct gg_error *error)
{
	const struct gg_process_root_user before = gg_process_root_become(
		gg_process_root_user_of(pid));
	int status = create_first_inside(ret_directory, root, NULL);

	if (status == 0)
		create_spare(ret_directory, root);
	gg_process_root_become(before);
	return status < 0 ? gg_error_set_errno(error, -status, "a directory in its container",
	                                       "Give it a /dev/shm or /tmp that can be written.")
	                  : 0;
}

void gg_session_directory_done(struct gg_session_directory *directory, bool remove)
{
	struct dirent *entry;
	DIR *listing;

	if (directory->spare != NULL) {
		gg_session_directory_done(
			directory->spare,
			remove || !gg_session_directory_has_region(directory->spare));
		free(directory->spare);
		directory->spare = NULL;
	}
	if (directory->fd < 0)
		return;
	listing = remove ? fdopendir(directory->fd) : NULL;
	if (listing != NULL) {
		rewinddir(listing);
		while ((entry = readdir(listing)) != NULL)
			if (gg_session_directory_region_pid(entry->d_name) != 0 ||
			    gg_session_directory_is_own(entry->d_name))
				unlinkat(directory->fd, entry->d_name, 0);
		closedir(listing);
		rmdir(directory->path);
		rmdir(directory->outer);
	} else {
		close(directory->fd);
	}
	close(directory->lock_fd);
	if (directory->missing_fd >= 0)
		close(directory->missing_fd);
	if (directory->forks_fd >= 0)
		close(directory->forks_fd);
	if (directory->parent_fd >= 0)
		close(directory->parent_fd);
	directory->fd = directory->lock_fd = directory->missing_fd = directory->forks_fd = -1;
	directory->parent_fd = -1;
}

void gg_session_directory_missing(const struct gg_session_directory *directory,
                                  struct gg_session_directory_missing *ret_missing)
{
	struct gg_session_directory_missing missing = { 0 };
	unsigned char bytes[4096];
	off_t offset = 0;
	ssize_t got;

	while (directory->missing_fd >= 0 &&
	       (got = pread(directory->missing_fd, bytes, sizeof(bytes), offset)) > 0) {
		for (ssize_t i = 0; i < got; i++) {
			bool is_fork = bytes[i] == GG_SESSION_MISSING_FORK_SPACE ||
			               bytes[i] == GG_SESSION_MISSING_FORK_OTHER;

			missing.fork_count += is_fork;
			missing.sanitizer_count += bytes[i] == GG_SESSION_MISSING_SANITIZER;
			missing.program_count += bytes[i] == GG_SESSION_MISSING_SPACE ||
			                         bytes[i] == GG_SESSION_MISSING_OTHER;
			missing.without_space_count += bytes[i] == GG_SESSION_MISSING_SPACE ||
			                               bytes[i] == GG_SESSION_MISSING_FORK_SPACE;
		}
		offset += got;
	}
	*ret_missing = missing;
}

size_t gg_session_directory_read_forks(struct gg_session_directory *directory,
                                       struct gg_session_fork *ret_forks, size_t count)
{
	size_t found = 0;

	while (found < count && directory->forks_fd >= 0 &&
	       pread(directory->forks_fd, &ret_forks[found], sizeof(*ret_forks),
	             directory->forks_read_bytes) == (ssize_t)sizeof(*ret_forks)) {
		bool is_whole = ret_forks[found].mark == GG_SESSION_FORK_MARK;

		/* A full disk leaves a part of a record, and the next one is behind it. */
		directory->forks_read_bytes += is_whole ? (int64_t)sizeof(*ret_forks) : 1;
		found += is_whole;
	}
	return found;
}

bool gg_session_directory_has_old_forks(const struct gg_session_directory *directory)
{
	return directory->forks_read_bytes / FORKS_BYTES >
	       directory->forks_kept_bytes / FORKS_BYTES;
}

static bool write_at(int fd, const void *bytes, size_t count, size_t offset)
{
	return pwrite(fd, bytes, count, (off_t)offset) == (ssize_t)count;
}

/*
 * A kill between two steps must lose no fork: the head says that forks may be missing until all
 * that are kept are written.  These replace forks that were read, so they take no further space.
 */
void gg_session_directory_keep_forks(struct gg_session_directory *directory,
                                     const struct gg_session_fork *kept, size_t count)
{
	struct gg_session_forks_head head = { .kept_count = count, .mark = GG_SESSION_FORK_MARK };
	size_t kept_bytes = count * sizeof(*kept), end = sizeof(head) + kept_bytes;
	size_t read_bytes = (size_t)directory->forks_read_bytes;

	directory->forks_kept_bytes = directory->forks_read_bytes;
	if (end > read_bytes || !write_at(directory->forks_fd, &head, sizeof(head), 0))
		return; /* the space stays taken */
	if (!write_at(directory->forks_fd, kept, kept_bytes, sizeof(head)))
		return;
	head.is_complete = 1;
	if (!write_at(directory->forks_fd, &head, sizeof(head), 0) || end == read_bytes)
		return;
	(void)!fallocate(directory->forks_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
	                 (off_t)end, (off_t)(read_bytes - end));
}

bool gg_session_directory_has_region(const struct gg_session_directory *directory)
{
	int fd = openat(directory->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *listing = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;
	bool found = false;

	if (listing == NULL && fd >= 0)
		close(fd);
	while (listing != NULL && !found && (entry = readdir(listing)) != NULL)
		found = gg_session_directory_region_pid(entry->d_name) != 0;
	if (listing != NULL)
		closedir(listing);
	return found;
}

bool gg_session_directory_is_own(const char *name)
{
	return strcmp(name, GG_SESSION_DIRECTORY_LOG) == 0 || strcmp(name, GG_SESSION_NEXT) == 0 ||
	       strcmp(name, GG_SESSION_MISSING) == 0 || strcmp(name, GG_SESSION_FORKS) == 0 ||
	       strcmp(name, GG_SESSION_DOTNET) == 0 ||
	       strncmp(name, GG_SESSION_COLLECTIONS_PREFIX,
	               strlen(GG_SESSION_COLLECTIONS_PREFIX)) == 0;
}

/* Returns the pid in a name: prefix, pid, "-", number, suffix; 0: it is another name. */
static int pid_in(const char *name, const char *prefix, const char *suffix)
{
	char *end;
	long pid;

	if (strncmp(name, prefix, strlen(prefix)) != 0)
		return 0;
	pid = strtol(name + strlen(prefix), &end, 10);
	if (pid <= 0 || pid > INT32_MAX || *end != '-')
		return 0;
	end += 1 + strspn(end + 1, "0123456789");
	return strcmp(end, suffix) == 0 ? (int)pid : 0;
}

int gg_session_directory_region_pid(const char *name)
{
	return pid_in(name, "geiger-", ".region");
}

int gg_session_directory_stream_pid(const char *name)
{
	return pid_in(name, GG_SESSION_STREAM_PREFIX, GG_SESSION_STREAM_SUFFIX);
}
