/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_unwind_cfi_live - compares the general step with libgcc after every instruction of real
 * code.
 *
 * The processor's trap flag raises SIGTRAP after each instruction.  The handler walks the
 * interrupted stack by gg_cfi_step_general() with all registers, and by _Unwind_Backtrace().  The
 * pc, the stack pointer, and every register that calls preserve must be the same in every frame.
 * If a compact rule exists, it must lead to the same caller as the general step.  So the test meets
 * prologues, epilogues, PLT entries and the loader's lazy binding (whose CFA is in rbx) in any
 * state.
 */
#include "unwind/cfi/cfi.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <regex.h>
#include <signal.h>
#include <stdlib.h>
#include <ucontext.h>
#include <unwind.h>

#include "base/compiler.h"
#include "test.h"

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

enum { FRAMES_MAX = 64, MODULES_MAX = 16, STEPS_MAX = 60000 };

/* The DWARF numbers of the registers that calls preserve: rbx, rbp, r12 to r15. */
static const int preserved[] = { 3, 6, 12, 13, 14, 15 };

struct frame {
	uint64_t pc, sp, registers[GG_COUNT(preserved)];
};

struct trace {
	struct frame frames[FRAMES_MAX];
	size_t count;
	bool has_begun; /* libgcc: beyond the handler's own frames */
};

static struct {
	struct gg_cfi_module modules[MODULES_MAX];
	uint64_t starts[MODULES_MAX];
	size_t module_count;
	uint64_t stack_high;
	uint64_t steps, frames, compact_rules;
	uint64_t wrong_steps, wrong_pc, wrong_rules;
} state;

/* The module of a pc, filled when it is first met. */
static const struct gg_cfi_module *find_module(uint64_t pc)
{
	struct dl_find_object found;
	uint64_t start;

	if (_dl_find_object((void *)(uintptr_t)pc, &found) != 0)
		return NULL;
	start = (uint64_t)(uintptr_t)found.dlfo_map_start;
	for (size_t i = 0; i < state.module_count; i++) {
		if (state.starts[i] == start)
			return &state.modules[i];
	}
	if (state.module_count == MODULES_MAX ||
	    gg_cfi_module_from_memory(
		    &state.modules[state.module_count], found.dlfo_map_start,
		    (size_t)((char *)found.dlfo_map_end - (char *)found.dlfo_map_start)) < 0)
		return NULL;
	state.starts[state.module_count] = start;
	return &state.modules[state.module_count++];
}

static uint64_t load(uint64_t address)
{
	return *(const uint64_t *)(uintptr_t)address;
}

/* Does the rule lead from one frame to the other? */
static bool leads_to(struct gg_unwind_rule rule, const struct gg_cfi_registers *callee,
                     const struct gg_cfi_registers *caller)
{
	uint64_t sp = callee->value[GG_X86_64_RSP], fp = callee->value[GG_X86_64_RBP];
	uint64_t cfa = (rule.kind == GG_RULE_SP ? sp : fp) + (uint64_t)(int64_t)rule.cfa_bytes;
	uint64_t fp_base = rule.kind == GG_RULE_FP_DEREF ? fp : 0;

	if (rule.kind == GG_RULE_FP_DEREF)
		cfa = load(cfa);
	else
		fp_base = cfa;
	if (rule.fp_words != GG_RULE_SAME)
		fp = load(fp_base + 8 * (uint64_t)(int64_t)rule.fp_words);
	return caller->value[GG_X86_64_RSP] == cfa && caller->value[GG_X86_64_RBP] == fp &&
	       caller->pc == load(cfa + 8 * (uint64_t)(int64_t)rule.ra_words);
}

static void check_rule(struct gg_unwind_rule rule, const struct gg_cfi_registers *callee,
                       const struct gg_cfi_registers *caller)
{
	if (rule.kind != GG_RULE_SP && rule.kind != GG_RULE_FP && rule.kind != GG_RULE_FP_DEREF)
		return;
	state.compact_rules++;
	state.wrong_rules += !leads_to(rule, callee, caller);
}

static void walk(struct trace *trace, struct gg_cfi_registers *registers)
{
	const uint64_t low = registers->value[GG_X86_64_RSP] - 128; /* with the red zone */
	const struct gg_cfi_stack stack = { low, state.stack_high,
		                            (const uint8_t *)(uintptr_t)low };
	uint64_t lookup_pc = registers->pc;

	while (trace->count < FRAMES_MAX) {
		struct frame *frame = &trace->frames[trace->count++];
		const struct gg_cfi_module *module = find_module(lookup_pc);
		struct gg_cfi_registers callee = *registers;
		uint8_t flags = 0;

		frame->pc = registers->pc;
		frame->sp = registers->value[GG_X86_64_RSP];
		for (size_t i = 0; i < GG_COUNT(preserved); i++)
			frame->registers[i] = registers->value[preserved[i]];
		if (module == NULL)
			return;
		if (gg_cfi_step_general(module, lookup_pc, &stack, registers, &flags) !=
		    GG_CFI_STEP_OK)
			return;
		check_rule(gg_cfi_rule_at(module, lookup_pc, NULL), &callee, registers);
		lookup_pc = registers->pc - ((flags & GG_RULE_SIGNAL) != 0 ? 0 : 1);
	}
}

static _Unwind_Reason_Code take_frame(struct _Unwind_Context *context, void *argument)
{
	struct trace *trace = argument;
	int is_interrupted = 0;
	uint64_t pc = _Unwind_GetIPInfo(context, &is_interrupted);
	struct frame *frame;

	trace->has_begun |= is_interrupted != 0;
	if (!trace->has_begun)
		return _URC_NO_REASON;
	if (trace->count == FRAMES_MAX || pc == 0)
		return _URC_END_OF_STACK;
	frame = &trace->frames[trace->count++];
	frame->pc = pc;
	frame->sp = _Unwind_GetCFA(context);
	for (size_t i = 0; i < GG_COUNT(preserved); i++)
		frame->registers[i] = _Unwind_GetGR(context, preserved[i]);
	return _URC_NO_REASON;
}

static struct gg_cfi_registers registers_of(const ucontext_t *context)
{
	static const int places[] = { REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
		                      REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
		                      REG_R12, REG_R13, REG_R14, REG_R15 };
	struct gg_cfi_registers registers = { .known = 0xffff };

	for (size_t i = 0; i < GG_COUNT(places); i++)
		registers.value[i] = (uint64_t)context->uc_mcontext.gregs[places[i]];
	registers.pc = (uint64_t)context->uc_mcontext.gregs[REG_RIP];
	return registers;
}

static void compare_here(int signal_number, siginfo_t *info, void *context)
{
	static struct trace ours, libgccs;
	struct gg_cfi_registers registers = registers_of(context);
	bool is_same;

	(void)signal_number;
	(void)info;
	if (++state.steps > STEPS_MAX)
		return;
	ours.count = libgccs.count = 0;
	libgccs.has_begun = false;
	walk(&ours, &registers);
	_Unwind_Backtrace(take_frame, &libgccs);
	is_same = ours.count == libgccs.count &&
	          memcmp(ours.frames, libgccs.frames, ours.count * sizeof(ours.frames[0])) == 0;
	state.frames += ours.count;
	if (!is_same && state.wrong_steps++ == 0)
		state.wrong_pc = ours.frames[0].pc;
}

static void set_trap_flag(void)
{
	__asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" : : : "memory", "cc");
}

static void clear_trap_flag(void)
{
	__asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" : : : "memory", "cc");
}

/* Runs work() with a comparison after each of its instructions. */
static void trace_every_instruction(void (*work)(void))
{
	struct sigaction action = { .sa_sigaction = compare_here, .sa_flags = SA_SIGINFO }, before;
	struct trace warm_up = { .count = 0 };
	pthread_attr_t attributes;
	size_t stack_bytes;
	void *stack_low;

	memset(&state, 0, sizeof(state));
	pthread_getattr_np(pthread_self(), &attributes);
	pthread_attr_getstack(&attributes, &stack_low, &stack_bytes);
	pthread_attr_destroy(&attributes);
	state.stack_high = (uint64_t)(uintptr_t)stack_low + stack_bytes;
	_Unwind_Backtrace(take_frame, &warm_up); /* it loads and initialises itself */
	sigaction(SIGTRAP, &action, &before);
	set_trap_flag();
	work();
	clear_trap_flag();
	sigaction(SIGTRAP, &before, NULL);
	printf("%" PRIu64 " instructions, %" PRIu64 " frames, %" PRIu64 " by compact rules too\n",
	       state.steps, state.frames, state.compact_rules);
	CHECK_MSG(state.wrong_steps == 0, "%" PRIu64 " of %" PRIu64 " differ, first at %#" PRIx64,
	          state.wrong_steps, state.steps, state.wrong_pc);
	CHECK_MSG(state.wrong_rules == 0, "%" PRIu64 " compact rules lead elsewhere",
	          state.wrong_rules);
}

static int compare_ints(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static void sort_and_print(void)
{
	static int numbers[] = { 5, 3, 9, 1, 7, 2, 8 };
	char text[64];

	qsort(numbers, GG_COUNT(numbers), sizeof(numbers[0]), compare_ints);
	snprintf(text, sizeof(text), "%d %s %.3g", numbers[0], "x", 2.5);
}

static void allocate_and_match(void)
{
	regex_t expression;

	free(malloc(100000));
	free(realloc(malloc(10), 300));
	if (regcomp(&expression, "a[bc]+d", REG_EXTENDED) == 0) {
		regexec(&expression, "xxabcbd", 0, NULL, 0);
		regfree(&expression);
	}
}

/* Functions that nothing else here calls, so that their first calls go through the loader. */
static void bind_lazily(void)
{
	char text[] = "abc";

	strfry(text);
	memfrob(text, sizeof(text));
	(void)ffsll(12);
	(void)strverscmp(text, "abd");
	(void)a64l("xyz");
}

TEST(every_instruction_of_sorting_and_printing_has_libgccs_stack)
{
	trace_every_instruction(sort_and_print);
	CHECK(state.steps > 500);
}

TEST(every_instruction_of_allocating_and_matching_has_libgccs_stack)
{
	trace_every_instruction(allocate_and_match);
	CHECK(state.steps > 5000);
}

TEST(every_instruction_of_lazy_binding_has_libgccs_stack)
{
	trace_every_instruction(bind_lazily);
	CHECK(state.steps > 100);
}

#else

TEST(every_instruction_has_libgccs_stack)
{
	SKIP("needs x86-64's trap flag, and no sanitizer in the way");
}

#endif
