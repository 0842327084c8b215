/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_region_file - shows how region files are created, reserved, shared, and found to be in use.
 */
#include "region/region_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scratch.h"
#include "test.h"

enum { BYTES = 1 << 20 };

static const char *directory; /* a new one for each test */

TEST(a_region_file_is_private_sparse_and_new)
{
	struct gg_region_file map, other;
	struct stat file;

	directory = scratch_new_folder();
	if (CHECK_EQ_I64(gg_region_file_create(&map, directory, "r", BYTES), 0)) {
		CHECK(stat(map.path, &file) == 0 && (file.st_mode & 0777) == 0600);
		CHECK(file.st_size == BYTES && file.st_blocks * 512 < BYTES / 4);
		CHECK_EQ_I64(gg_region_file_create(&other, directory, "r", BYTES), -EEXIST);
		CHECK_EQ_I64(gg_region_file_reserve(&map, 4096, 65536), 0);
		CHECK(stat(map.path, &file) == 0 && file.st_blocks * 512 >= 65536);
		map.base[4096] = 1;
		gg_region_file_done(&map, true);
		CHECK(map.base == NULL);
	}
	CHECK_EQ_I64(rmdir(directory), 0); /* nothing is left */
}

static bool is_used(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool is = fd >= 0 && gg_region_file_is_used(fd);

	if (fd >= 0)
		close(fd);
	return is;
}

TEST(a_file_is_in_use_as_long_as_a_process_has_it_mapped)
{
	struct gg_region_file map;
	int to_child[2], fd;
	char path[600];
	pid_t child;

	directory = scratch_new_folder();
	if (CHECK(gg_region_file_create(&map, directory, "r", BYTES) == 0 && map.is_locked &&
	          pipe(to_child) == 0)) {
		snprintf(path, sizeof(path), "%s", map.path);
		CHECK(is_used(path));
		/* A process that only reads the file does not use it. */
		fd = open(path, O_RDONLY);
		child = fork();
		if (child == 0) {
			close(to_child[1]);
			if (read(to_child[0], path, 1) < 0) /* until the parent lets it go on */
				_exit(1);
			_exit(0);
		}
		/* The child has what its parent had. */
		gg_region_file_done(&map, false);
		CHECK(is_used(path));
		close(to_child[1]);
		waitpid(child, NULL, 0);
		CHECK(!is_used(path));
		close(fd);
		close(to_child[0]);
		unlink(path);
	}
	CHECK_EQ_I64(rmdir(directory), 0);
}

TEST(a_link_that_waits_in_our_place_is_not_followed)
{
	struct gg_region_file map;
	char path[96], target[96];

	directory = scratch_new_folder();
	snprintf(path, sizeof(path), "%s/r", directory);
	snprintf(target, sizeof(target), "%s/target", directory);
	CHECK_EQ_I64(symlink(target, path), 0);
	CHECK_EQ_I64(gg_region_file_create(&map, directory, "r", BYTES), -EEXIST);
	CHECK(access(target, F_OK) < 0);
	unlink(path);
	rmdir(directory);
}

TEST(the_directory_that_was_asked_for_is_used_and_no_other)
{
	struct gg_region_file map;

	directory = scratch_new_folder();
	setenv("GEIGER_DIR", directory, 1);
	if (CHECK_EQ_I64(gg_region_file_create(&map, NULL, "r", BYTES), 0)) {
		CHECK_EQ_I64(strncmp(map.path, directory, strlen(directory)), 0);
		gg_region_file_done(&map, true);
	}
	setenv("GEIGER_DIR", "/nowhere/at/all", 1);
	errno = 77;
	CHECK_EQ_I64(gg_region_file_create(&map, NULL, "r", BYTES), -ENOENT);
	CHECK_EQ_I64(errno, 77);
	unsetenv("GEIGER_DIR");
	char name[64];
	snprintf(name, sizeof(name), "gg-region-map-test-%d", (int)getpid());
	if (CHECK_EQ_I64(gg_region_file_create(&map, NULL, name, BYTES), 0)) {
		CHECK(strncmp(map.path, "/dev/shm/", 9) == 0 || access("/dev/shm", W_OK) < 0);
		gg_region_file_done(&map, true);
	}
	rmdir(directory);
}

TEST(a_file_size_limit_is_an_error_and_not_a_signal)
{
	struct rlimit old, limit;
	struct gg_region_file map;

	directory = scratch_new_folder();
	getrlimit(RLIMIT_FSIZE, &old);
	limit = (struct rlimit){ .rlim_cur = BYTES / 2, .rlim_max = old.rlim_max };
	CHECK_EQ_I64(setrlimit(RLIMIT_FSIZE, &limit), 0);
	CHECK_EQ_I64(gg_region_file_create(&map, directory, "r", BYTES), -EFBIG);
	setrlimit(RLIMIT_FSIZE, &old);
	CHECK_EQ_I64(rmdir(directory), 0); /* nothing is left */
}

/* Returns the number of descriptors of this process; -1: unknown. */
static int count_descriptors(void)
{
	DIR *list = opendir("/proc/self/fd");
	int count = -1; /* the list's own */

	while (list != NULL && readdir(list) != NULL)
		count++;
	if (list != NULL)
		closedir(list);
	return count;
}

TEST(no_descriptor_stays_where_space_can_be_had_without)
{
	int before = count_descriptors(), fd;
	struct gg_region_file map;
	struct stat file;
	char there = 0;

	directory = scratch_new_folder();
	if (CHECK_EQ_I64(gg_region_file_create(&map, directory, "r", BYTES), 0)) {
		if (map.fd >= 0)
			SKIP("this kernel, or the emulator, has no MADV_POPULATE_WRITE");
		CHECK_EQ_I64(count_descriptors(), before);
		CHECK_EQ_I64(gg_region_file_reserve(&map, BYTES / 2, 65536), 0);
		CHECK(stat(map.path, &file) == 0 && file.st_blocks * 512 >= 65536);
		map.base[0] = 'a';
		gg_region_file_detach(&map);
		map.base[0] = 'b';
		fd = open(map.path, O_RDONLY | O_CLOEXEC);
		CHECK(pread(fd, &there, 1, 0) == 1 && there == 'a');
		close(fd);
		CHECK_EQ_I64(count_descriptors(), before);
		gg_region_file_done(&map, true);
	}
	rmdir(directory);
}

TEST(a_descriptor_that_the_program_took_is_left_alone)
{
	struct gg_region_file map;
	struct stat theirs;
	int status, fd;

	if (!CHECK_EQ_I64(gg_region_file_create_anonymous(&map, "r", BYTES), 0))
		return;
	fd = memfd_create("theirs", 0);
	CHECK_EQ_I64(dup2(fd, map.fd), map.fd);
	errno = 77;
	status = gg_region_file_reserve(&map, 0, 65536);
	CHECK_EQ_I64(errno, 77);
	/* By the mapping, or, before Linux 5.14, not at all. */
	CHECK(status == 0 || status == -EINVAL);
	CHECK(fstat(fd, &theirs) == 0 && theirs.st_size == 0);
	fd = map.fd;
	gg_region_file_done(&map, false);
	CHECK(fcntl(fd, F_GETFD) >= 0); /* not ours to close */
}

/* Its number may be another file's by then: that one has its size. */
TEST(space_is_given_without_changing_the_size_of_a_file)
{
	struct gg_region_file map;
	struct stat file;

	if (!CHECK_EQ_I64(gg_region_file_create_anonymous(&map, "r", BYTES), 0))
		return;
	CHECK_EQ_I64(ftruncate(map.fd, 4096), 0);
	CHECK_EQ_I64(gg_region_file_reserve(&map, BYTES / 2, 65536), 0);
	CHECK(fstat(map.fd, &file) == 0 && file.st_size == 4096);
	gg_region_file_done(&map, true);
}

TEST(space_outside_the_file_is_refused)
{
	struct gg_region_file map;

	if (!CHECK_EQ_I64(gg_region_file_create_anonymous(&map, "r", BYTES), 0))
		return;
	CHECK_EQ_I64(gg_region_file_reserve(&map, BYTES - 4096, 4097), -ERANGE);
	CHECK_EQ_I64(gg_region_file_reserve(&map, UINT64_MAX, 2), -ERANGE);
	CHECK_EQ_I64(gg_region_file_reserve(&map, BYTES - 4096, 4096), 0);
	gg_region_file_done(&map, false);
}

TEST(what_is_written_after_detaching_is_not_in_the_file)
{
	struct gg_region_file map;
	char there[2] = "";

	if (!CHECK_EQ_I64(gg_region_file_create_anonymous(&map, "r", BYTES), 0))
		return;
	map.base[0] = 'a';
	errno = 77;
	gg_region_file_detach(&map);
	CHECK_EQ_I64(errno, 77);
	CHECK_EQ_I64(map.base[0], 'a');
	map.base[0] = map.base[BYTES - 1] = 'b';
	CHECK(pread(map.fd, there, 1, 0) == 1 && there[0] == 'a');
	gg_region_file_done(&map, false);
}
