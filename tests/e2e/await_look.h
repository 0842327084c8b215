/* SPDX-License-Identifier: Apache-2.0 */
/*
 * await_look - how a recorded program waits for a look at what it has done (recording_run_seen()).
 *
 *   await_look_begin(folder);
 *   while (!await_look_is_over(folder))
 *           await_look_pause();
 *
 * It allocates nothing.
 */
#pragma once

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static inline void await_look_begin(const char *folder)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/ready", folder);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0)
		close(fd);
}

static inline bool await_look_is_over(const char *folder)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/seen", folder);
	return access(path, F_OK) == 0;
}

static inline void await_look_pause(void)
{
	nanosleep(&(const struct timespec){ .tv_nsec = 10000000 }, NULL);
}
