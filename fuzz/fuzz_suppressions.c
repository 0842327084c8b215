/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hostile files of suppressions: read or refused with a line, and each pattern of a file is matched
 * against a name, for which a slow search over all places of the stars must find the same.
 *
 * The input is a name, a zero byte, and the file.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "query/suppressions.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
	if (!condition)
		abort();
}

/*
 * Whether the pattern's first `p` characters match the name's from `from` to its first `n`, by a
 * table: cell [p][n] from cells before it.
 */
static bool matches_slowly(const char *pattern, const char *name)
{
	size_t pattern_bytes = strlen(pattern), name_bytes = strlen(name), width = name_bytes + 1;
	bool from_begin = pattern_bytes > 0 && pattern[0] == '^';
	bool to_end;
	bool *cells, result = false;

	pattern += from_begin;
	pattern_bytes -= from_begin;
	to_end = pattern_bytes > 0 && pattern[pattern_bytes - 1] == '$';
	pattern_bytes -= to_end;
	cells = calloc((pattern_bytes + 1) * width, sizeof(*cells));
	require(cells != NULL);
	for (size_t n = 0; n <= name_bytes; n++)
		cells[n] = n == 0 || !from_begin;
	for (size_t p = 1; p <= pattern_bytes; p++)
		for (size_t n = 0; n <= name_bytes; n++) {
			const bool *above = &cells[(p - 1) * width];

			if (pattern[p - 1] == '*')
				cells[p * width + n] = above[n] ||
				                       (n > 0 && cells[p * width + n - 1]);
			else
				cells[p * width + n] = n > 0 && above[n - 1] &&
				                       pattern[p - 1] == name[n - 1];
		}
	for (size_t n = 0; n <= name_bytes; n++)
		result |= cells[pattern_bytes * width + n] && (!to_end || n == name_bytes);
	free(cells);
	return result;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gg_suppressions suppressions;
	struct gg_error error = { 0 };
	char *text = calloc(1, size + 2);
	const char *name = text, *file;
	int status;

	require(text != NULL);
	memcpy(text, data, size);
	file = text + strlen(name) + 1;
	status = gg_suppressions_parse(&suppressions, file, "input", &error);
	require(status == 0 || (status == -EINVAL && error.message[0] != '\0'));
	if (status == 0) {
		for (size_t i = 0; i < suppressions.patterns.count; i++) {
			const char *pattern = suppressions.patterns.items[i];

			require(gg_suppression_matches(pattern, name) ==
			        matches_slowly(pattern, name));
		}
		gg_suppressions_done(&suppressions);
	}
	free(text);
	return 0;
}
