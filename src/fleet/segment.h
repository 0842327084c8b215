/* SPDX-License-Identifier: Apache-2.0 */
/*
 * segment - what a receiver of a fleet has accepted, as a file until the store has it.
 *
 *   gg_segment_of_slot(&segment, &slot);                  or gg_segment_of_definitions()
 *   status = gg_segment_seal(fd, number, "default", &segment, &bytes, error);
 *   ... the file is on the disk now, so the receiver answers ...
 *   status = gg_segment_read(&segment, fd, number, error);
 *   for (size_t i = 0; i < segment.blocks.count; i++)
 *           ... POST segment.blocks.items[i] to its table ...
 *   gg_segment_done(&segment);
 *
 * Blocks    A segment has one block for each table of the store, in ClickHouse's format Native:
 *           columns with their names and types.  The block never changes, so that an insert which
 *           is repeated inserts the same rows.  The tables' keys are whole identities of rows.
 * File      NUMBER.segment, sealed by fsync() of the file and of its directory.  A file that is
 *           not whole keeps the suffix .part, and goes at the next start.
 * Hostile   A file is checked by its length and CRC-32; a damaged one is -EBADMSG.
 * Threads   one owner at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/compiler.h"
#include "base/error.h"
#include "fleet/fleet_wire.h"

enum { GG_SEGMENT_TENANT_MAX = 64, GG_SEGMENT_FILE_MAX = 96 << 20 };

struct gg_segment_block {
	const char *table; /* a constant of segment.c */
	uint64_t row_count;
	struct gg_buf bytes;
};

struct gg_segment {
	char tenant[GG_SEGMENT_TENANT_MAX];
	uint64_t row_count;
	GG_ARRAY(struct gg_segment_block) blocks;
};

/* -ENOMEM.  *segment is all-zero before. */
GG_MUST_CHECK int gg_segment_of_slot(struct gg_segment *segment, const struct gg_fleet_slot *slot);
/* `now_s`: when these names were found, for symbols that are found again. */
GG_MUST_CHECK int gg_segment_of_definitions(struct gg_segment *segment,
                                            const struct gg_fleet_definitions *definitions,
                                            uint64_t now_s);
/* Moves the blocks of a part into a segment, which is then sealed as a whole.  -ENOMEM. */
GG_MUST_CHECK int gg_segment_append(struct gg_segment *segment, struct gg_segment *part);
/* A segment with the row of another one for the table `batch`, which is inserted last. */
GG_MUST_CHECK int gg_segment_batch_row(struct gg_buf *out, uint32_t receiver, uint64_t number,
                                       uint64_t row_count, uint64_t bytes, uint64_t now_s);
void gg_segment_done(struct gg_segment *segment);

/* ret_bytes: the size of the file.  -ENOSPC and others: there is no file then. */
GG_MUST_CHECK int gg_segment_seal(int directory_fd, uint64_t number, const char *tenant,
                                  const struct gg_segment *segment, uint64_t *ret_bytes,
                                  struct gg_error *error);
GG_MUST_CHECK int gg_segment_read(struct gg_segment *ret_segment, int directory_fd, uint64_t number,
                                  struct gg_error *error);
void gg_segment_remove(int directory_fd, uint64_t number);
/* Gives a damaged file another suffix, so that people can look at it. */
void gg_segment_set_aside(int directory_fd, uint64_t number);

struct gg_segment_listed {
	uint64_t number, bytes;
};
/* Lists the segments by number, and removes parts.  -ENOMEM or the error of reading. */
struct gg_segment_list {
	GG_ARRAY(struct gg_segment_listed) files;
};
GG_MUST_CHECK int gg_segment_list(struct gg_segment_list *ret_list, int directory_fd,
                                  struct gg_error *error);

/* The month of a time as the tables have it: 202611. */
uint32_t gg_segment_month(uint64_t time_s);
