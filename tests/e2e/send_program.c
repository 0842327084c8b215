/* SPDX-License-Identifier: Apache-2.0 */
/*
 * send_program - allocates as many blocks as each line of its input says.
 *
 * It keeps every third block, frees the others, and answers each line with a line.
 */
#include <stdio.h>
#include <stdlib.h>

enum { KEPT_MAX = 1 << 20 };

static void *kept[KEPT_MAX];
static size_t kept_count;

static __attribute__((noinline)) void *small(size_t i)
{
	return malloc(100 + i % 700);
}

static __attribute__((noinline)) void *large(size_t i)
{
	return malloc(4000 + i % 9000);
}

int main(void)
{
	unsigned long count;
	int c;

	while (scanf("%lu", &count) == 1) {
		for (size_t i = 0; i < count; i++) {
			void *block = i % 2 ? small(i) : large(i);

			if (i % 3 == 0 && kept_count < KEPT_MAX)
				kept[kept_count++] = block;
			else
				free(block);
		}
		puts("done");
		fflush(stdout);
	}
	while ((c = getchar()) != EOF)
		;
	return 0;
}
