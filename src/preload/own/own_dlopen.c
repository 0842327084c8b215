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
 * Each keeps the arguments in its frame, where gg_own_dlopen_next() changes the mode, and jumps
 * with the stack of its caller.
 */
#if defined(__x86_64__)
__asm__(".pushsection .text\n"
        ".globl dlopen\n"
        ".type dlopen, @function\n"
        ".p2align 4\n"
        "dlopen:\n"
        "	.cfi_startproc\n"
        "	endbr64\n"
        "	subq $24, %rsp\n"
        "	.cfi_adjust_cfa_offset 24\n"
        "	movq %rdi, (%rsp)\n"
        "	movl %esi, 8(%rsp)\n"
        "	leaq 8(%rsp), %rdi\n"
        "	call gg_own_dlopen_next\n"
        "	movq (%rsp), %rdi\n"
        "	movl 8(%rsp), %esi\n"
        "	addq $24, %rsp\n"
        "	.cfi_adjust_cfa_offset -24\n"
        "	jmp *%rax\n"
        "	.cfi_endproc\n"
        ".size dlopen, .-dlopen\n"
        ".globl dlmopen\n"
        ".type dlmopen, @function\n"
        ".p2align 4\n"
        "dlmopen:\n"
        "	.cfi_startproc\n"
        "	endbr64\n"
        "	subq $24, %rsp\n"
        "	.cfi_adjust_cfa_offset 24\n"
        "	movq %rdi, (%rsp)\n"
        "	movq %rsi, 8(%rsp)\n"
        "	movl %edx, 16(%rsp)\n"
        "	leaq 16(%rsp), %rsi\n"
        "	call gg_own_dlopen_next_in\n"
        "	movq (%rsp), %rdi\n"
        "	movq 8(%rsp), %rsi\n"
        "	movl 16(%rsp), %edx\n"
        "	addq $24, %rsp\n"
        "	.cfi_adjust_cfa_offset -24\n"
        "	jmp *%rax\n"
        "	.cfi_endproc\n"
        ".size dlmopen, .-dlmopen\n"
        ".popsection\n");
#elif defined(__aarch64__)
__asm__(".pushsection .text\n"
        ".globl dlopen\n"
        ".type dlopen, %function\n"
        ".p2align 4\n"
        "dlopen:\n"
        "	.cfi_startproc\n"
        "	hint #34\n" /* a target of indirect jumps */
        "	stp x29, x30, [sp, #-48]!\n"
        "	.cfi_def_cfa_offset 48\n"
        "	.cfi_offset 29, -48\n"
        "	.cfi_offset 30, -40\n"
        "	mov x29, sp\n"
        "	str x0, [sp, #16]\n"
        "	str w1, [sp, #24]\n"
        "	add x0, sp, #24\n"
        "	bl gg_own_dlopen_next\n"
        "	mov x16, x0\n"
        "	ldr x0, [sp, #16]\n"
        "	ldr w1, [sp, #24]\n"
        "	ldp x29, x30, [sp], #48\n"
        "	.cfi_restore 30\n"
        "	.cfi_restore 29\n"
        "	.cfi_def_cfa_offset 0\n"
        "	br x16\n"
        "	.cfi_endproc\n"
        ".size dlopen, .-dlopen\n"
        ".globl dlmopen\n"
        ".type dlmopen, %function\n"
        ".p2align 4\n"
        "dlmopen:\n"
        "	.cfi_startproc\n"
        "	hint #34\n"
        "	stp x29, x30, [sp, #-48]!\n"
        "	.cfi_def_cfa_offset 48\n"
        "	.cfi_offset 29, -48\n"
        "	.cfi_offset 30, -40\n"
        "	mov x29, sp\n"
        "	stp x0, x1, [sp, #16]\n"
        "	str w2, [sp, #32]\n"
        "	add x1, sp, #32\n"
        "	bl gg_own_dlopen_next_in\n"
        "	mov x16, x0\n"
        "	ldp x0, x1, [sp, #16]\n"
        "	ldr w2, [sp, #32]\n"
        "	ldp x29, x30, [sp], #48\n"
        "	.cfi_restore 30\n"
        "	.cfi_restore 29\n"
        "	.cfi_def_cfa_offset 0\n"
        "	br x16\n"
        "	.cfi_endproc\n"
        ".size dlmopen, .-dlmopen\n"
        ".popsection\n");
#else
#error "own_dlopen.c knows x86-64 and aarch64"
#endif
