/* SPDX-License-Identifier: Apache-2.0 */
/*
 * platform - what of the agent is different where its code is a part of libgeiger: the allocator is nobody's,
 * malloc() may be called, at the start, and no function of libc is hooked.  A program that sets a handler
 * for SIGBUS of its own, later, has that one alone (guard.h).
 */
#include <dlfcn.h>

#include "runtime/platform/elf_lookup.h"
#include "runtime/platform/extra_functions.h"
#include "runtime/platform/operator_frames.h"
#include "runtime/platform/real_functions.h"
#include "runtime/platform/sanitizer.h"
#include "runtime/platform/seccomp.h"
#include "runtime/process.h"

struct gg_real gg_real = { .sigaction = sigaction };
uint32_t gg_seccomp_entered;

/* What is linked into the program is called after a sanitizer's constructors. */
const char *gg_sanitizer_runtime(void)
{
	return NULL;
}

void gg_real_find(void)
{
}

/* malloc() is not sampled. */
bool gg_operator_frames_has(uint64_t pc)
{
	(void)pc;
	return false;
}

void gg_extra_functions_take(void)
{
}

/* In an executable that is linked statically there is none. */
void *gg_elf_lookup_next(const char *name, void *instead)
{
	void *symbol = dlsym(RTLD_DEFAULT, name);

	return symbol != NULL ? symbol : instead;
}

void *gg_elf_lookup_any(const char *name)
{
	return gg_elf_lookup_next(name, NULL);
}
