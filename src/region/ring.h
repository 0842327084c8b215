/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring - keeps the history: each allocation and free of a sample, with its time, for a process that
 * drains it.
 *
 * Many writers in the profiled program face one reader in another process.  A writer claims a place
 * by CAS on the head, fills it, and publishes it by its sequence number.  If the ring is full, or
 * too many other writers are at the head, the writer drops the event and counts it.  Writers never
 * wait, and totals and live samples do not depend on the ring.  The reader returns places by moving
 * the tail.
 *
 *   head, tail     places ever claimed and returned; place i is record i mod capacity
 *   sequence i+1   place i is published; any other number: an older round, or being written
 *
 * Threat  The file may contain anything.  The writer masks every place with its own capacity, and
 *         the reader copies an event before it checks it.
 * A kill  If it comes between claim and publication, the place is never published.  The reader of a
 *         dead process skips the place and counts it.
 */
#pragma once

#include "region/writer/region.h"

/* Adds an event; the sample's fields are copied. */
void gg_ring_put(struct gg_region *region, const struct gg_region_event *event);

/* The state of the reader. */
struct gg_ring_reader {
	int fd;
	uint64_t offset; /* offset of the records */
	uint64_t capacity;
	uint64_t tail;
	uint64_t end;        /* places from here on are not read; UINT64_MAX at first */
	uint64_t lost_count; /* places skipped: a writer died there, or the file is damaged */
};

/*
 * Prepares a reader.  `fd` is open for reading and writing, and stays the caller's.  Returns 0, or
 * -EBADMSG (no region, or a damaged one), -EIO, and so on.
 */
GG_MUST_CHECK int gg_ring_open(struct gg_ring_reader *ret_reader, int fd);

/*
 * Returns the places ever claimed; the reader has read those below its tail.  0: it cannot be read.
 */
uint64_t gg_ring_head(const struct gg_ring_reader *reader);

/*
 * Copies up to `max` published events in the order of their places, returns the places to the
 * writers, and returns the number of events, or -Exxx.  Stops at the reader's end, and at a place
 * that is claimed but not published, unless `final` is true: then the writers are dead.  The values
 * are those of the file: check thread, stack, and sample before use.
 */
int gg_ring_read(struct gg_ring_reader *reader, struct gg_region_event *events, int max,
                 bool final);
