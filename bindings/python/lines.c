/* SPDX-License-Identifier: Apache-2.0 */
/* lines - the cache of lines. */
#include "lines.h"

#include "base/atomic.h"
#include "base/hash.h"

enum {
	LINES_BITS = 10,

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

static uint64_t hash_of(const struct gg_python_layout *layout, const void *code, int position)
{
	const char *table = *(const char *const *)((const char *)code + layout->code_lines);
	const uint32_t *first_line = (const uint32_t *)((const char *)code +
	                                                layout->code_first_line);

	return gg_hash_bytes(table + BYTES_CONTENTS, *(const size_t *)(table + BYTES_LENGTH),
	                     (uint64_t)*first_line << 32 | (uint32_t)position);
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
