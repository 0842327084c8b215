/* SPDX-License-Identifier: Apache-2.0 */
/*
 * region_reader - bounds-checked pread() of counters, records and strings
 * (process/region_reader.h).
 */
#include "record/process/region_reader.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "region/reader/view.h"

/* Reads all bytes; false: the file is too short or the read failed. */
static bool read_at(int fd, void *to, size_t bytes, uint64_t offset)
{
	uint8_t *next = to;

	while (bytes > 0) {
		ssize_t got = pread(fd, next, bytes, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		next += got;
		offset += (uint64_t)got;
		bytes -= (size_t)got;
	}
	return true;
}

int gg_region_reader_refresh(struct gg_region_reader *reader, struct gg_error *error)
{
	return gg_region_header_read(&reader->header, reader->fd, "the region", error);
}

/*
 * The counters are at a fixed place in the header, so that no number of the region is trusted here.
 */
bool gg_region_reader_counter(const struct gg_region_reader *reader, enum gg_region_counter counter,
                              uint64_t *ret_value)
{
	return read_at(reader->fd, ret_value, sizeof(*ret_value),
	               offsetof(struct gg_region_header, counters) +
	                       (size_t)counter * sizeof(*ret_value));
}

uint32_t gg_region_reader_used(struct gg_region_reader *reader, enum gg_region_table_id id)
{
	struct gg_region_table *table = gg_region_table_of(&reader->header, id);
	uint64_t used;

	/* Only this number changes while a program runs; the header was checked before. */
	if (read_at(reader->fd, &used, sizeof(used),
	            gg_region_table_at(id) + offsetof(struct gg_region_table, used_count)) &&
	    used <= table->capacity)
		table->used_count = used;
	return (uint32_t)table->used_count;
}

/*
 * The table was checked against the file's size, so a range below used_count is inside of the file.
 */
bool gg_region_reader_read(const struct gg_region_reader *reader, enum gg_region_table_id id,
                           uint32_t first, uint32_t count, void *records)
{
	const struct gg_region_table *table = gg_region_table_of(&reader->header, id);

	if (first > table->used_count || count > table->used_count - first)
		return false;
	return read_at(reader->fd, records, (size_t)count * table->record_bytes,
	               table->offset + (uint64_t)first * table->record_bytes);
}

void gg_region_reader_text(struct gg_region_reader *reader, uint32_t offset, uint32_t bytes,
                           char *text, size_t size)
{
	gg_assert(size > 0);
	if (bytes > size - 1)
		bytes = (uint32_t)size - 1;
	if (offset > gg_region_reader_used(reader, GG_TABLE_STRINGS) ||
	    !gg_region_reader_read(reader, GG_TABLE_STRINGS, offset, bytes, text))
		bytes = 0;
	text[bytes] = '\0';
}
