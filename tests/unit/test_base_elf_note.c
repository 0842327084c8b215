/* SPDX-License-Identifier: Apache-2.0 */
/* test_base_elf_note - finds build-ids in notes of all kinds, and in torn and hostile ones. */
#include "base/elf_note.h"

#include <stdlib.h>

#include "test.h"

/* Appends a note, with its padding, and returns the length of all notes. */
static size_t add_note(uint8_t *notes, size_t at, uint32_t type, const char *name,
                       uint32_t name_bytes, const void *value, uint32_t value_bytes)
{
	Elf64_Nhdr header = { .n_namesz = name_bytes, .n_descsz = value_bytes, .n_type = type };

	memcpy(notes + at, &header, sizeof(header));
	at += sizeof(header);
	memcpy(notes + at, name, name_bytes);
	at += gg_elf_note_padded(name_bytes);
	memcpy(notes + at, value, value_bytes);
	return at + gg_elf_note_padded(value_bytes);
}

/* An ABI tag, a note of another owner with the same type, and the build-id. */
static size_t make_notes(uint8_t notes[200])
{
	size_t bytes = add_note(notes, 0, NT_GNU_ABI_TAG, "GNU", 4, "\0\0\0\0\3\0\0\0", 8);

	bytes = add_note(notes, bytes, NT_GNU_BUILD_ID, "stapsdt", 8, "wrong", 5);
	return add_note(notes, bytes, NT_GNU_BUILD_ID, "GNU", 4, "0123456789", 10);
}

TEST(the_build_id_is_found_behind_other_notes)
{
	uint8_t notes[200] = { 0 };
	const uint8_t *build_id = NULL;

	CHECK_EQ_U64(gg_elf_note_build_id(notes, make_notes(notes), &build_id), 10);
	REQUIRE(build_id != NULL);
	CHECK(memcmp(build_id, "0123456789", 10) == 0);
}

TEST(notes_without_a_build_id_have_none)
{
	uint8_t notes[200] = { 0 };
	const uint8_t *build_id = NULL;
	size_t bytes = add_note(notes, 0, NT_GNU_ABI_TAG, "GNU", 4, "12345678", 8);

	CHECK_EQ_U64(gg_elf_note_build_id(notes, 0, &build_id), 0);
	CHECK_EQ_U64(gg_elf_note_build_id(notes, bytes, &build_id), 0);
	bytes = add_note(notes, bytes, NT_GNU_BUILD_ID, "GNU", 4, "", 0);
	CHECK_EQ_U64(gg_elf_note_build_id(notes, bytes, &build_id), 0);
	CHECK(build_id == NULL);
}

/* Each length has its own memory, so that a sanitizer sees a read past the end. */
TEST(torn_notes_have_no_build_id_and_are_not_read_past_their_end)
{
	uint8_t notes[200] = { 0 };
	size_t bytes = make_notes(notes);

	for (size_t length = 0; length < bytes; length++) {
		uint8_t *torn = malloc(length + 1);
		const uint8_t *build_id;

		REQUIRE(torn != NULL);
		/* The odd address also shows that the notes need no alignment. */
		memcpy(torn + 1, notes, length);
		CHECK_EQ_U64(gg_elf_note_build_id(torn + 1, length, &build_id), 0);
		free(torn);
	}
}

TEST(lengths_that_do_not_fit_end_the_search)
{
	const uint32_t lengths[] = { UINT32_MAX, UINT32_MAX - 3, 1u << 31, 200 };

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		for (int is_name = 0; is_name < 2; is_name++) {
			uint8_t notes[200] = { 0 };
			size_t bytes = make_notes(notes);
			const uint8_t *build_id;
			Elf64_Nhdr header;

			memcpy(&header, notes, sizeof(header));
			*(is_name ? &header.n_namesz : &header.n_descsz) = lengths[i];
			memcpy(notes, &header, sizeof(header));
			CHECK_EQ_U64(gg_elf_note_build_id(notes, bytes, &build_id), 0);
		}
	}
}
