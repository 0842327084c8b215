/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cfi_read - reads the bytes of a section, never beyond its end.
 *
 *   struct cfi_reader r = reader_of(&module->eh_frame, offset, size);
 *   uint32_t length = read_u32(&r);
 *   if (r.failed)
 *           ...
 *
 * A read that would leave the range sets `failed`, moves to the end, and returns 0; so do all later
 * reads.  The caller reads a record without a test for each field, and checks `failed` once.
 *
 * Internal to src/unwind.  Everything is little-endian, as both architectures are.
 */
#pragma once

#include "base/compiler.h"
#include "unwind/cfi/cfi.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "fields are read as they lie");

struct cfi_reader {
	const uint8_t *at, *end; /* at <= end */
	uint64_t address;        /* address of `end`; the address of *at is address - (end - at) */
	bool failed;
};

/*
 * Returns a reader of the bytes [offset, offset + size) of the section.  If they are not all within
 * it, the reader is empty and failed.
 */
static inline struct cfi_reader reader_of(const struct gg_cfi_section *section, uint64_t offset,
                                          uint64_t size)
{
	struct cfi_reader r = { section->bytes, section->bytes, section->address, true };

	if (section->bytes == NULL || offset > section->size_bytes ||
	    size > section->size_bytes - offset)
		return r;
	r.at += offset;
	r.end = r.at + size;
	r.address += offset + size;
	r.failed = false;
	return r;
}

static inline size_t reader_left(const struct cfi_reader *r)
{
	return (size_t)(r->end - r->at);
}

static inline uint64_t reader_address(const struct cfi_reader *r)
{
	return r->address - reader_left(r);
}

/* Returns the next `size` bytes, or NULL. */
static inline const uint8_t *read_bytes(struct cfi_reader *r, uint64_t size)
{
	const uint8_t *bytes = r->at;

	if (gg_unlikely(size > reader_left(r))) {
		r->failed = true;
		r->at = r->end;
		return NULL;
	}
	r->at += size;
	return bytes;
}

/* Reads an integer of 1, 2, 4, or 8 bytes. */
static inline uint64_t read_unsigned(struct cfi_reader *r, unsigned size)
{
	const uint8_t *bytes = read_bytes(r, size);
	uint64_t value = 0;

	if (bytes != NULL)
		memcpy(&value, bytes, size);
	return value;
}

static inline int64_t read_signed(struct cfi_reader *r, unsigned size)
{
	unsigned unused_bits = 64 - 8 * size;

	return (int64_t)(read_unsigned(r, size) << unused_bits) >> unused_bits;
}

static inline uint8_t read_u8(struct cfi_reader *r)
{
	return (uint8_t)read_unsigned(r, 1);
}

static inline uint16_t read_u16(struct cfi_reader *r)
{
	return (uint16_t)read_unsigned(r, 2);
}

static inline uint32_t read_u32(struct cfi_reader *r)
{
	return (uint32_t)read_unsigned(r, 4);
}

static inline uint64_t read_u64(struct cfi_reader *r)
{
	return read_unsigned(r, 8);
}

enum {
	LEB_BITS_MAX = 70 /* 64 bits need ten bytes; longer numbers fail */
};

/*
 * Reads an LEB128 number: 7 bits a byte, the lowest first; the top bit is set if another byte
 * follows.
 */
static inline uint64_t read_uleb(struct cfi_reader *r)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < LEB_BITS_MAX; shift += 7) {
		uint8_t byte = read_u8(r);

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (gg_likely((byte & 0x80) == 0))
			return value;
	}
	r->failed = true;
	return 0;
}

/* Reads an LEB128 number in two's complement: bit 6 of the last byte is the sign. */
static inline int64_t read_sleb(struct cfi_reader *r)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < LEB_BITS_MAX; shift += 7) {
		uint8_t byte = read_u8(r);

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (gg_unlikely((byte & 0x80) != 0))
			continue;
		if ((byte & 0x40) != 0 && shift + 7 < 64)
			value |= UINT64_MAX << (shift + 7);
		return (int64_t)value;
	}
	r->failed = true;
	return 0;
}

/* Encodings of pointers (LSB, "DWARF Exception Header Encoding"). */
enum {
	PE_ABSPTR = 0x00,
	PE_ULEB = 0x01,
	PE_UDATA2 = 0x02,
	PE_UDATA4 = 0x03,
	PE_UDATA8 = 0x04,
	PE_SLEB = 0x09,
	PE_SDATA2 = 0x0a,
	PE_SDATA4 = 0x0b,
	PE_SDATA8 = 0x0c,
	PE_FORMAT = 0x0f, /* mask */

	PE_PCREL = 0x10,
	PE_TEXTREL = 0x20,
	PE_DATAREL = 0x30,
	PE_FUNCREL = 0x40,
	PE_ALIGNED = 0x50,
	PE_BASE = 0x70, /* mask */

	PE_INDIRECT = 0x80,
	PE_OMIT = 0xff,
};

/* The bases to which a pointer may be relative. */
struct bases {
	uint64_t text, data, function;
};

/* Returns how many bytes a format takes; 0 for LEB128 and for an undefined format. */
static inline unsigned encoded_size(uint8_t encoding)
{
	switch (encoding & PE_FORMAT) {
	case PE_UDATA2:
	case PE_SDATA2:
		return 2;
	case PE_UDATA4:
	case PE_SDATA4:
		return 4;
	case PE_ABSPTR:
	case PE_UDATA8:
	case PE_SDATA8:
		return 8;
	default:
		return 0;
	}
}

/* Reads a number without a base, such as a PC-range.  Returns false for an undefined format. */
static inline bool read_encoded_number(struct cfi_reader *r, uint8_t encoding, uint64_t *ret_value)
{
	unsigned size = encoded_size(encoding);

	switch (encoding & PE_FORMAT) {
	case PE_ULEB:
		*ret_value = read_uleb(r);
		return true;
	case PE_SLEB:
		*ret_value = (uint64_t)read_sleb(r);
		return true;
	case PE_SDATA2:
	case PE_SDATA4:
	case PE_SDATA8:
		*ret_value = (uint64_t)read_signed(r, size);
		return true;
	default:
		if (size == 0)
			return false;
		*ret_value = read_unsigned(r, size);
		return true;
	}
}

/*
 * Reads a pointer to code or to a record.  Returns false for undefined encodings, and for encodings
 * that only data pointers have: an indirect one would have to be read from outside the section.  A
 * number of 0 is the null pointer whatever its base is; linkers leave it for functions that they
 * dropped.
 */
static inline bool read_encoded(struct cfi_reader *r, uint8_t encoding, const struct bases *bases,
                                uint64_t *ret_value)
{
	uint64_t address = reader_address(r), base, value = 0;

	switch (encoding & (PE_BASE | PE_INDIRECT)) {
	case PE_ABSPTR:
		base = 0;
		break;
	case PE_PCREL:
		base = address;
		break;
	case PE_TEXTREL:
		base = bases->text;
		break;
	case PE_DATAREL:
		base = bases->data;
		break;
	case PE_FUNCREL:
		base = bases->function;
		break;
	case PE_ALIGNED:
		read_bytes(r, -address & 7);
		base = 0;
		encoding = PE_ABSPTR;
		break;
	default:
		return false;
	}
	if (!read_encoded_number(r, encoding, &value))
		return false;
	*ret_value = value == 0 ? 0 : base + value;
	return true;
}
