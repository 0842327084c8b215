/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_maps - reads the file once, and parses the copy line by line.
 *
 * It does without stdio, which allocates.
 */
#include "runtime/modules/proc_maps.h"

#include <string.h>
#include <sys/mman.h>

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

/* Reads hexadecimal digits, and skips the character after them. */
static uint64_t read_hex(const char **at)
{
	uint64_t value = 0;

	for (;; (*at)++) {
		char c = **at;

		if (c >= '0' && c <= '9')
			value = value << 4 | (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			value = value << 4 | (uint64_t)(c - 'a' + 10);
		else
			break;
	}
	if (**at != '\0')
		(*at)++;
	return value;
}

/* Skips the rest of a field and the blanks after it; never leaves the line. */
static const char *skip_field(const char *at)
{
	while (*at != '\0' && *at != '\n' && *at != ' ')
		at++;
	while (*at == ' ')
		at++;
	return at;
}

/*
 * Parses "BEGIN-END PERMISSIONS OFFSET DEVICE INODE [PATH]".  The text ends in a 0 byte, because
 * the mapping is zeroed and larger.  A last line without its end was truncated, and is skipped.
 */
bool gg_proc_maps_next(const struct gg_proc_maps *maps, size_t *at,
                       struct gg_proc_maps_line *ret_line)
{
	const char *end, *field = maps->text;
	struct gg_proc_maps_line line = { 0 };

	if (field == NULL || *at >= maps->length)
		return false;
	field += *at;
	end = strchr(field, '\n');
	if (end == NULL)
		return false;
	line.begin = read_hex(&field);
	line.end = read_hex(&field);
	line.protection = (field[0] == 'r' ? PROT_READ : 0) | (field[1] == 'w' ? PROT_WRITE : 0) |
	                  (field[2] == 'x' ? PROT_EXEC : 0);
	field = skip_field(field);
	line.offset = read_hex(&field);
	field = skip_field(field);
	for (const char *digit = field; *digit >= '0' && *digit <= '9'; digit++)
		line.inode = line.inode * 10 + (uint64_t)(*digit - '0');
	field = skip_field(field);
	line.path = field;
	line.path_bytes = (size_t)(end - field);
	*at = (size_t)(end + 1 - maps->text);
	*ret_line = line;
	return true;
}

bool gg_proc_maps_find(const struct gg_proc_maps *maps, uint64_t address,
                       struct gg_proc_maps_line *ret_line)
{
	struct gg_proc_maps_line line;

	for (size_t at = 0; gg_proc_maps_next(maps, &at, &line);)
		if (address - line.begin < line.end - line.begin) {
			*ret_line = line;
			return true;
		}
	return false;
}
