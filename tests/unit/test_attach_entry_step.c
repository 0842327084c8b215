/* SPDX-License-Identifier: Apache-2.0 */
/* entry_step - does to registers and stack what the processor does, for random registers. */
#include "attach/entry_step.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

#if defined(__x86_64__)

enum { ROUNDS = 200, STACK_BYTES = 65536, FLAG_ADJUST = 0x10 };

/* A stopped child; its code and stack are at the same places as ours. */
struct child {
	struct gg_remote_memory memory;
	pid_t pid;
	uint8_t *code, *stack;
};

static void child_setup(struct child *child)
{
	child->code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	child->stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
	                    -1, 0);
	REQUIRE(child->code != MAP_FAILED && child->stack != MAP_FAILED);
	child->pid = fork();
	REQUIRE(child->pid >= 0);
	if (child->pid == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		_exit(0);
	}
	REQUIRE(waitpid(child->pid, NULL, 0) == child->pid);
	REQUIRE(gg_remote_memory_open(&child->memory, child->pid, NULL) == 0);
}

static void child_teardown(struct child *child)
{
	kill(child->pid, SIGKILL);
	waitpid(child->pid, NULL, 0);
	gg_remote_memory_close(&child->memory);
}
FIXTURE(child)

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Registers with random values; those of the stack point into the stack. */
static void randomize(const struct child *child, struct user_regs_struct *r, uint64_t *state)
{
	unsigned long long *const all[] = { &r->rax, &r->rbx, &r->rcx, &r->rdx, &r->rsi,
		                            &r->rdi, &r->rbp, &r->r8,  &r->r9,  &r->r10,
		                            &r->r11, &r->r12, &r->r13, &r->r14, &r->r15 };

	REQUIRE(ptrace(PTRACE_GETREGS, child->pid, NULL, r) == 0);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		uint64_t value = next_random(state);

		*all[i] = value % 5 == 0 ? 0 : value % 5 == 1 ? (uint32_t)value : value;
	}
	r->rsp = (uint64_t)(uintptr_t)child->stack + STACK_BYTES / 2 + next_random(state) % 512 * 8;
	r->rip = (uint64_t)(uintptr_t)child->code;
	r->orig_rax = (unsigned long long)-1;
	r->eflags = 0x246 ^ (next_random(state) & 0x8d5);
}

static uint64_t top_of_stack(const struct child *child, uint64_t pointer)
{
	uint64_t value = 0;

	REQUIRE(gg_remote_memory_read(&child->memory, pointer, &value, sizeof(value)) == 0);
	return value;
}

/* Compares a step of ours with one of the processor. */
static void check_step(const struct child *child, const uint8_t *code, size_t count, bool is_test)
{
	struct user_regs_struct before, ours, theirs;
	uint64_t state = 88172645463325252, adjust = is_test ? FLAG_ADJUST : 0, pushed;
	int status = 0;

	REQUIRE(gg_remote_memory_write(&child->memory, (uint64_t)(uintptr_t)child->code, code,
	                               count) == 0);
	for (int i = 0; i < ROUNDS; i++) {
		randomize(child, &before, &state);
		ours = before;
		REQUIRE(gg_entry_step(&ours, &child->memory, code, count));
		pushed = top_of_stack(child, ours.rsp);
		REQUIRE(ptrace(PTRACE_SETREGS, child->pid, NULL, &before) == 0);
		REQUIRE(ptrace(PTRACE_SINGLESTEP, child->pid, NULL, NULL) == 0);
		REQUIRE(waitpid(child->pid, &status, 0) == child->pid);
		REQUIRE(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
		REQUIRE(ptrace(PTRACE_GETREGS, child->pid, NULL, &theirs) == 0);
		CHECK_EQ_U64(pushed, top_of_stack(child, theirs.rsp));
		/* The processor may set this flag as it likes, and keeps a step's own. */
		ours.eflags &= ~adjust & ~UINT64_C(0x10100);
		theirs.eflags &= ~adjust & ~UINT64_C(0x10100);
		ours.orig_rax = theirs.orig_rax;
		CHECK_EQ_I64(memcmp(&ours, &theirs, sizeof(ours)), 0);
	}
}

#define STEP(is_test, ...)                                       \
	do {                                                     \
		static const uint8_t code[16] = { __VA_ARGS__ }; \
                                                                 \
		check_step(child, code, sizeof(code), is_test);  \
	} while (0)

TEST_WITH(child, a_step_does_what_the_processor_does)
{
	STEP(false, 0xf3, 0x0f, 0x1e, 0xfa);                   /* endbr64 */
	STEP(false, 0x41, 0x54);                               /* push %r12 */
	STEP(false, 0x41, 0x57);                               /* push %r15 */
	STEP(false, 0x55);                                     /* push %rbp */
	STEP(false, 0x54);                                     /* push %rsp */
	STEP(true, 0x48, 0x85, 0xff);                          /* test %rdi,%rdi */
	STEP(true, 0x85, 0xc0);                                /* test %eax,%eax */
	STEP(true, 0x4c, 0x85, 0xc6);                          /* test %r8,%rsi */
	STEP(false, 0x48, 0x89, 0xf8);                         /* mov %rdi,%rax */
	STEP(false, 0x49, 0x89, 0xe2);                         /* mov %rsp,%r10 */
	STEP(false, 0x89, 0xfb);                               /* mov %edi,%ebx */
	STEP(false, 0x48, 0x8b, 0xc7);                         /* mov %rdi,%rax */
	STEP(true, 0x31, 0xc0);                                /* xor %eax,%eax */
	STEP(true, 0x45, 0x31, 0xc9);                          /* xor %r9d,%r9d */
	STEP(false, 0x48, 0x83, 0xec, 0x28);                   /* sub $0x28,%rsp */
	STEP(false, 0x48, 0x83, 0xec, 0x80);                   /* sub $-0x80,%rsp */
	STEP(false, 0x48, 0x81, 0xec, 0x98, 0x10, 0x00, 0x00); /* sub $0x1098,%rsp */
}

/* Nothing is changed for an instruction that is not known. */
static void check_refusal(const struct child *child, const uint8_t *code, size_t count)
{
	struct user_regs_struct before, after;
	uint64_t state = 1;

	randomize(child, &before, &state);
	after = before;
	CHECK(!gg_entry_step(&after, &child->memory, code, count));
	CHECK_EQ_I64(memcmp(&before, &after, sizeof(before)), 0);
}

TEST_WITH(child, other_instructions_are_refused)
{
	static const uint8_t codes[][16] = {
		{ 0xe9, 0x00, 0x10 },             /* jmp */
		{ 0x64, 0x48, 0x8b, 0x04, 0x25 }, /* mov %fs:... */
		{ 0x48, 0x8b, 0x05 },             /* mov from memory */
		{ 0x48, 0x85, 0x3f },             /* test with memory */
		{ 0x66, 0x89, 0xf8 },             /* mov %di,%ax */
		{ 0x66, 0x50 },                   /* push %ax */
		{ 0x31, 0xd8 },                   /* xor %ebx,%eax */
		{ 0x48, 0x83, 0xc4, 0x28 },       /* add $0x28,%rsp */
		{ 0x83, 0xec, 0x28 },             /* sub $0x28,%esp */
		{ 0x49, 0x83, 0xec, 0x28 },       /* sub $0x28,%r12 */
		{ 0xf3, 0x0f, 0x1e, 0xfb },       /* endbr32 */
		{ 0x48, 0x83, 0x2c, 0x24, 0x01 }, /* sub $1,(%rsp) */
	};

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		check_refusal(child, codes[i], sizeof(codes[i]));
	check_refusal(child, (const uint8_t[]){ 0x41, 0x54, 0, 0 }, 4);
}

TEST_WITH(child, a_stack_that_cannot_be_written_is_refused)
{
	static const uint8_t push[16] = { 0x41, 0x54 };
	struct user_regs_struct registers;
	uint64_t state = 1;

	randomize(child, &registers, &state);
	registers.rsp = 16;
	CHECK(!gg_entry_step(&registers, &child->memory, push, sizeof(push)));
	CHECK_EQ_U64(registers.rsp, 16);
	CHECK_EQ_U64(registers.rip, (uint64_t)(uintptr_t)child->code);
}

#else

TEST(other_architectures_have_no_borrowed_threads)
{
	CHECK(!gg_entry_step(NULL, NULL, NULL, 0));
}

#endif
