/* SPDX-License-Identifier: Apache-2.0 */
/* minidebuginfo - decompresses the symbol table in .gnu_debugdata. */
#include "symbol/elf/minidebuginfo.h"

#include <string.h>

#if HAVE_LZMA

#include <lzma.h>
#include <stdlib.h>

enum { LZMA_MEMORY_MAX = 128 << 20, FIRST_BYTES = 1 << 16 };

static Elf_Data *section_data(Elf *elf, const char *name)
{
	GElf_Shdr header;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) < 0)
		return NULL;
	for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section)) != NULL;) {
		const char *text;

		if (gelf_getshdr(section, &header) == NULL)
			continue;
		text = elf_strptr(elf, names, header.sh_name);
		if (text != NULL && strcmp(text, name) == 0)
			return elf_rawdata(section, NULL);
	}
	return NULL;
}

/*
 * Decompresses into a new block, which doubles while it fills.  Returns NULL on damaged data, or if
 * the result would have more than GG_MINIDEBUGINFO_MAX bytes: a few bytes of xz can stand for
 * gigabytes.
 */
static uint8_t *decompress(const uint8_t *bytes, size_t length, size_t *ret_length)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	uint8_t *out = NULL, *grown;
	size_t capacity = 0;
	lzma_ret result = lzma_stream_decoder(&stream, LZMA_MEMORY_MAX, 0);

	stream.next_in = bytes;
	stream.avail_in = length;
	while (result == LZMA_OK) {
		if (stream.avail_out == 0) {
			size_t more = capacity > 0 ? capacity : FIRST_BYTES;

			/*
			 * The decoder's own memory has a limit as well, LZMA_MEMORY_MAX, because
			 * the file chooses its dictionary.
			 */
			if (capacity + more > GG_MINIDEBUGINFO_MAX ||
			    (grown = realloc(out, capacity + more)) == NULL)
				break;
			out = grown;
			stream.next_out = out + capacity;
			stream.avail_out = more;
			capacity += more;
		}
		result = lzma_code(&stream, LZMA_FINISH);
	}
	*ret_length = (size_t)stream.total_out;
	lzma_end(&stream);
	if (result != LZMA_STREAM_END) {
		free(out);
		return NULL;
	}
	return out;
}

void gg_minidebuginfo_open(Elf *elf, struct gg_module_file *file)
{
	Elf_Data *data = section_data(elf, ".gnu_debugdata");
	uint8_t *memory;
	size_t length;

	if (data == NULL || data->d_buf == NULL || data->d_size == 0)
		return;
	memory = decompress(data->d_buf, data->d_size, &length);
	if (memory == NULL)
		return;
	file->elf = elf_memory((char *)memory, length);
	if (file->elf == NULL || elf_kind(file->elf) != ELF_K_ELF) {
		elf_end(file->elf);
		file->elf = NULL;
		free(memory);
		return;
	}
	/* libelf refers to this memory; close_file() of module_files.c frees it after elf_end(). */
	file->memory = memory;
	file->fd = -1;
}

#else

void gg_minidebuginfo_open(Elf *elf, struct gg_module_file *file)
{
	(void)elf;
	(void)file;
}

#endif
