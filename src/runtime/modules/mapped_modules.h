/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mapped_modules - finds modules in the kernel's list of mappings, for a libc without
 * _dl_find_object().
 *
 * glibc has that function from 2.35 on.  Before, the loader's own list may only be walked under a
 * lock, which the sample path must not wait for.  /proc/self/maps is consistent whatever the loader
 * is doing.  It is read at the start, and again after the loader has loaded or unloaded a module
 * (the epochs of unwind/walk/module_lookup.h).  The text is kept; mappings that are no modules,
 * such as code that a JIT compiler makes, cause no new reading.  The unwinder's table of modules is
 * filled from it as well.
 *
 * In use   without _dl_find_object(), or with GEIGER_MODULES=maps.
 * Unseen   a file with code that the program maps itself, until the loader loads or unloads
 *          something.
 * Full     Lines beyond GG_PROC_MAPS_BYTES are unknown, and the unwinder's table has a limit of its
 *          own: a stack ends there, or its frames have no module.
 * Threads  Any thread reads the list before its walk if the loader has changed it, so several may
 *          read it at once.  One of them keeps the text.  One thread at a time looks up in the
 *          text; another one skips the look-up and tries again at its next sample.  A forked child
 *          calls gg_mapped_modules_forked().
 * Cost     one comparison without a change; a reading takes 10 us and more.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gg_mapped_modules_module {
	uint64_t begin, end;
	uint64_t bias;    /* the difference between memory addresses and those in the file */
	uint64_t inode;   /* of the file */
	const char *path; /* path_bytes long */
	size_t path_bytes;
};

/* True if modules are looked up here.  The start decides it once. */
bool gg_mapped_modules_is_used(void);
void gg_mapped_modules_use(void);

/* Before a stack is walked: reads the list again if the loader has changed it. */
void gg_mapped_modules_refresh(void);

/*
 * Each find() is between enter() and leave(); after a false enter() there is no leave().  enter()
 * reads the list again if the text is older than the epoch.  The path of a module is valid until
 * leave().
 */
bool gg_mapped_modules_enter(uint64_t epoch);
bool gg_mapped_modules_find(uint64_t pc, struct gg_mapped_modules_module *ret_module);
void gg_mapped_modules_leave(void);

/* In a forked child: the thread between enter() and leave() may exist in the parent alone. */
void gg_mapped_modules_forked(void);
