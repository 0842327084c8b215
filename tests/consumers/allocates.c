/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allocates - a program with a known heap, for other tools' profilers.
 *
 * It allocates small, mixed and large blocks, and half of them stay live.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *kept[400000];
static size_t kept_count;

static __attribute__((noinline)) void *leaf(size_t bytes)
{
	void *block = malloc(bytes);

	if (block == NULL)
		exit(1);
	memset(block, 1, bytes);
	return block;
}

static __attribute__((noinline)) void small(void)
{
	for (int i = 0; i < 200000; i++) {
		void *block = leaf(64);

		if (i % 2 == 0)
			kept[kept_count++] = block;
		else
			free(block);
	}
}

static __attribute__((noinline)) void mixed(void)
{
	for (size_t i = 0; i < 20000; i++)
		kept[kept_count++] = leaf(16 + i % 5 * 1000);
}

static void *large(void *unused)
{
	for (int i = 0; i < 1000; i++) {
		void *block = leaf(100000);

		if (i % 4 == 0)
			kept[350000 + i] = block;
		else
			free(block);
	}
	return unused;
}

int main(void)
{
	pthread_t thread;

	small();
	mixed();
	if (pthread_create(&thread, NULL, large, NULL) != 0)
		return 1;
	pthread_join(thread, NULL);
	puts("done");
	return 0;
}
