/* SPDX-License-Identifier: Apache-2.0 */
/* size - parses and formats numbers of bytes. */
#include "base/size.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char unit_letters[] = "KMGTPE";

/* Returns the factor of a unit, or 0 if the text is not a unit. */
static uint64_t unit_factor(const char *unit)
{
	const char *rest;
	uint64_t base, factor = 1;
	size_t power;

	if (unit[0] == '\0' || strcasecmp(unit, "B") == 0)
		return 1;
	for (power = 0; unit_letters[power] != '\0'; power++)
		/* Clearing bit 5 turns a lower-case ASCII letter into its upper-case form. */
		if ((unit[0] & ~0x20) == unit_letters[power])
			break;
	if (unit_letters[power] == '\0')
		return 0;
	rest = unit + 1;
	if (rest[0] == '\0' || strcasecmp(rest, "iB") == 0)
		base = 1024;
	else if (strcasecmp(rest, "B") == 0)
		base = 1000;
	else
		return 0;
	for (size_t i = 0; i <= power; i++)
		factor *= base; /* at most 1024^6 = 2^60 */
	return factor;
}

int gg_size_parse(const char *text, uint64_t *ret_bytes)
{
	unsigned __int128 whole = 0, fraction = 0, scale = 1, bytes;
	const char *p = text;
	bool any = false;
	uint64_t factor;

	for (; *p >= '0' && *p <= '9'; p++, any = true)
		/*
		 * Stops at the first value above 2^64 - 1: it is out of range anyway, and 128 bits
		 * would overflow.
		 */
		if (whole <= UINT64_MAX)
			whole = whole * 10 + (unsigned)(*p - '0');
	if (*p == '.') {
		for (p++; *p >= '0' && *p <= '9'; p++, any = true) {
			/*
			 * 18 digits resolve less than a byte of an exbibyte, and 10^18 * 2^60 fits
			 * into 128 bits.
			 */
			if (scale < 1000000000000000000u) {
				fraction = fraction * 10 + (unsigned)(*p - '0');
				scale *= 10;
			}
		}
	}
	if (!any)
		return -EINVAL;
	while (*p == ' ')
		p++;
	factor = unit_factor(p);
	if (factor == 0)
		return -EINVAL;
	if (whole > UINT64_MAX)
		return -ERANGE;
	bytes = whole * factor + (fraction * factor + scale / 2) / scale;
	if (bytes > UINT64_MAX)
		return -ERANGE;
	*ret_bytes = (uint64_t)bytes;
	return 0;
}

const char *gg_size_format(double bytes, char text[GG_SIZE_TEXT_MAX])
{
	const char *sign = bytes < 0 ? "-" : "";
	double value = bytes < 0 ? -bytes : bytes;
	size_t power = 0;

	/* A value that would print as 1024 of a unit prints as 1 of the next unit. */
	while (value >= 1023.95 && unit_letters[power] != '\0') {
		value /= 1024;
		power++;
	}
	if (power == 0)
		snprintf(text, GG_SIZE_TEXT_MAX, "%s%.0f B", sign, value);
	else if (value >= 1023.95) /* beyond the units, or not finite */
		snprintf(text, GG_SIZE_TEXT_MAX, "%s%.1e EiB", sign, value);
	else if (value < 10)
		snprintf(text, GG_SIZE_TEXT_MAX, "%s%.2f %ciB", sign, value,
		         unit_letters[power - 1]);
	else
		snprintf(text, GG_SIZE_TEXT_MAX, "%s%.1f %ciB", sign, value,
		         unit_letters[power - 1]);
	return text;
}

const char *gg_size_format_short(double bytes, char text[GG_SIZE_TEXT_MAX])
{
	char *unit, *end;

	gg_size_format(bytes, text);
	unit = strchr(text, ' ');
	if (unit == NULL || memchr(text, '.', (size_t)(unit - text)) == NULL ||
	    memchr(text, 'e', (size_t)(unit - text)) != NULL)
		return text;
	for (end = unit; end[-1] == '0'; end--)
		;
	if (end[-1] == '.')
		end--;
	memmove(end, unit, strlen(unit) + 1);
	return text;
}
