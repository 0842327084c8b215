/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf_file - reads code segments, build-id and inode of an ELF file.
 *
 * They show whether the file is the one that a profile names.  The name comes from the profile, so
 * the file may have any content.
 *
 * Threads  any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GG_ELF_FILE_SEGMENTS_MAX = 16, GG_ELF_FILE_BUILD_ID_MAX = 64 };

struct gg_elf_file {
	uint64_t inode;
	struct {
		uint64_t offset, file_bytes, memory_bytes, address;
	} segments[GG_ELF_FILE_SEGMENTS_MAX];
	size_t segment_count; /* code segments only */
	uint8_t build_id[GG_ELF_FILE_BUILD_ID_MAX];
	size_t build_id_bytes;
};

/* Returns false unless the path names a regular 64-bit ELF file of this byte order. */
bool gg_elf_file_read(struct gg_elf_file *ret_file, const char *path);

/*
 * True if loading one of the segments would map [start, end) at that offset.  The bias is the
 * difference between an address and the address in the file.
 */
bool gg_elf_file_bias(const struct gg_elf_file *file, uint64_t start, uint64_t end, uint64_t offset,
                      uint64_t *ret_bias);
