/* SPDX-License-Identifier: Apache-2.0 */
/* test_unwind_walk - compares whole stacks with libgcc's, wherever a program can be interrupted. */
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include "base/compiler.h"
#include "test.h"
#include "unwind/unwind.h"
#include "unwind/walk/module_lookup.h"

#define NOINLINE __attribute__((noinline))

enum { MAX = GG_UNWIND_KEEP };

__attribute__((constructor)) static void init(void)
{
	gg_unwind_init();
}

/* Ours and libgcc's from the same frame; one of each per thread. */
struct pair {
	uint64_t ours[MAX], theirs[MAX];
	struct gg_unwind_stack stack;
	unsigned their_count;
	struct gg_unwind_thread thread;
};

static __thread struct pair pair;

static _Unwind_Reason_Code keep_frame(struct _Unwind_Context *context, void *unused)
{
	uint64_t pc = _Unwind_GetIP(context);

	(void)unused;
	if (pc != 0 && pair.their_count < MAX)
		pair.theirs[pair.their_count++] = pc;
	return _URC_NO_REASON;
}

/* The frames outside of this function; its own differ by where it calls. */
NOINLINE static void capture_pair(void)
{
	gg_unwind_capture(&pair.thread, pair.ours, MAX, 1, &pair.stack);
	pair.their_count = 0;
	_Unwind_Backtrace(keep_frame, NULL);
	__asm__ volatile(""); /* no tail call: this frame is in both */
}

static bool pair_agrees(void)
{
	const uint64_t *theirs = pair.theirs + 1; /* less capture_pair() */
	bool agrees = pair.stack.count == pair.their_count - 1;

	for (unsigned i = 0; agrees && i < pair.stack.count; i++)
		agrees = pair.stack.frames[i] == theirs[i];
	for (unsigned i = 0; !agrees && i < pair.stack.count; i++)
		printf("%u: %#lx %#lx\n", i,
		       (long)(i < pair.stack.count ? pair.stack.frames[i] : 0),
		       (long)(i + 1 < pair.their_count ? theirs[i] : 0));
	return CHECK(agrees) &&
	       CHECK_MSG(pair.stack.ending == GG_UNWIND_COMPLETE, "ends with %s",
	                 gg_unwind_ending_text(pair.stack.ending)) &&
	       CHECK_EQ_U64(pair.stack.cut_at, pair.stack.count);
}

static int capture_comparing(const void *a, const void *b)
{
	capture_pair();
	return *(const char *)a - *(const char *)b;
}

TEST(a_stack_is_the_one_that_libgcc_finds)
{
	char letters[] = "bca";

	capture_pair();
	CHECK(pair_agrees());
	CHECK(pair.stack.count >= 3);
	qsort(letters, 3, 1, capture_comparing);
	CHECK(pair_agrees());
}

TEST(the_first_frame_is_the_callers_and_skip_leaves_more_out)
{
	uint64_t pcs[2][MAX];
	struct gg_unwind_stack stack[2];
	struct gg_unwind_thread thread = { 0 };

	for (unsigned i = 0; i < 2; i++)
		gg_unwind_capture(&thread, pcs[i], MAX, i, &stack[i]);
	CHECK_EQ_U64(stack[1].count, stack[0].count - 1);
	CHECK_EQ_U64(stack[1].frames[0], stack[0].frames[1]);
}

/* Return addresses that are signed. */

#if defined(__aarch64__)
NOINLINE static void capture_signed(uint64_t *ret_saved)
{
	/* The frame record: the frame pointer, and the return address that paciasp has signed. */
	*ret_saved = ((const uint64_t *)__builtin_frame_address(0))[1];
	capture_pair();
	__asm__ volatile("");
}

TEST(signatures_of_return_addresses_are_stripped)
{
	enum { FEATURE_PACA = 1 << 30 }; /* HWCAP_PACA */
	uint64_t saved;

	capture_signed(&saved);
	CHECK(pair_agrees());
	if ((getauxval(AT_HWCAP) & FEATURE_PACA) == 0)
		SKIP("this processor signs no addresses");
	/* Two frames out: capture_signed(), and this function, to which that address leads. */
	REQUIRE(pair.stack.count >= 2);
	CHECK(saved != pair.stack.frames[1]);
	CHECK_EQ_U64(saved & UINT64_C(0x0000ffffffffffff), pair.stack.frames[1]);
}
#endif

/* Recursion. */

/* The thread sanitizer keeps a stack of its own, of 65 536 frames: not of these. */
NOINLINE __attribute__((no_sanitize("thread"))) static unsigned recurse(unsigned depth,
                                                                        void (*leaf)(void))
{
	volatile unsigned kept = depth;

	if (depth == 0)
		leaf();
	else
		kept += recurse(depth - 1, leaf);
	return kept;
}

TEST(a_thousand_frames_are_kept_whole)
{
	for (unsigned depth = 0; depth <= 1000; depth += 125) {
		recurse(depth, capture_pair);
		CHECK(pair_agrees());
		CHECK(pair.stack.count >= depth);
	}
}

/*
 * Rounds its stack pointer down, has arguments on the stack and alloca: gcc on x86-64 then keeps
 * the CFA in a slot.
 */
typedef unsigned aligned_function(unsigned depth, int b, int c, int d, int e, int f, unsigned g,
                                  unsigned h);
static aligned_function *volatile recurse_again;

static unsigned recurse_aligned(unsigned depth, int b, int c, int d, int e, int f, unsigned g,
                                unsigned h)
{
	volatile unsigned kept[16] __attribute__((aligned(128)));
	volatile char *room = __builtin_alloca(16 + g);

	kept[0] = depth + g + h;
	room[g] = 1;
	if (depth == 0)
		capture_pair();
	else
		kept[0] += recurse_again(depth - 1, b, c, d, e, f, h, g);
	return kept[0] + g + h + (unsigned)room[g];
}

TEST(realigned_frames_are_crossed_without_the_whole_row)
{
	uint64_t slow = pair.thread.stats.general_steps + pair.thread.stats.recompiled;

	recurse_again = recurse_aligned;
	for (unsigned depth = 0; depth < 20; depth++) {
		recurse_again(depth, 0, 0, 0, 0, 0, depth, 7);
		CHECK(pair_agrees());
	}
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
	CHECK_EQ_U64(pair.thread.stats.general_steps + pair.thread.stats.recompiled, slow);
#else
	(void)slow;
#endif
}

static struct gg_unwind_stack whole, cut;
static uint64_t whole_pcs[110000], cut_pcs[MAX];
static struct gg_unwind_thread whole_thread, cut_thread;

NOINLINE static void capture_whole_and_cut(void)
{
	gg_unwind_capture(&whole_thread, whole_pcs, GG_COUNT(whole_pcs), 1, &whole);
	gg_unwind_capture(&cut_thread, cut_pcs, MAX, 1, &cut);
	__asm__ volatile(""); /* no tail call: this frame is in both */
}

/* The state belongs to the thread that captures next. */
static void forget_thread(void)
{
	whole_thread = cut_thread = (struct gg_unwind_thread){ 0 };
}

static void *recurse_deep(void *depth)
{
	forget_thread();
	recurse((unsigned)(uintptr_t)depth, capture_whole_and_cut);
	return NULL;
}

/* On a thread with room for the frames of any build. */
static void run_deep(unsigned depth)
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, (size_t)512 << 20);
	if (CHECK_EQ_I64(
		    pthread_create(&thread, &attributes, recurse_deep, (void *)(uintptr_t)depth),
		    0))
		pthread_join(thread, NULL);
	pthread_attr_destroy(&attributes);
}

static bool is_cut_of_whole(void)
{
	uint32_t inner = cut.cut_at, outer = cut.count - cut.cut_at;

	return CHECK_EQ_U64(cut.count + cut.omitted_count, whole.count) &&
	       CHECK_EQ_I64(memcmp(cut.frames, whole.frames, inner * sizeof(uint64_t)), 0) &&
	       CHECK_EQ_I64(memcmp(cut.frames + inner, whole.frames + whole.count - outer,
	                           outer * sizeof(uint64_t)),
	                    0);
}

TEST(a_stack_of_100_000_frames_keeps_both_ends_and_says_what_is_missing)
{
	run_deep(100000);
	CHECK_EQ_U64(whole.ending, GG_UNWIND_COMPLETE);
	CHECK_EQ_U64(cut.ending, GG_UNWIND_COMPLETE);
	CHECK(whole.count >= 100000 && whole.cut_at == whole.count && whole.omitted_count == 0);
	CHECK(cut.count == MAX - 2 && cut.cut_at == MAX / 2 - 2);
	is_cut_of_whole();
}

TEST(a_cut_is_right_at_every_depth_around_the_size_of_the_array)
{
	forget_thread();
	/* From none omitted over one to several turns of the outer half. */
	for (unsigned depth = MAX - 20; depth < 2 * MAX + 20; depth += depth % 64 < 8 ? 1 : 7) {
		recurse(depth, capture_whole_and_cut);
		if (!is_cut_of_whole())
			break;
	}
}

TEST(a_cut_stack_may_come_from_the_stack_cache)
{
	static struct gg_stack_cache stack_cache;

	forget_thread();
	cut_thread.stack_cache = &stack_cache;
	for (unsigned depth = MAX - 20; depth < MAX + 600; depth += 13) {
		recurse(depth, capture_whole_and_cut);
		if (!is_cut_of_whole())
			break;
	}
	CHECK(cut_thread.stats.reused_frames > 0);
}

TEST(a_walk_of_too_many_frames_ends_and_says_so)
{
	run_deep(GG_UNWIND_WALK + 1000);
	CHECK_EQ_U64(cut.ending, GG_UNWIND_TOO_DEEP);
	CHECK_EQ_U64(cut.count, MAX - 2);
	CHECK(cut.omitted_count >= GG_UNWIND_WALK - MAX);
}

/* Threads and other stacks. */

static void *capture_on_thread(void *ret_agrees)
{
	recurse(5, capture_pair);
	*(bool *)ret_agrees = pair_agrees();
	CHECK_EQ_U64(pair.thread.stats.foreign_walks, 0);
	return NULL;
}

TEST(a_thread_has_its_own_stack)
{
	for (int i = 0; i < 20; i++) {
		bool agrees = false;
		pthread_t thread;

		if (CHECK_EQ_I64(pthread_create(&thread, NULL, capture_on_thread, &agrees), 0))
			pthread_join(thread, NULL);
		CHECK(agrees);
	}
}

TEST(a_thread_on_memory_of_the_program_has_its_own_stack_too)
{
	size_t bytes = (size_t)1 << 20;
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
	                    0);
	pthread_attr_t attributes;
	bool agrees = false;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstack(&attributes, memory, bytes);
	if (CHECK_EQ_I64(pthread_create(&thread, &attributes, capture_on_thread, &agrees), 0))
		pthread_join(thread, NULL);
	CHECK(agrees);
	pthread_attr_destroy(&attributes);
	munmap(memory, bytes);
}

static ucontext_t main_context, coroutine;
static bool coroutine_agrees;

static void run_coroutine(void)
{
	recurse(7, capture_pair);
	coroutine_agrees = pair_agrees();
}

TEST(a_coroutine_is_walked_to_its_first_frame)
{
	size_t bytes = 256 << 10;

	for (int i = 0; i < 10; i++) {
		char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		uint64_t foreign = pair.thread.stats.foreign_walks;

		getcontext(&coroutine);
		coroutine.uc_stack.ss_sp = memory;
		coroutine.uc_stack.ss_size = bytes;
		coroutine.uc_link = &main_context;
		makecontext(&coroutine, run_coroutine, 0);
		coroutine_agrees = false;
		swapcontext(&main_context, &coroutine);
		CHECK(coroutine_agrees);
		CHECK(pair.stack.count >= 8);
		CHECK(pair.thread.stats.foreign_walks > foreign);
		munmap(memory, bytes);
		capture_pair();
		CHECK(pair_agrees());
	}
}

/* Signals. */

static volatile sig_atomic_t handled;

static void handle_signal(int signal)
{
	(void)signal;
	recurse(3, capture_pair);
	handled = 1;
}

static bool stack_has(uint64_t from, uint64_t bytes)
{
	for (unsigned i = 0; i < pair.stack.count; i++)
		if (pair.stack.frames[i] - from < bytes)
			return true;
	return false;
}

static void raise_handled(int flags)
{
	struct sigaction action = { .sa_handler = handle_signal, .sa_flags = flags }, before;
	uint64_t signal_frames = pair.thread.stats.signal_frames;

	sigaction(SIGUSR1, &action, &before);
	handled = 0;
	raise(SIGUSR1);
	sigaction(SIGUSR1, &before, NULL);
	CHECK(handled);
	CHECK(pair_agrees());
	CHECK_EQ_U64(pair.thread.stats.signal_frames, signal_frames + 1);
	CHECK(stack_has((uintptr_t)raise_handled, 2048));
}

TEST(a_handler_is_walked_into_what_it_interrupted)
{
	raise_handled(0);
}

TEST(a_handler_on_its_own_stack_is_walked_into_what_it_interrupted)
{
	stack_t alternative = { .ss_size = 256 << 10 }, before;
	uint64_t foreign = pair.thread.stats.foreign_walks;

	alternative.ss_sp = malloc(alternative.ss_size);
	sigaltstack(&alternative, &before);
	raise_handled(SA_ONSTACK);
	sigaltstack(&before, NULL);
	free(alternative.ss_sp);
	CHECK(pair.thread.stats.foreign_walks > foreign);
}

/*
 * A timer interrupts code at any instruction, captures included: prologues, epilogues, the walker,
 * libc.  If libgcc's walk is complete, ours is the same.
 */
static struct gg_stack_cache storm_cache;
static struct gg_unwind_thread storm_thread;
static unsigned storm_count, storm_incomplete;
/* The last stack that was not complete. */
static uint64_t storm_pcs[32];
static unsigned storm_pcs_count, storm_ending;

static void handle_storm(int signal)
{
	struct gg_unwind_stack stack;
	uint64_t pcs[256];
	int kept = errno;

	(void)signal;
	gg_unwind_capture(&storm_thread, pcs, GG_COUNT(pcs), 0, &stack);
	if (stack.ending != GG_UNWIND_COMPLETE) {
		storm_incomplete++;
		storm_pcs_count = stack.count < GG_COUNT(storm_pcs) ? stack.count
		                                                    : GG_COUNT(storm_pcs);
		memcpy(storm_pcs, pcs, storm_pcs_count * sizeof(pcs[0]));
		storm_ending = stack.ending;
	}
	storm_count++;
	CHECK_EQ_I64(errno, kept);
}

NOINLINE static unsigned work(unsigned depth)
{
	struct gg_unwind_stack stack;
	uint64_t pcs[256];
	char letters[] = "geiger";
	volatile unsigned sum = depth;

	if (depth > 0)
		return sum + work(depth - 1) + work(depth - 1);
	gg_unwind_capture(&storm_thread, pcs, GG_COUNT(pcs), 0, &stack);
	CHECK(stack.ending == GG_UNWIND_COMPLETE && stack.count > 7);
	snprintf(letters, sizeof(letters), "%u", sum);
	return sum + (unsigned)letters[0];
}

TEST(walks_that_interrupt_walks_are_right_and_leave_them_right)
{
	struct sigaction action = { .sa_handler = handle_storm, .sa_flags = SA_RESTART }, before;
	struct itimerval often = { .it_interval.tv_usec = 200, .it_value.tv_usec = 200 };
	struct itimerval never = { 0 };
	const char *more = getenv("UNWIND_STORM");
	unsigned wanted = more != NULL ? (unsigned)strtoul(more, NULL, 10) : 1000;

	storm_thread.stack_cache = &storm_cache;
	sigaction(SIGALRM, &action, &before);
	setitimer(ITIMER_REAL, &often, NULL);
	for (unsigned i = 0; i < 200 * wanted && storm_count < wanted; i++)
		work(7);
	setitimer(ITIMER_REAL, &never, NULL);
	sigaction(SIGALRM, &before, NULL);
	CHECK(storm_count >= wanted);
	for (unsigned i = 0; i < storm_pcs_count; i++) {
		Dl_info info = { 0 };

		dladdr((void *)storm_pcs[i], &info);
		printf("# not complete (%u): %#" PRIx64 " %s %s+%#" PRIx64 "\n", storm_ending,
		       storm_pcs[i], info.dli_fname != NULL ? info.dli_fname : "?",
		       info.dli_sname != NULL ? info.dli_sname : "",
		       storm_pcs[i] - (uintptr_t)info.dli_fbase);
	}
	CHECK_MSG(storm_incomplete == 0, "%u of %u handlers' stacks are not complete",
	          storm_incomplete, storm_count);
	CHECK_EQ_U64(storm_thread.busy_sp, 0);
}

TEST(a_walk_left_by_longjmp_does_not_count_as_under_way_for_ever)
{
	struct gg_unwind_stack stack;
	uint64_t pcs[64];

	gg_unwind_capture(&storm_thread, pcs, GG_COUNT(pcs), 0, &stack);
	storm_thread.busy_sp = (uintptr_t)__builtin_frame_address(0) - 8192;
	for (int i = 0; i < 2; i++) {
		uint64_t nested = storm_thread.stats.nested_walks;

		gg_unwind_capture(&storm_thread, pcs, GG_COUNT(pcs), 0, &stack);
		CHECK_EQ_U64(storm_thread.stats.nested_walks, nested);
		CHECK_EQ_U64(storm_thread.busy_sp, 0);
	}
}

/* --- other promises ------------------------------------------------------------------------ */

TEST(errno_is_kept)
{
	errno = 4711;
	capture_pair();
	CHECK_EQ_I64(errno, 4711);
}

TEST(the_table_for_an_old_libc_finds_what_dl_find_object_finds)
{
	const void *const places[] = { (void *)(uintptr_t)malloc,
		                       (void *)(uintptr_t)init,
		                       (void *)(uintptr_t)_Unwind_Backtrace,
		                       &pair,
		                       NULL,
		                       (void *)getauxval(AT_SYSINFO_EHDR) };
	unsigned found_count = 0;

	for (size_t i = 0; i < GG_COUNT(places); i++) {
		uint64_t pc = (uintptr_t)places[i] + (i == 5 ? 0x500 : 0);
		struct gg_cfi_module a = { 0 }, b = { 0 };
		bool in_a = gg_module_lookup_find(pc, &a),
		     in_b = gg_module_lookup_find_in_table(pc, &b);

		CHECK_MSG(in_a == in_b, "place %zu: %d and %d", i, in_a, in_b);
		found_count += in_a;
		CHECK(!in_a || !in_b || a.eh_frame.bytes == b.eh_frame.bytes);
	}
	CHECK(found_count >= 3);
}

/* --- tables of modules --------------------------------------------------------------------- */

enum {
	ROWS = 400,
	PUBLICATIONS = 10000, /* of each thread that publishes */
	PUBLISHERS = 2
};

static uint32_t publisher_count, found_count, missed_count;

/* The last row is the same in all tables; the other rows differ. */
static void publish_rows(uint64_t shift, uint64_t epoch)
{
	struct gg_module_lookup_table *table = gg_module_lookup_table_take();

	for (uint64_t row = 1; row <= ROWS; row++) {
		uint64_t begin = row << 20 | (row == ROWS ? 0 : shift);

		gg_module_lookup_table_add(table, begin, begin + 4096);
	}
	gg_module_lookup_table_publish(table, epoch);
}

static void *publish_often(void *epoch)
{
	for (uint64_t i = 0; i < PUBLICATIONS; i++)
		publish_rows(i % 100 << 12, *(uint64_t *)epoch);
	__atomic_sub_fetch(&publisher_count, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void *find_often(void *unused)
{
	(void)unused;
	while (__atomic_load_n(&publisher_count, __ATOMIC_ACQUIRE) != 0) {
		struct gg_module_lookup_row row = { 0 };
		bool found = gg_module_lookup_table_find((ROWS << 20) + 77, &row) &&
		             row.begin == ROWS << 20 && row.end == (ROWS << 20) + 4096;

		__atomic_add_fetch(found ? &found_count : &missed_count, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

TEST(a_module_is_found_while_others_replace_the_table)
{
	pthread_t publishers[PUBLISHERS], readers[2];
	uint64_t epoch = gg_module_lookup_epoch();

	publish_rows(0, epoch);
	publisher_count = PUBLISHERS;
	for (size_t i = 0; i < GG_COUNT(readers); i++)
		REQUIRE(pthread_create(&readers[i], NULL, find_often, NULL) == 0);
	for (size_t i = 0; i < PUBLISHERS; i++)
		REQUIRE(pthread_create(&publishers[i], NULL, publish_often, &epoch) == 0);
	for (size_t i = 0; i < PUBLISHERS; i++)
		pthread_join(publishers[i], NULL);
	for (size_t i = 0; i < GG_COUNT(readers); i++)
		pthread_join(readers[i], NULL);
	gg_unwind_modules_changed();
	CHECK_MSG(missed_count == 0 && found_count > 0, "%u were missed, %u were found",
	          missed_count, found_count);
}

TEST(a_table_of_an_earlier_epoch_does_not_replace_a_later_one)
{
	uint64_t epoch = gg_module_lookup_epoch();
	struct gg_module_lookup_row row;

	gg_module_lookup_new_epoch();
	CHECK(!gg_module_lookup_table_is_current(epoch + 1));
	publish_rows(1 << 12, epoch + 1);
	CHECK(gg_module_lookup_table_is_current(epoch) &&
	      gg_module_lookup_table_is_current(epoch + 1));
	publish_rows(2 << 12, epoch);
	CHECK(gg_module_lookup_table_find(1 << 20 | 1 << 12, &row) &&
	      !gg_module_lookup_table_find(1 << 20 | 2 << 12, &row));
	gg_unwind_modules_changed();
}

TEST(tables_that_stopped_threads_have_are_not_taken_until_a_fork)
{
	struct gg_module_lookup_table *table;
	struct gg_module_lookup_row row;
	int taken_count = 0;

	while ((table = gg_module_lookup_table_take()) != NULL) {
		gg_module_lookup_table_add(table, 5 << 20, 6 << 20);
		taken_count++;
	}
	CHECK_EQ_I64(taken_count, GG_MODULE_LOOKUP_TABLES - 1);
	CHECK(gg_module_lookup_table_find((uintptr_t)malloc, &row) &&
	      !gg_module_lookup_table_find(5 << 20, &row));
	gg_unwind_modules_changed(); /* It finds no free table and changes nothing. */
	CHECK(gg_module_lookup_table_find((uintptr_t)malloc, &row));
	gg_module_lookup_forked();
	gg_unwind_modules_changed();
	CHECK(gg_module_lookup_table_find((uintptr_t)malloc, &row));
	CHECK(gg_module_lookup_table_take() != NULL);
	gg_module_lookup_forked();
}

TEST(counters_say_what_was_walked)
{
	struct gg_unwind_stats sum = { 0 };
	uint64_t walks = 0;

	gg_unwind_stats_add(&sum, &pair.thread);
	for (int i = 0; i < GG_UNWIND_ENDINGS; i++)
		walks += sum.endings[i];
	CHECK(walks > 0 && sum.frames > walks && sum.misses > 0);
	for (int i = 0; i < GG_UNWIND_ENDINGS; i++)
		CHECK(strcmp(gg_unwind_ending_text((enum gg_unwind_ending)i), "unknown") != 0);
}

/* Code without CFI. */

#if defined(__x86_64__)
typedef void thunk(void (*callback)(void), uint64_t rbp);

/* Code as a just-in-time compiler writes it: no CFI; the frame pointer as the caller wants it. */
static thunk *write_thunk(bool keeps_frame_pointer)
{
	static const uint8_t keeping[] = {
		0x55,             /* push %rbp */
		0x48, 0x89, 0xe5, /* mov %rsp, %rbp */
		0xff, 0xd7,       /* call *%rdi */
		0x5d,             /* pop %rbp */
		0xc3,             /* ret */
	};
	static const uint8_t using[] = {
		0x55,             /* push %rbp */
		0x48, 0x89, 0xf5, /* mov %rsi, %rbp */
		0xff, 0xd7,       /* call *%rdi */
		0x5d,             /* pop %rbp */
		0xc3,             /* ret */
	};
	uint8_t *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
	                     0);

	if (keeps_frame_pointer)
		memcpy(code, keeping, sizeof(keeping));
	else
		memcpy(code, using, sizeof(using));
	mprotect(code, 4096, PROT_READ | PROT_EXEC);
	return (thunk *)(uintptr_t)code;
}

TEST(code_without_cfi_is_crossed_by_its_frame_pointer)
{
	thunk *code = write_thunk(true);

	for (int i = 0; i < 3; i++) {
		code(capture_pair, 0);
		CHECK_EQ_U64(pair.stack.ending, GG_UNWIND_COMPLETE);
		CHECK(stack_has((uintptr_t)code, 8));
		CHECK(stack_has((uintptr_t)test_is_wanted, 8192) || pair.stack.count > 4);
	}
	CHECK(pair.thread.stats.fallback_rules > 0);
	munmap((void *)(uintptr_t)code, 4096);
}

static thunk *wild_code;

NOINLINE static void call_wild(uint64_t rbp)
{
	wild_code(capture_pair, rbp);
	CHECK(stack_has((uintptr_t)wild_code, 8));
}

static void call_wild_with_everything(void)
{
	uint64_t here = (uintptr_t)__builtin_frame_address(0), state = 1;

	for (unsigned i = 0; i < 20000; i++) {
		uint64_t rbp;

		state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
		switch (i % 8) {
		case 0:
			rbp = state;
			break;
		case 1:
			rbp = state >> 17;
			break;
		case 2:
			rbp = here + (state >> 50 & ~7u); /* up to 16 KiB above: beyond the end */
			break;
		case 3:
			rbp = here - (state >> 50 & ~7u);
			break;
		case 4:
			rbp = here + (state >> 52);
			break;
		case 5:
			rbp = here + (state >> 38 & ~7u); /* up to 64 MiB */
			break;
		case 6:
			rbp = UINT64_MAX - (state >> 56);
			break;
		default:
			rbp = (uintptr_t)&pair + (state >> 52);
			break;
		}
		call_wild(rbp);
	}
}

TEST(a_wild_frame_pointer_ends_a_walk_and_harms_nothing)
{
	uint64_t ended = pair.thread.stats.endings[GG_UNWIND_NO_CFI];

	wild_code = write_thunk(false);
	call_wild_with_everything();
	CHECK(pair.thread.stats.endings[GG_UNWIND_NO_CFI] > ended);

	/* And on a foreign stack whose upper neighbour cannot be read. */
	size_t bytes = 256 << 10;
	char *memory = mmap(NULL, bytes + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
	                    -1, 0);

	mprotect(memory + bytes, 4096, PROT_NONE);
	getcontext(&coroutine);
	coroutine.uc_stack.ss_sp = memory;
	coroutine.uc_stack.ss_size = bytes;
	coroutine.uc_link = &main_context;
	makecontext(&coroutine, call_wild_with_everything, 0);
	swapcontext(&main_context, &coroutine);
	munmap(memory, bytes + 4096);
}
#endif
