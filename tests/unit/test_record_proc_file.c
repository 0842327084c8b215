/* SPDX-License-Identifier: Apache-2.0 */
/* test_record_proc_file - what small files of /proc tell about a process. */
#include "record/process/proc_file.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "test.h"

/* The kernel has no process with this id. */
enum { NO_PID = INT32_MAX };

TEST(the_resident_set_grows_by_the_pages_that_are_touched)
{
	enum { TOUCHED_BYTES = 64 << 20, SLACK_BYTES = 4 << 20 };
	int64_t before_bytes = gg_proc_file_rss_bytes((uint32_t)getpid()), grown_bytes;
	char *pages = mmap(NULL, TOUCHED_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
	                   -1, 0);

	REQUIRE(pages != MAP_FAILED);
	memset(pages, 1, TOUCHED_BYTES);
	grown_bytes = gg_proc_file_rss_bytes((uint32_t)getpid()) - before_bytes;
	munmap(pages, TOUCHED_BYTES);
	CHECK(before_bytes > 0);
	CHECK(grown_bytes > TOUCHED_BYTES - SLACK_BYTES);
	CHECK(grown_bytes < TOUCHED_BYTES + SLACK_BYTES);
}

TEST(a_process_that_has_ended_has_no_resident_pages)
{
	siginfo_t end;
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	REQUIRE(pid > 0);
	/* It stays in /proc until its parent takes its status. */
	REQUIRE(waitid(P_PID, (id_t)pid, &end, WEXITED | WNOWAIT) == 0);
	CHECK_EQ_I64(gg_proc_file_rss_bytes((uint32_t)pid), 0);
	waitpid(pid, NULL, 0);
}

TEST(the_resident_set_of_no_process_is_unknown)
{
	CHECK_EQ_I64(gg_proc_file_rss_bytes(NO_PID), -1);
}
