/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cfi_build - hand-made .eh_frame sections for tests.
 *
 *   struct cfi_build b;
 *   struct cfi_cie cie = CFI_CIE_X86_64;
 *
 *   cfi_build_init(&b, GG_CFI_X86_64);
 *   cfi_build_cie(&b, &cie);
 *   cfi_build_fde(&b, 0x1000, 0x100, BYTES(0x41, 0x0e, 0x10));
 *   cfi_build_table(&b);
 *   rule = gg_cfi_rule_at(&b.module, 0x1000, NULL);
 *
 * A test that looks for reads beyond the end copies the section to a block of exactly its size, for
 * the address sanitizer to watch (fuzz/fuzz_cfi.c does so with everything).
 */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "unwind/cfi/cfi.h"

/* Bytes and how many, as two arguments. */
#define BYTES(...) (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ })
#define NO_BYTES   (const uint8_t *)"", 0

enum {
	CFI_BUILD_MAX = 4096, /* bytes; a test that needs more aborts */
	CFI_BUILD_FRAME_ADDRESS = 0x100000,
	CFI_BUILD_HDR_ADDRESS = 0x200000,
};

/* The contents of a CIE, as bytes where they may be hostile. */
struct cfi_cie {
	uint8_t version;
	const char *augmentation;
	uint8_t code_align, data_align, ra; /* one byte of LEB128 each; 0x78 is -8 */
	uint8_t data[16], data_bytes;       /* augmentation data behind its length */
	uint8_t instructions[16], instruction_bytes;
};

/* The CIE that gcc emits: pc-relative 32-bit pointers; CFA = rsp + 8, return address below it. */
#define CFI_CIE_X86_64                                                              \
	{                                                                           \
		1, "zR", 1, 0x78, 16, { 0x1b }, 1, { 0x0c, 7, 8, 0x80 | 16, 1 }, 5, \
	}
#define CFI_CIE_AARCH64                                                \
	{                                                              \
		1, "zR", 4, 0x78, 30, { 0x1b }, 1, { 0x0c, 31, 0 }, 3, \
	}

struct cfi_build {
	uint8_t frame[CFI_BUILD_MAX], hdr[CFI_BUILD_MAX];
	size_t frame_bytes, hdr_bytes, cie_offset;
	struct {
		uint64_t pc, fde;
	} entries[64];
	size_t entry_count;
	bool is_64_bit; /* lengths of the records to come */
	struct gg_cfi_module module;
};

static inline void cfi_build_init(struct cfi_build *b, enum gg_cfi_arch arch)
{
	memset(b, 0, sizeof(*b));
	b->module.arch = arch;
}

static inline void cfi_put(struct cfi_build *b, const void *bytes, size_t size)
{
	if (b->frame_bytes + size > CFI_BUILD_MAX)
		abort();
	memcpy(b->frame + b->frame_bytes, bytes, size);
	b->frame_bytes += size;
	b->module.eh_frame = (struct gg_cfi_section){ b->frame, b->frame_bytes,
		                                      CFI_BUILD_FRAME_ADDRESS };
}

static inline void cfi_put_number(struct cfi_build *b, uint64_t number, size_t size)
{
	cfi_put(b, &number, size);
}

/* Starts a record; cfi_end() puts its length. */
static inline size_t cfi_begin(struct cfi_build *b)
{
	size_t start = b->frame_bytes;

	cfi_put_number(b, b->is_64_bit ? UINT32_MAX : 0, 4);
	if (b->is_64_bit)
		cfi_put_number(b, 0, 8);
	return start;
}

static inline void cfi_end(struct cfi_build *b, size_t start)
{
	size_t place = start + (b->is_64_bit ? 4 : 0), size = b->is_64_bit ? 8 : 4;
	uint64_t length = b->frame_bytes - place - size;

	memcpy(b->frame + place, &length, size);
}

static inline void cfi_build_cie(struct cfi_build *b, const struct cfi_cie *cie)
{
	size_t start = cfi_begin(b);

	b->cie_offset = start;
	cfi_put_number(b, 0, 4);
	cfi_put_number(b, cie->version, 1);
	cfi_put(b, cie->augmentation, strlen(cie->augmentation) + 1);
	if (strncmp(cie->augmentation, "eh", 2) == 0)
		cfi_put_number(b, 0x1234, 8);
	if (cie->version == 4)
		cfi_put(b, "\x08", 2);
	cfi_put_number(b, cie->code_align, 1);
	cfi_put_number(b, cie->data_align, 1);
	cfi_put_number(b, cie->ra, 1);
	if (strchr(cie->augmentation, 'z') != NULL) {
		cfi_put_number(b, cie->data_bytes, 1);
		cfi_put(b, cie->data, cie->data_bytes);
	}
	cfi_put(b, cie->instructions, cie->instruction_bytes);
	cfi_end(b, start);
}

/* Starts an FDE with the last CIE; the pointers and the rest are the caller's to put. */
static inline size_t cfi_begin_fde(struct cfi_build *b, uint64_t pc)
{
	size_t start = cfi_begin(b);

	b->entries[b->entry_count].pc = pc;
	b->entries[b->entry_count++].fde = CFI_BUILD_FRAME_ADDRESS + start;
	cfi_put_number(b, b->frame_bytes - b->cie_offset, 4);
	return start;
}

/* A whole FDE for a CIE with "zR" and pc-relative 32-bit pointers. */
static inline void cfi_build_fde(struct cfi_build *b, uint64_t pc, uint32_t bytes,
                                 const uint8_t *instructions, size_t instruction_bytes)
{
	size_t start = cfi_begin_fde(b, pc);

	cfi_put_number(b, pc - (CFI_BUILD_FRAME_ADDRESS + b->frame_bytes), 4);
	cfi_put_number(b, bytes, 4);
	cfi_put_number(b, 0, 1); /* augmentation data */
	cfi_put(b, instructions, instruction_bytes);
	cfi_end(b, start);
}

/* The search table of all FDEs so far, in their order, as ld writes it; count as told. */
static inline void cfi_build_table_of(struct cfi_build *b, uint32_t count)
{
	const uint8_t start[] = { 1, 0x1b, 0x03, 0x3b };
	int32_t to_frame = CFI_BUILD_FRAME_ADDRESS - (CFI_BUILD_HDR_ADDRESS + 4);

	memcpy(b->hdr, start, 4);
	memcpy(b->hdr + 4, &to_frame, 4);
	memcpy(b->hdr + 8, &count, 4);
	b->hdr_bytes = 12;
	for (size_t i = 0; i < b->entry_count; i++) {
		int32_t pc = (int32_t)(b->entries[i].pc - CFI_BUILD_HDR_ADDRESS);
		int32_t fde = (int32_t)(b->entries[i].fde - CFI_BUILD_HDR_ADDRESS);

		memcpy(b->hdr + b->hdr_bytes, &pc, 4);
		memcpy(b->hdr + b->hdr_bytes + 4, &fde, 4);
		b->hdr_bytes += 8;
	}
	b->module.eh_frame_hdr = (struct gg_cfi_section){ b->hdr, b->hdr_bytes,
		                                          CFI_BUILD_HDR_ADDRESS };
}

static inline void cfi_build_table(struct cfi_build *b)
{
	cfi_build_table_of(b, (uint32_t)b->entry_count);
}
