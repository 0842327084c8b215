/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/resolve/blob.h"

/* Eight tables of 256: eight bytes a step ("slicing by 8"); reflected polynomial 0x04c11db7. */
static uint32_t table[8][256];

static void fill_table(void)
{
	for (uint32_t byte = 0; byte < 256; byte++) {
		uint32_t crc = byte;

		for (int bit = 0; bit < 8; bit++)
			crc = (crc >> 1) ^ ((crc & 1) != 0 ? UINT32_C(0xedb88320) : 0);
		table[0][byte] = crc;
	}
	for (uint32_t byte = 0; byte < 256; byte++)
		for (int i = 1; i < 8; i++)
			table[i][byte] = (table[i - 1][byte] >> 8) ^
			                 table[0][table[i - 1][byte] & 255];
}

uint32_t gg_crc32(uint32_t crc, const void *bytes, size_t length)
{
	const uint8_t *at = bytes;

	if (table[0][1] == 0)
		fill_table();
	crc = ~crc;
	for (; length >= 8; length -= 8, at += 8) {
		crc ^= (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
		       (uint32_t)at[3] << 24;
		crc = table[7][crc & 255] ^ table[6][crc >> 8 & 255] ^ table[5][crc >> 16 & 255] ^
		      table[4][crc >> 24] ^ table[3][at[4]] ^ table[2][at[5]] ^ table[1][at[6]] ^
		      table[0][at[7]];
	}
	for (; length > 0; length--, at++)
		crc = (crc >> 8) ^ table[0][(crc ^ *at) & 255];
	return ~crc;
}
