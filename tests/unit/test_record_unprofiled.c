/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_record_unprofiled - shows whether the environment of another process names the agent.
 *
 * The other process may execute a program at that moment.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "record/diagnose/agent_presence.h"
#include "test.h"

#define AGENT "/proc/version" /* any file: the loader complains, and goes on without it */

/* A shell with that environment, once it has begun. */
static pid_t start(char *const environment[], const char *script)
{
	int begun[2], nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
	pid_t pid = pipe2(begun, O_CLOEXEC) == 0 ? fork() : -1;
	char byte;

	if (pid == 0) {
		dup2(nowhere, 2);
		execle("/bin/sh", "sh", "-c", script, script, NULL, environment);
		_exit(99);
	}
	close(begun[1]);
	CHECK_EQ_I64(read(begun[0], &byte, 1), 0); /* closed by exec() */
	close(begun[0]);
	close(nowhere);
	return pid;
}

static bool names_agent_within(pid_t pid, bool expected, double seconds)
{
	uint64_t end_ns = gg_clock_monotonic_ns() + (uint64_t)(seconds * 1e9);

	while (gg_clock_monotonic_ns() < end_ns)
		if (gg_agent_presence_in_environment((uint32_t)pid) == expected)
			return true;
	return false;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

TEST(a_process_that_executes_programs_does_not_lose_its_environment)
{
	char variable[] = "LD_PRELOAD=" AGENT;
	char *const environment[] = { variable, NULL };
	pid_t pid;

	setenv("GEIGER_AGENT", AGENT, 1);
	/* It executes itself without end. */
	pid = start(environment, "exec /bin/sh -c \"$0\" \"$0\"");
	CHECK(pid > 0);
	CHECK(!names_agent_within(pid, false, 0.5));
	end(pid);
}

TEST(an_empty_environment_is_without_the_agent)
{
	char *const environment[] = { NULL };
	pid_t pid;

	setenv("GEIGER_AGENT", AGENT, 1);
	pid = start(environment, "while :; do read line; done");
	CHECK(pid > 0);
	CHECK(names_agent_within(pid, false, 20));
	end(pid);
}
