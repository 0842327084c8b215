/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hostile /tmp/perf-PID.map files, which anybody's compiler writes: each address has the name of a
 * line that contains it, or none.
 *
 * The input is an address of 8 bytes and the file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/resolve/perf_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
	if (!condition)
		abort();
}

/* Whether a line of the file contains the address and ends in this name. */
static bool is_named(const char *file, size_t bytes, uint64_t pc, const char *name)
{
	const char *end = file + bytes;

	while (file < end) {
		const char *stop = memchr(file, '\n', (size_t)(end - file));
		char line[4096];
		unsigned long long begin, length;

		if (stop == NULL)
			stop = end;
		snprintf(line, sizeof(line), "%.*s", (int)(stop - file), file);
		if (sscanf(line, "%llx %llx", &begin, &length) == 2 && pc >= begin &&
		    pc - begin < length && strstr(line, name) != NULL)
			return true;
		file = stop + 1;
	}
	return false;
}

static void look_up(const struct gg_perf_map *map, const uint8_t *file, size_t bytes, uint64_t pc)
{
	const char *name = gg_perf_map_find(map, pc);

	require(name == NULL || is_named((const char *)file, bytes, pc, name));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gg_perf_map map;
	struct gg_buf text = { 0 };
	uint64_t pc;

	if (size < sizeof(pc) || memchr(data + sizeof(pc), '\0', size - sizeof(pc)) != NULL)
		return 0; /* is_named() reads lines as text */
	memcpy(&pc, data, sizeof(pc));
	data += sizeof(pc);
	size -= sizeof(pc);
	gg_buf_append(&text, (const char *)data, size);
	require(gg_perf_map_parse(&map, &text) == 0 && text.length == 0);
	look_up(&map, data, size, pc);
	for (pc = 0; pc < 64; pc++)
		look_up(&map, data, size, pc * 16);
	look_up(&map, data, size, UINT64_MAX);
	gg_perf_map_done(&map);
	return 0;
}
