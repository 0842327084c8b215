/* SPDX-License-Identifier: Apache-2.0 */
/*
 * send_work - has live memory of a thousand stacks, and allocates as each line of its input says:
 *
 *   all   once in each stack
 *   some  once in each hundredth stack
 *   new   once in each stack, and once in ten new ones
 *
 * Each stack keeps its last two blocks, so live memory soon stays the same.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 10, STACK_COUNT = WIDTH * WIDTH * WIDTH, KEPT_BLOCKS = 2, BLOCK_BYTES = 512 };

static void *kept[STACK_COUNT][KEPT_BLOCKS];
static unsigned counts[STACK_COUNT];
static int stack;

/* Ten functions that differ in their addresses alone; `next` is one of the next ten. */
#define LEAF(n)                                                             \
	static __attribute__((noinline)) void leaf_##n(void)                \
	{                                                                   \
		void **block = &kept[stack][counts[stack]++ % KEPT_BLOCKS]; \
                                                                            \
		free(*block);                                               \
		*block = malloc(BLOCK_BYTES);                               \
		__asm__ volatile("" ::: "memory");                          \
	}
#define CALLER(name, n)                                                      \
	static __attribute__((noinline)) void name##_##n(void (*next)(void)) \
	{                                                                    \
		next();                                                      \
		__asm__ volatile("" ::"i"(n) : "memory");                    \
	}
#define TEN(of)   of(0) of(1) of(2) of(3) of(4) of(5) of(6) of(7) of(8) of(9)
#define MIDDLE(n) CALLER(middle, n)
TEN(LEAF)
TEN(MIDDLE)

#define LEAF_NAME(n)   leaf_##n,
#define MIDDLE_NAME(n) middle_##n,
static void (*const leaves[WIDTH])(void) = { TEN(LEAF_NAME) };
static void (*const middles[WIDTH])(void (*)(void)) = { TEN(MIDDLE_NAME) };

#define OUTER(n)                                                              \
	static __attribute__((noinline)) void outer_##n(int middle, int leaf) \
	{                                                                     \
		middles[middle](leaves[leaf]);                                \
		__asm__ volatile("" ::"i"(n) : "memory");                     \
	}
#define OUTER_NAME(n) outer_##n,
TEN(OUTER)
static void (*const outers[WIDTH])(int, int) = { TEN(OUTER_NAME) };

static void allocate(int of)
{
	stack = of;
	outers[of / (WIDTH * WIDTH)](of / WIDTH % WIDTH, of % WIDTH);
}

static __attribute__((noinline)) void deeper(int depth, int of)
{
	if (depth == 0)
		allocate(of);
	else
		deeper(depth - 1, of);
	__asm__ volatile("" ::: "memory");
}

int main(void)
{
	char line[16];
	int depth = 0;

	while (fgets(line, sizeof(line), stdin) != NULL) {
		bool is_new = strcmp(line, "new\n") == 0;
		int step = strcmp(line, "some\n") == 0 ? 100 : 1;

		for (int i = 0; i < STACK_COUNT; i += step)
			allocate(i);
		depth += is_new;
		for (int i = 0; is_new && i < WIDTH; i++)
			deeper(depth, i);
		puts("done");
		fflush(stdout);
	}
	return 0;
}
