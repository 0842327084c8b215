/* SPDX-License-Identifier: Apache-2.0 */
/*
 * smaps - parses /proc/PID/smaps line by line (process/smaps.h).
 */
#include "record/process/smaps.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/maps_line.h"

enum { SMAPS_PAGE_BYTES = 4096 };

struct smaps_mapping {
	uint64_t begin, end;
	bool is_file;    /* or shared memory */
	bool is_library; /* the agent's, or the bss behind it */
	bool is_region;
	const char *name; /* up to the end of its line */
	int64_t rss_bytes, pss_bytes, anonymous_bytes;
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
	}
}

/* True if the mapping looks like the private tables of a region (process/smaps.h). */
static bool has_tables(const struct smaps_mapping *mapping, size_t private_bytes)
{
	size_t bytes = (private_bytes + SMAPS_PAGE_BYTES - 1) / SMAPS_PAGE_BYTES * SMAPS_PAGE_BYTES;

	return private_bytes > 0 && !mapping->is_file && *mapping->name == '\n' &&
	       !mapping->has_reserve && !mapping->has_huge_pages &&
	       mapping->end - mapping->begin == bytes;
}

static void add_mapping(struct gg_smaps *sums, const struct smaps_mapping *mapping,
                        size_t private_bytes)
{
	int64_t rss = mapping->rss_bytes, pss = mapping->pss_bytes;
	/* Pages of a private file mapping that the program wrote to are anonymous memory. */
	int64_t file = mapping->is_file && rss > mapping->anonymous_bytes
	                       ? rss - mapping->anonymous_bytes
	                       : 0;

	sums->rss_bytes += rss;
	sums->pss_bytes += pss;
	if (mapping->is_region || mapping->is_library || has_tables(mapping, private_bytes)) {
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

void gg_smaps_add_up(struct gg_smaps *ret_sums, const char *text, size_t private_bytes)
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
			if (has_mapping)
				add_mapping(ret_sums, &mapping, private_bytes);
			mapping = next;
			has_mapping = true;
		}
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
	if (has_mapping)
		add_mapping(ret_sums, &mapping, private_bytes);
}
