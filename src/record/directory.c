/* SPDX-License-Identifier: Apache-2.0 */
#include "record/directory.h"

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

/* A directory of its own below `parent`. */
static int create_in(struct gg_directory *directory, const char *parent)
{
	int length = snprintf(directory->outer, sizeof(directory->outer),
	                      "%s/" GG_DIRECTORY_PREFIX "%d-XXXXXX", parent, (int)getpid());

	if (length < 0 || (size_t)length >= sizeof(directory->outer) - 40)
		return -ENAMETOOLONG;
	if (mkdtemp(directory->outer) == NULL)
		return -errno;
	memcpy(directory->path, directory->outer, sizeof(directory->path));
	return 0;
}

/* For those that are no longer root: 0711 outside, a name that cannot be guessed inside. */
static int open_to_all(struct gg_directory *directory)
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

int gg_directory_create(struct gg_directory *ret_directory, struct gg_error *error)
{
	const char *parents[] = { "/dev/shm", getenv("TMPDIR"), "/tmp" };
	struct gg_directory directory = { .fd = -1, .lock_fd = -1 };
	int status = -ENOENT;

	for (size_t i = 0; status < 0 && i < GG_COUNT(parents); i++)
		if (parents[i] != NULL && parents[i][0] == '/')
			status = create_in(&directory, parents[i]);
	if (status < 0)
		return gg_error_set_errno(error, -status, "a directory for the session",
		                          "Set TMPDIR to a directory that can be written.");
	directory.lock_fd = open(directory.outer, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (directory.lock_fd < 0 || flock(directory.lock_fd, LOCK_EX | LOCK_NB) < 0)
		status = -errno;
	if (status == 0 && geteuid() == 0)
		status = open_to_all(&directory);
	if (status == 0) {
		directory.fd = open(directory.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		status = directory.fd < 0 ? -errno : 0;
	}
	if (status < 0) {
		if (directory.lock_fd >= 0)
			close(directory.lock_fd);
		rmdir(directory.outer);
		return gg_error_set_errno(error, -status, directory.path, NULL);
	}
	*ret_directory = directory;
	return 0;
}

void gg_directory_done(struct gg_directory *directory, bool remove)
{
	struct dirent *entry;
	DIR *listing;

	if (directory->fd < 0)
		return;
	listing = remove ? fdopendir(directory->fd) : NULL;
	if (listing != NULL) {
		rewinddir(listing);
		while ((entry = readdir(listing)) != NULL)
			if (gg_directory_region_pid(entry->d_name) != 0 ||
			    strcmp(entry->d_name, GG_DIRECTORY_LOG) == 0)
				unlinkat(directory->fd, entry->d_name, 0);
		closedir(listing);
		rmdir(directory->path);
		rmdir(directory->outer);
	} else {
		close(directory->fd);
	}
	close(directory->lock_fd);
	directory->fd = directory->lock_fd = -1;
}

int gg_directory_region_pid(const char *name)
{
	static const char prefix[] = "geiger-", suffix[] = ".region";
	char *end;
	long pid;

	if (strncmp(name, prefix, sizeof(prefix) - 1) != 0)
		return 0;
	pid = strtol(name + sizeof(prefix) - 1, &end, 10);
	if (pid <= 0 || pid > INT32_MAX || *end != '-')
		return 0;
	end += 1 + strspn(end + 1, "0123456789");
	return strcmp(end, suffix) == 0 ? (int)pid : 0;
}
