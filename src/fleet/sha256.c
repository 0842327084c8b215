/* SPDX-License-Identifier: Apache-2.0 */
/* sha256 - SHA-256 as FIPS 180-4 defines it, block after block. */
#include "fleet/sha256.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SHA256_BLOCK = 64, SHA256_ROUNDS = 64, SHA256_WORDS = 8, SHA256_READ_BYTES = 1 << 20 };

struct sha256 {
	uint32_t state[SHA256_WORDS];
	uint32_t constants[SHA256_ROUNDS];
};

/* The first 32 bits of the fraction of a root of a prime: exact in a long double of 64 bits. */
static uint32_t fraction_of(long double root)
{
	return (uint32_t)((root - floorl(root)) * 4294967296.0L);
}

static void begin(struct sha256 *hash)
{
	int count = 0;

	for (int number = 2; count < SHA256_ROUNDS; number++) {
		bool is_prime = true;

		for (int i = 2; i * i <= number; i++)
			is_prime &= number % i != 0;
		if (!is_prime)
			continue;
		if (count < SHA256_WORDS)
			hash->state[count] = fraction_of(sqrtl(number));
		hash->constants[count++] = fraction_of(cbrtl(number));
	}
}

static inline uint32_t rotate(uint32_t word, int by)
{
	return word >> by | word << (32 - by);
}

static void add_block(struct sha256 *hash, const unsigned char *bytes)
{
	uint32_t w[SHA256_ROUNDS], s[SHA256_WORDS];

	for (int i = 0; i < 16; i++)
		w[i] = (uint32_t)bytes[4 * i] << 24 | (uint32_t)bytes[4 * i + 1] << 16 |
		       (uint32_t)bytes[4 * i + 2] << 8 | bytes[4 * i + 3];
	for (int i = 16; i < SHA256_ROUNDS; i++)
		w[i] = w[i - 16] + w[i - 7] +
		       (rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3) +
		       (rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10);
	memcpy(s, hash->state, sizeof(s));
	for (int i = 0; i < SHA256_ROUNDS; i++) {
		uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]);
		uint32_t majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
		uint32_t first = s[7] + (rotate(s[4], 6) ^ rotate(s[4], 11) ^ rotate(s[4], 25)) +
		                 choice + hash->constants[i] + w[i];
		uint32_t second = (rotate(s[0], 2) ^ rotate(s[0], 13) ^ rotate(s[0], 22)) +
		                  majority;

		memmove(&s[1], &s[0], sizeof(s) - sizeof(s[0]));
		s[4] += first;
		s[0] = first + second;
	}
	for (int i = 0; i < SHA256_WORDS; i++)
		hash->state[i] += s[i];
}

int gg_sha256_file(int fd, char hex[GG_SHA256_HEX])
{
	unsigned char *bytes = malloc(SHA256_READ_BYTES + 2 * SHA256_BLOCK);
	struct sha256 hash;
	uint64_t total = 0;
	size_t rest = 0, end;
	ssize_t count;

	if (bytes == NULL)
		return -ENOMEM;
	begin(&hash);
	while ((count = pread(fd, bytes + rest, SHA256_READ_BYTES, (off_t)total)) != 0) {
		size_t at = 0, length = rest + (size_t)(count > 0 ? count : 0);

		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0) {
			free(bytes);
			return -errno;
		}
		for (; at + SHA256_BLOCK <= length; at += SHA256_BLOCK)
			add_block(&hash, bytes + at);
		rest = length - at;
		memmove(bytes, bytes + at, rest);
		total += (uint64_t)count;
	}
	/* The end: a bit, zeros, and the number of bits. */
	end = rest + 9 <= SHA256_BLOCK ? SHA256_BLOCK : 2 * SHA256_BLOCK;
	memset(bytes + rest, 0, end - rest);
	bytes[rest] = 0x80;
	for (int i = 0; i < 8; i++)
		bytes[end - 1 - (size_t)i] = (unsigned char)(total * 8 >> 8 * i);
	for (size_t at = 0; at < end; at += SHA256_BLOCK)
		add_block(&hash, bytes + at);
	for (int i = 0; i < SHA256_WORDS; i++)
		snprintf(hex + 8 * i, 9, "%08x", hash.state[i]);
	free(bytes);
	return 0;
}
