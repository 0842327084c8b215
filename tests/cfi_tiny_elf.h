/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cfi_tiny_elf - the smallest ELF file that has CFI: one function, [0x1000, 0x1100).
 *
 *   struct tiny_elf tiny;
 *
 *   tiny_elf_init(&tiny, EM_X86_64, BYTES(0x0e, 16));
 *   gg_cfi_module_from_file(&module, &tiny, sizeof(tiny));
 */
#pragma once

#include <elf.h>
#include <stddef.h>

#include "cfi_build.h"

/* A file of one function at 0x1000 with everything that the code reads. */
struct tiny_elf {
	Elf64_Ehdr header;
	Elf64_Phdr segments[3];
	uint8_t hdr[20], eh_frame[64];
};

/* Its segments. */
enum { LOAD, CODE, EH_FRAME };

static inline void tiny_elf_init(struct tiny_elf *t, uint16_t machine, const uint8_t *instructions,
                                 size_t instruction_bytes)
{
	static const struct cfi_cie x86_64 = CFI_CIE_X86_64, aarch64 = CFI_CIE_AARCH64;
	const uint32_t hdr_offset = offsetof(struct tiny_elf, hdr);
	const uint32_t frame_offset = offsetof(struct tiny_elf, eh_frame);
	struct cfi_build b;
	int32_t number;

	memset(t, 0, sizeof(*t));
	memcpy(t->header.e_ident, ELFMAG "\x02\x01\x01", 7);
	t->header.e_machine = machine;
	t->header.e_phoff = offsetof(struct tiny_elf, segments);
	t->header.e_phentsize = sizeof(Elf64_Phdr);
	t->header.e_phnum = 3;
	t->segments[LOAD] = (Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_R };
	t->segments[LOAD].p_filesz = t->segments[LOAD].p_memsz = sizeof(*t);
	t->segments[CODE] = (Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_X };
	t->segments[CODE].p_offset = t->segments[CODE].p_vaddr = 0x1000;
	t->segments[CODE].p_filesz = t->segments[CODE].p_memsz = 0x100;
	t->segments[EH_FRAME] = (Elf64_Phdr){ .p_type = PT_GNU_EH_FRAME, .p_flags = PF_R };
	t->segments[EH_FRAME].p_offset = t->segments[EH_FRAME].p_vaddr = hdr_offset;
	t->segments[EH_FRAME].p_filesz = t->segments[EH_FRAME].p_memsz = sizeof(t->hdr);

	cfi_build_init(&b, GG_CFI_X86_64);
	cfi_build_cie(&b, machine == EM_X86_64 ? &x86_64 : &aarch64);
	/* The builder's section is at another address: move the pc along. */
	cfi_build_fde(&b, 0x1000 + CFI_BUILD_FRAME_ADDRESS - frame_offset, 0x100, instructions,
	              instruction_bytes);
	memcpy(t->eh_frame, b.frame, b.frame_bytes);
	memcpy(t->hdr, "\x01\x1b\x03\x3b", 4);
	number = (int32_t)(frame_offset - (hdr_offset + 4));
	memcpy(t->hdr + 4, &number, 4);
	number = 1;
	memcpy(t->hdr + 8, &number, 4);
	number = 0x1000 - (int32_t)hdr_offset;
	memcpy(t->hdr + 12, &number, 4);
	number = (int32_t)(b.entries[0].fde - CFI_BUILD_FRAME_ADDRESS + frame_offset - hdr_offset);
	memcpy(t->hdr + 16, &number, 4);
}
