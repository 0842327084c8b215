/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/lab_cost.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/launch.h"

/* With the agent, what it needs to know; a region of its own folder goes with it. */
static void prepare_child(const char *agent, const char *directory)
{
	if (agent == NULL) {
		unsetenv("LD_PRELOAD");
		return;
	}
	setenv("LD_PRELOAD", agent, 1);
	setenv("GEIGER_INTERVAL", "1", 1);
	setenv("GEIGER_DIR", directory, 1);
	unsetenv("GEIGER_RECORDER");
	unsetenv("GEIGER_SCHEME");
	unsetenv("GEIGER_ACTIVE");
}

static int run_once(const char *agent, const char *directory, double *ret_ns)
{
	char text[128];
	int ends[2], status;
	ssize_t length;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	pid = fork();
	if (pid == 0) {
		prepare_child(agent, directory);
		dup2(ends[1], STDOUT_FILENO);
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

/* The best of a few: a busy machine only ever adds. */
static int run_some(const char *agent, const char *directory, double *ret_ns)
{
	double ns = 0;
	int code = 0;

	*ret_ns = 0;
	for (int i = 0; code == 0 && i < 3; i++) {
		code = run_once(agent, directory, &ns);
		if (i == 0 || ns < *ret_ns)
			*ret_ns = ns;
	}
	return code;
}

static void remove_directory(const char *path)
{
	DIR *folder = opendir(path);
	struct dirent *entry;

	while (folder != NULL && (entry = readdir(folder)) != NULL)
		if (strncmp(entry->d_name, "geiger-", 7) == 0)
			unlinkat(dirfd(folder), entry->d_name, 0);
	if (folder != NULL)
		closedir(folder);
	rmdir(path);
}

int gg_lab_sample_cost(double *ret_ns, struct gg_error *error)
{
	char agent[GG_LAUNCH_PATH_MAX], directory[] = "/tmp/geiger-cost-XXXXXX";
	double alone, with;
	int code = gg_launch_find_agent(agent, error);

	if (code < 0)
		return code;
	if (mkdtemp(directory) == NULL)
		return gg_error_set_errno(error, errno, directory, NULL);
	code = run_some(NULL, NULL, &alone);
	if (code == 0)
		code = run_some(agent, directory, &with);
	remove_directory(directory);
	if (code < 0)
		return gg_error_set_errno(error, -code, "geiger debug cost", NULL);
	*ret_ns = with > alone ? with - alone : 0;
	return 0;
}
