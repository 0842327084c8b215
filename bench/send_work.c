/* SPDX-License-Identifier: Apache-2.0 */
/*
 * send_work - has live memory of a thousand stacks, and allocates at each line of its input.
 */
#include <stdio.h>
#include <stdlib.h>

enum { WIDTH = 10, BLOCK_BYTES = 4096, KEPT_MAX = 1 << 20 };

static void *kept[KEPT_MAX];
static size_t kept_count;

/* Ten functions that differ in their addresses alone; `next` is one of the next ten. */
#define LEAF(n)                                                   \
	static __attribute__((noinline)) void leaf_##n(void)      \
	{                                                         \
		if (kept_count < KEPT_MAX)                        \
			kept[kept_count++] = malloc(BLOCK_BYTES); \
		__asm__ volatile("" ::: "memory");                \
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

int main(void)
{
	char line[16];

	while (fgets(line, sizeof(line), stdin) != NULL) {
		for (int i = 0; i < WIDTH * WIDTH * WIDTH; i++)
			outers[i / (WIDTH * WIDTH)](i / WIDTH % WIDTH, i % WIDTH);
		puts("done");
		fflush(stdout);
	}
	return 0;
}
