/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_maps - reads the file once, and parses the copy line by line (base/maps_line.h).
 *
 * It does without stdio, which allocates.
 */
#include "runtime/modules/proc_maps.h"

#include <string.h>

#include "runtime/syscalls.h"

bool gg_proc_maps_read(struct gg_proc_maps *ret_maps)
{
	ssize_t length = 0;

	ret_maps->text = gg_syscall_map(GG_PROC_MAPS_BYTES);
	if (ret_maps->text != NULL)
		length = gg_syscall_read_file("/proc/self/maps", ret_maps->text,
		                              GG_PROC_MAPS_BYTES - 1);
	ret_maps->length = length > 0 ? (size_t)length : 0;
	return length > 0;
}

void gg_proc_maps_done(struct gg_proc_maps *maps)
{
	if (maps->text != NULL)
		gg_syscall_unmap(maps->text, GG_PROC_MAPS_BYTES);
	*maps = (struct gg_proc_maps){ 0 };
}

/*
 * The text ends in a 0 byte, because the mapping is zeroed and larger.  A last line without its end
 * was truncated, and is skipped.
 */
bool gg_proc_maps_next(const struct gg_proc_maps *maps, size_t *at, struct gg_maps_line *ret_line)
{
	while (maps->text != NULL && *at < maps->length) {
		const char *text = maps->text + *at, *end = strchr(text, '\n');

		if (end == NULL)
			return false;
		*at = (size_t)(end + 1 - maps->text);
		if (gg_maps_line_parse(text, (size_t)(end - text), ret_line))
			return true;
	}
	return false;
}

bool gg_proc_maps_find(const struct gg_proc_maps *maps, uint64_t address,
                       struct gg_maps_line *ret_line)
{
	struct gg_maps_line line;

	for (size_t at = 0; gg_proc_maps_next(maps, &at, &line);)
		if (address - line.begin < line.end - line.begin) {
			*ret_line = line;
			return true;
		}
	return false;
}
