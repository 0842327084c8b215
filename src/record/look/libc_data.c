/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libc_data - copies the resident pages of libc's data (look/libc_data.h).
 */
#include "record/look/libc_data.h"

#include <errno.h>
#include <stdlib.h>

/* That of glibc 2.36 has 8 KiB. */
enum { DATA_BYTES_MAX = 256 << 10 };

static int read_pages(const struct gg_libc_data *data, struct gg_residency *residency)
{
	const struct gg_memory_source *source = residency->source;
	const uint64_t page_bytes = residency->page_bytes;

	for (uint64_t at = 0; at < data->count; at += page_bytes) {
		const struct gg_memory_range range = { data->begin + at, page_bytes,
			                               data->bytes + at };
		ssize_t got;

		if (!gg_residency_has(residency, range.address))
			continue;
		got = source->read_ranges(source->context, &range, 1);
		if (got < 0)
			return (int)got;
	}
	return 0;
}

int gg_libc_data_read(struct gg_libc_data *ret, const struct gg_memory_map *map,
                      struct gg_residency *residency)
{
	const struct gg_memory_area *area = &map->libc_data;
	struct gg_libc_data data = { .begin = area->begin };
	int status;

	*ret = (struct gg_libc_data){ 0 };
	if (area->end - area->begin == 0 || area->end - area->begin > DATA_BYTES_MAX)
		return 0;
	data.count = area->end - area->begin;
	data.bytes = calloc(data.count, 1);
	if (data.bytes == NULL)
		return -ENOMEM;
	status = read_pages(&data, residency);
	if (status < 0)
		gg_libc_data_done(&data);
	else
		*ret = data;
	return status;
}

void gg_libc_data_done(struct gg_libc_data *data)
{
	free(data->bytes);
	*data = (struct gg_libc_data){ 0 };
}
