/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SipHash: J.-P. Aumasson, D. J. Bernstein, "SipHash: a fast short-input PRF" (2012), with two
 * rounds a word and four at the end; the variant of 128 bits is that of its authors.
 */
#include "fleet/fleet_ids.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum id_kind { KIND_SERVICE = 1, KIND_HOST, KIND_LABEL, KIND_SERIES, KIND_NATIVE, KIND_NAMED };

enum { WORD = 8, ROUNDS_WORD = 2, ROUNDS_END = 4 };

static const unsigned char id_key[17] = "geiger-fleet-ids";

struct sip {
	uint64_t v0, v1, v2, v3;
	uint64_t tail; /* bytes that do not yet fill a word */
	size_t length;
};

static inline uint64_t rotate(uint64_t x, int bits)
{
	return x << bits | x >> (64 - bits);
}

static void run_rounds(struct sip *sip, int count)
{
	for (; count > 0; count--) {
		sip->v0 += sip->v1;
		sip->v1 = rotate(sip->v1, 13) ^ sip->v0;
		sip->v0 = rotate(sip->v0, 32);
		sip->v2 += sip->v3;
		sip->v3 = rotate(sip->v3, 16) ^ sip->v2;
		sip->v0 += sip->v3;
		sip->v3 = rotate(sip->v3, 21) ^ sip->v0;
		sip->v2 += sip->v1;
		sip->v1 = rotate(sip->v1, 17) ^ sip->v2;
		sip->v2 = rotate(sip->v2, 32);
	}
}

static uint64_t read_word(const unsigned char *bytes)
{
	uint64_t word = 0;

	for (int i = WORD - 1; i >= 0; i--)
		word = word << 8 | bytes[i];
	return word;
}

static struct sip begin(const unsigned char *key)
{
	uint64_t k0 = read_word(key), k1 = read_word(key + WORD);

	return (struct sip){
		.v0 = k0 ^ UINT64_C(0x736f6d6570736575),
		.v1 = k1 ^ UINT64_C(0x646f72616e646f6d),
		.v2 = k0 ^ UINT64_C(0x6c7967656e657261),
		.v3 = k1 ^ UINT64_C(0x7465646279746573),
	};
}

static void take_word(struct sip *sip, uint64_t word)
{
	sip->v3 ^= word;
	run_rounds(sip, ROUNDS_WORD);
	sip->v0 ^= word;
}

static void add_bytes(struct sip *sip, const void *bytes, size_t length)
{
	const unsigned char *p = bytes;

	for (; length > 0; length--) {
		sip->tail |= (uint64_t)*p++ << 8 * (sip->length % WORD);
		if (++sip->length % WORD == 0) {
			take_word(sip, sip->tail);
			sip->tail = 0;
		}
	}
}

static void add_number(struct sip *sip, uint64_t number)
{
	unsigned char bytes[WORD];

	for (int i = 0; i < WORD; i++)
		bytes[i] = (unsigned char)(number >> 8 * i);
	add_bytes(sip, bytes, WORD);
}

static void add_text(struct sip *sip, const char *text)
{
	size_t length = text != NULL ? strlen(text) : 0;

	add_number(sip, length);
	add_bytes(sip, text, length);
}

static uint64_t end(struct sip *sip)
{
	take_word(sip, sip->tail | (uint64_t)(sip->length & 0xff) << 56);
	sip->v2 ^= 0xff;
	run_rounds(sip, ROUNDS_END);
	return sip->v0 ^ sip->v1 ^ sip->v2 ^ sip->v3;
}

static void write_word(unsigned char *bytes, uint64_t word)
{
	for (int i = 0; i < WORD; i++)
		bytes[i] = (unsigned char)(word >> 8 * i);
}

static void end128(struct sip *sip, unsigned char ret_hash[16])
{
	take_word(sip, sip->tail | (uint64_t)(sip->length & 0xff) << 56);
	sip->v2 ^= 0xee;
	run_rounds(sip, ROUNDS_END);
	write_word(ret_hash, sip->v0 ^ sip->v1 ^ sip->v2 ^ sip->v3);
	sip->v1 ^= 0xdd;
	run_rounds(sip, ROUNDS_END);
	write_word(ret_hash + WORD, sip->v0 ^ sip->v1 ^ sip->v2 ^ sip->v3);
}

uint64_t gg_fleet_siphash64(const void *bytes, size_t length, const unsigned char *key)
{
	struct sip sip = begin(key);

	add_bytes(&sip, bytes, length);
	return end(&sip);
}

void gg_fleet_siphash128(const void *bytes, size_t length, const unsigned char *key,
                         unsigned char ret_hash[16])
{
	struct sip sip = begin(key);

	/* The long variant differs from the short one in its first state and in its end. */
	sip.v1 ^= 0xee;
	add_bytes(&sip, bytes, length);
	end128(&sip, ret_hash);
}

static struct sip begin_id(enum id_kind kind)
{
	struct sip sip = begin(id_key);
	unsigned char byte = (unsigned char)kind;

	add_bytes(&sip, &byte, 1);
	return sip;
}

static uint64_t end_id(struct sip *sip)
{
	uint64_t id = end(sip);

	return id != 0 ? id : 1;
}

static uint64_t text_id(enum id_kind kind, const char *text)
{
	struct sip sip = begin_id(kind);

	add_text(&sip, text);
	return end_id(&sip);
}

uint64_t gg_fleet_service_id(const char *name)
{
	return text_id(KIND_SERVICE, name);
}

uint64_t gg_fleet_host_id(const char *name)
{
	return text_id(KIND_HOST, name);
}

uint64_t gg_fleet_series_id(const struct gg_fleet_series *series)
{
	struct sip sip = begin_id(KIND_SERIES);
	uint64_t labels = 0;

	add_text(&sip, series->service);
	add_text(&sip, series->version);
	add_text(&sip, series->kind);
	add_text(&sip, series->heap);
	add_text(&sip, series->type);
	/* A sum of hashes does not depend on the order. */
	for (size_t i = 0; i < series->label_count; i++) {
		struct sip label = begin_id(KIND_LABEL);

		add_text(&label, series->labels[i].key);
		add_text(&label, series->labels[i].value);
		labels += end(&label);
	}
	add_number(&sip, series->label_count);
	add_number(&sip, labels);
	return end_id(&sip);
}

uint64_t gg_fleet_native_frame_id(const char *build_id, const char *module, uint64_t address)
{
	struct sip sip = begin_id(KIND_NATIVE);
	bool is_built = build_id != NULL && build_id[0] != '\0';

	add_text(&sip, build_id);
	add_text(&sip, is_built ? NULL : module);
	add_number(&sip, address);
	return end_id(&sip);
}

uint64_t gg_fleet_named_frame_id(const char *function, const char *file, uint32_t line)
{
	struct sip sip = begin_id(KIND_NAMED);

	add_text(&sip, function);
	add_text(&sip, file);
	add_number(&sip, line);
	return end_id(&sip);
}

struct gg_fleet_stack_id gg_fleet_stack_id(const uint64_t *frames, size_t count)
{
	struct gg_fleet_stack_id id = { 0 };
	struct sip sip = begin(id_key);

	sip.v1 ^= 0xee;
	add_number(&sip, count);
	for (size_t i = 0; i < count; i++)
		add_number(&sip, frames[i]);
	end128(&sip, id.bytes);
	return id;
}

size_t gg_fleet_read_build_id(const char *hex, size_t length, uint8_t *bytes, size_t max)
{
	if (length % 2 != 0 || length / 2 > max)
		return 0;
	for (size_t i = 0; i < length / 2; i++) {
		char digits[3] = { hex[2 * i], hex[2 * i + 1], '\0' };

		if (!isxdigit((unsigned char)digits[0]) || !isxdigit((unsigned char)digits[1]))
			return 0;
		bytes[i] = (uint8_t)strtoul(digits, NULL, 16);
	}
	return length / 2;
}
