/* SPDX-License-Identifier: Apache-2.0 */
/* debuginfod - calls elfutils' debuginfod client, which it loads at run time. */
#include "symbol/elf/debuginfod.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/time_units.h"

/* While `done` only counts calls, it grows by at most this much from one call to the next. */
enum { CALLS_AT_ONCE = 16 };

/*
 * These types match the declarations of <elfutils/debuginfod.h>, which is not needed to build
 * geiger.
 */
struct client;
typedef struct client *begin_function(void);
typedef void end_function(struct client *client);
typedef int find_function(struct client *client, const unsigned char *build_id, int build_id_len,
                          char **path);
typedef int progress_function(struct client *client, long done, long total);
typedef void set_progress_function(struct client *client, progress_function *progress);

/*
 * The callback gets no context, so its state is static.  A worker has one thread, so there is only
 * one transfer at a time.
 */
static long last_done;
static uint64_t last_change_ns;
static bool stalled;

/*
 * The client calls this a few times a second; a result other than 0 ends the transfer.  `done`
 * counts bytes once a server has answered.  Before that it counts calls, and must not look like
 * progress.
 */
static int stop_if_stalled(struct client *client, long done, long total)
{
	uint64_t now_ns = gg_clock_monotonic_ns();

	(void)client;
	if (done > last_done + CALLS_AT_ONCE || (total > 0 && done > last_done))
		last_change_ns = now_ns;
	last_done = done;
	stalled = now_ns - last_change_ns > GG_DEBUGINFOD_STALL_SECONDS * GG_NS_PER_S;
	return stalled;
}

bool gg_debuginfod_is_wanted(void)
{
	const char *urls = getenv("DEBUGINFOD_URLS");

	return urls != NULL && urls[strspn(urls, " ")] != '\0';
}

int gg_debuginfod_find(const uint8_t *build_id, size_t build_id_bytes)
{
	void *library = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
	begin_function *begin;
	end_function *end;
	find_function *find;
	set_progress_function *set_progress;
	struct client *client;
	int fd;

	if (library == NULL)
		return -ENOSYS;
	*(void **)&begin = dlsym(library, "debuginfod_begin");
	*(void **)&end = dlsym(library, "debuginfod_end");
	*(void **)&find = dlsym(library, "debuginfod_find_debuginfo");
	*(void **)&set_progress = dlsym(library, "debuginfod_set_progressfn");
	if (begin == NULL || end == NULL || find == NULL || set_progress == NULL)
		return -ENOSYS;
	client = begin();
	if (client == NULL)
		return -ENOMEM;
	last_done = 0;
	stalled = false;
	last_change_ns = gg_clock_monotonic_ns();
	set_progress(client, stop_if_stalled);
	fd = find(client, build_id, (int)build_id_bytes, NULL);
	end(client);
	if (fd < 0 && stalled)
		return -ETIMEDOUT; /* else the error would claim that no server has the file */
	return fd;                 /* the library stays loaded, because it may have threads */
}
