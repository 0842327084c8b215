/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/names/rust_punycode.h"

#include <ctype.h>
#include <string.h>

#include "symbol/names/rust_utf8.h"

/* RFC 3492, section 5. */
enum { BASE = 36, T_MIN = 1, T_MAX = 26, SKEW = 38, DAMP = 700, FIRST_BIAS = 72, FIRST_CODE = 128 };

static uint32_t adapt(uint32_t delta, uint32_t count, bool first)
{
	uint32_t k = 0;

	delta = first ? delta / DAMP : delta / 2;
	delta += delta / count;
	for (; delta > (BASE - T_MIN) * T_MAX / 2; k += BASE)
		delta /= BASE - T_MIN;
	return k + (BASE - T_MIN + 1) * delta / (delta + SKEW);
}

/* One number of variable length at *at; false if it ends early, overflows or has another digit. */
static bool number(const char **at, const char *end, uint32_t bias, uint32_t *ret_delta)
{
	uint32_t delta = 0, weight = 1, digit, step;

	for (uint32_t k = BASE;; k += BASE) {
		uint32_t threshold = k <= bias ? T_MIN : k >= bias + T_MAX ? T_MAX : k - bias;

		if (*at == end)
			return false;
		if (islower((unsigned char)**at))
			digit = (uint32_t)(**at - 'a');
		else if (isdigit((unsigned char)**at))
			digit = (uint32_t)(**at - '0') + 26;
		else
			return false;
		(*at)++;
		if (__builtin_mul_overflow(digit, weight, &step) ||
		    __builtin_add_overflow(delta, step, &delta))
			return false;
		if (digit < threshold)
			break;
		if (__builtin_mul_overflow(weight, BASE - threshold, &weight))
			return false;
	}
	*ret_delta = delta;
	return true;
}

bool gg_rust_punycode(const char *text, size_t length, struct gg_buf *out)
{
	const char *end = text + length, *separator = memrchr(text, '_', length), *at = text;
	uint32_t codes[GG_PUNYCODE_MAX], count = 0, position = 0, code = FIRST_CODE, delta;
	uint32_t bias = FIRST_BIAS;
	bool first = true;

	if (separator != NULL) {
		if (separator - text > GG_PUNYCODE_MAX)
			return false;
		for (; at < separator; at++)
			codes[count++] = (unsigned char)*at;
		at++;
	}
	while (at < end) {
		if (count == GG_PUNYCODE_MAX || !number(&at, end, bias, &delta) ||
		    __builtin_add_overflow(position, delta, &position))
			return false;
		count++;
		bias = adapt(delta, count, first);
		first = false;
		if (__builtin_add_overflow(code, position / count, &code))
			return false;
		position %= count;
		memmove(codes + position + 1, codes + position,
		        (count - 1 - position) * sizeof(codes[0]));
		codes[position++] = code;
	}
	for (uint32_t i = 0; i < count; i++)
		if (!gg_utf8_append(out, codes[i]))
			return false;
	return true;
}
