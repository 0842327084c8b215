/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leaky_program LEAKED - a server of three seconds: a table that it loads at the start, a cache
 * whose entries are replaced after a seventh of the run, requests that end, and of each tick's
 * memory LEAKED blocks of 512 bytes that nobody frees.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TICKS = 1000, TABLE = 200, CACHE = 300 };

static char *volatile table[TABLE], *volatile cache[CACHE], *volatile last;

__attribute__((noinline)) static void load_table(void)
{
	for (int i = 0; i < TABLE; i++)
		table[i] = malloc(8192);
}

__attribute__((noinline)) static void replace_entry(int i)
{
	free(cache[i % CACHE]);
	cache[i % CACHE] = malloc(2048);
}

__attribute__((noinline)) static void serve_request(int i)
{
	last = malloc(100 + (size_t)i * 37 % 900);
	free(last);
}

__attribute__((noinline)) static void forget(void)
{
	last = malloc(512);
}

int main(int argc, char **argv)
{
	const struct timespec tick = { 0, 3000000 };
	int leaked = argc > 1 ? atoi(argv[1]) : 0;

	load_table();
	for (int i = 0; i < TICKS; i++) {
		for (int k = 0; k < 2; k++)
			replace_entry(2 * i + k);
		for (int k = 0; k < 50; k++)
			serve_request(k);
		for (int k = 0; k < leaked; k++)
			forget();
		nanosleep(&tick, NULL);
	}
	return 0;
}
