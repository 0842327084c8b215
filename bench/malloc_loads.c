/* SPDX-License-Identifier: Apache-2.0 */
/*
 * malloc_loads NAME [rest] - works that bench_malloc_loads.py runs under each allocator.
 *
 *   numbers    big numbers, each of which is a block that lives for one operation
 *   cubes      sets of bits in lists that are copied, grown by realloc() and freed in recursion
 *   pareto     random blocks are replaced; most are small, few are large
 *   simple     1600 blocks of 16 to 256 bytes are allocated, and freed in that order or the other
 *   large      20 buffers of 5 to 25 MiB, of which a random one is replaced
 *   text       strings that grow by realloc(), a few bytes at a time
 *   and those of malloc_thread_loads.c
 *
 * With `rest`, it then does the little work of an event loop for three seconds, and prints the
 * resident memory in KiB.  All its blocks are free then.
 *
 *   malloc_loads run FILE LIBRARY COMMAND...   runs a program with the library preloaded, and
 *                                              writes its seconds of the processor, and its peak
 *                                              in KiB
 *
 * A process inherits the peak of the one that forks it, so this small one forks.
 */
#include "malloc_loads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	NUMBER_ROUNDS = 4000000,
	CUBE_WORDS = 6,
	CUBE_ROUNDS = 600,
	PARETO_SLOTS = 20000,
	PARETO_ROUNDS = 8000000,
	SIMPLE_BLOCKS = 1600,
	SIMPLE_ROUNDS = 20000,
	LARGE_SLOTS = 20,
	LARGE_ROUNDS = 300,
	TEXT_ROUNDS = 150000,
};

/* numbers */

struct number {
	uint32_t length;
	uint32_t digits[];
};

static struct number *new_number(uint32_t length)
{
	struct number *n = malloc(sizeof(*n) + length * sizeof(n->digits[0]));

	n->length = length;
	return n;
}

static struct number *add(const struct number *a, const struct number *b)
{
	const struct number *longer = a->length >= b->length ? a : b, *other = longer == a ? b : a;
	struct number *sum = new_number(longer->length + 1);
	uint64_t carry = 0;

	for (uint32_t i = 0; i < longer->length; i++) {
		carry += (uint64_t)longer->digits[i] + (i < other->length ? other->digits[i] : 0);
		sum->digits[i] = (uint32_t)carry;
		carry >>= 32;
	}
	sum->digits[longer->length] = (uint32_t)carry;
	sum->length -= carry == 0;
	return sum;
}

static struct number *times(const struct number *a, uint32_t factor)
{
	struct number *product = new_number(a->length + 1);
	uint64_t carry = 0;

	for (uint32_t i = 0; i < a->length; i++) {
		carry += (uint64_t)a->digits[i] * factor;
		product->digits[i] = (uint32_t)carry;
		carry >>= 32;
	}
	product->digits[a->length] = (uint32_t)carry;
	product->length -= carry == 0;
	return product;
}

/* The low digits, so that numbers stay below 15 of them. */
static struct number *cut(const struct number *a, uint32_t length)
{
	struct number *low = new_number(a->length < length ? a->length : length);

	memcpy(low->digits, a->digits, low->length * sizeof(low->digits[0]));
	return low;
}

static void load_numbers(void)
{
	uint64_t state = 88172645463325252;
	struct number *a = new_number(1), *b = new_number(1);

	a->digits[0] = b->digits[0] = 1;
	for (unsigned i = 0; i < NUMBER_ROUNDS; i++) {
		struct number *sum = add(a, b),
			      *product = times(sum, (uint32_t)load_random(&state)), *next;

		free(sum);
		next = add(product, b);
		free(product);
		free(a);
		a = b;
		b = cut(next, 3 + i % 12);
		free(next);
	}
	free(a);
	free(b);
}

/* cubes */

struct cover {
	uint64_t **cubes;
	unsigned count, room;
};

static void append_cube(struct cover *cover, const uint64_t *cube)
{
	uint64_t *copy = malloc(CUBE_WORDS * sizeof(*copy));

	memcpy(copy, cube, CUBE_WORDS * sizeof(*copy));
	if (cover->count == cover->room) {
		cover->room += 8;
		cover->cubes = realloc(cover->cubes, cover->room * sizeof(*cover->cubes));
	}
	cover->cubes[cover->count++] = copy;
}

static void free_cover(struct cover *cover)
{
	while (cover->count > 0)
		free(cover->cubes[--cover->count]);
	free(cover->cubes);
}

/* Splits a cover by a variable, and both halves by the next one. */
static unsigned split(const struct cover *cover, unsigned variable)
{
	struct cover halves[2] = { { 0 }, { 0 } };
	unsigned leaves = 0;

	if (cover->count < 3 || variable == CUBE_WORDS * 64)
		return 1;
	for (unsigned i = 0; i < cover->count; i++)
		append_cube(&halves[cover->cubes[i][variable / 64] >> variable % 64 & 1],
		            cover->cubes[i]);
	for (unsigned i = 0; i < 2; i++) {
		leaves += split(&halves[i], variable + 1);
		free_cover(&halves[i]);
	}
	return leaves;
}

static void load_cubes(void)
{
	uint64_t state = 362436069, cube[CUBE_WORDS];
	unsigned leaves = 0;

	for (unsigned i = 0; i < CUBE_ROUNDS; i++) {
		struct cover cover = { 0 };

		for (unsigned k = 0; k < 2000; k++) {
			for (unsigned w = 0; w < CUBE_WORDS; w++)
				cube[w] = load_random(&state);
			append_cube(&cover, cube);
		}
		leaves += split(&cover, 0);
		free_cover(&cover);
	}
	if (leaves == 0)
		abort();
}

/* pareto */

static size_t pareto_size(uint64_t random)
{
	/* 16 bytes times 2^k with probability 2^-(k + 1), and a random part. */
	unsigned k = (unsigned)__builtin_ctzll(random | UINT64_C(1) << 9);

	return ((size_t)16 << k) + (random >> 20 & (((size_t)16 << k) - 1));
}

void replace_pareto(uint64_t seed, uint64_t count)
{
	char **slots = calloc(PARETO_SLOTS, sizeof(*slots));

	for (uint64_t i = 0; i < count; i++) {
		uint64_t random = load_random(&seed);
		size_t bytes = pareto_size(random), slot = (random >> 32) % PARETO_SLOTS;

		free(slots[slot]);
		slots[slot] = malloc(bytes);
		slots[slot][0] = slots[slot][bytes - 1] = (char)i;
	}
	for (size_t i = 0; i < PARETO_SLOTS; i++)
		free(slots[i]);
	free(slots);
}

static void load_pareto(void)
{
	replace_pareto(521288629, PARETO_ROUNDS);
}

/* simple */

static void load_simple(void)
{
	static void *blocks[SIMPLE_BLOCKS];

	for (unsigned i = 0; i < SIMPLE_ROUNDS; i++) {
		unsigned count = SIMPLE_BLOCKS >> 2 * (i % 4);

		for (unsigned repeat = 0; repeat < SIMPLE_BLOCKS / count; repeat++) {
			for (unsigned k = 0; k < count; k++)
				blocks[k] = malloc(16 << i % 5);
			for (unsigned k = 0; k < count; k++)
				free(blocks[i % 3 != 0 ? k : count - 1 - k]);
		}
	}
}

/* large */

static void load_large(void)
{
	static char *buffers[LARGE_SLOTS];
	uint64_t state = 2463534242;

	for (unsigned i = 0; i < LARGE_ROUNDS; i++) {
		uint64_t random = load_random(&state);
		size_t bytes = ((size_t)5 << 20) + random % ((size_t)20 << 20),
		       slot = (random >> 32) % LARGE_SLOTS;

		free(buffers[slot]);
		buffers[slot] = malloc(bytes);
		for (size_t at = 0; at < bytes; at += 4096)
			buffers[slot][at] = 1;
	}
	for (unsigned i = 0; i < LARGE_SLOTS; i++)
		free(buffers[i]);
}

/* text */

static void load_text(void)
{
	enum { TEXTS = 24 };
	char *texts[TEXTS] = { NULL };
	size_t lengths[TEXTS] = { 0 };
	uint64_t state = 123456789;

	for (unsigned i = 0; i < TEXT_ROUNDS; i++) {
		unsigned text = i % TEXTS;
		size_t most = 64 << load_random(&state) % 11;

		while (lengths[text] < most) {
			size_t more = 1 + load_random(&state) % 24 + lengths[text] / 64;

			texts[text] = realloc(texts[text], lengths[text] + more);
			memset(texts[text] + lengths[text], 'x', more);
			lengths[text] += more;
		}
		free(texts[text]);
		texts[text] = NULL;
		lengths[text] = 0;
	}
}

/* The little that an event loop does. */
static void be_at_rest(void)
{
	const struct timespec tick = { .tv_nsec = 10000000 };
	unsigned long pages = 0;
	FILE *file;

	for (unsigned i = 0; i < 300; i++) {
		void *blocks[40];

		for (unsigned k = 0; k < 40; k++)
			blocks[k] = malloc(24 + 100 * k);
		for (unsigned k = 0; k < 40; k++)
			free(blocks[k]);
		nanosleep(&tick, NULL);
	}
	file = fopen("/proc/self/statm", "r");
	if (file == NULL || fscanf(file, "%*u %lu", &pages) != 1)
		exit(1);
	fclose(file);
	printf("%lu\n", pages * (unsigned long)sysconf(_SC_PAGESIZE) / 1024);
}

static double seconds_of(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static int run(const char *file, const char *library, char **command)
{
	struct rusage used;
	int status, code;
	FILE *out;
	pid_t pid = fork();

	if (pid == 0) {
		setenv("LD_PRELOAD", library, 1);
		execvp(command[0], command);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &used) != pid)
		return 126;
	out = fopen(file, "w");
	if (out == NULL)
		return 126;
	fprintf(out, "%.6f %ld\n", seconds_of(used.ru_utime) + seconds_of(used.ru_stime),
	        used.ru_maxrss);
	code = WIFEXITED(status) ? WEXITSTATUS(status) : 125;
	return fclose(out) == 0 ? code : 126;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} loads[] = {
		{ "numbers", load_numbers },
		{ "cubes", load_cubes },
		{ "pareto", load_pareto },
		{ "simple", load_simple },
		{ "large", load_large },
		{ "text", load_text },
		{ "larson", load_larson },
		{ "xmalloc", load_xmalloc },
		{ "scratch", load_scratch },
		{ "thrash", load_thrash },
		{ "mstress", load_mstress },
		{ "pareto_threads", load_pareto_threads },
		{ "rptest", load_rptest },
		{ "glibc_thread", load_glibc_thread },
		{ "batches_remote", load_batches_remote },
		{ "churn", load_churn },
	};

	if (argc > 4 && strcmp(argv[1], "run") == 0)
		return run(argv[2], argv[3], argv + 4);
	for (size_t i = 0; argc >= 2 && i < sizeof(loads) / sizeof(loads[0]); i++) {
		if (strcmp(loads[i].name, argv[1]) != 0)
			continue;
		loads[i].run();
		if (argc > 2)
			be_at_rest();
		return 0;
	}
	fprintf(stderr, "usage: malloc_loads NAME [rest]\n");
	return 2;
}
