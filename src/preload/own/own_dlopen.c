/* SPDX-License-Identifier: Apache-2.0 */
/* own_dlopen - masks the flag, and jumps to the next function. */
#include "preload/own/own_dlopen.h"

#include <stddef.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "preload/own/own_allocator.h"
#include "runtime/platform/elf_lookup.h"

/* The flag by which __libc_dlopen_mode() knows a call that may come from anywhere. */
enum { OPEN_BY_LIBC = (int)0x80000000u };

/* Stands for a function that no library has; dlerror() is missing then as well. */
static void *open_nothing(void)
{
	return NULL;
}

static GG_COLD void *find_in_libdl(const char *name)
{
	void *(*open_by_libc)(const char *file, int mode);

	*(void **)&open_by_libc = gg_elf_lookup_next("__libc_dlopen_mode", NULL);
	if (open_by_libc != NULL)
		open_by_libc("libdl.so.2", OPEN_BY_LIBC | RTLD_NOW);
	return gg_elf_lookup_next(name, NULL);
}

static void *find_next(const char *name, void **known)
{
	void *next = gg_load_relaxed(known);

	if (gg_likely(next != NULL))
		return next;
	next = gg_elf_lookup_next(name, NULL);
	if (next == NULL)
		next = find_in_libdl(name);
	/* Not noted: a library that is loaded later may have it. */
	if (next == NULL)
		return (void *)open_nothing; /* NOLINT */
	gg_store_relaxed(known, next);
	return next;
}

__attribute__((used)) void *gg_own_dlopen_next_in(Lmid_t space, int *mode)
{
	static void *known;

	if (space == LM_ID_BASE && gg_own_allocator_serves())
		*mode &= ~RTLD_DEEPBIND;
	return find_next("dlmopen", &known);
}

__attribute__((used)) void *gg_own_dlopen_next(int *mode)
{
	static void *known;

	if (gg_own_allocator_serves())
		*mode &= ~RTLD_DEEPBIND;
	return find_next("dlopen", &known);
}

/*
 * A function that keeps its arguments in its frame, where `find` changes the mode, and then jumps
 * with the stack of its caller.  `pass`: the instruction that passes the address of the mode.
 */
#if defined(__x86_64__)
#define JUMPING(name, find, pass)               \
	__asm__(".pushsection .text\n"          \
	        ".globl " name "\n"             \
	        ".type " name ", @function\n"   \
	        ".p2align 4\n" name ":\n"       \
	        "	.cfi_startproc\n"             \
	        "	endbr64\n"                    \
	        "	subq $24, %rsp\n"             \
	        "	.cfi_adjust_cfa_offset 24\n"  \
	        "	movq %rdi, (%rsp)\n"          \
	        "	movq %rsi, 8(%rsp)\n"         \
	        "	movq %rdx, 16(%rsp)\n"        \
	        "	" pass "\n"             \
	        "	call " find "\n"        \
	        "	movq (%rsp), %rdi\n"          \
	        "	movq 8(%rsp), %rsi\n"         \
	        "	movq 16(%rsp), %rdx\n"        \
	        "	addq $24, %rsp\n"             \
	        "	.cfi_adjust_cfa_offset -24\n" \
	        "	jmp *%rax\n"                  \
	        "	.cfi_endproc\n"               \
	        ".size " name ", .-" name "\n"  \
	        ".popsection\n")
JUMPING("dlopen", "gg_own_dlopen_next", "leaq 8(%rsp), %rdi");
JUMPING("dlmopen", "gg_own_dlopen_next_in", "leaq 16(%rsp), %rsi");
#elif defined(__aarch64__)
/* The hint marks a target of indirect jumps. */
#define JUMPING(name, find, pass)              \
	__asm__(".pushsection .text\n"         \
	        ".globl " name "\n"            \
	        ".type " name ", %function\n"  \
	        ".p2align 4\n" name ":\n"      \
	        "	.cfi_startproc\n"            \
	        "	hint #34\n"                  \
	        "	stp x29, x30, [sp, #-48]!\n" \
	        "	.cfi_def_cfa_offset 48\n"    \
	        "	.cfi_offset 29, -48\n"       \
	        "	.cfi_offset 30, -40\n"       \
	        "	mov x29, sp\n"               \
	        "	stp x0, x1, [sp, #16]\n"     \
	        "	str x2, [sp, #32]\n"         \
	        "	" pass "\n"            \
	        "	bl " find "\n"         \
	        "	mov x16, x0\n"               \
	        "	ldp x0, x1, [sp, #16]\n"     \
	        "	ldr x2, [sp, #32]\n"         \
	        "	ldp x29, x30, [sp], #48\n"   \
	        "	.cfi_restore 30\n"           \
	        "	.cfi_restore 29\n"           \
	        "	.cfi_def_cfa_offset 0\n"     \
	        "	br x16\n"                    \
	        "	.cfi_endproc\n"              \
	        ".size " name ", .-" name "\n" \
	        ".popsection\n")
JUMPING("dlopen", "gg_own_dlopen_next", "add x0, sp, #24");
JUMPING("dlmopen", "gg_own_dlopen_next_in", "add x1, sp, #32");
#else
_Static_assert(0, "own_dlopen.c knows x86-64 and aarch64");
#endif
