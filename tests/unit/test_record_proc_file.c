/* SPDX-License-Identifier: Apache-2.0 */
/* test_record_proc_file - what small files of /proc tell about a process. */
#include "record/process/proc_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "test.h"

/* The kernel has no process with this id. */
enum { NO_PID = INT32_MAX };

/*
 * Writes one byte of each page.  The thread sanitizer would write twice as much beside them, and be
 * counted.
 */
__attribute__((no_sanitize("thread"))) static void touch(char *pages, size_t bytes)
{
	volatile char *page = pages;

	for (size_t at = 0; at < bytes; at += 4096)
		page[at] = 1;
}

TEST(the_resident_set_grows_by_the_pages_that_are_touched)
{
	enum { TOUCHED_BYTES = 64 << 20, SLACK_BYTES = 4 << 20 };
	int64_t before_bytes = gg_proc_file_rss_bytes((uint32_t)getpid()), grown_bytes;
	char *pages = mmap(NULL, TOUCHED_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
	                   -1, 0);

	REQUIRE(pages != MAP_FAILED);
	touch(pages, TOUCHED_BYTES);
	grown_bytes = gg_proc_file_rss_bytes((uint32_t)getpid()) - before_bytes;
	munmap(pages, TOUCHED_BYTES);
	CHECK(before_bytes > 0);
	CHECK(grown_bytes > TOUCHED_BYTES - SLACK_BYTES);
	CHECK(grown_bytes < TOUCHED_BYTES + SLACK_BYTES);
}

TEST(a_process_that_has_ended_has_no_pages_and_no_command_line)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf command = { 0 };
	siginfo_t end;
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	REQUIRE(pid > 0);
	/* It stays in /proc until its parent takes its status. */
	REQUIRE(waitid(P_PID, (id_t)pid, &end, WEXITED | WNOWAIT) == 0);
	CHECK_EQ_I64(gg_proc_file_rss_bytes((uint32_t)pid), 0);
	CHECK(!gg_proc_file_read_command(&command, (uint32_t)pid));
	waitpid(pid, NULL, 0);
}

TEST(the_resident_set_of_no_process_is_unknown)
{
	CHECK_EQ_I64(gg_proc_file_rss_bytes(NO_PID), -1);
}

/* Checks the command line of a process that was started with these arguments. */
static void check_command(const char *const argv[], const char *expected)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf command = { 0 };
	int ready[2], reads_left = 10000;
	pid_t pid;
	char byte;

	REQUIRE(pipe2(ready, O_CLOEXEC) == 0);
	pid = fork();
	if (pid == 0) {
		execv("/bin/cat", (char *const *)(uintptr_t)argv);
		_exit(127);
	}
	/*
	 * The pipe closes when the process executes its program, shortly before the kernel shows
	 * the arguments.  The program then waits for its input.
	 */
	close(ready[1]);
	CHECK_EQ_I64(read(ready[0], &byte, 1), 0);
	close(ready[0]);
	while (!gg_proc_file_read_command(&command, (uint32_t)pid) && --reads_left > 0)
		usleep(1000);
	CHECK_EQ_STR(gg_buf_text(&command), expected);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

TEST(a_command_line_has_its_arguments_with_blanks_between)
{
	int ends[2], input = dup(STDIN_FILENO);

	REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
	dup2(ends[0], STDIN_FILENO);
	check_command((const char *[]){ "cat", NULL }, "cat");
	check_command((const char *[]){ "cat", "-", "", "-u", NULL }, "cat -  -u");
	check_command((const char *[]){ "", "-u", NULL }, " -u");
	check_command((const char *[]){ "title", "-", "", "", NULL }, "title -");
	dup2(input, STDIN_FILENO);
	close(input);
	close(ends[0]);
	close(ends[1]);
}

TEST(no_process_has_no_command_line)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf command = { 0 };

	CHECK(!gg_proc_file_read_command(&command, NO_PID));
}
