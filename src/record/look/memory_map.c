/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_map - parses /proc/PID/smaps into areas (look/memory_map.h).
 */
#include "record/look/memory_map.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/binary_search.h"
#include "base/compiler.h"
#include "base/maps_line.h"

/* Libraries of allocators; the first of the list that is mapped serves malloc. */
static const struct {
	const char *part; /* of a file's name */
	const char *allocator;
} libraries[] = {
	{ "libgeiger-malloc", "geiger-malloc" },
	{ "libjemalloc", "jemalloc" },
	{ "libtcmalloc", "tcmalloc" },
	{ "libmimalloc", "mimalloc" },
	{ "libhardened_malloc", "hardened_malloc" },
	{ "libclang_rt.scudo", "scudo" },
	{ "ld-musl-", "musl" },
	{ "libc.musl-", "musl" },
	{ "libc.so.6", "glibc" },
	{ "libc-2.", "glibc" },
};

/* Returns the rank of the library with this path in the list; its length: it is no allocator. */
static size_t library_rank(const char *path, size_t bytes)
{
	const char *slash;
	size_t rank = 0;

	if (path == NULL || bytes == 0 || (slash = memrchr(path, '/', bytes)) == NULL)
		return GG_COUNT(libraries);
	bytes -= (size_t)(slash + 1 - path);
	while (rank < GG_COUNT(libraries) &&
	       memmem(slash + 1, bytes, libraries[rank].part, strlen(libraries[rank].part)) == NULL)
		rank++;
	return rank;
}

/* Whether the file is named as "python3.11" or "libpython3.11.so.1.0". */
static bool is_python(const char *path, size_t bytes)
{
	static const char library[] = "lib", name[] = "python";
	const char *slash;

	if (path == NULL || bytes == 0 || (slash = memrchr(path, '/', bytes)) == NULL)
		return false;
	bytes -= (size_t)(++slash - path);
	if (bytes > strlen(library) && memcmp(slash, library, strlen(library)) == 0) {
		slash += strlen(library);
		bytes -= strlen(library);
	}
	return bytes > strlen(name) && memcmp(slash, name, strlen(name)) == 0 &&
	       slash[strlen(name)] >= '2' && slash[strlen(name)] <= '9';
}

/* No program has memory above; the kernel's own pages there are no heap. */
#define USER_ADDRESS_MAX (UINT64_C(1) << 57)

static bool add_area(struct gg_memory_map *map, const struct gg_maps_line *line)
{
	static const char brk_name[] = "[heap]";
	const struct gg_memory_area area = {
		.begin = line->begin,
		.end = line->end,
		.is_writable = line->inode == 0 && line->end <= USER_ADDRESS_MAX &&
		               (line->protection & (PROT_READ | PROT_WRITE)) ==
		                       (PROT_READ | PROT_WRITE),
		.is_brk = line->path_bytes == strlen(brk_name) &&
		          memcmp(line->path, brk_name, strlen(brk_name)) == 0,
	};
	struct gg_memory_area *last = map->areas.count > 0 ? &map->areas.items[map->areas.count - 1]
	                                                   : NULL;

	if (last != NULL && area.begin < last->end)
		return true;
	if (last != NULL && last->end == area.begin && last->is_writable == area.is_writable &&
	    last->is_brk == area.is_brk) {
		last->end = area.end;
		return true;
	}
	return gg_array_push(&map->areas, area);
}

int gg_memory_map_parse(struct gg_memory_map *map, const char *text)
{
	size_t rank = GG_COUNT(libraries);

	for (size_t length; text != NULL && *text != '\0'; text += length + (text[length] != 0)) {
		/* Only the first line of a mapping begins with a lower-case hexadecimal digit. */
		bool is_digit = (*text >= '0' && *text <= '9') || (*text >= 'a' && *text <= 'f');
		struct gg_maps_line line;
		size_t found;

		length = strcspn(text, "\n");
		if (!is_digit || !gg_maps_line_parse(text, length, &line))
			continue;
		found = library_rank(line.path, line.path_bytes);
		rank = found < rank ? found : rank;
		map->has_python |= is_python(line.path, line.path_bytes);
		if (found < GG_COUNT(libraries) &&
		    strcmp(libraries[found].allocator, "glibc") == 0 &&
		    (line.protection & PROT_WRITE) != 0)
			map->libc_data = (struct gg_memory_area){ .begin = line.begin,
				                                  .end = line.end };
		if (!add_area(map, &line))
			return -ENOMEM;
	}
	map->allocator = rank < GG_COUNT(libraries) ? libraries[rank].allocator : NULL;
	return 0;
}

static size_t first_behind(const struct gg_memory_map *map, uint64_t address)
{
	return gg_lower_bound(0, map->areas.count, i, map->areas.items[i].end <= address);
}

const struct gg_memory_area *gg_memory_map_find(const struct gg_memory_map *map, uint64_t address)
{
	size_t at = first_behind(map, address);

	return at < map->areas.count && map->areas.items[at].begin <= address
	               ? &map->areas.items[at]
	               : NULL;
}

uint64_t gg_memory_map_end(const struct gg_memory_map *map, uint64_t address)
{
	for (size_t at = first_behind(map, address);
	     at < map->areas.count && map->areas.items[at].begin <= address; at++)
		address = map->areas.items[at].end;
	return address;
}

void gg_memory_map_done(struct gg_memory_map *map)
{
	gg_array_done(&map->areas);
}
