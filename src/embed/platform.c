/* SPDX-License-Identifier: Apache-2.0 */
/*
 * platform - the port of the runtime (runtime/platform/platform.h) where it is a part of libgeiger.
 *
 * libgeiger replaces no allocator and hooks no function of libc.  At the start it may call
 * malloc().  If the program sets a handler for SIGBUS later, that handler replaces ours
 * (signals/sigbus_guard.h).
 */
#include <dlfcn.h>

#include "runtime/platform/platform.h"

struct gg_real gg_real = { .sigaction = sigaction };
uint32_t gg_seccomp_entered;
struct gg_allocator_functions gg_allocator_functions; /* libgeiger replaces no allocator */

/* Nobody calls a linked library before the constructors of a sanitizer. */
const char *gg_sanitizer_runtime(void)
{
	return NULL;
}

void gg_real_find(void)
{
}

/* libgeiger does not sample malloc(), so no stack has frames of operator new. */
bool gg_operator_frames_has(uint64_t pc)
{
	(void)pc;
	return false;
}

void gg_extra_functions_take(void)
{
}

void gg_allocator_functions_find(void)
{
}

/* A statically linked executable has no dlsym() that finds anything. */
void *gg_elf_lookup_next(const char *name, void *instead)
{
	void *symbol = dlsym(RTLD_DEFAULT, name);

	return symbol != NULL ? symbol : instead;
}

void *gg_elf_lookup_any(const char *name)
{
	return gg_elf_lookup_next(name, NULL);
}
