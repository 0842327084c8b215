/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_unwind_stubs - interrupts linker stubs, which no CFI describes, at each instruction.
 *
 * The stack behind a stub must be whole.  The stubs are written out here, because linkers differ.
 *
 * On x86-64, the processor's trap flag interrupts each instruction.  On aarch64, brk instructions
 * replace some instructions of the stubs.
 */
#include <signal.h>
#include <stdint.h>
#include <ucontext.h>

#include "base/compiler.h"
#include "test.h"
#include "unwind/unwind.h"

enum { FRAMES_MAX = 256 };

/* Calls the stub from a frame that is known by its CFI alone; what stubs lead to returns. */
void call_stub(void (*stub)(void));
extern const char stub_returns_to[], stubs_begin[], stubs_end[];

#if defined(__x86_64__)

__asm__(".text\n"
        ".globl call_stub, stub_returns_to, stubs_begin, stubs_end\n"
        ".globl entry_of_ld, entry_with_ibt, entry_of_sec\n"
        "call_stub:\n"
        ".cfi_startproc\n"
        "	subq $24, %rsp\n"
        "	.cfi_adjust_cfa_offset 24\n"
        "	pushfq\n"
        "	.cfi_adjust_cfa_offset 8\n"
        "	orq $0x100, (%rsp)\n"
        "	popfq\n"
        "	.cfi_adjust_cfa_offset -8\n"
        "	call *%rdi\n"
        "stub_returns_to:\n"
        "	pushfq\n"
        "	.cfi_adjust_cfa_offset 8\n"
        "	andq $~0x100, (%rsp)\n"
        "	popfq\n"
        "	.cfi_adjust_cfa_offset -8\n"
        "	addq $24, %rsp\n"
        "	.cfi_adjust_cfa_offset -24\n"
        "	ret\n"
        ".cfi_endproc\n"
        /* Does what the loader does: it removes both words that the stubs have pushed. */
        "resolve:\n"
        ".cfi_startproc\n"
        "	.cfi_adjust_cfa_offset 16\n"
        "	addq $16, %rsp\n"
        "	.cfi_adjust_cfa_offset -16\n"
        "	ret\n"
        ".cfi_endproc\n"
        "	.balign 16\n"
        "stubs_begin:\n"
        "first:\n"
        "	pushq slots(%rip)\n"
        "	jmp *slots+8(%rip)\n"
        "	.balign 16\n"
        "entry_of_ld:\n"
        "	jmp *slots+16(%rip)\n"
        "not_bound:\n"
        "	.byte 0x68\n"
        "	.long 3\n"
        "	.byte 0xe9\n"
        "	.long first - . - 4\n"
        "	.balign 16\n"
        "first_with_ibt:\n"
        "	pushq slots(%rip)\n"
        "	.byte 0xf2; jmp *slots+8(%rip)\n"
        "	.balign 16\n"
        "entry_with_ibt:\n"
        "	endbr64\n"
        "	.byte 0x68\n"
        "	.long 3\n"
        "	.byte 0xf2, 0xe9\n"
        "	.long first_with_ibt - . - 4\n"
        "	.balign 16\n"
        "entry_of_sec:\n"
        "	endbr64\n"
        "	.byte 0xf2; jmp *slots+24(%rip)\n"
        "stubs_end:\n"
        ".data\n"
        "	.balign 8\n"
        "slots:\n"
        "	.quad 1, resolve, not_bound, entry_with_ibt\n"
        ".text\n");

void entry_of_ld(void), entry_with_ibt(void), entry_of_sec(void);

#define PC(context) ((uint64_t)(context)->uc_mcontext.gregs[REG_RIP])

static void go_on(ucontext_t *context)
{
	(void)context; /* the trap comes behind an instruction */
}

#elif defined(__aarch64__)

__asm__(".text\n"
        ".globl call_stub, stub_returns_to, stubs_begin, stubs_end\n"
        ".globl entry_alone, entry_by_first, entry_by_resolver\n"
        "call_stub:\n"
        ".cfi_startproc\n"
        "	stp x29, x30, [sp, #-32]!\n"
        "	.cfi_def_cfa_offset 32\n"
        "	.cfi_offset 29, -32\n"
        "	.cfi_offset 30, -24\n"
        "	mov x29, #0\n" /* nobody follows it */
        "	blr x0\n"
        "stub_returns_to:\n"
        "	ldp x29, x30, [sp], #32\n"
        "	.cfi_restore 29\n"
        "	.cfi_restore 30\n"
        "	.cfi_def_cfa_offset 0\n"
        "	ret\n"
        ".cfi_endproc\n"
        "stubs_begin:\n"
        "entry_by_first:\n"
        "	brk #1\n"
        "	stp x16, x30, [sp, #-16]!\n"
        "	brk #1\n"
        "	brk #1\n"
        "	brk #1\n"
        "	brk #1\n"
        "	ldp x16, x30, [sp], #16\n"
        "	ret\n"
        "	stp x16, x30, [sp, #-16]!\n"
        "	.inst 0xd61f0220\n" /* br x17 ends another stub */
        "entry_alone:\n"
        "	brk #1\n"
        "	brk #1\n"
        "	ret\n"
        /* As glibc's _dl_runtime_resolve describes itself. */
        "entry_by_resolver:\n"
        "	stp x16, x30, [sp, #-16]!\n"
        "resolve:\n"
        ".cfi_startproc\n"
        "	.cfi_rel_offset 30, 8\n"
        "	brk #1\n"
        "	stp x8, x9, [sp, #-208]!\n"
        "	.cfi_adjust_cfa_offset 208\n"
        "	.cfi_rel_offset 8, 0\n"
        "	brk #1\n"
        "	ldp x8, x9, [sp], #208\n"
        "	.cfi_adjust_cfa_offset -208\n"
        "	ldp x16, x30, [sp], #16\n"
        "	ret\n"
        ".cfi_endproc\n"
        "stubs_end:\n");

void entry_alone(void), entry_by_first(void), entry_by_resolver(void);

#define PC(context) ((uint64_t)(context)->uc_mcontext.pc)

static void go_on(ucontext_t *context)
{
	context->uc_mcontext.pc += 4;
}

#endif

static struct gg_unwind_thread thread;
static uint64_t outside[FRAMES_MAX]; /* of the function that calls call_stub() */
static unsigned outside_count, stub_count, wrong_count;
static uint64_t wrong_pc;

/*
 * True if the stack has the interrupted pc, the return address in call_stub(), one in the caller,
 * and its caller.
 */
static bool is_whole(const struct gg_unwind_stack *stack, uint64_t pc)
{
	uint32_t at = 0, tail = outside_count - 1;

	while (at < stack->count && stack->frames[at] != pc)
		at++;
	if (stack->ending != GG_UNWIND_COMPLETE || at + 1 >= stack->count ||
	    stack->frames[at + 1] != (uintptr_t)stub_returns_to || stack->count != at + 3 + tail)
		return false;
	return memcmp(stack->frames + at + 3, outside + 1, tail * sizeof(outside[0])) == 0;
}

static void handle_trap(int signal, siginfo_t *info, void *context)
{
	struct gg_unwind_stack stack;
	uint64_t pcs[FRAMES_MAX], pc = PC((ucontext_t *)context);

	(void)signal;
	(void)info;
	gg_unwind_capture(&thread, pcs, GG_COUNT(pcs), 0, &stack);
	if (pc >= (uintptr_t)stubs_begin && pc < (uintptr_t)stubs_end) {
		stub_count++;
		if (!is_whole(&stack, pc) && wrong_count++ == 0)
			wrong_pc = pc;
	}
	go_on(context);
}

/* Interrupts it wherever it can be; each time twice, as the second finds compiled rules. */
__attribute__((noinline)) static void interrupt(void (*stub)(void), unsigned times)
{
	struct sigaction action = { .sa_sigaction = handle_trap, .sa_flags = SA_SIGINFO }, before;
	struct gg_unwind_stack stack;
	uint64_t pcs[FRAMES_MAX];

	gg_unwind_init();
	stub_count = wrong_count = 0;
	gg_unwind_capture(&thread, pcs, GG_COUNT(pcs), 0, &stack);
	memcpy(outside, stack.frames, stack.count * sizeof(outside[0]));
	outside_count = stack.count;
	sigaction(SIGTRAP, &action, &before);
	call_stub(stub);
	call_stub(stub);
	sigaction(SIGTRAP, &before, NULL);
	CHECK_MSG(stub_count == 2 * times, "interrupted %u times", stub_count);
	CHECK_MSG(wrong_count == 0, "%u stacks are wrong, the first at %#lx of the stubs",
	          wrong_count, (long)(wrong_pc - (uintptr_t)stubs_begin));
}

#if defined(__x86_64__)

TEST(an_entry_of_a_plt_and_its_first_are_left_by_what_they_have_pushed)
{
	interrupt(entry_of_ld, 5);
}

TEST(an_entry_for_indirect_branch_tracking_is_left_too)
{
	interrupt(entry_with_ibt, 5);
	interrupt(entry_of_sec, 7);
}

#elif defined(__aarch64__)

TEST(an_entry_of_a_plt_returns_to_the_link_register)
{
	interrupt(entry_alone, 2);
}

TEST(the_first_entry_of_a_plt_has_pushed_two_words)
{
	interrupt(entry_by_first, 5);
}

TEST(a_resolver_that_forgets_what_the_plt_has_pushed_is_corrected)
{
	interrupt(entry_by_resolver, 2);
}

#else

TEST(stubs_of_the_linker_are_left)
{
	SKIP("no stubs of this processor are known");
}

#endif
