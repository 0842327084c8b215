/* SPDX-License-Identifier: Apache-2.0 */
/* debuginfod - calls elfutils' debuginfod client, which it loads at run time. */
#include "symbol/elf/debuginfod.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
static uint64_t last_change_ns, deadline_ns;
static uint64_t bytes_max;
static bool stalled, is_late, is_too_large;

/*
 * The client calls this a few times a second; a result other than 0 ends the transfer.  `done`
 * counts bytes once a server has answered.  Before that it counts calls, and must not look like
 * progress.
 */
static int stop_beyond_limits(struct client *client, long done, long total)
{
	uint64_t now_ns = gg_clock_monotonic_ns();

	(void)client;
	is_too_large = (total > 0 && (uint64_t)total > bytes_max) ||
	               (done > 0 && (uint64_t)done > bytes_max);
	if (done > last_done + CALLS_AT_ONCE || (total > 0 && done > last_done))
		last_change_ns = now_ns;
	last_done = done;
	stalled = now_ns - last_change_ns > GG_DEBUGINFOD_STALL_SECONDS * GG_NS_PER_S;
	is_late = now_ns > deadline_ns;
	return stalled || is_late || is_too_large;
}

bool gg_debuginfod_is_wanted(void)
{
	const char *urls = getenv("DEBUGINFOD_URLS");

	return urls != NULL && urls[strspn(urls, " ")] != '\0';
}

/* The client calls no callback for a file of its cache, or one that came at once. */
static int check_size(int fd)
{
	struct stat properties;

	if (fd < 0 || fstat(fd, &properties) < 0 || (uint64_t)properties.st_size <= bytes_max)
		return fd;
	close(fd);
	return -EFBIG;
}

int gg_debuginfod_find(const uint8_t *build_id, size_t build_id_bytes,
                       const struct gg_symbol_fetch_limits *limits)
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
	stalled = is_late = is_too_large = false;
	last_change_ns = gg_clock_monotonic_ns();
	deadline_ns = limits != NULL ? last_change_ns + limits->seconds * GG_NS_PER_S : UINT64_MAX;
	bytes_max = limits != NULL ? limits->bytes : UINT64_MAX;
	set_progress(client, stop_beyond_limits);
	fd = find(client, build_id, (int)build_id_bytes, NULL);
	end(client);
	/* The client's own error would claim that no server has the file. */
	if (fd < 0 && is_too_large)
		return -EFBIG;
	if (fd < 0 && stalled)
		return -ETIMEDOUT;
	if (fd < 0 && is_late)
		return -ETIME;
	return check_size(fd); /* the library stays loaded, because it may have threads */
}
