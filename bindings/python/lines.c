/* SPDX-License-Identifier: Apache-2.0 */
/* lines - the cache of lines. */
#include "lines.h"

#include <string.h>

#include "base/atomic.h"
#include "base/hash.h"

enum {
	LINES_BITS = 10,
	STEP_BYTES = 32, /* that mix() takes in */

	/* PyBytesObject */
	BYTES_LENGTH = 16,
	BYTES_CONTENTS = 32
};

/*
 * Relaxed: a thread may read an entry that another one is writing.  `check` is the hash xor the
 * line, so a line and a check of different writes fit no hash, but with a probability of 2^-64.
 */
static struct {
	uint64_t check, line;
} lines[1 << LINES_BITS];

static uint64_t word_at(const char *p)
{
	uint64_t word;

	memcpy(&word, p, sizeof(word));
	return word;
}

static uint64_t multiply_fold(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t mix(uint64_t hash, const char *p)
{
	/* The fractions of sqrt(5) and sqrt(7). */
	const uint64_t odd1 = UINT64_C(0x3c6ef372fe94f82b), odd2 = UINT64_C(0xa54ff53a5f1d36f1);

	hash = multiply_fold(word_at(p) ^ odd1, word_at(p + 8) ^ hash);
	return multiply_fold(word_at(p + 16) ^ odd2, word_at(p + 24) ^ hash);
}

/*
 * Hashes two words at a time, because a sample hashes the tables of all its frames.  The last words
 * may be hashed twice, which is faster than counting bytes.
 */
static uint64_t hash_of(const struct gg_python_layout *layout, const void *code, int position)
{
	const char *table = *(const char *const *)((const char *)code + layout->code_lines);
	const char *p = table + BYTES_CONTENTS;
	size_t bytes = *(const size_t *)(table + BYTES_LENGTH);
	const char *last = p + bytes - STEP_BYTES;
	const uint32_t *first_line = (const uint32_t *)((const char *)code +
	                                                layout->code_first_line);
	uint64_t hash = (uint64_t)*first_line << 32 | (uint32_t)position;

	if (bytes < STEP_BYTES)
		return gg_hash_bytes(p, bytes, hash);
	hash = gg_hash_integer(hash, bytes);
	for (; p < last; p += STEP_BYTES)
		hash = mix(hash, p);
	return mix(hash, last);
}

int gg_python_line(const struct gg_python *python, const void *code, int position)
{
	uint64_t hash = hash_of(python->layout, code, position);
	size_t place = hash & ((1 << LINES_BITS) - 1);
	uint64_t line = gg_load_relaxed(&lines[place].line);

	/* An empty entry fits the hash 0 alone; its line is then unknown, which is no error. */
	if ((gg_load_relaxed(&lines[place].check) ^ line) == hash)
		return (int)(uint32_t)line;
	line = (uint32_t)python->line((void *)code, position);
	gg_store_relaxed(&lines[place].line, line);
	gg_store_relaxed(&lines[place].check, hash ^ line);
	return (int)(uint32_t)line;
}
