/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fast_exit.h"
#include "test.h"

static int pipe_fds[2];

/* A library registers destructors while it runs. */
static void destroy(void)
{
	dprintf(pipe_fds[1], "destroyed");
}

/* Ends a child as main() would, and returns its status and all that it wrote. */
static int end_child(bool skips, int status, char text[64])
{
	int ended;
	ssize_t count;
	pid_t child;

	REQUIRE(pipe(pipe_fds) == 0);
	fflush(stdout);
	child = fork();
	REQUIRE(child >= 0);
	if (child == 0) {
		FILE *stream = fdopen(pipe_fds[1], "w");

		if (skips)
			gg_fast_exit_enable();
		atexit(destroy);
		if (stream != NULL)
			fputs("kept ", stream);
		exit(gg_fast_exit(status));
	}
	close(pipe_fds[1]);
	REQUIRE(waitpid(child, &ended, 0) == child);
	count = read(pipe_fds[0], text, 63);
	text[count > 0 ? count : 0] = '\0';
	close(pipe_fds[0]);
	return WIFEXITED(ended) ? WEXITSTATUS(ended) : -1;
}

TEST(a_process_ends_as_always)
{
	char text[64];

	CHECK_EQ_I64(end_child(false, 3, text), 3);
	CHECK_EQ_STR(text, "destroyedkept ");
}

TEST(without_destructors_the_output_and_the_status_stay)
{
	char text[64];

	CHECK_EQ_I64(end_child(true, 3, text), 3);
	CHECK_EQ_STR(text, "kept ");
}
