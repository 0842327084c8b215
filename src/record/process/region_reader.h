/* SPDX-License-Identifier: Apache-2.0 */
/*
 * region_reader - reads single records of a region while its process may still be writing it.
 *
 * A view (region/reader/view.h) copies a whole region.  A region_reader reads the few records that
 * an event of the ring names.  The agent puts an event last, so the records that it names are
 * complete when the event arrives; a reader must not read them earlier.
 *
 * Hostile   the file may hold anything and may shrink at any time.  The reader checks each index
 *           against the size of the file, and reads with pread().  So damage is an error code,
 *           never a signal.
 * Threads   one owner at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "region/layout.h"

struct gg_region_reader {
	int fd;                         /* not owned */
	struct gg_region_header header; /* checked; as of the last gg_region_reader_refresh() */
};

/* Reads the header again.  Call it once a round. */
GG_MUST_CHECK int gg_region_reader_refresh(struct gg_region_reader *reader, struct gg_error *error);

/* Reads the current value of a counter; false: it cannot be read. */
bool gg_region_reader_counter(const struct gg_region_reader *reader, enum gg_region_counter counter,
                              uint64_t *ret_value);

/* Copies records [first, first + count); false: some of them are not in use or cannot be read. */
bool gg_region_reader_read(const struct gg_region_reader *reader, enum gg_region_table_id table,
                           uint32_t first, uint32_t count, void *records);

/* Returns how many records of a table are in use now, after the last refresh. */
uint32_t gg_region_reader_used(struct gg_region_reader *reader, enum gg_region_table_id table);

/* Copies a string as terminated text, cut to size - 1 bytes; "" if it cannot be read. */
void gg_region_reader_text(struct gg_region_reader *reader, uint32_t offset, uint32_t bytes,
                           char *text, size_t size);
