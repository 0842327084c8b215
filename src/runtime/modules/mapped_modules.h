/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mapped_modules - which modules lie where, by the kernel's list of mappings: for libcs without
 * _dl_find_object() (glibc before 2.35).
 *
 * The loader's own list may be walked under its lock alone, which the sample path must not wait for.
 * /proc/self/maps is consistent whatever the loader is doing.  It is read at the start and
 * when the loader has loaded or unloaded something since (unwind/walk/module_lookup.h, "Epochs"), and kept as
 * text; what lies in it besides modules (the code that a JIT compiler makes) costs no other reading.
 * The unwinder's table of modules is filled with it, too.
 *
 * In use   when there is no _dl_find_object(), or GEIGER_MODULES=maps says so.
 * Unseen   a file with code that the program itself maps and unmaps, while no library comes or goes:
 *          it is listed until then.
 * Full     lines beyond GG_MAPS_BYTES are not known, and the unwinder's table has its own limit: a
 *          stack ends there, or is without the module's name.
 * Threads  one at a time reads or looks up: who finds another one at it goes without, and asks again
 *          at its next sample.  gg_mapped_modules_forked() in a child.
 * Cost     without a change one comparison; a reading is system calls, some 10 us and more.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gg_mapped_modules_module {
	uint64_t begin, end;
	uint64_t bias;    /* what is added to the file's addresses */
	uint64_t inode;   /* of the file */
	const char *path; /* path_bytes long */
	size_t path_bytes;
};

/* True: this is where modules are looked up.  Decided once, by the start. */
bool gg_mapped_modules_is_used(void);
void gg_mapped_modules_use(void);

/* Reads again if the loader has been busy.  Before a stack is walked. */
void gg_mapped_modules_refresh(void);

/* Between enter() and leave(); a false enter() needs no leave().  The path is valid until leave(). */
bool gg_mapped_modules_enter(void);
bool gg_mapped_modules_find(uint64_t pc, struct gg_mapped_modules_module *ret_module);
void gg_mapped_modules_leave(void);

/* In a forked child: whoever was between enter() and leave() is not here. */
void gg_mapped_modules_forked(void);
