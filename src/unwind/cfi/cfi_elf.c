/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cfi_elf - finds the two sections with CFI by the program headers of a module.
 *
 * PT_GNU_EH_FRAME has the address of .eh_frame_hdr, whose first pointer has the address of
 * .eh_frame.  No header has the length of .eh_frame, so the section extends to the end of its
 * segment.
 */
#include <elf.h>
#include <errno.h>
#include <stddef.h>

#include "unwind/cfi/cfi.h"
#include "unwind/cfi/cfi_read.h"

enum {
	HEADERS_MAX_BYTES = 4096 /* in memory only one page is certainly mapped */
};

struct image {
	const uint8_t *bytes; /* the ELF header */
	size_t size_bytes;
	uint64_t address; /* of the first byte in the process; 0 for a file */
	bool is_file;     /* false: the loader has mapped the segments */
	uint64_t bias;    /* real address of the virtual address 0 */
	const uint8_t *headers;
	unsigned header_count;
	enum gg_cfi_arch arch;
};

/* Copies a program header, because the headers of a file need not be aligned. */
static Elf64_Phdr header_of(const struct image *image, unsigned index)
{
	Elf64_Phdr header;

	memcpy(&header, image->headers + index * sizeof(header), sizeof(header));
	return header;
}

static int read_arch(const Elf64_Ehdr *elf, enum gg_cfi_arch *ret_arch)
{
	switch (elf->e_machine) {
	case EM_X86_64:
		*ret_arch = GG_CFI_X86_64;
		return 0;
	case EM_AARCH64:
		*ret_arch = GG_CFI_AARCH64;
		return 0;
	default:
		return -ENOEXEC;
	}
}

/*
 * Checks the ELF header and finds the program headers.  `limit` keeps both within the bytes that
 * are certainly readable, and the division keeps a large e_phnum from overflowing.
 */
static int read_headers(struct image *image)
{
	size_t limit = image->size_bytes;
	Elf64_Ehdr elf;

	if (!image->is_file && limit > HEADERS_MAX_BYTES)
		limit = HEADERS_MAX_BYTES;
	if (limit < sizeof(elf))
		return -ENOEXEC;
	memcpy(&elf, image->bytes, sizeof(elf));
	if (memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 || elf.e_ident[EI_CLASS] != ELFCLASS64 ||
	    elf.e_ident[EI_DATA] != ELFDATA2LSB || elf.e_phentsize != sizeof(Elf64_Phdr))
		return -ENOEXEC;
	if (elf.e_phoff > limit || elf.e_phnum > (limit - elf.e_phoff) / sizeof(Elf64_Phdr))
		return -ENOEXEC;
	image->headers = image->bytes + elf.e_phoff;
	image->header_count = elf.e_phnum;
	return read_arch(&elf, &image->arch);
}

/*
 * Computes the bias of a module in memory.  The ELF header is at offset 0 of the file, so the
 * segment that maps this offset tells where all others are.
 */
static int read_bias(struct image *image)
{
	image->bias = 0;
	if (image->is_file)
		return 0;
	for (unsigned i = 0; i < image->header_count; i++) {
		Elf64_Phdr header = header_of(image, i);

		if (header.p_type != PT_LOAD || header.p_offset >= HEADERS_MAX_BYTES)
			continue;
		image->bias = image->address - (header.p_vaddr - header.p_offset);
		return 0;
	}
	return -ENOEXEC;
}

/*
 * Finds the bytes from an address to the end of its segment, at most `size` of them.  Returns false
 * if no readable segment contains the address.
 */
static bool find_section(const struct image *image, uint64_t address, uint64_t size,
                         struct gg_cfi_section *ret_section)
{
	for (unsigned i = 0; i < image->header_count; i++) {
		Elf64_Phdr header = header_of(image, i);
		uint64_t offset = address - image->bias - header.p_vaddr, place;

		if (header.p_type != PT_LOAD || (header.p_flags & PF_R) == 0 ||
		    offset >= header.p_filesz)
			continue;
		/*
		 * In memory the distance from the ELF header is one of addresses; in a file, of
		 * offsets.
		 */
		place = image->is_file ? header.p_offset + offset : address - image->address;
		if (place >= image->size_bytes)
			return false;
		if (size > header.p_filesz - offset)
			size = header.p_filesz - offset;
		if (size > image->size_bytes - place)
			size = image->size_bytes - place;
		*ret_section = (struct gg_cfi_section){ image->bytes + place, size, address };
		return true;
	}
	return false;
}

static int find_hdr(const struct image *image, struct gg_cfi_section *ret_hdr)
{
	for (unsigned i = 0; i < image->header_count; i++) {
		Elf64_Phdr header = header_of(image, i);

		if (header.p_type != PT_GNU_EH_FRAME)
			continue;
		return find_section(image, image->bias + header.p_vaddr, header.p_memsz, ret_hdr)
		               ? 0
		               : -ENOEXEC;
	}
	return -ENOENT;
}

static int find_eh_frame(const struct image *image, const struct gg_cfi_section *hdr,
                         struct gg_cfi_section *ret_eh_frame)
{
	const struct bases bases = { .data = hdr->address };
	struct cfi_reader r = reader_of(hdr, 0, hdr->size_bytes);
	const uint8_t *start = read_bytes(&r, 4); /* version and three encodings */
	uint64_t address;

	if (start == NULL || start[0] != 1 || !read_encoded(&r, start[1], &bases, &address) ||
	    r.failed || !find_section(image, address, UINT64_MAX, ret_eh_frame))
		return -ENOEXEC;
	return 0;
}

static int fill(struct gg_cfi_module *ret_module, struct image *image)
{
	struct gg_cfi_module module = { 0 };
	int status = read_headers(image);

	if (status == 0)
		status = read_bias(image);
	if (status == 0)
		status = find_hdr(image, &module.eh_frame_hdr);
	if (status == 0)
		status = find_eh_frame(image, &module.eh_frame_hdr, &module.eh_frame);
	if (status < 0)
		return status;
	module.arch = image->arch;
	*ret_module = module;
	return 0;
}

int gg_cfi_module_from_copy(struct gg_cfi_module *ret_module, const void *copy, size_t bytes,
                            uint64_t address)
{
	struct image image = { .bytes = copy, .size_bytes = bytes, .address = address };
	struct gg_cfi_module module;
	int status = fill(&module, &image);

	if (status == 0 && module.arch != GG_CFI_HOST_ARCH)
		status = -ENOEXEC;
	if (status == 0)
		*ret_module = module;
	return status;
}

int gg_cfi_module_from_memory(struct gg_cfi_module *ret_module, const void *elf_header,
                              size_t map_bytes)
{
	return gg_cfi_module_from_copy(ret_module, elf_header, map_bytes,
	                               (uint64_t)(uintptr_t)elf_header);
}

int gg_cfi_module_from_file(struct gg_cfi_module *ret_module, const void *file, size_t file_bytes)
{
	struct image image = { .bytes = file, .size_bytes = file_bytes, .is_file = true };

	return fill(ret_module, &image);
}
