/* SPDX-License-Identifier: Apache-2.0 */
/* lab_cost - times `geiger debug cost` without and with the agent. */
#include "cli/lab/lab_cost.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/regions/session_directory.h"
#include "record/session/launch.h"

/*
 * Sets the environment of a child: that of the agent, or one without an agent for NULL.
 * GEIGER_ACTIVE may come from the user's own shell and would switch the agent off.
 */
static void prepare_child(const struct gg_launch_environment *environment)
{
	const char *text = NULL;

	unsetenv("GEIGER_ACTIVE");
	if (environment == NULL)
		unsetenv("LD_PRELOAD");
	else
		while ((text = gg_launch_environment_next(environment, text)) != NULL)
			putenv((char *)(uintptr_t)text);
}

static int run_once(const struct gg_launch_environment *environment, double *ret_ns)
{
	char text[128];
	int ends[2], status;
	ssize_t length;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	pid = fork();
	if (pid == 0) {
		prepare_child(environment);
		dup2(ends[1], STDOUT_FILENO);
		/* The same binary, also if it was replaced on disk while it runs. */
		execl("/proc/self/exe", "geiger", "debug", "cost", (char *)NULL);
		_exit(127);
	}
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return -EAGAIN;
	}
	length = read(ends[0], text, sizeof(text) - 1);
	close(ends[0]);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (length <= 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return -EIO;
	text[length] = '\0';
	return sscanf(text, "%lf", ret_ns) == 1 ? 0 : -EIO;
}

/* Takes the best of three runs, because other work on the machine can only add time. */
static int run_some(const struct gg_launch_environment *environment, double *ret_ns)
{
	double ns = 0;
	int status = 0;

	*ret_ns = 0;
	for (int i = 0; status == 0 && i < 3; i++) {
		status = run_once(environment, &ns);
		if (i == 0 || ns < *ret_ns)
			*ret_ns = ns;
	}
	return status;
}

static int measure(const struct gg_launch_environment *environment, double *ret_ns,
                   struct gg_error *error)
{
	double alone, with;
	int status = run_some(NULL, &alone);

	if (status == 0)
		status = run_some(environment, &with);
	if (status < 0)
		return gg_error_set_errno(error, -status, "geiger debug cost", NULL);
	/*
	 * With an interval of 1 byte every allocation is a sample, so the difference is the cost of
	 * one.
	 */
	*ret_ns = with > alone ? with - alone : 0;
	return 0;
}

int gg_lab_sample_cost(double *ret_ns, struct gg_error *error)
{
	char agent[GG_LAUNCH_PATH_MAX];
	struct gg_launch_environment environment;
	struct gg_launch_settings settings = {
		.agent = agent, .sampling_interval = 1, .scheme = "poisson", .recorder = getpid()
	};
	struct gg_session_directory directory;
	int status = gg_launch_find_agent(agent, error);

	if (status == 0)
		status = gg_session_directory_create(&directory, error);
	if (status < 0)
		return status;
	settings.directory = directory.path;
	status = gg_launch_environment(&environment, &settings, error);
	if (status == 0) {
		status = measure(&environment, ret_ns, error);
		gg_launch_environment_done(&environment);
	}
	gg_session_directory_done(&directory, true);
	return status;
}
