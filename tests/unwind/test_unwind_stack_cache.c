/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_unwind_stack_cache - compares walks with and without the stack cache, from the same place.
 *
 * A random program calls itself through frames of many shapes, returns, jumps with longjmp(),
 * throws, switches between coroutines and raises signals; every so often both walks are made.
 * $UNWIND_STACK_CACHE_WALKS: how many, default 100 000.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "base/compiler.h"
#include "test.h"
#include "unwind/unwind.h"

#define NOINLINE __attribute__((noinline))

enum { MAX = GG_UNWIND_KEEP, COROUTINES = 4, STACK_BYTES = 1 << 20, KEPT_STACKS = 64 };

#if HAVE_CXX
int catching_call(void (*f)(void *), void *context);
void catching_throw(void);
#endif

/* One line of execution: the main program or a coroutine. */
struct line {
	ucontext_t context;
	jmp_buf *jump;     /* the innermost place to jump to, linked through `outer_jump`s */
	unsigned catching; /* calls of catching_call() that a throw would end in */
	unsigned limit;    /* of depth, redrawn at the bottom */
};

static struct line lines[COROUTINES]; /* 0: the main program */
static unsigned line_now;
static uint64_t random_state;
static uint64_t walks_left, walks_done, reused_frames, all_frames, repeated_walks, known_walks;
static bool has_failed;

static struct gg_stack_cache stack_cache;
static struct gg_unwind_thread thread[2]; /* without, with the stack cache */

/* Stacks by their tag. */
static struct {
	uint64_t frames[MAX];
	uint32_t count;
	uint64_t tag;
} kept[KEPT_STACKS];

static unsigned draw(unsigned limit)
{
	random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (unsigned)((random_state >> 33) % limit);
}

/* The reused frames are the outer end of the stack that had the tag. */
static bool tag_is_right(const struct gg_unwind_stack *stack)
{
	uint64_t slot = stack->reused_tag % KEPT_STACKS;

	if (stack->reused_count == 0)
		return true;
	if (stack->reused_tag != 0 && kept[slot].tag != stack->reused_tag)
		return true; /* so long ago that it is not kept */
	if (stack->is_repeated && kept[slot].count != stack->count)
		return false;
	return stack->reused_tag != 0 && kept[slot].count >= stack->reused_count &&
	       memcmp(stack->frames + stack->count - stack->reused_count,
	              kept[slot].frames + kept[slot].count - stack->reused_count,
	              stack->reused_count * sizeof(uint64_t)) == 0;
}

/* Fills in the frames that a capture left out, because they are those of the known tag. */
static void fill_in(struct gg_unwind_stack *stack)
{
	uint64_t slot = thread[1].known_tag % KEPT_STACKS;

	if (thread[1].known_tag == 0 || !stack->is_repeated)
		return;
	known_walks++;
	has_failed |= stack->count != 0 || stack->reused_tag != thread[1].known_tag ||
	              kept[slot].tag != thread[1].known_tag;
	stack->frames = kept[slot].frames;
	stack->count = stack->cut_at = stack->reused_count = kept[slot].count;
}

/* Every other walk needs no frames of the stack before it. */
NOINLINE static void compare_walks(void)
{
	static uint64_t pcs[2][MAX];
	struct gg_unwind_stack stack[2] = { { 0 } };
	uint64_t tag = ++walks_done;

	thread[1].known_tag = tag % 2 == 0 ? tag - 1 : 0;
	/* One call, so that both return to the same place. */
	for (volatile int i = 0; i < 2; i++)
		gg_unwind_capture(&thread[i], pcs[i], MAX, 0, &stack[i]);
	fill_in(&stack[1]);
	if (stack[0].count != stack[1].count || stack[0].ending != stack[1].ending ||
	    memcmp(stack[0].frames, stack[1].frames, stack[0].count * sizeof(uint64_t)) != 0 ||
	    !tag_is_right(&stack[1])) {
		has_failed = true;
		for (uint32_t i = 0; i < stack[0].count && i < stack[1].count; i++)
			if (stack[0].frames[i] != stack[1].frames[i])
				printf("frame %u differs\n", i);
		walks_left = walks_left < 3 ? walks_left : 3;
		printf("walk %" PRIu64 ": %u and %u frames, %u of them reused\n", walks_done,
		       stack[0].count, stack[1].count, stack[1].reused_count);
	}
	has_failed |= stack[0].ending != GG_UNWIND_COMPLETE;
	reused_frames += stack[1].reused_count;
	all_frames += stack[1].count;
	has_failed |= stack[1].is_repeated && stack[1].reused_count != stack[1].count;
	repeated_walks += stack[1].is_repeated;
	gg_unwind_set_tag(&thread[1], tag);
	memmove(kept[tag % KEPT_STACKS].frames, stack[1].frames, stack[1].count * sizeof(uint64_t));
	kept[tag % KEPT_STACKS].tag = tag;
	kept[tag % KEPT_STACKS].count = stack[1].count;
	if (walks_left > 0)
		walks_left--;
}

/* Frames of all shapes. */

static void act(unsigned depth);

NOINLINE static void act_small(unsigned depth)
{
	act(depth + 1);
	__asm__ volatile("");
}

NOINLINE static void act_large(unsigned depth)
{
	volatile char room[5000];

	room[depth % sizeof(room)] = 1;
	act(depth + 1);
	room[0] = 2;
}

/* A frame pointer, and a frame of another size each time. */
NOINLINE static void act_with_alloca(unsigned depth)
{
	volatile char *room = __builtin_alloca(8 + draw(600));

	room[0] = 1;
	act(depth + 1);
	room[0] = 2;
}

/* Its stack pointer is rounded down: the CFA is kept in a slot. */
NOINLINE static void act_aligned(unsigned depth)
{
	volatile char room[64] __attribute__((aligned(128)));

	room[0] = 1;
	act(depth + 1);
	room[1] = room[0];
}

static unsigned callback_depth;

static int act_in_callback(const void *a, const void *b)
{
	(void)a;
	(void)b;
	act(callback_depth);
	return 0;
}

NOINLINE static void act_through_libc(unsigned depth)
{
	char two[2] = { 0 };

	callback_depth = depth + 1;
	qsort(two, 2, 1, act_in_callback);
}

NOINLINE static void act_where_jumps_land(unsigned depth)
{
	struct line *line = &lines[line_now];
	jmp_buf *const outer = line->jump;
	const unsigned catching = line->catching;
	jmp_buf here;

	line->catching = 0; /* a throw must not pass this frame, whose buffer would stay listed */
	line->jump = &here;
	if (setjmp(here) == 0)
		act(depth + 1);
	lines[line_now].jump = outer;
	lines[line_now].catching = catching;
}

#if HAVE_CXX
static void act_caught(void *depth)
{
	act((unsigned)(uintptr_t)depth + 1);
}

NOINLINE static void act_catching(unsigned depth)
{
	struct line *line = &lines[line_now];
	jmp_buf *const jump = line->jump;
	const unsigned catching = line->catching;

	line->jump = NULL;
	line->catching = 1;
	catching_call(act_caught, (void *)(uintptr_t)depth);
	lines[line_now].jump = jump;
	lines[line_now].catching = catching;
}
#endif

static void handle(int signal)
{
	(void)signal;
	compare_walks();
}

static void switch_line(void)
{
	unsigned from = line_now;

	line_now = draw(COROUTINES);
	if (line_now != from)
		swapcontext(&lines[from].context, &lines[line_now].context);
}

static void call_deeper(unsigned depth)
{
	static void (*const shapes[])(unsigned) = {
		act_small,
		act_small,
		act_small,
		act_large,
		act_with_alloca,
		act_aligned,
		act_through_libc,
		act_where_jumps_land,
#if HAVE_CXX
		act_catching,
#endif
	};

	shapes[draw(GG_COUNT(shapes))](depth);
}

static void act(unsigned depth)
{
	for (unsigned left = 1 + draw(5); left > 0 && walks_left > 0; left--) {
		struct line *line = &lines[line_now];
		unsigned choice = draw(100);

		if (choice < 45 && depth < line->limit)
			call_deeper(depth);
		else if (choice < 90)
			compare_walks();
		else if (choice < 94)
			switch_line();
		else if (choice < 95)
			raise(SIGUSR1);
		else if (choice < 97 && line->jump != NULL)
			longjmp(*line->jump, 1);
#if HAVE_CXX
		else if (choice < 98 && line->catching > 0)
			catching_throw();
#endif
	}
}

static void run_line(void)
{
	for (;;) {
		lines[line_now].limit = 2 + draw(draw(8) == 0 ? 90 : 30);
		lines[line_now].jump = NULL;
		lines[line_now].catching = 0;
		act_small(0);
		/* At the end every line leads back to the main one. */
		while (walks_left == 0 && line_now != 0) {
			unsigned from = line_now;

			line_now = 0;
			swapcontext(&lines[from].context, &lines[0].context);
		}
		if (walks_left == 0)
			return;
	}
}

static void begin_coroutines(void)
{
	for (unsigned i = 1; i < COROUTINES; i++) {
		struct line *line = &lines[i];

		getcontext(&line->context);
		line->context.uc_stack.ss_sp = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
		                                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		line->context.uc_stack.ss_size = STACK_BYTES;
		makecontext(&line->context, run_line, 0);
	}
}

TEST(a_walk_with_the_stack_cache_is_the_walk_without_it)
{
	const char *walks = getenv("UNWIND_STACK_CACHE_WALKS");
	struct sigaction action = { .sa_handler = handle };

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	SKIP("the sanitizers follow neither coroutines nor jumps between them");
#endif
	gg_unwind_init();
	thread[1].stack_cache = &stack_cache;
	sigaction(SIGUSR1, &action, NULL);
	begin_coroutines();
	random_state = 20;
	walks_left = walks != NULL ? strtoull(walks, NULL, 10) : 100000;
	run_line();
	printf("%" PRIu64 " walks, %" PRIu64 " of them repeated, %" PRIu64 " frames, %" PRIu64
	       " of them from the stack cache\n",
	       walks_done, repeated_walks, all_frames, reused_frames);
	CHECK(!has_failed);
	CHECK(repeated_walks > walks_done / 100);
	CHECK(known_walks > walks_done / 300);
	CHECK(reused_frames > all_frames / 20);
}
