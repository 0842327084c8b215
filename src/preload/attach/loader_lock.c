/* SPDX-License-Identifier: Apache-2.0 */
/* loader_lock - calls back from within dl_iterate_phdr(), or reads the list for debuggers. */
#include "preload/attach/loader_lock.h"

#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/atomic.h"
#include "runtime/syscalls.h"
#include "unwind/walk/stack_bounds.h"

static pid_t locking_pid; /* the process that may take the lock */

static bool may_lock(void)
{
	return locking_pid != 0 && locking_pid == getpid();
}

/* --- forks wait --- */

enum { WAIT_STEP_NS = 100000, WAIT_STEPS = 20000 }; /* two seconds */

/* Held by a thread that may hold the loader's lock, or that forks. */
static struct {
	uint32_t owner_tid; /* 0: none */
	uint32_t depth;     /* how often the owner holds it */
	bool has_handlers;
} forks;

bool gg_loader_lock_hold_forks(void)
{
	uint32_t tid = gg_syscall_tid(), owner = 0;

	if (gg_load_relaxed(&forks.owner_tid) == tid) {
		forks.depth++;
		return true;
	}
	for (int i = 0; !gg_cas_acq_rel(&forks.owner_tid, &owner, tid); owner = 0) {
		if (++i > WAIT_STEPS)
			return false;
		gg_syscall_sleep(WAIT_STEP_NS);
	}
	forks.depth = 1;
	return true;
}

void gg_loader_lock_release_forks(void)
{
	if (gg_load_relaxed(&forks.owner_tid) == gg_syscall_tid() && --forks.depth == 0)
		gg_store_release(&forks.owner_tid, 0);
}

static void before_fork(void)
{
	int saved_errno = errno;

	if (may_lock())
		gg_loader_lock_hold_forks();
	errno = saved_errno;
}

static void in_parent(void)
{
	gg_loader_lock_release_forks();
}

/* The only thread of this process has another tid than the owner. */
static void in_child(void)
{
	forks.depth = 0;
	gg_store_relaxed(&forks.owner_tid, 0);
}

void gg_loader_lock_begin(void)
{
	locking_pid = getpid();
	if (!forks.has_handlers)
		pthread_atfork(before_fork, in_parent, in_child);
	forks.has_handlers = true;
}

/* --- the call --- */

struct call {
	void (*function)(void *context);
	void *context;
};

static int call_first(struct dl_phdr_info *info, size_t bytes, void *context)
{
	const struct call *call = context;

	(void)info;
	(void)bytes;
	call->function(call->context);
	return 1; /* no further module */
}

void gg_loader_lock_call(void (*function)(void *context), void *context)
{
	struct call call = { function, context };

	if (!may_lock()) {
		function(context);
		return;
	}
	gg_loader_lock_hold_forks();
	dl_iterate_phdr(call_first, &call);
	gg_loader_lock_release_forks();
}

/* --- the modules --- */

struct visit {
	void (*visit)(const struct gg_loaded_module *module, void *context);
	void *context;
};

static void visit_one(const struct visit *visit, uint64_t base, const Elf64_Phdr *headers,
                      size_t count)
{
	const uint64_t page_bytes = getauxval(AT_PAGESZ);
	struct gg_loaded_module module = { .base = base, .begin = UINT64_MAX };

	for (size_t i = 0; i < count; i++) {
		uint64_t begin = base + headers[i].p_vaddr;

		if (headers[i].p_type == PT_DYNAMIC)
			module.dynamic = (Elf64_Dyn *)begin;
		if (headers[i].p_type == PT_GNU_RELRO) {
			module.relro_begin = begin & -page_bytes;
			module.relro_end = (begin + headers[i].p_memsz) & -page_bytes;
		}
		if (headers[i].p_type != PT_LOAD)
			continue;
		if (begin < module.begin)
			module.begin = begin;
		if (begin + headers[i].p_memsz > module.end)
			module.end = begin + headers[i].p_memsz;
	}
	if (module.dynamic != NULL && gg_stack_bounds_is_readable((uintptr_t)module.dynamic))
		visit->visit(&module, visit->context);
}

static int visit_locked(struct dl_phdr_info *info, size_t bytes, void *context)
{
	(void)bytes;
	visit_one(context, info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum);
	return 0;
}

/* The first page of a library is its ELF header; that of the program may be anywhere. */
static void visit_unlocked(const struct visit *visit)
{
	const struct link_map *map = _r_debug.r_map;

	if (map == NULL)
		return;
	visit_one(visit, map->l_addr, (const Elf64_Phdr *)getauxval(AT_PHDR), getauxval(AT_PHNUM));
	for (map = map->l_next; map != NULL; map = map->l_next) {
		const Elf64_Ehdr *header = (const Elf64_Ehdr *)map->l_addr;

		if (header != NULL && gg_stack_bounds_is_readable(map->l_addr) &&
		    memcmp(header->e_ident, ELFMAG, SELFMAG) == 0)
			visit_one(visit, map->l_addr,
			          (const Elf64_Phdr *)(map->l_addr + header->e_phoff),
			          header->e_phnum);
	}
}

void gg_loader_lock_each(void (*visit)(const struct gg_loaded_module *module, void *context),
                         void *context)
{
	struct visit all = { visit, context };

	if (may_lock())
		dl_iterate_phdr(visit_locked, &all);
	else
		visit_unlocked(&all);
}
