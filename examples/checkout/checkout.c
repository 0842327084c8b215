/* SPDX-License-Identifier: Apache-2.0 */
/*
 * checkout SEED VERSION CACHE - a small service for script/demo-fleet: it opens sessions, fills a
 * cache, and parses requests.  Version 2 keeps more of each request.  CACHE is the number of
 * cached items.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SESSIONS = 1500, REQUESTS = 60, SESSION_BYTES = 2000, ITEM_BYTES = 1500 };
static uint64_t state;
static int version;

/* A number near `mean`: hosts are alike, but never equal. */
static size_t near(size_t mean)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return mean - mean / 10 + (size_t)(state >> 33) % (mean / 5 + 1);
}

/* Touches a block that its caller keeps. */
static void fill(void *volatile block, size_t bytes)
{
	if (block != NULL)
		memset(block, 1, bytes);
}

__attribute__((noinline)) static void open_session(void)
{
	size_t bytes = near(SESSION_BYTES);

	fill(malloc(bytes), bytes);
}

__attribute__((noinline)) static void cache_insert(void)
{
	size_t bytes = near(ITEM_BYTES);

	fill(malloc(bytes), bytes);
}

__attribute__((noinline)) static void parse_request(void)
{
	size_t bytes = near(version == 2 ? 64000 : 40000);

	fill(malloc(bytes), bytes);
}

int main(int argc, char **argv)
{
	size_t sessions, items, requests;

	state = argc > 1 ? strtoull(argv[1], NULL, 10) * 977 + 1 : 1;
	version = argc > 2 ? atoi(argv[2]) : 1;
	near(100);
	sessions = near(SESSIONS);
	items = near(argc > 3 ? (size_t)strtoul(argv[3], NULL, 10) : 3000);
	requests = near(REQUESTS);
	for (size_t i = 0; i < sessions; i++)
		open_session();
	for (size_t i = 0; i < items; i++)
		cache_insert();
	for (size_t i = 0; i < requests; i++)
		parse_request();
	usleep(300000); /* long enough for a reading of its resident memory */
	return 0;
}
