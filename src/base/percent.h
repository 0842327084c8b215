/* SPDX-License-Identifier: Apache-2.0 */
/*
 * percent - parses and formats shares that people write as percent: "0.5%", "12 %".
 *
 * A share is a whole number of millionths (ppm), so that a region and a program agree on it to the
 * bit: 0.5% is 5000.
 */
#pragma once

#include <stdint.h>

enum { GG_PERCENT_TEXT_MAX = 16, GG_PPM = 1000000 };

/*
 * Parses "NUMBER%" with up to four decimals; a blank may precede the sign.  Returns 0, -EINVAL for
 * any other text, or -ERANGE above 100 %.
 */
int gg_percent_parse(const char *text, uint32_t *ret_ppm);

/* Formats a share with as many decimals as it needs: "0.5%".  Returns `text`. */
const char *gg_percent_format(uint32_t ppm, char text[GG_PERCENT_TEXT_MAX]);
