/* SPDX-License-Identifier: Apache-2.0 */
/* sigbus_guard - the handler of SIGBUS, and the touch that it can end. */
#include "runtime/signals/sigbus_guard.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "runtime/agent_log.h"
#include "runtime/platform/real_functions.h"
#include "runtime/process.h"
#include "runtime/syscalls.h"

enum {
	RANGES = 2 /* the region; in a forked child also its parent's, until it has its own */
};

/* The guarded mappings.  begin is 0 in a free entry; it is written last and read first. */
static struct guarded_range {
	uintptr_t begin, end;
} ranges[RANGES];

static uint32_t is_lost; /* 1: a mapping was truncated */

static gg_signal_chain_handler on_bus;
struct gg_signal_chain gg_sigbus_guard_chain = { .signal = SIGBUS, .ours = on_bus };

static const struct guarded_range *find(uintptr_t address)
{
	for (int i = 0; i < RANGES; i++) {
		/* Acquire: pairs with gg_sigbus_guard_add(). */
		uintptr_t begin = gg_load_acquire(&ranges[i].begin);

		if (begin != 0 && address - begin < gg_load_relaxed(&ranges[i].end) - begin)
			return &ranges[i];
	}
	return NULL;
}

/*
 * Replaces the mapping.  Other threads in the middle of a record continue in memory that nobody
 * reads.
 */
static bool rescue(uintptr_t address)
{
	const struct guarded_range *range = find(address);
	uint32_t lost = 0;

	if (range == NULL || !gg_syscall_map_over((void *)range->begin, range->end - range->begin))
		return false;
	gg_store_release(&gg_process.state, GG_PROCESS_OFF);
	if (gg_cas_acq_rel(&is_lost, &lost, 1))
		gg_agent_log(
			"not profiling any more: the region's file was cut short, or its disk is "
			"full: ",
			gg_process.region.map.path, GG_AGENT_LOG_END);
	return true;
}

/* Does what the signal would have done without us. */
static void pass_on(int signal, siginfo_t *info, void *context)
{
	static const struct sigaction standard = { .sa_handler = SIG_DFL };

	if (gg_signal_chain_call(&gg_sigbus_guard_chain, info, context))
		return;
	/*
	 * The default action ends the process as soon as this handler returns and the signal comes
	 * again.
	 */
	gg_real.sigaction(signal, &standard, NULL);
	syscall(SYS_rt_tgsigqueueinfo, getpid(), gg_syscall_tid(), signal, info);
}

/*
 * gg_sigbus_guard_touch() stores one byte unchanged.  If that store faults, the handler moves the
 * pc from the range begin..end to `failed`, as the kernel does with faults in its copies from user
 * memory.
 */
extern const char gg_sigbus_guard_touch_begin[] __attribute__((visibility("hidden")));
extern const char gg_sigbus_guard_touch_end[] __attribute__((visibility("hidden")));
extern const char gg_sigbus_guard_touch_failed[] __attribute__((visibility("hidden")));

#if defined(__x86_64__)
#define PC(machine) ((machine).gregs[REG_RIP])
#define TOUCH                             \
	"gg_sigbus_guard_touch_begin:\n"  \
	"	lock orb $0, (%rdi)\n"          \
	"gg_sigbus_guard_touch_end:\n"    \
	"	movl $1, %eax\n"                \
	"	ret\n"                          \
	"gg_sigbus_guard_touch_failed:\n" \
	"	xorl %eax, %eax\n"              \
	"	ret\n"
#else
#define PC(machine) ((machine).pc)
#define TOUCH                                     \
	"gg_sigbus_guard_touch_begin:\n"          \
	"	ldxrb w1, [x0]\n"                       \
	"	stxrb w2, w1, [x0]\n"                   \
	"	cbnz w2, gg_sigbus_guard_touch_begin\n" \
	"gg_sigbus_guard_touch_end:\n"            \
	"	mov w0, #1\n"                           \
	"	ret\n"                                  \
	"gg_sigbus_guard_touch_failed:\n"         \
	"	mov w0, #0\n"                           \
	"	ret\n"
#endif

__asm__(".text\n"
        ".globl gg_sigbus_guard_touch\n"
        ".hidden gg_sigbus_guard_touch\n"
        ".globl gg_sigbus_guard_touch_begin\n"
        ".globl gg_sigbus_guard_touch_end\n"
        ".globl gg_sigbus_guard_touch_failed\n"
        ".hidden gg_sigbus_guard_touch_begin\n"
        ".hidden gg_sigbus_guard_touch_end\n"
        ".hidden gg_sigbus_guard_touch_failed\n"
        ".type gg_sigbus_guard_touch, %function\n"
        "gg_sigbus_guard_touch:\n"
        "	.cfi_startproc\n" TOUCH "	.cfi_endproc\n"
        ".size gg_sigbus_guard_touch, . - gg_sigbus_guard_touch\n");

static bool end_touch(ucontext_t *context)
{
	uintptr_t begin = (uintptr_t)gg_sigbus_guard_touch_begin,
		  end = (uintptr_t)gg_sigbus_guard_touch_end;
	uintptr_t pc = (uintptr_t)PC(context->uc_mcontext);

	if (pc - begin >= end - begin)
		return false;
	PC(context->uc_mcontext) = (__typeof__(PC(
		context->uc_mcontext)))(uintptr_t)gg_sigbus_guard_touch_failed;
	return true;
}

static void on_bus(int signal, siginfo_t *info, void *context)
{
	int saved_errno = errno;

	/* si_code > 0: the kernel sent it.  A signal that a process sends has no address. */
	if (info->si_code > 0 && (end_touch(context) || rescue((uintptr_t)info->si_addr))) {
		errno = saved_errno;
		return;
	}
	errno = saved_errno;
	pass_on(signal, info, context);
}

void gg_sigbus_guard_add(void *begin, size_t bytes)
{
	int saved_errno = errno;

	gg_assert(begin != NULL && bytes > 0);
	for (int i = 0; i < RANGES; i++) {
		if (ranges[i].begin != 0)
			continue;
		gg_store_relaxed(&ranges[i].end, (uintptr_t)begin + bytes);
		/* Release: find() acquires begin, and then reads end. */
		gg_store_release(&ranges[i].begin, (uintptr_t)begin);
		break;
	}
	if (gg_load_relaxed(&gg_sigbus_guard_chain.is_on) == 0) {
		gg_signal_chain_take(&gg_sigbus_guard_chain);
		gg_store_release(&gg_sigbus_guard_chain.is_on, 1);
	}
	errno = saved_errno;
}

void gg_sigbus_guard_remove(const void *begin)
{
	for (int i = 0; i < RANGES; i++)
		if (ranges[i].begin == (uintptr_t)begin)
			gg_store_release(&ranges[i].begin, 0);
}

void gg_sigbus_guard_end(void)
{
	int saved_errno = errno;

	gg_store_release(&gg_sigbus_guard_chain.is_on, 0);
	gg_signal_chain_give_back(&gg_sigbus_guard_chain);
	gg_store_release(&is_lost, 0);
	errno = saved_errno;
}

bool gg_sigbus_guard_is_lost(void)
{
	return gg_load_acquire(&is_lost) != 0;
}
