/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch - starts a program under the agent, or computes the environment for that.
 *
 * Two pipes connect the recorder with the child.  The child waits for a byte from the first one
 * before it executes the program; if the recorder dies, it reads the end of the pipe and exits.
 * The second one closes on a successful exec, and brings the error of a failed one.
 */
#include "record/session/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/dotnet/diagnostic_port.h"

void gg_launch_quote(struct gg_buf *text, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_-+=./,:@%";

	if (*word != '\0' && strspn(word, plain) == strlen(word)) {
		gg_buf_append_text(text, word);
		return;
	}
	gg_buf_append_text(text, "'");
	for (; *word != '\0'; word++)
		gg_buf_append(text, *word == '\'' ? "'\\''" : word, *word == '\'' ? 4 : 1);
	gg_buf_append_text(text, "'");
}

static void add_variable(struct gg_launch_environment *environment, const char *name,
                         const char *value)
{
	gg_buf_append_text(&environment->texts, name);
	gg_buf_append(&environment->texts, "=", 1);
	gg_buf_append(&environment->texts, value, strlen(value) + 1);
	environment->count++;
}

static void add_number(struct gg_launch_environment *environment, const char *name, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	add_variable(environment, name, text);
}

/*
 * Adds the recorder's pid with the inode of its pid namespace.  In a container, where pids mean
 * other processes, the agent can see that it cannot check this pid.
 */
static void add_recorder(struct gg_launch_environment *environment, pid_t recorder)
{
	struct stat namespace;
	char text[64];

	if (stat("/proc/self/ns/pid", &namespace) < 0)
	namespace.st_ino = 0;
	snprintf(text, sizeof(text), "%d:%llu", (int)recorder,
	         (unsigned long long)namespace.st_ino);
	add_variable(environment, "GEIGER_RECORDER", text);
}

static bool is_path(const char *text, size_t length, const char *path)
{
	return path != NULL && length == strlen(path) && memcmp(text, path, length) == 0;
}

/*
 * Adds LD_PRELOAD: geiger's libraries first, then the user's own entries.  Entries that name
 * geiger's libraries are left out there, so that a recorder within a recording does not load them
 * twice.
 */
static void add_preload(struct gg_launch_environment *environment, const char *agent,
                        const char *compat)
{
	const char *others = getenv("LD_PRELOAD");
	struct gg_buf value = { 0 };

	gg_buf_append_text(&value, agent);
	if (compat != NULL) {
		gg_buf_append_text(&value, ":");
		gg_buf_append_text(&value, compat);
	}
	while (others != NULL && *others != '\0') {
		size_t length = strcspn(others, ": ");

		if (length > 0 && !is_path(others, length, agent) &&
		    !is_path(others, length, compat)) {
			gg_buf_append(&value, ":", 1);
			gg_buf_append(&value, others, length);
		}
		others += length + (others[length] != '\0');
	}
	environment->texts.failed |= value.failed;
	add_variable(environment, "LD_PRELOAD", gg_buf_text(&value));
	gg_buf_done(&value);
}

/*
 * The adapter of a runtime is beside the agent, or where it is built.  The variable has its path; a
 * user sets it to 0 to leave the adapter out.
 */
static void add_adapter(struct gg_launch_environment *environment, const char *agent,
                        const char *variable, const char *runtime)
{
	static const char *const folders[] = { "", "../bindings/" };
	const char *slash = strrchr(agent, '/');
	char path[GG_LAUNCH_PATH_MAX], *whole;
	int length;

	if (getenv(variable) != NULL)
		return;
	for (size_t i = 0; i < GG_COUNT(folders); i++) {
		length = snprintf(path, sizeof(path), "%.*s%s%s%slibgeiger-%s.so",
		                  slash != NULL ? (int)(slash - agent + 1) : 0, agent, folders[i],
		                  i > 0 ? runtime : "", i > 0 ? "/" : "", runtime);
		whole = length > 0 && (size_t)length < sizeof(path) ? realpath(path, NULL) : NULL;
		if (whole != NULL)
			add_variable(environment, variable, whole);
		free(whole);
		if (whole != NULL)
			return;
	}
}

static void add_dotnet_port(struct gg_launch_environment *environment, const char *path)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf value = { 0 };

	gg_diagnostic_port_variable(&value, path, getenv("DOTNET_DiagnosticPorts"));
	environment->texts.failed |= value.failed;
	add_variable(environment, "DOTNET_DiagnosticPorts", gg_buf_text(&value));
}

int gg_launch_environment(struct gg_launch_environment *ret_environment,
                          const struct gg_launch_settings *settings, struct gg_error *error)
{
	struct gg_launch_environment environment = { 0 };

	*ret_environment = environment;
	if (settings->dotnet_port != NULL)
		add_dotnet_port(&environment, settings->dotnet_port);
	if (settings->agent == NULL) {
		*ret_environment = environment;
		return environment.texts.failed ? gg_error_memory(error, "the environment") : 0;
	}
	add_preload(&environment, settings->preload != NULL ? settings->preload : settings->agent,
	            settings->compat);
	add_adapter(&environment, settings->agent, "GEIGER_PYTHON", "python");
	add_adapter(&environment, settings->agent, "GEIGER_JVM", "jvm");
	if (settings->directory != NULL)
		add_variable(&environment, "GEIGER_DIR", settings->directory);
	if (settings->recorder != 0)
		add_recorder(&environment, settings->recorder);
	if (settings->sampling_interval != 0)
		add_number(&environment,
		           settings->error != NULL ? "GEIGER_PLANNED_INTERVAL" : "GEIGER_INTERVAL",
		           settings->sampling_interval);
	if (settings->overhead != NULL)
		add_variable(&environment, "GEIGER_OVERHEAD", settings->overhead);
	if (settings->error != NULL)
		add_variable(&environment, "GEIGER_ERROR", settings->error);
	if (settings->exact)
		add_variable(&environment, "GEIGER_EXACT", "1");
	if (settings->scheme != NULL)
		add_variable(&environment, "GEIGER_SCHEME", settings->scheme);
	if (settings->focus != NULL)
		add_variable(&environment, "GEIGER_FOCUS", settings->focus);
	if (settings->seed != 0)
		add_number(&environment, "GEIGER_SEED", settings->seed);
	if (settings->guard != 0)
		add_number(&environment, "GEIGER_GUARD", settings->guard);
	if (settings->free_stacks)
		add_variable(&environment, "GEIGER_FREE_STACKS", "1");
	if (settings->mappings)
		add_variable(&environment, "GEIGER_MMAP", "1");
	if (settings->no_allocator_calls)
		add_variable(&environment, "GEIGER_ALLOCATOR_CALLS", "0");
	if (settings->ring_events != 0 && getenv("GEIGER_RING") == NULL)
		add_number(&environment, "GEIGER_RING", settings->ring_events);
	if (settings->log != NULL && getenv("GEIGER_LOG") == NULL)
		add_variable(&environment, "GEIGER_LOG", settings->log);
	if (environment.texts.failed) {
		gg_launch_environment_done(&environment);
		return gg_error_memory(error, "the environment");
	}
	*ret_environment = environment;
	return 0;
}

void gg_launch_environment_done(struct gg_launch_environment *environment)
{
	gg_buf_done(&environment->texts);
	environment->count = 0;
}

const char *gg_launch_environment_next(const struct gg_launch_environment *environment,
                                       const char *previous)
{
	const char *end = environment->texts.data + environment->texts.length;
	const char *next = previous == NULL ? environment->texts.data
	                                    : previous + strlen(previous) + 1;

	return next < end ? next : NULL;
}

/* --- the process --- */

static void set_environment(const struct gg_launch_environment *environment)
{
	const char *text = NULL;

	while ((text = gg_launch_environment_next(environment, text)) != NULL)
		putenv((char *)text); /* the text stays in memory until exec */
}

/*
 * Runs in the child: waits until the recorder releases it, restores the signals, and executes the
 * program.  Exit status 125: the recorder has cancelled or ended; 126 and 127 as a shell's.
 */
static _Noreturn void become(char *const argv[], const struct gg_launch_environment *environment,
                             const struct gg_launch_signals *signals, int release_fd, int error_fd)
{
	ssize_t got;
	char word;
	int why;

	do
		got = read(release_fd, &word, 1);
	while (got < 0 && errno == EINTR);
	if (got != 1)
		_exit(125);
	set_environment(environment);
	sigaction(SIGCHLD, &signals->child, NULL);
	sigaction(SIGPIPE, &signals->pipe, NULL);
	sigaction(SIGXFSZ, &signals->file_size, NULL);
	sigprocmask(SIG_SETMASK, &signals->mask, NULL);
	execvp(argv[0], argv);
	why = errno;
	if (write(error_fd, &why, sizeof(why)) != sizeof(why))
		_exit(125);
	_exit(why == ENOENT ? 127 : 126);
}

int gg_launch_begin(struct gg_launch *ret_launch, char *const argv[],
                    const struct gg_launch_environment *environment,
                    const struct gg_launch_signals *signals, struct gg_error *error)
{
	int release[2], errors[2];
	pid_t pid;

	if (pipe2(release, O_CLOEXEC) < 0)
		return gg_error_set_errno(error, errno, argv[0], NULL);
	if (pipe2(errors, O_CLOEXEC) < 0) {
		int why = errno;

		close(release[0]);
		close(release[1]);
		return gg_error_set_errno(error, why, argv[0], NULL);
	}
	fflush(NULL); /* otherwise the child has a copy of unwritten text */
	pid = fork();
	if (pid == 0) {
		close(release[1]);
		close(errors[0]);
		become(argv, environment, signals, release[0], errors[1]);
	}
	/* Without these copies, each pipe ends as soon as the other process closes it or dies. */
	close(release[0]);
	close(errors[1]);
	*ret_launch = (struct gg_launch){ .pid = pid,
		                          .release_fd = release[1],
		                          .error_fd = errors[0] };
	if (pid < 0) {
		int why = errno;

		close(release[1]);
		close(errors[0]);
		return gg_error_set_errno(error, why, argv[0], NULL);
	}
	return 0;
}

int gg_launch_release(struct gg_launch *launch)
{
	int why = 0;
	ssize_t got;

	/* EPIPE: the child has ended while it waited.  The recorder ignores SIGPIPE. */
	if (write(launch->release_fd, "", 1) != 1)
		why = errno;
	close(launch->release_fd);
	launch->release_fd = -1;
	/* A successful exec closes the pipe, and read() returns 0; otherwise it reads the error. */
	do
		got = read(launch->error_fd, &why, sizeof(why));
	while (got < 0 && errno == EINTR);
	close(launch->error_fd);
	launch->error_fd = -1;
	if (why == 0)
		return 0;
	waitpid(launch->pid, NULL, 0);
	return -why;
}

/* The child reads the end of the pipe instead of a byte, and exits. */
void gg_launch_cancel(struct gg_launch *launch)
{
	close(launch->release_fd);
	close(launch->error_fd);
	waitpid(launch->pid, NULL, 0);
}
