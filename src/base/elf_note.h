/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf_note - finds the GNU build-id in the notes of an ELF file.
 *
 *   bytes = gg_elf_note_build_id(notes, notes_bytes, &build_id);       0: no build-id
 *
 * The notes are the content of a segment of the type PT_NOTE: a header, a name and a value for each
 * note, name and value padded to 4 bytes.
 *
 * Hostile  The notes may have any bytes and need no alignment; nothing outside of them is read.
 * Threads  Any thread, also in a signal handler: the function is pure and allocates nothing.
 */
#pragma once

#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Adds the padding.  A length from a file has 32 bits, so the sum cannot overflow. */
static inline uint64_t gg_elf_note_padded(uint32_t length_bytes)
{
	return ((uint64_t)length_bytes + 3) & ~UINT64_C(3);
}

/*
 * Finds the first build-id that is not empty.  Returns its length, with *ret_build_id in the notes.
 * Returns 0, with *ret_build_id untouched, if the notes have no build-id, or if a note before it
 * reaches past the end.
 */
static inline size_t gg_elf_note_build_id(const uint8_t *notes, size_t notes_bytes,
                                          const uint8_t **ret_build_id)
{
	while (notes_bytes >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note; /* the same in files of 32 and of 64 bits */
		uint64_t name_bytes, value_bytes;

		memcpy(&note, notes, sizeof(note));
		notes += sizeof(note);
		notes_bytes -= sizeof(note);
		name_bytes = gg_elf_note_padded(note.n_namesz);
		value_bytes = gg_elf_note_padded(note.n_descsz);
		if (name_bytes > notes_bytes || value_bytes > notes_bytes - name_bytes)
			return 0;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_descsz > 0 &&
		    note.n_namesz == sizeof("GNU") && memcmp(notes, "GNU", sizeof("GNU")) == 0) {
			*ret_build_id = notes + name_bytes;
			return note.n_descsz;
		}
		notes += name_bytes + value_bytes;
		notes_bytes -= name_bytes + value_bytes;
	}
	return 0;
}
