/* SPDX-License-Identifier: Apache-2.0 */
/* lines - the cache of lines. */
#include "lines.h"

#include <stdbool.h>

#include "base/atomic.h"

enum {
	LINES_BITS = 10,

	TYPE_DEALLOC = 48, /* PyTypeObject */

	DEATHS_BITS = 8
};

/*
 * Relaxed: a thread may read an entry that another one is writing.  `check` is the hash xor the
 * line, so a line and a check of different writes fit no hash, but with a probability of 2^-64.
 */
static struct {
	uint64_t check, line;
} lines[1 << LINES_BITS];

/*
 * How many code objects have died whose address selects the counter.  Relaxed: a counter changes
 * before the object is freed, and a later one at its address is handed from thread to thread by
 * Python's lock.
 */
static uint32_t deaths[1 << DEATHS_BITS];

static void (*real_dealloc)(void *code); /* set before the type calls count_death() */

/* Objects have at least 176 bytes, so higher bits tell neighbors apart. */
static uint32_t *deaths_of(const void *code)
{
	return &deaths[(uintptr_t)code >> 6 & ((1 << DEATHS_BITS) - 1)];
}

static void count_death(void *code)
{
	gg_add_relaxed(deaths_of(code), 1);
	real_dealloc(code);
}

void gg_python_watch_codes(const struct gg_python *python)
{
	void (**dealloc)(void *) = (void (**)(void *))((uintptr_t)python->code_type + TYPE_DEALLOC);

	if (*dealloc == count_death)
		return;
	real_dealloc = *dealloc;
	gg_store_release(dealloc, count_death);
}

static uint64_t multiply_fold(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t mix(uint64_t hash, uint64_t word1, uint64_t word2)
{
	/* The fractions of sqrt(5) and sqrt(7). */
	const uint64_t odd1 = UINT64_C(0x3c6ef372fe94f82b), odd2 = UINT64_C(0xa54ff53a5f1d36f1);

	return multiply_fold(word1 ^ odd1 ^ hash, word2 ^ odd2);
}

/*
 * Deaths tell code objects of one address apart.  First line and table do that in most cases, if
 * another tool takes the hook out of the type.
 */
static uint64_t hash_of(const struct gg_python_layout *layout, const void *code, int position)
{
	uintptr_t table = *(const uintptr_t *)((const char *)code + layout->code_lines);
	uint32_t first_line = *(const uint32_t *)((const char *)code + layout->code_first_line);

	return mix(mix(0, (uintptr_t)code, table), (uint64_t)first_line << 32 | (uint32_t)position,
	           gg_load_relaxed(deaths_of(code)));
}

static bool find(size_t place, uint64_t hash, int *ret_line)
{
	uint64_t line = gg_load_relaxed(&lines[place].line);

	/* An empty entry fits the hash 0 alone; its line is then unknown, which is no error. */
	if ((gg_load_relaxed(&lines[place].check) ^ line) != hash)
		return false;
	*ret_line = (int)(uint32_t)line;
	return true;
}

static void put(size_t place, uint64_t check, uint64_t line)
{
	gg_store_relaxed(&lines[place].line, line);
	gg_store_relaxed(&lines[place].check, check);
}

/* A line has two places, in one cache line: the newest is in the first. */
int gg_python_line(const struct gg_python *python, const void *code, int position)
{
	uint64_t hash = hash_of(python->layout, code, position);
	size_t place = hash & ((1 << LINES_BITS) - 1);
	int line;

	if (find(place, hash, &line) || find(place ^ 1, hash, &line))
		return line;
	line = python->line((void *)code, position);
	put(place ^ 1, gg_load_relaxed(&lines[place].check), gg_load_relaxed(&lines[place].line));
	put(place, hash ^ (uint32_t)line, (uint32_t)line);
	return line;
}
