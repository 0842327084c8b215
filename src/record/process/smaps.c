/* SPDX-License-Identifier: Apache-2.0 */
/*
 * smaps - parses /proc/PID/smaps line by line (process/smaps.h).
 */
#include "record/process/smaps.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/binary_search.h"
#include "base/compiler.h"
#include "base/maps_line.h"

enum {
	SMAPS_PAGE_BYTES = 4096,
	ARENA_BYTES = 64 << 20, /* HEAP_MAX_SIZE of glibc on 64 bits: heaps of arenas are aligned */
	GUARD_BYTES_MAX = 1 << 20, /* no guard below a stack is larger */
};

struct smaps_mapping {
	uint64_t begin, end;
	bool is_file;   /* or shared memory */
	bool is_shared; /* it shares its pages with other processes that map the same file */
	bool is_guard;  /* nobody may touch it */
	bool is_above_guard, is_behind_file;
	bool is_arena;   /* it has the shape of one of glibc's heaps */
	bool is_library; /* the agent's, or the bss behind it */
	bool is_region;
	const char *name; /* up to the end of its line */
	int64_t rss_bytes, pss_bytes, anonymous_bytes, swap_bytes, lazy_free_bytes, huge_bytes;
	bool has_reserve, has_huge_pages;
};

static bool has_name(const struct smaps_mapping *mapping, const char *name)
{
	return strncmp(mapping->name, name, strlen(name)) == 0;
}

/* Returns the file name at the end of the line, without its directories. */
static const char *base_name(const char *name)
{
	const char *base = name;

	for (; *name != '\0' && *name != '\n'; name++)
		if (*name == '/')
			base = name + 1;
	return base;
}

static bool is_region_file(const char *base)
{
	static const char ending[] = ".region";
	size_t length = strcspn(base, " \n"); /* " (deleted)" may follow */

	return strncmp(base, "geiger-", 7) == 0 && length > sizeof(ending) &&
	       strncmp(base + length - strlen(ending), ending, strlen(ending)) == 0;
}

/*
 * Parses "BEGIN-END PERMISSIONS OFFSET DEVICE INODE  NAME".  `before` is the mapping below this
 * one: an unnamed mapping directly behind the agent's library is the library's bss.
 */
static bool begin_mapping(struct smaps_mapping *mapping, const struct smaps_mapping *before,
                          const char *line)
{
	struct gg_maps_line head;
	const char *base;

	if (!gg_maps_line_parse(line, strcspn(line, "\n"), &head))
		return false;
	*mapping = (struct smaps_mapping){ .begin = head.begin,
		                           .end = head.end,
		                           .is_file = head.inode != 0,
		                           .has_reserve = true,
		                           .has_huge_pages = true };
	mapping->name = head.path;
	mapping->is_guard = head.protection == 0;
	mapping->is_above_guard = before->is_guard && before->end == head.begin &&
	                          before->end - before->begin <= GUARD_BYTES_MAX;
	mapping->is_behind_file = before->end == head.begin && head.inode == 0 &&
	                          ((before->is_file && !before->is_shared) ||
	                           (before->is_behind_file && !before->is_guard));
	base = base_name(mapping->name);
	mapping->is_region = mapping->is_file && is_region_file(base);
	mapping->is_library = strncmp(base, "libgeiger-agent", 15) == 0 ||
	                      strncmp(base, "libgeiger-compat", 16) == 0 ||
	                      (before->is_library && before->end == head.begin && head.inode == 0 &&
	                       *mapping->name == '\n');
	return true;
}

/* Parses a line "Name:   123 kB" or "VmFlags: rd wr ..." of the current mapping. */
static void take_value(struct smaps_mapping *mapping, const char *line)
{
	static const struct {
		const char *name;
		size_t at;
	} values[] = {
		{ "Rss:", offsetof(struct smaps_mapping, rss_bytes) },
		{ "Pss:", offsetof(struct smaps_mapping, pss_bytes) },
		{ "Anonymous:", offsetof(struct smaps_mapping, anonymous_bytes) },
		{ "Swap:", offsetof(struct smaps_mapping, swap_bytes) },
		{ "LazyFree:", offsetof(struct smaps_mapping, lazy_free_bytes) },
		{ "AnonHugePages:", offsetof(struct smaps_mapping, huge_bytes) },
	};
	const char *end = line + strcspn(line, "\n");

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		size_t length = strlen(values[i].name);

		if (strncmp(line, values[i].name, length) == 0)
			*(int64_t *)((char *)mapping +
			             values[i].at) = strtoll(line + length, NULL, 10) * 1024;
	}
	if (strncmp(line, "VmFlags:", 8) != 0)
		return;
	for (const char *flag = line + 8; flag + 2 < end; flag += 3) {
		mapping->has_reserve &= strncmp(flag, " nr", 3) != 0;
		mapping->has_huge_pages &= strncmp(flag, " nh", 3) != 0;
		mapping->is_shared |= strncmp(flag, " sh", 3) == 0;
	}
}

/* True if the mapping looks like the private tables of a region (process/smaps.h). */
static bool has_tables(const struct smaps_mapping *mapping, const struct gg_smaps_hints *hints)
{
	size_t bytes = (hints->private_bytes + SMAPS_PAGE_BYTES - 1) / SMAPS_PAGE_BYTES *
	               SMAPS_PAGE_BYTES;

	return bytes > 0 && !mapping->is_file && *mapping->name == '\n' && !mapping->has_reserve &&
	       !mapping->has_huge_pages &&
	       (hints->is_exact || mapping->end - mapping->begin == bytes);
}

static bool is_memory_file(const struct smaps_mapping *mapping)
{
	static const char *const names[] = { "/dev/shm/", "/memfd:",        "/SYSV",
		                             "/dev/zero", "/anon_hugepage", "[anon_shmem:" };

	for (size_t i = 0; i < GG_COUNT(names); i++)
		if (has_name(mapping, names[i]))
			return true;
	return false;
}

/* True if one of the ascending addresses lies in the mapping. */
static bool holds(const struct smaps_mapping *mapping, const uint64_t *addresses, size_t count)
{
	size_t first = gg_lower_bound(0, count, i, addresses[i] < mapping->begin);

	return first < count && addresses[first] < mapping->end;
}

/* The kind of a mapping that is not geiger's and has no file. */
static enum gg_mapping_kind anonymous_kind(const struct smaps_mapping *mapping,
                                           const struct gg_smaps_hints *hints)
{
	bool has_malloc = holds(mapping, hints->malloc_addresses, hints->malloc_count);

	if (has_name(mapping, "[heap]"))
		return GG_MAPPING_HEAP;
	if (has_name(mapping, "[vdso]") || has_name(mapping, "[vvar") ||
	    has_name(mapping, "[vsyscall]"))
		return GG_MAPPING_FILE; /* the kernel's own */
	if (has_name(mapping, "[stack]") || has_name(mapping, "[anon: glibc: pthread stack"))
		return GG_MAPPING_STACK;
	if (has_name(mapping, "[anon: glibc: malloc arena]"))
		return GG_MAPPING_ARENA;
	if (has_name(mapping, "[anon: glibc: malloc]"))
		return GG_MAPPING_MALLOC;
	/* A name says more than samples: it is that of a runtime's heap, for example. */
	if (has_name(mapping, "[anon:"))
		return GG_MAPPING_NAMED;
	if (mapping->is_arena || (has_malloc && mapping->begin % ARENA_BYTES == 0))
		return GG_MAPPING_ARENA;
	if (has_malloc)
		return GG_MAPPING_MALLOC;
	if (holds(mapping, hints->mmap_addresses, hints->mmap_count))
		return GG_MAPPING_SAMPLED;
	if (mapping->is_above_guard ||
	    holds(mapping, hints->stack_pointers, hints->stack_pointer_count))
		return GG_MAPPING_STACK;
	return mapping->is_behind_file ? GG_MAPPING_DATA : GG_MAPPING_ANONYMOUS;
}

/* Adds a share of a mapping to the part of its kind, and shows it to the visitor. */
static void add_share(struct gg_smaps *sums, enum gg_mapping_kind kind,
                      const struct smaps_mapping *mapping, const struct gg_smaps_part *share,
                      const struct gg_smaps_hints *hints)
{
	struct gg_smaps_part *part = &sums->parts[kind];

	part->mapping_count += share->mapping_count;
	part->size_bytes += share->size_bytes;
	part->rss_bytes += share->rss_bytes;
	part->pss_bytes += share->pss_bytes;
	part->swap_bytes += share->swap_bytes;
	part->lazy_free_bytes += share->lazy_free_bytes;
	part->huge_bytes += share->huge_bytes;
	if (hints->visit != NULL)
		hints->visit(kind, mapping->name, strcspn(mapping->name, "\n"), share,
		             hints->context);
}

/*
 * Adds the pages of a private file mapping that the program wrote to: they are data.  Swap holds
 * no other pages of it.  Returns the rest of the mapping.
 */
static struct gg_smaps_part add_written(struct gg_smaps *sums, const struct smaps_mapping *mapping,
                                        const struct gg_smaps_part *whole,
                                        const struct gg_smaps_hints *hints)
{
	struct gg_smaps_part written = *whole, rest = *whole;

	written.mapping_count = written.size_bytes = 0;
	if (mapping->anonymous_bytes < whole->rss_bytes) {
		written.rss_bytes = mapping->anonymous_bytes;
		written.pss_bytes = (int64_t)((double)whole->pss_bytes * (double)written.rss_bytes /
		                              (double)whole->rss_bytes);
	}
	rest.rss_bytes -= written.rss_bytes;
	rest.pss_bytes -= written.pss_bytes;
	rest.swap_bytes = rest.lazy_free_bytes = rest.huge_bytes = 0;
	if (written.rss_bytes > 0 || written.swap_bytes > 0)
		add_share(sums, GG_MAPPING_DATA, mapping, &written, hints);
	return rest;
}

/* Adds the whole mapping to the part of its kind; a private file may add to two parts. */
static void add_to_parts(struct gg_smaps *sums, const struct smaps_mapping *mapping, bool is_geiger,
                         const struct gg_smaps_hints *hints)
{
	enum gg_mapping_kind kind = is_geiger ? GG_MAPPING_GEIGER : GG_MAPPING_FILE;
	struct gg_smaps_part part = {
		.mapping_count = 1,
		.size_bytes = (int64_t)(mapping->end - mapping->begin),
		.rss_bytes = mapping->rss_bytes,
		.pss_bytes = mapping->pss_bytes,
		.swap_bytes = mapping->swap_bytes,
		.lazy_free_bytes = mapping->lazy_free_bytes,
		.huge_bytes = mapping->huge_bytes,
	};

	if (!is_geiger && !mapping->is_file)
		kind = anonymous_kind(mapping, hints);
	else if (!is_geiger && mapping->is_shared && is_memory_file(mapping))
		kind = GG_MAPPING_SHARED;
	if (kind == GG_MAPPING_FILE)
		part = add_written(sums, mapping, &part, hints);
	add_share(sums, kind, mapping, &part, hints);
}

static void add_mapping(struct gg_smaps *sums, const struct smaps_mapping *mapping,
                        const struct gg_smaps_hints *hints)
{
	int64_t rss = mapping->rss_bytes, pss = mapping->pss_bytes;
	/* Pages of a private file mapping that the program wrote to are anonymous memory. */
	int64_t file = mapping->is_file && rss > mapping->anonymous_bytes
	                       ? rss - mapping->anonymous_bytes
	                       : 0;

	bool is_geiger = mapping->is_region || mapping->is_library || has_tables(mapping, hints);

	sums->rss_bytes += rss;
	sums->pss_bytes += pss;
	add_to_parts(sums, mapping, is_geiger, hints);
	if (is_geiger) {
		sums->geiger_bytes += rss;
		sums->geiger_file_bytes += file;
		sums->pss_geiger_bytes += pss;
		return;
	}
	if (rss > 0)
		sums->pss_file_bytes += (int64_t)((double)pss * (double)file / (double)rss);
	if (has_name(mapping, "[heap]"))
		sums->heap_bytes += rss;
	if (has_name(mapping, "[stack]")) {
		sums->stack_bytes += rss;
		sums->pss_stack_bytes += pss;
	}
}

/*
 * True if the mapping is the used part of one of glibc's heaps: `next` is the rest of its 64 MiB,
 * unless all of them are in use.  NULL: no mapping is above it.
 */
static bool is_arena(const struct smaps_mapping *mapping, const struct smaps_mapping *next)
{
	uint64_t end = mapping->end;

	if (mapping->is_file || mapping->is_guard || mapping->has_reserve ||
	    mapping->begin % ARENA_BYTES != 0)
		return false;
	if (next != NULL && next->is_guard && !next->is_file && next->begin == end)
		end = next->end;
	return end == mapping->begin + ARENA_BYTES;
}

void gg_smaps_add_up(struct gg_smaps *ret_sums, const char *text,
                     const struct gg_smaps_hints *hints)
{
	struct smaps_mapping mapping = { 0 };
	bool has_mapping = false;

	*ret_sums = (struct gg_smaps){ 0 };
	while (*text != '\0') {
		/* Only the first line of a mapping begins with a lower-case hexadecimal digit. */
		bool is_digit = (*text >= '0' && *text <= '9') || (*text >= 'a' && *text <= 'f');
		struct smaps_mapping next;

		if (!is_digit) {
			take_value(&mapping, text);
		} else if (begin_mapping(&next, &mapping, text)) {
			mapping.is_arena = is_arena(&mapping, &next);
			if (has_mapping)
				add_mapping(ret_sums, &mapping, hints);
			mapping = next;
			has_mapping = true;
		}
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
	mapping.is_arena = is_arena(&mapping, NULL);
	if (has_mapping)
		add_mapping(ret_sums, &mapping, hints);
}
