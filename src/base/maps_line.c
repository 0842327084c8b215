/* SPDX-License-Identifier: Apache-2.0 */
/* maps_line - parses a line from left to right; each step removes the part that it recognizes. */
#include "base/maps_line.h"

#include <sys/mman.h>

/* The part of the line that is not parsed yet. */
struct maps_rest {
	const char *at, *end;
};

static void skip_blanks(struct maps_rest *rest)
{
	while (rest->at < rest->end && (*rest->at == ' ' || *rest->at == '\t'))
		rest->at++;
}

/* Removes the character if it is the next one. */
static bool take_character(struct maps_rest *rest, char character)
{
	if (rest->at == rest->end || *rest->at != character)
		return false;
	rest->at++;
	return true;
}

/* Returns 16 for a character that is not a digit. */
static unsigned digit_of(char character)
{
	if (character >= '0' && character <= '9')
		return (unsigned)(character - '0');
	if (character >= 'a' && character <= 'f')
		return (unsigned)(character - 'a') + 10;
	return character >= 'A' && character <= 'F' ? (unsigned)(character - 'A') + 10 : 16;
}

/* Removes the digits of a number.  False: there is no digit, or the number is too large. */
static bool take_number(struct maps_rest *rest, unsigned base, uint64_t *ret_value)
{
	const char *first = rest->at;
	uint64_t value = 0;

	for (; rest->at < rest->end && digit_of(*rest->at) < base; rest->at++)
		if (__builtin_mul_overflow(value, base, &value) ||
		    __builtin_add_overflow(value, digit_of(*rest->at), &value))
			return false;
	*ret_value = value;
	return rest->at > first;
}

/* Removes the field "r-xp". */
static bool take_protection(struct maps_rest *rest, int *ret_protection)
{
	if (rest->end - rest->at < 4)
		return false;
	*ret_protection = (rest->at[0] == 'r' ? PROT_READ : 0) |
	                  (rest->at[1] == 'w' ? PROT_WRITE : 0) |
	                  (rest->at[2] == 'x' ? PROT_EXEC : 0);
	rest->at += 4;
	return true;
}

/* Removes "fe:01 1312" and returns the inode.  Without a device it removes nothing. */
static uint64_t take_inode(struct maps_rest *rest)
{
	struct maps_rest after = *rest;
	uint64_t major, minor, inode;

	if (!take_number(&after, 16, &major) || !take_character(&after, ':') ||
	    !take_number(&after, 16, &minor))
		return 0;
	skip_blanks(&after);
	*rest = after;
	if (!take_number(&after, 10, &inode))
		return 0;
	*rest = after;
	return inode;
}

bool gg_maps_line_parse(const char *text, size_t length, struct gg_maps_line *ret_line)
{
	struct maps_rest rest = { text, text };
	struct gg_maps_line line;

	while (rest.end < text + length && *rest.end != '\n')
		rest.end++;
	skip_blanks(&rest);
	if (!take_number(&rest, 16, &line.begin) || !take_character(&rest, '-') ||
	    !take_number(&rest, 16, &line.end) || line.end <= line.begin)
		return false;
	skip_blanks(&rest);
	if (!take_protection(&rest, &line.protection))
		return false;
	skip_blanks(&rest);
	if (!take_number(&rest, 16, &line.offset))
		return false;
	skip_blanks(&rest);
	line.inode = take_inode(&rest);
	skip_blanks(&rest);
	line.path = rest.at;
	line.path_bytes = (size_t)(rest.end - rest.at);
	*ret_line = line;
	return true;
}
