/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sites SEED MIB - 20 functions that allocate known amounts, so that what a profiler tells of each
 * can be held against what was.  Prints a line for each: its name, bytes and blocks that it asked
 * for, bytes and blocks that are live at the end.
 *
 * Sizes go from 24 bytes to 256 KiB, amounts from a twentieth of MIB to MIB, each size with small
 * and large ones.  Half of the blocks are freed, each a little after it was made, so the end is
 * also where most is live.  SEED shuffles who allocates when, and so what is sampled, whatever a
 * profiler's own random numbers are.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { SITES = 20, WAITING = 64 };

static uint64_t seed;
static void *waiting[WAITING];

static uint64_t next_random(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/* Each a function of its own, with a name that all tools can read. */
#define SITE(name)                                                \
	__attribute__((noinline)) static void *name(size_t bytes) \
	{                                                         \
		void *block = malloc(bytes);                      \
                                                                  \
		__asm__ volatile("" : "+r"(block));               \
		return block;                                     \
	}                                                         \
	static void *name(size_t bytes)

SITE(site_00);
SITE(site_01);
SITE(site_02);
SITE(site_03);
SITE(site_04);
SITE(site_05);
SITE(site_06);
SITE(site_07);
SITE(site_08);
SITE(site_09);
SITE(site_10);
SITE(site_11);
SITE(site_12);
SITE(site_13);
SITE(site_14);
SITE(site_15);
SITE(site_16);
SITE(site_17);
SITE(site_18);
SITE(site_19);

static void *(*const functions[SITES])(size_t) = {
	site_00, site_01, site_02, site_03, site_04, site_05, site_06, site_07, site_08, site_09,
	site_10, site_11, site_12, site_13, site_14, site_15, site_16, site_17, site_18, site_19,
};

static const size_t sizes[] = { 24, 40, 100, 250, 600, 1500, 4000, 20000, 65000, 262144 };
static const double shares[] = { 1, 0.05, 0.2, 0.5 };

struct site {
	size_t bytes;
	uint64_t left, made, live;
};

static struct site sites[SITES];

/* One block more; another, of whichever site, is freed or kept for good. */
static void allocate(size_t i)
{
	static size_t from[WAITING];
	struct site *site = &sites[i];
	size_t at = next_random() % WAITING;
	char *block = functions[i](site->bytes);

	*block = (char)at;
	site->left--;
	site->made++;
	site->live++;
	if (waiting[at] != NULL && next_random() % 2 == 0) {
		free(waiting[at]);
		sites[from[at]].live--;
	}
	waiting[at] = block;
	from[at] = i;
}

int main(int argc, char **argv)
{
	double most_bytes = (argc > 2 ? atof(argv[2]) : 40) * (1 << 20);
	uint64_t left = 0;

	seed = 88172645463325252u ^
	       (argc > 1 ? strtoull(argv[1], NULL, 10) * 0x9e3779b97f4a7c15u : 0);
	for (size_t i = 0; i < SITES; i++) {
		sites[i].bytes = sizes[i % 10];
		sites[i].left = (uint64_t)(most_bytes * shares[i % 4]) / sites[i].bytes + 1;
		left += sites[i].left;
	}
	/* Whose turn: by what is left, so that all go on to the end. */
	while (left > 0) {
		uint64_t turn = next_random() % left;
		size_t i = 0;

		while (turn >= sites[i].left)
			turn -= sites[i++].left;
		allocate(i);
		left--;
	}
	for (size_t i = 0; i < SITES; i++)
		printf("site_%02zu %llu %llu %llu %llu\n", i,
		       (unsigned long long)(sites[i].made * sites[i].bytes),
		       (unsigned long long)sites[i].made,
		       (unsigned long long)(sites[i].live * sites[i].bytes),
		       (unsigned long long)sites[i].live);
	fflush(stdout);
	return 0;
}
