/* SPDX-License-Identifier: Apache-2.0 */
/* agent_path - finds the files of the agent and of a command (record/session/launch.h). */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/session/launch.h"

#define AGENT_NAME  "libgeiger-agent.so"
#define COMPAT_NAME "libgeiger-compat.so"
#define MALLOC_NAME "libgeiger-malloc.so"
#define MUSL_NAME   "libgeiger-agent-musl.so"

static bool uses_own_allocator;

void gg_launch_use_own_allocator(void)
{
	uses_own_allocator = true;
}

/*
 * Tries `directory` and `middle` as the agent's place.  True: `path` is the agent's absolute path.
 */
static bool try_path(char path[GG_LAUNCH_PATH_MAX], const char *directory, const char *middle)
{
	char text[GG_LAUNCH_PATH_MAX];
	int length = snprintf(text, sizeof(text), "%s%s" AGENT_NAME, directory, middle);

	if (length < 0 || (size_t)length >= sizeof(text) || access(text, R_OK) < 0)
		return false;
	/*
	 * The path is absolute, since the program may change its directory before it executes
	 * others.
	 */
	char *whole = realpath(text, NULL);
	bool fits = whole != NULL && strlen(whole) < GG_LAUNCH_PATH_MAX;

	if (fits)
		memcpy(path, whole, strlen(whole) + 1);
	free(whole);
	return fits;
}

/* Finds a library in the agent's directory. */
static int find_beside(char path[GG_LAUNCH_PATH_MAX], const char *agent, const char *name,
                       const char *hint, struct gg_error *error)
{
	const char *slash = strrchr(agent, '/');
	int length = snprintf(path, GG_LAUNCH_PATH_MAX, "%.*s%s",
	                      slash != NULL ? (int)(slash - agent + 1) : 0, agent, name);

	if (length < 0 || length >= GG_LAUNCH_PATH_MAX || access(path, R_OK) < 0)
		return gg_error_set(error, -ENOENT, agent, hint, "there is no %s beside the agent",
		                    name);
	return 0;
}

int gg_launch_find_agent(char path[GG_LAUNCH_PATH_MAX], struct gg_error *error)
{
	const char *asked = secure_getenv("GEIGER_AGENT");
	char directory[GG_LAUNCH_PATH_MAX], *slash;
	ssize_t length = readlink("/proc/self/exe", directory, sizeof(directory) - 1);
	bool found = false;

	if (asked != NULL && *asked != '\0') {
		if (access(asked, R_OK) < 0 || realpath(asked, path) == NULL)
			return gg_error_set_errno(error, errno, asked,
			                          "GEIGER_AGENT names the agent's library.");
		found = true;
	}
	directory[length > 0 ? length : 0] = '\0';
	slash = strrchr(directory, '/');
	if (slash != NULL)
		slash[1] = '\0';
	found = found || try_path(path, directory, "") ||
	        try_path(path, directory, "../" GG_LIBDIR "/") ||
	        try_path(path, GG_PREFIX "/" GG_LIBDIR "/", "");
	if (!found)
		return gg_error_set(error, -ENOENT, NULL,
		                    "Install it, or name it by GEIGER_AGENT=/path/" AGENT_NAME ".",
		                    "the agent's library " AGENT_NAME " is not there");
	if (strpbrk(path, " :") != NULL)
		return gg_error_set(error, -ENOTSUP, path,
		                    "Copy it elsewhere and name it by GEIGER_AGENT.",
		                    "the loader takes no path with a blank or a colon");
	if (!uses_own_allocator)
		return 0;
	memcpy(directory, path, strlen(path) + 1);
	return find_beside(path, directory, MALLOC_NAME,
	                   "Configure geiger with -Dmalloc=true and install it again.", error);
}

/* Both libraries are installed together, so this one is beside the agent. */
int gg_launch_find_compat(char path[GG_LAUNCH_PATH_MAX], const char *agent, struct gg_error *error)
{
	return find_beside(path, agent, COMPAT_NAME, "Both are installed together.", error);
}

/*
 * Finds the file that execvp() would execute: 0, -ENOENT, or -EACCES.  Like execvp() it goes on
 * after a file without permission, reports that only if no other file is found, and takes an empty
 * part of PATH as the current directory.
 */
static int find_command(const char *command, char path[GG_LAUNCH_PATH_MAX])
{
	const char *next = getenv("PATH");
	int length, status = -ENOENT;

	if (strchr(command, '/') != NULL) {
		length = snprintf(path, GG_LAUNCH_PATH_MAX, "%s", command);
		return length >= GG_LAUNCH_PATH_MAX ? -ENAMETOOLONG
		       : access(path, X_OK) == 0    ? 0
		                                    : -errno;
	}
	next = next != NULL ? next : "/bin:/usr/bin";
	while (*command != '\0') {
		size_t bytes = strcspn(next, ":");

		length = snprintf(path, GG_LAUNCH_PATH_MAX, "%.*s%s%s", (int)bytes, next,
		                  bytes > 0 ? "/" : "", command);
		if (length < GG_LAUNCH_PATH_MAX && access(path, X_OK) == 0)
			return 0;
		if (length < GG_LAUNCH_PATH_MAX && errno == EACCES)
			status = -EACCES;
		if (next[bytes] == '\0')
			break;
		next += bytes + 1;
	}
	return status;
}

/* The result is advice: the file may change before the child executes it. */
int gg_launch_check(const char *command)
{
	char path[GG_LAUNCH_PATH_MAX];

	return find_command(command, path);
}

enum gg_preloadable gg_launch_reach(const char *command, char why[GG_PRELOADABLE_WHY_MAX])
{
	char path[GG_LAUNCH_PATH_MAX];

	why[0] = '\0';
	return find_command(command, path) < 0 ? GG_PRELOADABLE_ALL : gg_preloadable_of(path, why);
}

const char *gg_launch_advice(const char *command)
{
	char path[GG_LAUNCH_PATH_MAX];

	return find_command(command, path) < 0 ? NULL : gg_preloadable_advice(path);
}

bool gg_launch_refuses(const char *command)
{
	char path[GG_LAUNCH_PATH_MAX], why[GG_PRELOADABLE_WHY_MAX];

	return find_command(command, path) == 0 && gg_preloadable_refuses(path, why);
}

/* --- programs of musl --- */

/*
 * The folder beside the agent that serves both libcs.  glibc's loader replaces "$LIB" in
 * LD_PRELOAD by the name of its folder of libraries, such as lib64; musl's loader takes it as it
 * stands.  So one path leads each of them to its own agent, also in the children of a program that
 * have the other libc.
 */
#define BOTH_FOLDER "geiger-preload/"

static bool is_same_file(const char *a, const char *b)
{
	struct stat first, second;

	return stat(a, &first) == 0 && stat(b, &second) == 0 && first.st_ino == second.st_ino &&
	       first.st_dev == second.st_dev;
}

/*
 * Makes the path that serves both libcs, if it leads glibc to this library: the name that glibc
 * puts in is the end of the folder of our own libc.  In the place of each library of glibc, musl
 * finds the agent for musl.
 */
static bool find_for_both(char path[GG_LAUNCH_PATH_MAX], const char *library,
                          const char *musl_agent)
{
	char folder[GG_LAUNCH_PATH_MAX], expanded[GG_LAUNCH_PATH_MAX];
	const char *slash = strrchr(library, '/'), *end;
	Dl_info libc;
	int length;

	if (slash == NULL || strchr(library, '$') != NULL || dladdr((void *)abort, &libc) == 0 ||
	    libc.dli_fname == NULL || (end = strrchr(libc.dli_fname, '/')) == NULL)
		return false;
	snprintf(folder, sizeof(folder), "%.*s", (int)(end - libc.dli_fname), libc.dli_fname);
	end = strncmp(folder, "/usr/", 5) == 0 ? folder + 4 : folder;
	length = (int)(slash + 1 - library);
	return snprintf(expanded, sizeof(expanded), "%.*s" BOTH_FOLDER "%s/%s", length, library,
	                end + 1, slash + 1) < (int)sizeof(expanded) &&
	       is_same_file(expanded, library) &&
	       snprintf(path, GG_LAUNCH_PATH_MAX, "%.*s" GG_LAUNCH_FOR_BOTH "%s", length, library,
	                slash + 1) < GG_LAUNCH_PATH_MAX &&
	       is_same_file(path, musl_agent);
}

void gg_launch_fit_command(char path[GG_LAUNCH_PATH_MAX], const char *library, const char *command)
{
	char file[GG_LAUNCH_PATH_MAX], musl_agent[GG_LAUNCH_PATH_MAX];
	bool is_installed = find_beside(musl_agent, library, MUSL_NAME, NULL, NULL) == 0;

	gg_preloadable_set_musl_agent(is_installed);
	if (is_installed && find_command(command, file) == 0 && gg_preloadable_is_musl(file))
		library = musl_agent;
	memcpy(path, library, strlen(library) + 1);
}

void gg_launch_fit(char path[GG_LAUNCH_PATH_MAX], const char *library, const char *command)
{
	char musl_agent[GG_LAUNCH_PATH_MAX];

	if (find_beside(musl_agent, library, MUSL_NAME, NULL, NULL) < 0 ||
	    !find_for_both(path, library, musl_agent))
		gg_launch_fit_command(path, library, command);
	else
		gg_preloadable_set_musl_agent(true);
}
