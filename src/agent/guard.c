/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/guard.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "agent/process.h"
#include "agent/real.h"
#include "agent/say.h"
#include "agent/system.h"
#include "base/atomic.h"

enum {
	RANGES = 2 /* the region, and in a forked child its parent's until it has its own */
};

/* begin is 0 while there is none; written last, and read first. */
static struct range {
	uintptr_t begin, end;
} ranges[RANGES];

static uint32_t is_on;   /* SIGBUS comes to on_bus(), or did until the program ignored it */
static uint32_t is_lost; /* a range was cut short */

/* The program's action.  The handler on its own: it is read when the signal comes. */
static struct sigaction theirs;
static void (*their_handler)(int, siginfo_t *, void *);

typedef void plain_handler(int);
typedef void full_handler(int, siginfo_t *, void *);

static const struct range *find(uintptr_t address)
{
	for (int i = 0; i < RANGES; i++) {
		/* Acquire: pairs with gg_guard_watch(). */
		uintptr_t begin = gg_load_acquire(&ranges[i].begin);

		if (begin != 0 && address - begin < gg_load_relaxed(&ranges[i].end) - begin)
			return &ranges[i];
	}
	return NULL;
}

/* Other threads may be in the middle of a record: they go on in memory that nobody reads. */
static bool rescue(uintptr_t address)
{
	const struct range *range = find(address);
	uint32_t lost = 0;

	if (range == NULL || !gg_system_map_over((void *)range->begin, range->end - range->begin))
		return false;
	gg_store_release(&gg_process.state, GG_PROCESS_OFF);
	if (gg_cas_acq_rel(&is_lost, &lost, 1))
		gg_say("not profiling any more: the region's file was cut short, or its disk is "
		       "full: ",
		       gg_process.region.map.path, GG_SAY_END);
	return true;
}

static bool is_default(full_handler *handler)
{
	return (plain_handler *)(void *)handler == SIG_DFL ||
	       (plain_handler *)(void *)handler == SIG_IGN;
}

/* As it would have been without us. */
static void pass_on(int signal, siginfo_t *info, void *context)
{
	static const struct sigaction standard = { .sa_handler = SIG_DFL };
	full_handler *handler = gg_load_acquire(&their_handler);

	if (!is_default(handler)) {
		if ((theirs.sa_flags & (int)SA_RESETHAND) != 0) {
			gg_store_release(&their_handler, (full_handler *)(void *)SIG_DFL);
			theirs.sa_handler = SIG_DFL; /* the rest stays, as the kernel has it */
		}
		handler(signal, info, context);
		return;
	}
	/* It ends the process when this returns. */
	gg_real.sigaction(signal, &standard, NULL);
	syscall(SYS_rt_tgsigqueueinfo, getpid(), gg_system_tid(), signal, info);
}

/*
 * gg_guard_touch(): where the store faults, it goes on at its other end.  The kernel does the same for what
 * programs give it.
 */
extern const char gg_guard_touch_begin[] __attribute__((visibility("hidden")));
extern const char gg_guard_touch_end[] __attribute__((visibility("hidden")));
extern const char gg_guard_touch_failed[] __attribute__((visibility("hidden")));

#if defined(__x86_64__)
#define PC(machine) ((machine).gregs[REG_RIP])
#define TOUCH                      \
	"gg_guard_touch_begin:\n"  \
	"	lock orb $0, (%rdi)\n"   \
	"gg_guard_touch_end:\n"    \
	"	movl $1, %eax\n"         \
	"	ret\n"                   \
	"gg_guard_touch_failed:\n" \
	"	xorl %eax, %eax\n"       \
	"	ret\n"
#else
#define PC(machine) ((machine).pc)
#define TOUCH                              \
	"gg_guard_touch_begin:\n"          \
	"	ldxrb w1, [x0]\n"                \
	"	stxrb w2, w1, [x0]\n"            \
	"	cbnz w2, gg_guard_touch_begin\n" \
	"gg_guard_touch_end:\n"            \
	"	mov w0, #1\n"                    \
	"	ret\n"                           \
	"gg_guard_touch_failed:\n"         \
	"	mov w0, #0\n"                    \
	"	ret\n"
#endif

__asm__(".text\n"
        ".globl gg_guard_touch\n"
        ".hidden gg_guard_touch\n"
        ".globl gg_guard_touch_begin\n"
        ".globl gg_guard_touch_end\n"
        ".globl gg_guard_touch_failed\n"
        ".hidden gg_guard_touch_begin\n"
        ".hidden gg_guard_touch_end\n"
        ".hidden gg_guard_touch_failed\n"
        ".type gg_guard_touch, %function\n"
        "gg_guard_touch:\n"
        "	.cfi_startproc\n" TOUCH "	.cfi_endproc\n"
        ".size gg_guard_touch, . - gg_guard_touch\n");

static bool end_touch(ucontext_t *context)
{
	uintptr_t begin = (uintptr_t)gg_guard_touch_begin, end = (uintptr_t)gg_guard_touch_end;
	uintptr_t pc = (uintptr_t)PC(context->uc_mcontext);

	if (pc - begin >= end - begin)
		return false;
	PC(context->uc_mcontext) = (__typeof__(PC(
		context->uc_mcontext)))(uintptr_t)gg_guard_touch_failed;
	return true;
}

static void on_bus(int signal, siginfo_t *info, void *context)
{
	int saved_errno = errno;

	/* si_code > 0: the kernel's; what others send has no address. */
	if (info->si_code > 0 && (end_touch(context) || rescue((uintptr_t)info->si_addr))) {
		errno = saved_errno;
		return;
	}
	errno = saved_errno;
	pass_on(signal, info, context);
}

static bool is_ours(const struct sigaction *action)
{
	return action->sa_sigaction == on_bus;
}

/* Keeps the action that the kernel has, and puts ours in its place. */
static void take(void)
{
	struct sigaction ours;

	if (gg_real.sigaction(SIGBUS, NULL, &ours) < 0 || is_ours(&ours))
		return;
	theirs = ours;
	gg_store_release(&their_handler, ours.sa_sigaction);
	if (ours.sa_handler == SIG_IGN)
		return;
	/* Small stacks: the other one, if there is one. */
	if (ours.sa_handler == SIG_DFL)
		ours.sa_flags |= SA_ONSTACK | SA_RESTART;
	ours.sa_flags = (ours.sa_flags | SA_SIGINFO) & ~(int)SA_RESETHAND;
	ours.sa_sigaction = on_bus;
	gg_real.sigaction(SIGBUS, &ours, NULL);
}

void gg_guard_watch(void *begin, size_t bytes)
{
	int saved_errno = errno;

	for (int i = 0; i < RANGES; i++) {
		if (ranges[i].begin != 0)
			continue;
		gg_store_relaxed(&ranges[i].end, (uintptr_t)begin + bytes);
		/* Releases the end. */
		gg_store_release(&ranges[i].begin, (uintptr_t)begin);
		break;
	}
	if (gg_load_relaxed(&is_on) == 0) {
		take();
		gg_store_release(&is_on, 1);
	}
	errno = saved_errno;
}

void gg_guard_forget(const void *begin)
{
	for (int i = 0; i < RANGES; i++)
		if (ranges[i].begin == (uintptr_t)begin)
			gg_store_release(&ranges[i].begin, 0);
}

bool gg_guard_is_lost(void)
{
	return gg_load_acquire(&is_lost) != 0;
}

struct gg_guard_call gg_guard_begin(int signal)
{
	struct gg_guard_call call = { .is_ours = signal == SIGBUS && gg_load_acquire(&is_on) != 0 };

	if (call.is_ours)
		call.before = theirs;
	return call;
}

void gg_guard_tell(const struct gg_guard_call *call, struct sigaction *old)
{
	if (call->is_ours && is_ours(old))
		*old = call->before;
}

void (*gg_guard_tell_handler(const struct gg_guard_call *call, void (*old)(int)))(int)
{
	return call->is_ours && (full_handler *)(void *)old == on_bus ? call->before.sa_handler
	                                                              : old;
}

void gg_guard_end(const struct gg_guard_call *call)
{
	int saved_errno = errno;

	/* What a vfork child sets is its own, but its memory is its parent's. */
	if (call->is_ours && !gg_process_is_vforked())
		take();
	errno = saved_errno;
}
