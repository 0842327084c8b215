/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hostile names, perf maps and blobs: no crash, no read outside, no endless loop, no text without
 * bound.  (ELF and DWARF are read by elfutils, in a process that may die.)
 *
 * The first byte of an input says what the rest is: 'n' a mangled name, 's' a demangled one to be
 * shortened, 'p' a perf map with a pc in its first 8 bytes, 'b' a blob whose checksum is made
 * right.
 */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "symbol/names/demangle.h"
#include "symbol/resolve/blob.h"
#include "symbol/resolve/perf_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
	if (!condition)
		abort();
}

/* Names cannot hold a 0 byte: it ends them. */
static char *text_of(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	require(text != NULL);
	memcpy(text, data, size);
	text[size] = '\0';
	return text;
}

static void name(const uint8_t *data, size_t size)
{
	struct gg_buf full = { 0 }, brief = { 0 };
	char *text = text_of(data, size);

	gg_demangle(text, &full, &brief);
	require(!full.failed && !brief.failed);
	require((full.length > 0) == (text[0] != '\0'));
	require((brief.length > 0) == (text[0] != '\0'));
	require(full.length <= strlen(text) + 2 * GG_DEMANGLE_TEXT_MAX);
	require(strlen(gg_buf_text(&full)) == full.length);
	require(strlen(gg_buf_text(&brief)) == brief.length);
	gg_buf_done(&full);
	gg_buf_done(&brief);
	free(text);
}

static void shorten(const uint8_t *data, size_t size)
{
	struct gg_buf brief = { 0 };
	char *text = text_of(data, size);

	gg_shorten_cxx(text, &brief);
	/* "<...>" for "<" is the most that it grows. */
	require(!brief.failed && brief.length <= 5 * strlen(text));
	gg_buf_done(&brief);
	free(text);
}

static void perf_map(const uint8_t *data, size_t size)
{
	struct gg_buf text = { 0 };
	struct gg_perf_map map;
	uint64_t pc;

	if (size < sizeof(pc))
		return;
	memcpy(&pc, data, sizeof(pc));
	gg_buf_append(&text, data + sizeof(pc), size - sizeof(pc));
	require(gg_perf_map_parse(&map, &text) == 0);
	for (int i = 0; i < 64; i++) {
		const char *found = gg_perf_map_find(&map, pc + (uint64_t)i);

		require(found == NULL || strlen(found) > 0);
	}
	gg_perf_map_done(&map);
}

static void blob(const uint8_t *data, size_t size)
{
	const size_t from = offsetof(struct gg_blob_header, blob_bytes);
	const struct gg_blob_frame *frames;
	struct gg_blob parsed;
	uint64_t *bytes;
	uint32_t crc;

	if (size < sizeof(struct gg_blob_header))
		return;
	bytes = (uint64_t *)malloc(size); /* aligned, and it ends where the input does */
	require(bytes != NULL);
	memcpy(bytes, data, size);
	crc = (uint32_t)crc32_z(0, (Bytef *)bytes + from, size - from);
	memcpy((char *)bytes + offsetof(struct gg_blob_header, crc32), &crc, sizeof(crc));
	if (gg_blob_read(&parsed, bytes, size) == 0)
		for (size_t i = 0; i < parsed.header->address_count; i++) {
			size_t count = gg_blob_frames(&parsed, i, &frames);

			require(gg_blob_find(&parsed, parsed.addresses[i]) == i);
			for (size_t j = 0; j < count; j++)
				require(strlen(parsed.strings + frames[j].file) < size);
		}
	free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1)
		return 0;
	switch (data[0]) {
	case 'n':
		name(data + 1, size - 1);
		break;
	case 's':
		shorten(data + 1, size - 1);
		break;
	case 'p':
		perf_map(data + 1, size - 1);
		break;
	case 'b':
		blob(data + 1, size - 1);
		break;
	default:
		break;
	}
	return 0;
}
