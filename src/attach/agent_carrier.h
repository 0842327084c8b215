/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_carrier - loads the agent, or an adapter, into a process through a borrowed thread.
 *
 *   status = gg_agent_carrier_open(&carrier, &gg_carried_agent, "/usr/lib/libgeiger-agent.so",
 *                                  error);
 *   status = gg_agent_carrier_load(&carrier, &thread, inner_pid, &modules, libc, error);
 *   status = gg_agent_carrier_find(&memory, "geiger_agent_attach", &address, error);
 *   gg_agent_carrier_close(&carrier);
 *
 * The agent travels in a memory file, so the mount namespace of the process and the options of its
 * file systems do not matter.
 *
 * Own file    geiger has the file ready before it borrows a thread.  A process of the same user
 *             that sees geiger's process loads it from there by dlopen(), which is the fastest way.
 * Its file    Any other process makes an empty file (memfd_create), geiger fills it from outside,
 *             and the process loads that.
 * Copy        If the process may make no memory file, it loads a copy from a directory.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/borrowed_thread.h"
#include "attach/remote_modules.h"
#include "base/error.h"

struct gg_carried_library {
	const char *file_name; /* of the memory file */
	/*
	 * Leads to descriptors.  The loader takes a library that it has loaded by the same path for
	 * this one, and another library may have had the same descriptor.
	 */
	const char *fd_folder;
	const char *entry; /* a symbol that nothing else defines */
	const char *kind;  /* in messages */
};

extern const struct gg_carried_library gg_carried_agent, gg_carried_python;

struct gg_agent_carrier {
	const struct gg_carried_library *what;
	const void *bytes; /* the library's file, mapped; NULL: closed */
	size_t size_bytes;
	int fd; /* descriptor of geiger's memory file; -1: none */
};

/* Reads the library, and makes the memory file.  The calling process is the one that traces. */
GG_MUST_CHECK int gg_agent_carrier_open(struct gg_agent_carrier *carrier,
                                        const struct gg_carried_library *what, const char *path,
                                        struct gg_error *error);
void gg_agent_carrier_close(struct gg_agent_carrier *carrier);

/*
 * Loads the library.  `inner_pid` is the process's pid in its own namespace.  Returns 0 or -Exxx; a
 * memory file of the process is closed in both cases.  -ENOEXEC: its loader refused it, and the
 * error has the loader's words.
 */
GG_MUST_CHECK int gg_agent_carrier_load(const struct gg_agent_carrier *carrier,
                                        struct gg_borrowed_thread *thread, pid_t inner_pid,
                                        const struct gg_remote_modules *modules, uint32_t libc,
                                        struct gg_error *error);

/* Finds an entry of the agent in the modules that the process has now. */
GG_MUST_CHECK int gg_agent_carrier_find(const struct gg_remote_memory *memory, const char *name,
                                        uint64_t *ret_address, struct gg_error *error);
