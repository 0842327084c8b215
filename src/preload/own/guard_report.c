/* SPDX-License-Identifier: Apache-2.0 */
/* guard_report - takes the signal, and writes reports. */
#include "preload/own/guard_report.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/printable.h"
#include "malloc/guarded_blocks.h"
#include "preload/capture.h"
#include "runtime/agent_log.h"
#include "runtime/digits.h"
#include "runtime/modules/module_table.h"
#include "runtime/platform/real_functions.h"
#include "runtime/process.h"
#include "runtime/signals/signal_chain.h"
#include "runtime/syscalls.h"
#include "runtime/thread.h"

enum {
	FRAMES_MAX = 32, /* of a stack in the text; the region has whole stacks */
	REPORT_BYTES = 1024,
	MODULE_BYTES = 512,
	TURN_TRIES = 10000,
};

_Static_assert((int)GG_MALLOC_FAULT_USE_AFTER_FREE == (int)GG_REGION_FAULT_USE_AFTER_FREE &&
                       (int)GG_MALLOC_FAULT_INVALID_FREE == (int)GG_REGION_FAULT_INVALID_FREE,
               "one numbering");

/* The place of a thread when it allocated, freed or accessed a block. */
struct trace {
	struct gg_region_fault_place place;
	uint32_t count;
	uint64_t pcs[FRAMES_MAX];
};

/* By slot; the thread that changes the slot writes them. */
static struct trace allocations[GG_MALLOC_GUARD_SLOTS_MAX];
static struct trace frees[GG_MALLOC_GUARD_SLOTS_MAX];

static bool error_ends; /* the program */

static gg_signal_chain_handler on_segv;
/*
 * SIGSEGV is blocked in its handler.  A handler of the program that interrupted ours and touched a
 * closed page would end the process, so other signals wait.
 */
static struct gg_signal_chain chain = {
	.signal = SIGSEGV, .ours = on_segv, .takes_ignored = true, .blocks_others = true
};

/* from_pc: of the interrupted code; 0: of the caller of this library. */
static void take_trace(struct trace *trace, uint64_t from_pc)
{
	struct gg_thread *t = &gg_thread;
	struct gg_thread_block *block;
	int saved_errno = errno;

	trace->place = (struct gg_region_fault_place){ .time_ns = gg_clock_monotonic_ns(),
		                                       .stack = GG_STACK_EMPTY,
		                                       .tid = gg_syscall_tid() };
	trace->count = from_pc != 0;
	trace->pcs[0] = from_pc + 1;
	/* On the sample path; gg_thread_enter() would count it as a sample that is missing. */
	if (gg_load_relaxed(&t->inside) != 0 || !gg_thread_enter(t))
		return;
	if (gg_process_ensure_current()) {
		block = gg_thread_block(t);
		if (block != NULL)
			trace->place.stack = gg_capture_frames(block, trace->place.time_ns, from_pc,
			                                       trace->pcs, FRAMES_MAX,
			                                       &trace->count);
		gg_thread_put_block(t, block);
	}
	gg_thread_leave(t);
	errno = saved_errno;
}

void gg_guard_report_guarded(uint32_t number, bool is_free)
{
	if (!is_free) {
		frees[number].place.time_ns = 0;
		if (gg_process_is_current())
			gg_region_count(&gg_process.region, GG_COUNT_GUARDED, 1);
	}
	take_trace(is_free ? &frees[number] : &allocations[number], 0);
}

/* --- the text --- */

/* One report at a time. */
static struct text {
	uint32_t owner; /* the pid of the process that writes one; 0: none does */
	bool is_cut;    /* a part could not be written, so the rest is left out */
	size_t length;
	char bytes[REPORT_BYTES];
} text;

static bool begin_text(void)
{
	uint32_t pid = (uint32_t)getpid(), owner = 0;

	for (int i = 0; i < TURN_TRIES; i++) {
		/*
		 * A child inherits the word of a thread that it does not have.  A vfork child
		 * shares its parent's memory, so the parent's threads may still write there.
		 */
		if ((owner == 0 || (owner != pid && !gg_process_is_vforked())) &&
		    gg_cas_acq_rel(&text.owner, &owner, pid)) {
			text.length = 0;
			text.is_cut = false;
			return true;
		}
		sched_yield();
		owner = gg_load_relaxed(&text.owner);
	}
	return false; /* its owner is stopped */
}

static void flush(void)
{
	text.is_cut = text.is_cut || !gg_agent_log_text(text.bytes, text.length);
	text.length = 0;
}

static void put(const char *part)
{
	size_t length = strlen(part);

	if (length > sizeof(text.bytes))
		length = sizeof(text.bytes);
	if (length > sizeof(text.bytes) - text.length)
		flush();
	memcpy(text.bytes + text.length, part, length);
	text.length += length;
}

/* Appends the path of a module, which the program has named. */
static void put_path(const char *path)
{
	size_t length = strlen(path), bytes;
	char part[5];
	int code;

	for (; length > 0; path += bytes, length -= bytes) {
		bytes = gg_printable_next(path, length, &code);
		memcpy(part, path, bytes);
		part[bytes] = '\0';
		put(code >= 0 && gg_printable_is_harmless((unsigned)code) ? part : "?");
	}
}

static void put_number(uint64_t number)
{
	char digits[GG_DIGITS_MAX];

	put(gg_digits(number, digits));
}

static void put_address(uint64_t address)
{
	char hex[19];
	int at = sizeof(hex) - 1;

	hex[at] = '\0';
	do {
		hex[--at] = "0123456789abcdef"[address & 15];
	} while ((address >>= 4) != 0);
	hex[--at] = 'x';
	hex[--at] = '0';
	put(hex + at);
}

static void put_frames(const struct trace *trace)
{
	static char path[MODULE_BYTES]; /* of the thread that has the text */
	uint64_t bias;

	for (uint32_t i = 0; i < trace->count; i++) {
		put("  #");
		put_number(i);
		put(" ");
		put_address(trace->pcs[i] - 1);
		if (gg_module_table_find(trace->pcs[i] - 1, path, sizeof(path), &bias)) {
			put(" (");
			put_path(path);
			put("+");
			put_address(trace->pcs[i] - 1 - bias);
			put(")");
		}
		put("\n");
	}
}

static const char *name_of(enum gg_malloc_fault_kind kind)
{
	switch (kind) {
	case GG_MALLOC_FAULT_USE_AFTER_FREE:
		return "Use After Free";
	case GG_MALLOC_FAULT_OVERFLOW:
		return "Buffer Overflow";
	case GG_MALLOC_FAULT_UNDERFLOW:
		return "Buffer Underflow";
	case GG_MALLOC_FAULT_DOUBLE_FREE:
		return "Double Free";
	default:
		return "Invalid (Wild) Free";
	}
}

/* "(41 bytes to the right of a 41-byte allocation at 0x7f0000001000) " */
static void put_block(const struct gg_malloc_fault *fault)
{
	bool is_left = fault->address < fault->block;
	uint64_t distance = is_left ? fault->block - fault->address : fault->address - fault->block;

	put("(");
	if (fault->kind != GG_MALLOC_FAULT_DOUBLE_FREE) {
		put_number(distance);
		put(distance == 1 ? " byte" : " bytes");
		put(is_left                    ? " to the left of "
		    : distance >= fault->bytes ? " to the right of "
		                               : " into ");
	}
	put("a ");
	put_number(fault->bytes);
	put("-byte allocation");
	if (fault->kind != GG_MALLOC_FAULT_DOUBLE_FREE) {
		put(" at ");
		put_address(fault->block);
	}
	put(") ");
}

static void put_trace(uint64_t block, const char *event, const struct trace *trace)
{
	if (trace->place.time_ns == 0)
		return;
	put("\n");
	put_address(block);
	put(event);
	put_number(trace->place.tid);
	put(" here:\n");
	put_frames(trace);
}

static void write_text(const struct gg_malloc_fault *fault, const struct trace *access)
{
	if (!begin_text())
		return;
	put("*** GWP-ASan detected a memory error ***\n");
	put(name_of(fault->kind));
	if (fault->at_free)
		put(" (found when the block was freed: the write came before)");
	put(" at ");
	put_address(fault->address);
	put(" ");
	if (fault->block != 0)
		put_block(fault);
	put("by thread ");
	put_number(access->place.tid);
	put(" here:\n");
	put_frames(access);
	if (fault->is_freed)
		put_trace(fault->block, " was deallocated by thread ", &frees[fault->number]);
	if (fault->block != 0)
		put_trace(fault->block, " was allocated by thread ", &allocations[fault->number]);
	put("\n*** End GWP-ASan report ***\n");
	flush();
	gg_store_release(&text.owner, 0);
}

/* --- the record --- */

static void write_record(const struct gg_malloc_fault *fault, const struct trace *access,
                         uint32_t flags)
{
	struct gg_region_fault record = {
		.kind = fault->kind,
		.flags = flags | (fault->at_free ? GG_REGION_FAULT_AT_FREE : 0),
		.address = fault->address,
		.block = fault->block,
		.block_bytes = fault->bytes,
		.access = access->place,
	};

	if (fault->block != 0)
		record.allocation = allocations[fault->number].place;
	if (fault->is_freed)
		record.free = frees[fault->number].place;
	if (gg_process_is_current())
		gg_region_add_fault(&gg_process.region, &record);
}

void gg_guard_report_fault(const struct gg_malloc_fault *fault)
{
	int saved_errno = errno;
	struct trace access;

	take_trace(&access, 0);
	write_record(fault, &access, fault->at_free ? GG_REGION_FAULT_WRITE : 0);
	write_text(fault, &access);
	if (error_ends) {
		syscall(SYS_tgkill, getpid(), gg_syscall_tid(), SIGABRT);
		/* The program blocks or ignores it, or its handler has returned. */
		__builtin_trap();
	}
	errno = saved_errno;
}

/* --- the signal --- */

#if defined(__x86_64__)
/* The error code that the processor pushes has these bits. */
enum { PAGE_FAULT_WRITE = 2, PAGE_FAULT_FETCH = 16 };
#define PC(machine) ((uint64_t)(machine)->gregs[REG_RIP])
static bool is_fetch(uintptr_t address, const mcontext_t *machine)
{
	/* An instruction may begin on the page before. */
	return address == PC(machine) ||
	       ((uint64_t)machine->gregs[REG_ERR] & PAGE_FAULT_FETCH) != 0;
}

static uint32_t access_of(uintptr_t address, const mcontext_t *machine)
{
	if (is_fetch(address, machine))
		return GG_REGION_FAULT_EXECUTE;
	return ((uint64_t)machine->gregs[REG_ERR] & PAGE_FAULT_WRITE) != 0 ? GG_REGION_FAULT_WRITE
	                                                                   : GG_REGION_FAULT_READ;
}
#else
#define PC(machine) ((uint64_t)(machine)->pc)
static bool is_fetch(uintptr_t address, const mcontext_t *machine)
{
	return address == PC(machine);
}

static uint32_t access_of(uintptr_t address, const mcontext_t *machine)
{
	return is_fetch(address, machine) ? GG_REGION_FAULT_EXECUTE : 0;
}
#endif

/* The thread's last access to a page of a live block that has faulted. */
static _Thread_local struct {
	uintptr_t address;
	uint64_t pc, life;
} repeated __attribute__((tls_model("initial-exec")));

/*
 * False: the program has closed the page of its block, because the access faults again in the same
 * life of the block.
 */
static bool is_first_fault(uintptr_t address, uint64_t pc, uint64_t life)
{
	bool is_first = repeated.address != address || repeated.pc != pc || repeated.life != life;

	repeated.address = is_first ? address : 0;
	repeated.pc = pc;
	repeated.life = life;
	return is_first;
}

/* False: the access is not to be repeated. */
static bool resolve(uintptr_t address, const ucontext_t *context)
{
	const mcontext_t *machine = &context->uc_mcontext;
	struct gg_malloc_fault fault;
	struct trace access;
	enum gg_malloc_guard_answer answer = gg_malloc_guard_explain(address, &fault);

	if (answer == GG_MALLOC_GUARD_FOREIGN)
		return false;
	if (answer == GG_MALLOC_GUARD_LIVE)
		return is_first_fault(address, PC(machine), fault.life);
	if (answer == GG_MALLOC_GUARD_NEW) {
		take_trace(&access, PC(machine));
		write_record(&fault, &access, access_of(address, machine));
		write_text(&fault, &access);
		if (error_ends)
			return false;
	}
	/* No page is opened for execution: the program would run what it finds there. */
	return !is_fetch(address, machine) && gg_malloc_guard_open(address);
}

/*
 * Sends a process's signal again, now with the default action.  The kernel spares the first process
 * of a container this end: then the signal comes to us as before.
 */
static void send_again(int signal, siginfo_t *info)
{
	struct sigaction standard = { .sa_handler = SIG_DFL }, ours;
	sigset_t set, before;

	gg_real.sigaction(signal, &standard, &ours);
	syscall(SYS_rt_tgsigqueueinfo, getpid(), gg_syscall_tid(), signal, info);
	if (getpid() != 1)
		return; /* the signal comes when this handler returns */
	sigemptyset(&set);
	sigaddset(&set, signal);
	pthread_sigmask(SIG_UNBLOCK, &set, &before);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	gg_real.sigaction(signal, &ours, NULL);
}

/* Does what the signal would have done without us. */
static void pass_on(int signal, siginfo_t *info, void *context)
{
	static const struct sigaction standard = { .sa_handler = SIG_DFL };

	if (gg_signal_chain_call(&chain, info, context))
		return;
	/*
	 * The access faults again, with its own siginfo, and the default action ends the process.
	 * A sandbox may allow no system call that sends a signal.
	 */
	if (info->si_code > 0)
		gg_real.sigaction(signal, &standard, NULL);
	/* A process may ignore a signal that it gets from another one, and no fault of its own. */
	else if (chain.theirs.sa_handler != SIG_IGN)
		send_again(signal, info);
}

static void on_segv(int signal, siginfo_t *info, void *context)
{
	int saved_errno = errno;

	/* si_code > 0: the kernel sent it.  A signal that a process sends has no address. */
	if (info->si_code > 0 && gg_malloc_guard_has((uintptr_t)info->si_addr) &&
	    resolve((uintptr_t)info->si_addr, context)) {
		errno = saved_errno;
		return;
	}
	errno = saved_errno;
	pass_on(signal, info, context);
}

void gg_guard_report_start(uint64_t share, uint64_t seed, bool ends)
{
	int saved_errno = errno;

	error_ends = ends;
	gg_signal_chain_take(&chain);
	gg_store_release(&chain.is_on, 1);
	gg_store_release(&gg_signal_chain_of_segv, &chain);
	if (!gg_malloc_guard_start(share, seed))
		gg_agent_log("no block is guarded: there is no address space", GG_AGENT_LOG_END);
	errno = saved_errno;
}
