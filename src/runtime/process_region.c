/* SPDX-License-Identifier: Apache-2.0 */
/* process_region - makes the file of this process's region, also while handlers fork. */
#include "runtime/process_region.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "region/control.h"
#include "region/session_files.h"
#include "runtime/agent_log.h"
#include "runtime/digits.h"
#include "runtime/overhead_budget.h"
#include "runtime/process.h"
#include "runtime/recorded_session.h"
#include "runtime/region_retention.h"
#include "runtime/signals/sigbus_guard.h"
#include "runtime/signals/signal_mask.h"
#include "runtime/syscalls.h"

enum { REGION_NAME_MAX_BYTES = 80, NAME_TRIES = 3 };

/*
 * The value of TMPDIR at the start.  A forked child must not read its environment: a shell replaces
 * it piece by piece, and the child may have been forked in the middle of that.
 */
static char temporary[GG_REGION_PATH_MAX];

/* The file that is being made, for gg_process_region_detach().  Its base is set last, and is NULL
 * while no file is being made. */
static struct gg_region_file new_map;

void gg_process_region_remember_temporary(void)
{
	const char *path = gg_environment_get("TMPDIR");

	temporary[0] = '\0';
	if (path != NULL && strlen(path) < sizeof(temporary))
		memcpy(temporary, path, strlen(path) + 1);
}

/* geiger-PID-NANOSECONDS.region: an exec keeps the pid, and pids are used again. */
static void name_file(char name[REGION_NAME_MAX_BYTES])
{
	char digits[GG_DIGITS_MAX];
	char *at = stpcpy(name, "geiger-");

	at = stpcpy(at, gg_digits((uint64_t)getpid(), digits));
	*at++ = '-';
	at = stpcpy(at, gg_digits(gg_clock_monotonic_ns(), digits));
	stpcpy(at, ".region");
}

/* --- failures --- */

bool gg_process_region_is_reportable(int status)
{
	return status != -ESRCH && status != -ESTALE;
}

void gg_process_region_report(const char *what, int status)
{
	char digits[GG_DIGITS_MAX];
	const char *directory = gg_process.options.directory;

	if (!gg_process_region_is_reportable(status))
		return;
	gg_agent_log("not profiling: ", what, ": ", gg_agent_log_reason(status), " (error ",
	             gg_digits((uint64_t)-status, digits), ")",
	             directory[0] != '\0' ? "; GEIGER_DIR is " : "", directory, GG_AGENT_LOG_END);
}

void gg_process_region_count_missing(int status, bool is_forked)
{
	bool is_space = status == -ENOSPC || status == -EDQUOT;

	if (!gg_process_region_is_reportable(status))
		return;
	if (is_forked)
		gg_recorded_session_count_missing(is_space ? GG_SESSION_MISSING_FORK_SPACE
		                                           : GG_SESSION_MISSING_FORK_OTHER);
	else
		gg_recorded_session_count_missing(is_space ? GG_SESSION_MISSING_SPACE
		                                           : GG_SESSION_MISSING_OTHER);
}

/* --- the file --- */

/* Uses memory without a file: a file would have the parent's name, and would stay empty. */
static int create_nameless(struct gg_region_file *ret_map, uint64_t bytes)
{
	void *base = gg_syscall_map(bytes);

	if (base == NULL)
		return -ENOMEM;
	*ret_map = (struct gg_region_file){ .base = base, .bytes = bytes, .fd = -1 };
	return 0;
}

/* Tries the directories in their order until one has room. */
static int create_in_directory(struct gg_region_file *ret_map, const char *name, uint64_t bytes)
{
	const char *wanted = gg_process.options.directory;
	char next[GG_REGION_PATH_MAX];
	struct gg_region_file map;
	int status = gg_region_file_create(&map, wanted[0] != '\0' ? wanted : "/dev/shm", name,
	                                   bytes);
	bool is_done = status == 0 && !map.is_full && !map.is_tight;

	if (!is_done && wanted[0] != '\0' && gg_recorded_session_next_directory(next))
		status = gg_region_file_create_roomier(&map, status, next, name, bytes);
	if (!is_done && wanted[0] == '\0' && temporary[0] != '\0')
		status = gg_region_file_create_roomier(&map, status, temporary, name, bytes);
	if (!is_done && wanted[0] == '\0')
		status = gg_region_file_create_roomier(&map, status, "/tmp", name, bytes);
	if (status == 0)
		*ret_map = map;
	return status;
}

static int make_file(const char *name, uint64_t bytes)
{
	static struct gg_region_file made;
	/* If this is a new child, a handler forked it while its thread was making the parent's
	 * region, and it has returned from that handler. */
	int status = gg_process_is_new_child(gg_load_relaxed(gg_process.same_process))
	                     ? create_nameless(&made, bytes)
	                     : create_in_directory(&made, name, bytes);
	uint8_t *base = made.base;

	if (status < 0)
		return status;
	gg_assert(base != NULL);
	/* The base goes last: a child forked before that line has no file to detach from, and one
	 * forked after it finds all of new_map. */
	made.base = NULL;
	new_map = made;
	gg_fence_signal();
	gg_store_relaxed(&new_map.base, base);
	gg_fence_signal();
	return 0;
}

/*
 * No handler, which may fork, runs between the question whose process this is and the new file.  A
 * handler that forks later finds new_map, and gg_process_region_detach() cuts its child off the
 * file.
 */
static int create_file(const char *name, uint64_t bytes)
{
	sigset_t before;
	int status;

	gg_signal_mask_block(&before);
	status = make_file(name, bytes);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return status;
}

void gg_process_region_detach(void)
{
	gg_region_file_detach(&gg_process.region.map);
	gg_region_file_detach(&new_map);
}

/* --- the region in it --- */

static const struct gg_process_identity *identify(struct gg_region_options *options)
{
	const struct gg_process_identity *identity = gg_process_identify();

	options->pid = (uint32_t)getpid();
	/* The parent may have ended since the fork. */
	options->parent_pid = gg_process.parent_pid != 0 ? gg_process.parent_pid
	                                                 : (uint32_t)getppid();
	options->fork_ns = gg_process.fork_ns;
	options->process_start_ticks = gg_syscall_start_ticks();
	options->command = identity->command;
	options->command_bytes = identity->command_bytes;
	options->exe = identity->exe;
	options->exe_bytes = identity->exe_bytes;
	options->options = gg_process.options.text;
	options->options_bytes = (uint32_t)strlen(gg_process.options.text);
	return identity;
}

/* Fills the file of new_map.  0, or -Exxx and the file is gone. */
static int fill_file(gg_process_region_make *make, const struct gg_region_options *options)
{
	int status;

	gg_assert(new_map.base != NULL && new_map.bytes > 0);
	gg_sigbus_guard_add(new_map.base, new_map.bytes);
	status = make(&gg_process.region, &new_map, options);
	if (status < 0) {
		gg_sigbus_guard_remove(new_map.base);
		gg_region_file_done(&new_map, true);
	}
	gg_store_relaxed(&new_map.base, NULL);
	/* Another process may have truncated the file while it was filled. */
	return status == 0 && gg_sigbus_guard_is_lost() ? -ESTALE : status;
}

int gg_process_region_open(gg_process_region_make *make)
{
	struct gg_region_options options = gg_process.options.region;
	const struct gg_process_identity *identity;
	char name[REGION_NAME_MAX_BYTES];
	int status = -EEXIST;

	if (gg_recorded_session_is_over())
		return -ESRCH;
	/* A child that returned from a handler may have taken the name of its parent. */
	for (int i = 0; i < NAME_TRIES && status == -EEXIST; i++) {
		name_file(name);
		status = create_file(name, gg_region_options_file_bytes(&options));
	}
	if (status < 0)
		return status;
	options.interval_bytes = gg_load_relaxed(&gg_process.interval_bytes);
	options.active = gg_load_relaxed(&gg_process.is_active) != 0;
	gg_overhead_budget_read(&options.overhead_ppm, &options.error_ppm);
	options.attach = gg_process.attach;
	identity = identify(&options);
	status = fill_file(make, &options);
	if (status < 0)
		return status;
	/* In a recorded session, the recorder removes old regions. */
	if (!gg_recorded_session_exists())
		gg_region_retention_apply(&gg_process.region.map, identity->exe,
		                          gg_process.options.keep);
	gg_process.applied_request_count = gg_region_control(&gg_process.region).change_count;
	return 0;
}
