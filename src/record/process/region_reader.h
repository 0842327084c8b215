/* SPDX-License-Identifier: Apache-2.0 */
/*
 * region_reader - a region while its process may still be writing it, read record by record.
 *
 * What a view (region/reader/view.h) is for the whole, this is for the few records that an event of the ring
 * names.  An event is put last, so what it names is complete by then, and is read then, not before.
 *
 * Hostile   the file may say anything and may be cut short.  Each index is checked against what the
 *           file holds; what cannot be is an answer, never a signal or a crash.
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
	struct gg_region_header header; /* as last read, checked */
};

/* Reads the header anew, once a round. */
GG_MUST_CHECK int gg_region_reader_refresh(struct gg_region_reader *reader, struct gg_error *error);

/* A counter of the region as it is now; false: it cannot be read. */
bool gg_region_reader_counter(const struct gg_region_reader *reader, enum gg_region_counter counter,
                              uint64_t *ret_value);

/* Copies records [first, first + count) that are in use; false: they are not all there. */
bool gg_region_reader_read(const struct gg_region_reader *reader, enum gg_region_table_id table,
                           uint32_t first, uint32_t count, void *records);

/* How many records of a table are in use now, for one that an event names after the last refresh. */
uint32_t gg_region_reader_used(struct gg_region_reader *reader, enum gg_region_table_id table);

/* A piece of the strings as terminated text, cut to size - 1; "" if it is not there. */
void gg_region_reader_text(struct gg_region_reader *reader, uint32_t offset, uint32_t bytes,
                           char *text, size_t size);
