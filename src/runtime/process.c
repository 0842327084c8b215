/* SPDX-License-Identifier: Apache-2.0 */
/* process - the state that all modules of the runtime share, and what can be read off it. */
#include "runtime/process.h"

#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "runtime/platform/seccomp.h"
#include "runtime/syscalls.h"

struct gg_process gg_process = {
	.region = { .filter = { .view = GG_FILTER_EMPTY_VIEW } },
};

static struct gg_process_identity identity;

bool gg_process_adopt(void)
{
	/* Acquire: pairs with the release of the starting thread, which has set `adopt`. */
	return gg_load_acquire(&gg_process.state) == GG_PROCESS_RUNNING && gg_process.adopt();
}

bool gg_process_is_new_child(uint32_t same_process)
{
	return same_process == GG_PROCESS_WIPED || same_process == GG_PROCESS_FORKED;
}

bool gg_process_is_vforked(void)
{
	/*
	 * A vfork child sees its parent's page, which says that nothing was forked, but has a pid
	 * of its own.  A forked child that nobody has noticed yet sees a wiped page.
	 */
	return gg_process.same_process != NULL &&
	       !gg_process_is_new_child(gg_load_relaxed(gg_process.same_process)) &&
	       gg_process.pid != (uint32_t)getpid();
}

const struct gg_process_identity *gg_process_identify(void)
{
	ssize_t command = gg_syscall_read_file("/proc/self/cmdline", identity.command,
	                                       sizeof(identity.command));
	ssize_t exe = gg_syscall_read_link("/proc/self/exe", identity.exe, sizeof(identity.exe));

	identity.command_bytes = command > 0 ? (uint32_t)command : 0;
	identity.exe_bytes = exe > 0 ? (uint32_t)exe : 0;
	return &identity;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

/* /proc/self/exe and /dev/fd/N also lead to the program, but do not name it. */
static bool names_a_program(const char *executed)
{
	return executed != NULL && executed[0] == '/' && strncmp(executed, "/proc/", 6) != 0 &&
	       strncmp(executed, "/dev/fd/", 8) != 0;
}

const char *gg_process_program(void)
{
	static const char *program; /* Relaxed: every thread computes the same value. */
	const char *found = gg_load_relaxed(&program), *executed;

	if (found != NULL)
		return found;
	executed = (const char *)getauxval(AT_EXECFN);
	found = identity.exe;
	/*
	 * The path may lead elsewhere by now: a link can be replaced, and so can a root directory.
	 */
	if (names_a_program(executed) && !gg_seccomp_is_entered() &&
	    strcmp(base_name(executed), base_name(identity.exe)) != 0 &&
	    gg_syscall_is_same_file(executed, "/proc/self/exe"))
		found = executed;
	gg_store_relaxed(&program, found);
	return found;
}
