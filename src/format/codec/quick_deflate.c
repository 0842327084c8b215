/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quick_deflate - finds repetitions by the last distance and one hash table, and writes them with
 * fixed codes.
 */
#include "format/codec/quick_deflate.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
	HASH_BITS = 12,
	MATCH_LEAST = 4,
	MATCH_MOST = 258,
	DISTANCE_MOST = 32768,
	END_OF_BLOCK = 256,
	LENGTH_CODES = 257, /* the first one */
	CODE_COUNT = 286,
	DISTANCE_COUNT = 30,
};

/* A code's bits, the first one lowest, with the extra bits of its least value: none. */
struct code {
	uint16_t bits;
	uint8_t bit_count;
};

struct quick_deflate {
	struct code codes[CODE_COUNT];
	struct code length_codes[MATCH_MOST + 1]; /* with their extra bits */
	uint8_t distance_bits[DISTANCE_COUNT];    /* the code, its first bit lowest */
	uint32_t heads[1 << HASH_BITS];           /* 1 + the last position of a hash; 0: none */
	uint64_t word;                            /* bits to write, the first one lowest */
	unsigned bit_count;
	uint32_t last_distance, last_bits; /* a distance, 0: none, and its code with extra bits */
	unsigned last_bit_count;
	uint8_t *at;
};

/* Codes are written from their highest bit on, and all other numbers from their lowest. */
static uint16_t reverse(unsigned bits, unsigned count)
{
	unsigned result = 0;

	for (unsigned i = 0; i < count; i++)
		result |= (bits >> i & 1) << (count - 1 - i);
	return (uint16_t)result;
}

/* RFC 1951, 3.2.6. */
static void make_codes(struct quick_deflate *state)
{
	unsigned extra = 0, least = 3;

	for (unsigned i = 0; i < CODE_COUNT; i++) {
		unsigned count = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
		/* Codes of a length follow each other: the code of value 0 would be this. */
		int first = i < 144 ? 0x30 : i < 256 ? 0x190 - 144 : i < 280 ? -256 : 0xc0 - 280;

		state->codes[i] = (struct code){ reverse((unsigned)(first + (int)i), count),
			                         (uint8_t)count };
	}
	/* 3.2.5: codes of lengths have one more extra bit at every fourth one from 265 on. */
	for (unsigned i = LENGTH_CODES; i < CODE_COUNT - 1; i++) {
		extra = i < 265 ? 0 : (i - 261) / 4;
		for (unsigned more = 0; more < 1u << extra && least + more < MATCH_MOST; more++)
			state->length_codes[least + more] = (struct code){
				(uint16_t)(state->codes[i].bits |
				           more << state->codes[i].bit_count),
				(uint8_t)(state->codes[i].bit_count + extra)
			};
		least += 1u << extra;
	}
	state->length_codes[MATCH_MOST] = state->codes[CODE_COUNT - 1];
	for (unsigned i = 0; i < DISTANCE_COUNT; i++)
		state->distance_bits[i] = (uint8_t)reverse(i, 5);
}

static void put(struct quick_deflate *state, uint32_t bits, unsigned count)
{
	state->word |= (uint64_t)bits << state->bit_count;
	state->bit_count += count;
}

/* Afterwards fewer than 8 bits wait. */
static void flush(struct quick_deflate *state)
{
	while (state->bit_count >= 8) {
		*state->at++ = (uint8_t)state->word;
		state->word >>= 8;
		state->bit_count -= 8;
	}
}

/* The same by one store, where the buffer has room for 8 bytes. */
static void flush_word(struct quick_deflate *state)
{
	unsigned bytes = state->bit_count / 8;

	memcpy(state->at, &state->word, sizeof(state->word));
	state->at += bytes;
	state->word = bytes < 8 ? state->word >> (8 * bytes) : 0;
	state->bit_count %= 8;
}

static void put_distance(struct quick_deflate *state, uint32_t distance)
{
	uint32_t rest = distance - 1;
	unsigned log2, extra, code;

	state->last_distance = distance;
	state->last_bits = state->distance_bits[rest < 4 ? rest : 0];
	state->last_bit_count = 5;
	if (rest >= 4) {
		log2 = 31 - (unsigned)__builtin_clz(rest);
		extra = log2 - 1;
		code = 2 * log2 + (rest >> extra & 1);
		state->last_bits = state->distance_bits[code] | (rest & ((1u << extra) - 1)) << 5;
		state->last_bit_count = 5 + extra;
	}
	put(state, state->last_bits, state->last_bit_count);
}

static uint32_t load4(const uint8_t *at)
{
	uint32_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

/* Returns how many bytes from `a` and `b` on are equal, `most` at most. */
static inline uint32_t match(const uint8_t *a, const uint8_t *b, uint32_t most)
{
	uint32_t length = 0;
	uint64_t left, right;

	while (length + 8 <= most) {
		memcpy(&left, a + length, 8);
		memcpy(&right, b + length, 8);
		if (left != right)
			return length + (uint32_t)__builtin_ctzll(left ^ right) / 8;
		length += 8;
	}
	while (length < most && a[length] == b[length])
		length++;
	return length;
}

/* The caller flushes before 64 bits are full: a match and a literal have 40 at most. */
static void put_literal(struct quick_deflate *state, uint8_t byte)
{
	put(state, state->codes[byte].bits, state->codes[byte].bit_count);
}

static void put_match(struct quick_deflate *state, uint32_t length, uint32_t distance)
{
	put(state, state->length_codes[length].bits, state->length_codes[length].bit_count);
	if (distance == state->last_distance) {
		put(state, state->last_bits, state->last_bit_count);
		return;
	}
	put_distance(state, distance);
}

/* Looks for the bytes at `at` by their hash.  Returns how many were found, and how far before. */
static uint32_t find(struct quick_deflate *state, const uint8_t *bytes, uint32_t at, uint32_t most,
                     uint32_t *ret_distance)
{
	uint32_t word = load4(bytes + at);
	uint32_t *head = &state->heads[word * 2654435761u >> (32 - HASH_BITS)];
	uint32_t then = *head;

	*head = at + 1;
	if (then == 0 || at + 1 - then > DISTANCE_MOST || load4(bytes + then - 1) != word)
		return 0;
	*ret_distance = at + 1 - then;
	return match(bytes + at, bytes + then - 1, most);
}

/*
 * Records of one length that differ in a byte or two repeat at the same distance again and again.
 * So that distance comes before the table, and the byte at which a repetition ends is a literal.
 */
static void write_block(struct quick_deflate *state, const uint8_t *bytes, uint32_t length)
{
	uint32_t at = 0, distance = 0, found, most;
	bool is_near;

	put(state, 1 << 1, 3); /* not the last block; fixed codes */
	while (at + MATCH_LEAST <= length) {
		most = length - at < MATCH_MOST ? length - at : MATCH_MOST;
		is_near = distance > 0 && load4(bytes + at) == load4(bytes + at - distance);

		found = is_near ? match(bytes + at, bytes + at - distance, most)
		                : find(state, bytes, at, most, &distance);
		if (found >= MATCH_LEAST)
			put_match(state, found, distance);
		else
			found = 0;
		at += found;
		if (at < length && found < MATCH_MOST)
			put_literal(state, bytes[at++]);
		flush_word(state);
	}
	for (; at < length; at++) {
		put_literal(state, bytes[at]);
		flush_word(state);
	}
	put(state, state->codes[END_OF_BLOCK].bits, state->codes[END_OF_BLOCK].bit_count);
	flush_word(state);
}

int gg_quick_deflate(struct gg_buf *out, const void *bytes, size_t length)
{
	static const uint8_t empty[] = { 0, 0, 0xff, 0xff };
	struct quick_deflate state;

	if (length > INT32_MAX || !gg_buf_reserve(out, length + length / 8 + 32))
		return -ENOMEM;
	memset(&state, 0, sizeof(state));
	make_codes(&state);
	state.at = (uint8_t *)out->data + out->length;
	write_block(&state, bytes, (uint32_t)length);
	put(&state, 0, 3); /* a stored block, which begins at a byte */
	state.bit_count = (state.bit_count + 7) / 8 * 8;
	flush(&state);
	memcpy(state.at, empty, sizeof(empty));
	state.at += sizeof(empty);
	out->length = (size_t)(state.at - (uint8_t *)out->data);
	out->data[out->length] = '\0';
	return 0;
}
