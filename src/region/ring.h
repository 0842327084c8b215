/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring - the history: each allocation and free of a sample, with its time, for who drains it.
 *
 * Many writers in the profiled program, one reader in another process.  A writer claims a place by
 * CAS on the head, fills it, and publishes it by its sequence number.  A full ring, or too many
 * others at the head, drops the event and counts it: writers never wait, and totals and live samples
 * do not depend on it.  The reader gives places back by moving the tail.
 *
 *   head, tail     places ever claimed and given back; place i is record i mod capacity
 *   sequence i+1   place i is published; anything else is an older round or being written
 *
 * Threat    the file may say anything: the writer masks every place with its own capacity, and the
 *           reader copies an event before it looks at it.
 * A kill    between claim and publication leaves a place that never comes: the reader of a dead
 *           process passes over it and counts it.
 */
#pragma once

#include "region/writer/region.h"

/* Adds an event; the sample's fields are copied. */
void gg_ring_put(struct gg_region *region, const struct gg_region_event *event);

/* The reader's end; a descriptor of the file open for reading and writing, which stays the caller's. */
struct gg_ring_reader {
	int fd;
	uint64_t offset; /* of the records */
	uint64_t capacity;
	uint64_t tail;
	uint64_t lost_count; /* places passed over: a writer died in them, or the file is damaged */
};

/* 0, or -EBADMSG (no region or a damaged one), -EIO and so on. */
GG_MUST_CHECK int gg_ring_open(struct gg_ring_reader *ret_reader, int fd);

/* Places ever claimed, of which the reader has those below its tail; 0: it cannot be read. */
uint64_t gg_ring_head(const struct gg_ring_reader *reader);

/*
 * Copies up to max published events in the order of their places, gives the places back, and returns
 * their number, or -Exxx.  Stops at a place that is claimed but not published, unless `final`: the
 * writers are dead.  Values are as the file has them: check thread, stack and sample before use.
 */
int gg_ring_read(struct gg_ring_reader *reader, struct gg_region_event *events, int max,
                 bool final);
