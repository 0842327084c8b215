/* SPDX-License-Identifier: Apache-2.0 */
/* elf_file - reads the program headers and notes of an ELF file. */
#include "format/import/elf_file.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/elf_note.h"

enum { HEADERS_MAX = 64, NOTES_MAX = 4096 };

static bool read_at(int fd, void *to, size_t length, uint64_t offset)
{
	return offset <= INT64_MAX && pread(fd, to, length, (off_t)offset) == (ssize_t)length;
}

/* Finds the build-id in the notes of a segment. */
static void find_build_id(struct gg_elf_file *file, int fd, const Elf64_Phdr *header)
{
	uint8_t notes[NOTES_MAX];
	size_t length = header->p_filesz < sizeof(notes) ? (size_t)header->p_filesz : sizeof(notes);
	const uint8_t *build_id;
	size_t build_id_bytes;

	if (!read_at(fd, notes, length, header->p_offset))
		return;
	build_id_bytes = gg_elf_note_build_id(notes, length, &build_id);
	if (build_id_bytes == 0 || build_id_bytes > GG_ELF_FILE_BUILD_ID_MAX)
		return;
	memcpy(file->build_id, build_id, build_id_bytes);
	file->build_id_bytes = build_id_bytes;
}

static bool read_headers(struct gg_elf_file *file, int fd)
{
	Elf64_Ehdr header;
	Elf64_Phdr segments[HEADERS_MAX];

	if (!read_at(fd, &header, sizeof(header), 0) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 ||
	    header.e_ident[EI_DATA] !=
	            (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB) ||
	    header.e_phentsize != sizeof(segments[0]) || header.e_phnum > HEADERS_MAX ||
	    !read_at(fd, segments, header.e_phnum * sizeof(segments[0]), header.e_phoff))
		return false;
	for (size_t i = 0; i < header.e_phnum; i++) {
		const Elf64_Phdr *segment = &segments[i];

		if (segment->p_type == PT_NOTE && file->build_id_bytes == 0)
			find_build_id(file, fd, segment);
		if (segment->p_type != PT_LOAD || (segment->p_flags & PF_X) == 0 ||
		    file->segment_count == GG_ELF_FILE_SEGMENTS_MAX)
			continue;
		file->segments[file->segment_count].offset = segment->p_offset;
		file->segments[file->segment_count].file_bytes = segment->p_filesz;
		file->segments[file->segment_count].memory_bytes = segment->p_memsz;
		file->segments[file->segment_count++].address = segment->p_vaddr;
	}
	return file->segment_count > 0;
}

bool gg_elf_file_read(struct gg_elf_file *ret_file, const char *path)
{
	struct gg_elf_file file = { 0 };
	/* Does not wait, because the path may name a pipe or a terminal. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat status;
	bool is = fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
	          read_headers(&file, fd);

	if (fd >= 0)
		close(fd);
	if (!is)
		return false;
	file.inode = status.st_ino;
	*ret_file = file;
	return true;
}

/* Tries pages of 4 KiB and 64 KiB, because a mapping's boundaries are rounded to pages. */
bool gg_elf_file_bias(const struct gg_elf_file *file, uint64_t start, uint64_t end, uint64_t offset,
                      uint64_t *ret_bias)
{
	for (size_t i = 0; i < file->segment_count; i++)
		for (uint64_t page = 4096; page <= 65536; page *= 16) {
			uint64_t first = file->segments[i].offset & ~(page - 1);
			uint64_t last = (file->segments[i].offset + file->segments[i].file_bytes +
			                 page - 1) &
			                ~(page - 1);

			if (first != offset || last - first != end - start)
				continue;
			*ret_bias = start - offset + file->segments[i].offset -
			            file->segments[i].address;
			return true;
		}
	return false;
}
