/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_base_assert - shows that a failed assertion names itself and ends the program in any case.
 */
#include "base/assert.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

/* Runs `check` in a child; returns its wait status and what it wrote to standard error. */
static int run(void (*check)(void), char *output, size_t size)
{
	int ends[2], status = -1;
	size_t length = 0;
	ssize_t got;
	pid_t child;

	if (!CHECK_EQ_I64(pipe(ends), 0))
		return -1;
	child = fork();
	if (child == 0) {
		dup2(ends[1], STDERR_FILENO);
		check();
		_exit(0);
	}
	close(ends[1]);
	while (length < size - 1 && (got = read(ends[0], output + length, size - 1 - length)) > 0)
		length += (size_t)got;
	output[length] = '\0';
	close(ends[0]);
	CHECK_EQ_I64(waitpid(child, &status, 0), child);
	return status;
}

static int evaluated_count;

static bool is_counted(void)
{
	evaluated_count++;
	return true;
}

static void fail(void)
{
	gg_assert(evaluated_count == 1);
}

static void ignore(int number)
{
	(void)number;
}

static void fail_with_a_handler_that_returns(void)
{
	signal(SIGABRT, ignore);
	gg_assert(evaluated_count == 1);
}

TEST(a_condition_that_holds_is_evaluated_once_and_changes_nothing)
{
	gg_assert(is_counted());
	CHECK_EQ_I64(evaluated_count, 1);
	evaluated_count = 0;
}

TEST(a_condition_that_fails_names_itself_and_aborts)
{
	char output[512];
	int status = run(fail, output, sizeof(output));

	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	CHECK_MSG(strncmp(output, "geiger: ", 8) == 0 &&
	                  strstr(output, "unit/test_base_assert.c:") != NULL &&
	                  strstr(output, ": assertion failed: evaluated_count == 1\n") != NULL,
	          "%s", output);
}

TEST(a_program_that_survives_the_signal_ends_all_the_same)
{
	char output[512];
	int status = run(fail_with_a_handler_that_returns, output, sizeof(output));

	CHECK(WIFSIGNALED(status));
	CHECK(WTERMSIG(status) == SIGILL || WTERMSIG(status) == SIGTRAP);
}
