/* SPDX-License-Identifier: Apache-2.0 */
/* cfi_file - maps an ELF file and finds its CFI, for tools and tests. */
#include "unwind/cfi/cfi_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unwind/cfi/cfi_read.h"

/*
 * Maps the whole file.  The type and size are checked first: mmap() cannot map an empty file or a
 * pipe.
 */
static int map(struct gg_cfi_file *file, const char *path, struct gg_error *error)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), status = 0;
	struct stat file_stat;
	void *bytes;

	if (fd < 0)
		return gg_error_set_errno(error, errno, path, NULL);
	if (fstat(fd, &file_stat) < 0) {
		status = gg_error_set_errno(error, errno, path, NULL);
	} else if (!S_ISREG(file_stat.st_mode) || file_stat.st_size == 0) {
		status = gg_error_set(error, -ENOEXEC, path, NULL, "not an ELF file");
	} else {
		bytes = mmap(NULL, (size_t)file_stat.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (bytes == MAP_FAILED) {
			status = gg_error_set_errno(error, errno, path, NULL);
		} else {
			file->bytes = bytes;
			file->size_bytes = (size_t)file_stat.st_size;
		}
	}
	close(fd);
	return status;
}

static struct gg_cfi_section whole(const struct gg_cfi_file *file)
{
	return (struct gg_cfi_section){ file->bytes, file->size_bytes, 0 };
}

/*
 * Reads the section header of that index.  Returns false if the file has no such section, or if the
 * section's contents are not within the file.
 */
static bool read_section_header(const struct gg_cfi_file *file, const Elf64_Ehdr *elf,
                                uint64_t index, Elf64_Shdr *ret_header)
{
	struct gg_cfi_section bytes = whole(file);
	struct cfi_reader r = reader_of(&bytes, elf->e_shoff, elf->e_shnum * sizeof(*ret_header));
	const uint8_t *place;

	if (r.failed || index >= elf->e_shnum || elf->e_shentsize != sizeof(*ret_header))
		return false;
	read_bytes(&r, index * sizeof(*ret_header));
	place = read_bytes(&r, sizeof(*ret_header));
	if (place == NULL)
		return false;
	memcpy(ret_header, place, sizeof(*ret_header));
	return !reader_of(&bytes, ret_header->sh_offset, ret_header->sh_size).failed;
}

static struct gg_cfi_section contents(const struct gg_cfi_file *file, const Elf64_Shdr *header)
{
	return (struct gg_cfi_section){ file->bytes + header->sh_offset, header->sh_size, 0 };
}

/*
 * Finds the symbol table.  .symtab wins over .dynsym, because it also has the local functions.  A
 * table counts only if its names end with a 0 byte, so that strcmp() cannot leave the file.
 */
static void find_symbols(struct gg_cfi_file *file)
{
	Elf64_Ehdr elf;
	Elf64_Shdr table, names;

	memcpy(&elf, file->bytes, sizeof(elf)); /* gg_cfi_module_from_file() checked the size */
	for (uint64_t i = 0; i < elf.e_shnum; i++) {
		if (!read_section_header(file, &elf, i, &table) ||
		    (table.sh_type != SHT_SYMTAB && table.sh_type != SHT_DYNSYM) ||
		    !read_section_header(file, &elf, table.sh_link, &names) || names.sh_size == 0 ||
		    file->bytes[names.sh_offset + names.sh_size - 1] != '\0')
			continue;
		file->symbols = contents(file, &table);
		file->names = contents(file, &names);
		if (table.sh_type == SHT_SYMTAB)
			return;
	}
}

int gg_cfi_file_open(struct gg_cfi_file *file, const char *path, struct gg_error *error)
{
	int status;

	*file = (struct gg_cfi_file){ 0 };
	status = map(file, path, error);
	if (status < 0)
		return status;
	status = gg_cfi_module_from_file(&file->module, file->bytes, file->size_bytes);
	if (status < 0) {
		gg_cfi_file_close(file);
		return gg_error_set(error, status, path, NULL,
		                    status == -ENOENT ? "it has no .eh_frame_hdr"
		                                      : "not an ELF file for x86-64 or aarch64");
	}
	find_symbols(file);
	return 0;
}

void gg_cfi_file_close(struct gg_cfi_file *file)
{
	if (file->bytes != NULL)
		munmap((void *)(uintptr_t)file->bytes, file->size_bytes);
	*file = (struct gg_cfi_file){ 0 };
}

/* Reads the symbol of that index.  Returns false if it is not a function, or is undefined. */
static bool read_symbol(const struct gg_cfi_file *file, size_t index, Elf64_Sym *ret_symbol)
{
	unsigned type;

	memcpy(ret_symbol, file->symbols.bytes + index * sizeof(*ret_symbol), sizeof(*ret_symbol));
	type = ELF64_ST_TYPE(ret_symbol->st_info);
	return (type == STT_FUNC || type == STT_GNU_IFUNC) && ret_symbol->st_shndx != SHN_UNDEF &&
	       ret_symbol->st_name < file->names.size_bytes;
}

static struct gg_cfi_symbol describe(const struct gg_cfi_file *file, const Elf64_Sym *symbol)
{
	return (struct gg_cfi_symbol){ (const char *)file->names.bytes + symbol->st_name,
		                       { symbol->st_value, symbol->st_value + symbol->st_size } };
}

int gg_cfi_file_find(const struct gg_cfi_file *file, const char *name,
                     struct gg_cfi_symbol *ret_symbol)
{
	size_t count = file->symbols.size_bytes / sizeof(Elf64_Sym);
	Elf64_Sym symbol;

	for (size_t i = 0; i < count; i++) {
		if (read_symbol(file, i, &symbol) &&
		    strcmp((const char *)file->names.bytes + symbol.st_name, name) == 0) {
			*ret_symbol = describe(file, &symbol);
			return 0;
		}
	}
	return -ENOENT;
}

int gg_cfi_file_symbol_at(const struct gg_cfi_file *file, uint64_t pc,
                          struct gg_cfi_symbol *ret_symbol)
{
	size_t count = file->symbols.size_bytes / sizeof(Elf64_Sym);
	Elf64_Sym symbol;
	int status = -ENOENT;

	for (size_t i = 0; i < count; i++) {
		if (!read_symbol(file, i, &symbol) || pc - symbol.st_value >= symbol.st_size)
			continue;
		*ret_symbol = describe(file, &symbol);
		status = 0;
		/*
		 * A global name is the one that people know, so the search goes on after a local
		 * one.
		 */
		if (ELF64_ST_BIND(symbol.st_info) != STB_LOCAL)
			break;
	}
	return status;
}
