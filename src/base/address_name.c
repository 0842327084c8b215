/* SPDX-License-Identifier: Apache-2.0 */
/* address_name - makes and recognizes names such as "git+0x289600". */
#include "base/address_name.h"

#include <inttypes.h>
#include <string.h>

#include "base/path.h"

#define DELETED " (deleted)"

/* The length of a file's name without the " (deleted)" that the kernel appends to removed files. */
static size_t length_of(const char *base)
{
	size_t length = strlen(base), suffix = strlen(DELETED);

	return length > suffix && strcmp(base + length - suffix, DELETED) == 0 ? length - suffix
	                                                                       : length;
}

void gg_address_name_append(const char *path, uint64_t address, struct gg_buf *out)
{
	const char *base = gg_path_base(path);

	if (base != NULL && base[0] != '\0')
		gg_buf_printf(out, "%.*s+", (int)length_of(base), base);
	gg_buf_printf(out, "0x%" PRIx64, address);
}

/* True for "+0x" and 1 to 16 hexadecimal digits, as printf() writes them. */
static bool is_offset(const char *text)
{
	size_t digits;

	if (strncmp(text, "+0x", strlen("+0x")) != 0)
		return false;
	digits = strspn(text + strlen("+0x"), "0123456789abcdef");
	return digits >= 1 && digits <= 16 && text[strlen("+0x") + digits] == '\0';
}

bool gg_address_name_is(const char *text, const char *path)
{
	const char *plus = strrchr(text, '+'), *base = gg_path_base(path);
	size_t length;

	if (plus == NULL || plus == text || !is_offset(plus))
		return false;
	if (base == NULL)
		return true;
	length = length_of(base);
	return length == (size_t)(plus - text) && memcmp(text, base, length) == 0;
}
