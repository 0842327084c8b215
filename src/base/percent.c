/* SPDX-License-Identifier: Apache-2.0 */
/* percent - parses and formats shares that people write as percent. */
#include "base/percent.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

enum { PPM_OF_ONE = GG_PPM / 100 };

int gg_percent_parse(const char *text, uint32_t *ret_ppm)
{
	uint32_t ppm = 0, digit_ppm = PPM_OF_ONE;
	const char *p = text;
	bool any = false;

	/* One step beyond the range is enough to refuse it. */
	for (; *p >= '0' && *p <= '9'; p++, any = true)
		if (ppm <= GG_PPM)
			ppm = ppm * 10 + (uint32_t)(*p - '0') * PPM_OF_ONE;
	if (*p == '.')
		for (p++; *p >= '0' && *p <= '9'; p++, any = true) {
			digit_ppm /= 10;
			if (digit_ppm == 0 && *p != '0')
				return -EINVAL;
			ppm += (uint32_t)(*p - '0') * digit_ppm;
		}
	if (*p == ' ')
		p++;
	if (!any || strcmp(p, "%") != 0)
		return -EINVAL;
	if (ppm > GG_PPM)
		return -ERANGE;
	*ret_ppm = ppm;
	return 0;
}

const char *gg_percent_format(uint32_t ppm, char text[GG_PERCENT_TEXT_MAX])
{
	char digits[GG_PERCENT_TEXT_MAX];
	uint32_t whole = ppm / PPM_OF_ONE, rest = ppm % PPM_OF_ONE;
	char *out = text;
	int count = 0;

	do {
		digits[count++] = (char)('0' + whole % 10);
		whole /= 10;
	} while (whole > 0);
	while (count > 0)
		*out++ = digits[--count];
	if (rest > 0)
		*out++ = '.';
	for (; rest > 0; rest %= PPM_OF_ONE) {
		rest *= 10;
		*out++ = (char)('0' + rest / PPM_OF_ONE);
	}
	*out++ = '%';
	*out = '\0';
	return text;
}
