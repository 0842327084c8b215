/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf_file - what is needed of an ELF file to tell whether it is the one that a profile names: segments of
 * code, build-id, inode.  The file may be anything: a name out of somebody's profile.
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
	size_t segment_count; /* of code */
	uint8_t build_id[GG_ELF_FILE_BUILD_ID_MAX];
	size_t build_id_bytes;
};

/* False where there is no regular file of that name or it is no 64-bit ELF file of this byte order. */
bool gg_elf_file_read(struct gg_elf_file *ret_file, const char *path);

/*
 * Is [start, end) at that offset what loading one of the segments makes?  Then address = bias + address in
 * the file.
 */
bool gg_elf_file_bias(const struct gg_elf_file *file, uint64_t start, uint64_t end, uint64_t offset,
                      uint64_t *ret_bias);
