/* SPDX-License-Identifier: Apache-2.0 */
/* perf_map - reads the map that a JIT compiler wrote, and finds the code at an address. */
#include "symbol/resolve/perf_map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/binary_search.h"
#include "base/path.h"
#include "symbol/elf/sysroot_path.h"

struct perf_map_entry {
	uint64_t begin, end;
	uint64_t max_end;     /* the largest end of this entry and all earlier ones */
	uint64_t name_offset; /* also the order of the lines in the file */
};

/*
 * Finds the owner of the running process whose pid is in the file's name.  Returns false if there
 * is no such process.
 */
static bool owner_of_process(const char *path, uid_t *ret_owner)
{
	char directory[32];
	struct stat properties;
	unsigned pid;

	if (sscanf(gg_path_base(path), "perf-%u.map", &pid) != 1 &&
	    sscanf(gg_path_base(path), "jit-%u.dump", &pid) != 1)
		return false;
	snprintf(directory, sizeof(directory), "/proc/%u", pid);
	if (stat(directory, &properties) < 0)
		return false;
	*ret_owner = properties.st_uid;
	return true;
}

static int check_file(int fd, const char *path)
{
	struct stat properties;
	uid_t owner;

	if (fstat(fd, &properties) < 0 || !S_ISREG(properties.st_mode))
		return -EINVAL;
	/*
	 * Anybody can put a file into /tmp under the name of another user's process, to give false
	 * names.
	 */
	if (properties.st_uid == 0 || properties.st_uid == geteuid() ||
	    (geteuid() == 0 && owner_of_process(path, &owner) && owner == properties.st_uid))
		return 0;
	return -EPERM;
}

int gg_perf_map_open(const char *root, const char *path)
{
	int fd = root != NULL ? gg_sysroot_path_open(root, path) : gg_sysroot_path_open_own(path);
	int status;

	if (fd == -ELOOP && root == NULL)
		return -EPERM;
	status = fd >= 0 ? check_file(fd, path) : fd;
	if (fd >= 0 && status < 0)
		close(fd);
	return status < 0 ? status : fd;
}

static struct perf_map_entry *entries_of(const struct gg_perf_map *map)
{
	return (struct perf_map_entry *)map->entries.data;
}

static size_t count_of(const struct gg_perf_map *map)
{
	return map->entries.length / sizeof(struct perf_map_entry);
}

/*
 * Reads a hexadecimal number without sign, with or without 0x.  Returns false if there is no
 * number, or it has more than 64 bits.  A blank must follow.
 */
static bool hex(const char **at, uint64_t *ret_value)
{
	const char *from;
	uint64_t value = 0;

	while (**at == ' ' || **at == '\t')
		(*at)++;
	if ((*at)[0] == '0' && ((*at)[1] == 'x' || (*at)[1] == 'X'))
		*at += 2;
	for (from = *at;; (*at)++) {
		char c = **at;
		unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
		                 : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
		                 : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
		                                        : 16;

		if (digit == 16)
			break;
		if (value >> 60 != 0)
			return false;
		value = value << 4 | digit;
	}
	*ret_value = value;
	return *at > from && **at == ' ';
}

/* Parses one line, which ends in a 0 byte.  Lines of another form are ignored. */
static void parse_line(struct gg_perf_map *map, const char *line)
{
	struct perf_map_entry entry;
	uint64_t size;

	if (!hex(&line, &entry.begin) || !hex(&line, &size) || size == 0 ||
	    __builtin_add_overflow(entry.begin, size, &entry.end))
		return;
	line += strspn(line, " \t");
	if (*line == '\0')
		return;
	/* The text does not move any more, so an offset into it identifies the name. */
	entry.max_end = 0;
	entry.name_offset = (uint64_t)(line - map->text.data);
	gg_buf_append(&map->entries, &entry, sizeof(entry));
}

static int compare(const void *left, const void *right)
{
	const struct perf_map_entry *a = left, *b = right;

	if (a->begin != b->begin)
		return a->begin < b->begin ? -1 : 1;
	return a->name_offset < b->name_offset ? -1 : a->name_offset > b->name_offset;
}

int gg_perf_map_parse(struct gg_perf_map *map, struct gg_buf *text)
{
	struct perf_map_entry *entries;
	uint64_t max_end = 0;
	char *at, *end;

	*map = (struct gg_perf_map){ .text = *text };
	*text = (struct gg_buf){ 0 };
	if (map->text.failed)
		return -ENOMEM;
	if (map->text.length == 0)
		return 0;
	at = map->text.data;
	/*
	 * A last line without a line feed was still being written, so its name may be incomplete.
	 */
	for (end = at + map->text.length; at < end;) {
		char *newline = memchr(at, '\n', (size_t)(end - at));

		if (newline == NULL)
			break;
		*newline = '\0';
		if (newline > at && newline[-1] == '\r')
			newline[-1] = '\0';
		parse_line(map, at);
		at = newline + 1;
	}
	if (map->entries.failed)
		return -ENOMEM;
	entries = entries_of(map);
	if (count_of(map) > 0)
		qsort(entries, count_of(map), sizeof(*entries), compare);
	for (size_t i = 0; i < count_of(map); i++) {
		/*
		 * The running maximum lets a search stop early: no earlier entry reaches an address
		 * beyond it.
		 */
		if (entries[i].end > max_end)
			max_end = entries[i].end;
		entries[i].max_end = max_end;
	}
	return 0;
}

const char *gg_perf_map_find(const struct gg_perf_map *map, uint64_t pc)
{
	const struct perf_map_entry *entries = entries_of(map), *found = NULL;
	size_t next = gg_lower_bound(0, count_of(map), i, entries[i].begin <= pc);

	for (; next > 0 && entries[next - 1].max_end > pc; next--) {
		const struct perf_map_entry *entry = &entries[next - 1];

		/*
		 * If several entries contain the pc, the one that stands last in the file is the
		 * newest code.
		 */
		if (pc < entry->end && (found == NULL || entry->name_offset > found->name_offset))
			found = entry;
	}
	return found != NULL ? map->text.data + found->name_offset : NULL;
}

void gg_perf_map_done(struct gg_perf_map *map)
{
	gg_buf_done(&map->text);
	gg_buf_done(&map->entries);
}
