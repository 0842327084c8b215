/* SPDX-License-Identifier: Apache-2.0 */
/*
 * send_kill - kills its process at the N-th step that others could see: a library to preload.
 *
 * A step is a call that changes files, or that sends or receives.  KILL_AT is N, and KILL_AFTER
 * says that the call happens first.  With KILL_FAILS the call fails with ENOSPC instead.
 * KILL_COUNT names a file for the number of steps.  CLOCK_SHIFT sets the wall clock ahead, by
 * seconds; with CLOCK_SHIFT_AFTER so many seconds after the process began.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static unsigned long steps;
static pid_t owner; /* children, which look up symbols, take no steps */

__attribute__((constructor)) static void begin(void)
{
	owner = getpid();
}

__attribute__((destructor)) static void end(void)
{
	const char *path = getenv("KILL_COUNT");
	FILE *file = path != NULL && getpid() == owner ? fopen(path, "w") : NULL;

	if (file != NULL) {
		fprintf(file, "%lu\n", steps);
		fclose(file);
	}
}

/* Returns 1 if the call must fail. */
static int step(int is_after)
{
	const char *at = getenv("KILL_AT");

	if (getpid() != owner)
		return 0;
	steps += !is_after;
	if (at == NULL || strtoul(at, NULL, 10) != steps ||
	    (getenv("KILL_AFTER") != NULL) != is_after)
		return 0;
	if (getenv("KILL_FAILS") == NULL)
		kill(owner, SIGKILL);
	errno = ENOSPC;
	return 1;
}

#define STEP(type, name, parameters, arguments)                      \
	__attribute__((visibility("default"))) type name parameters; \
	type name parameters                                         \
	{                                                            \
		static type(*real) parameters;                       \
		type result;                                         \
                                                                     \
		if (real == NULL)                                    \
			*(void **)&real = dlsym(RTLD_NEXT, #name);   \
		if (step(0))                                         \
			return -1;                                   \
		result = real arguments;                             \
		step(1);                                             \
		return result;                                       \
	}

STEP(int, renameat, (int a, const char *from, int b, const char *to), (a, from, b, to))
STEP(int, unlinkat, (int fd, const char *path, int flags), (fd, path, flags))
STEP(ssize_t, write, (int fd, const void *bytes, size_t length), (fd, bytes, length))
STEP(int, connect, (int fd, const struct sockaddr *to, socklen_t length), (fd, to, length))
STEP(ssize_t, send, (int fd, const void *bytes, size_t length, int flags),
     (fd, bytes, length, flags))
STEP(ssize_t, recv, (int fd, void *bytes, size_t length, int flags), (fd, bytes, length, flags))

static int is_shifted(void)
{
	const char *after = getenv("CLOCK_SHIFT_AFTER");
	static time_t begin_s;
	struct timespec now;

	if (after == NULL)
		return 1;
	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
	if (begin_s == 0)
		begin_s = now.tv_sec;
	return now.tv_sec >= begin_s + strtol(after, NULL, 10);
}

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *now);
int clock_gettime(clockid_t clock, struct timespec *now)
{
	const char *shift = clock == CLOCK_REALTIME ? getenv("CLOCK_SHIFT") : NULL;
	long status = syscall(SYS_clock_gettime, clock, now);

	if (shift != NULL && is_shifted())
		now->tv_sec += strtol(shift, NULL, 10);
	return (int)status;
}
