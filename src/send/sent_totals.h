/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sent_totals - what a receiver got of a process's allocations so far, for exact differences.
 *
 *   struct gg_sent_totals totals = { 0 };
 *
 *   status = gg_sent_totals_read(&totals, directory, "4711-1a2b", error);     -ENOENT: nothing yet
 *   gg_sent_totals_subtract(&totals, extract, error); its rows become what is new
 *   totals.number = number;                           of the body that has it
 *   status = gg_sent_totals_write(&totals, directory, "4711-1a2b", error);
 *   gg_sent_totals_done(&totals);
 *
 * Receivers add up what was allocated, so they need differences.  A program's totals live in its
 * region, and what was sent lives here, so neither the end of the sender nor that of the program
 * makes a difference wrong: the sum of all differences is what the program allocated.
 *
 * Keys    a row's key is a hash of its frames' modules and addresses, not of their names, which
 *         may become known later.  If rows change their keys nevertheless, their differences would
 *         be too large together; the difference of the total bounds them then.
 * Whole   rows are rounded each for itself, so that none becomes smaller: the sum of a process is
 *         right to half a byte for each row.
 * File    replaced as a whole by rename(); a damaged one is -EBADMSG.  Its rows are by key, also if
 *         those in memory have another order.
 * Memory  24 bytes a row.
 * Threads one owner at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/compiler.h"
#include "base/error.h"
#include "format/export/extract.h"

struct gg_sent_row {
	uint64_t key, bytes, count;
};

struct gg_sent_totals {
	uint64_t number;  /* of the last body */
	int64_t until_ns; /* the time of the session up to which bodies tell */
	bool is_final;    /* the process had ended then */
	struct gg_plain_tally total;
	GG_ARRAY(struct gg_sent_row) rows; /* by key */
};

/* The key of a stack. */
uint64_t gg_sent_key(const struct gg_model *model, uint32_t stack);
/* Subtracts what was sent from all that was allocated.  Maxima stay. */
void gg_sent_subtract(struct gg_plain_tally *now, const struct gg_plain_tally *then);

void gg_sent_totals_done(struct gg_sent_totals *totals);
/* Copies totals whose rows may have any order.  -ENOMEM. */
GG_MUST_CHECK int gg_sent_totals_copy(struct gg_sent_totals *ret_copy,
                                      const struct gg_sent_totals *totals);

/* -ENOENT: there is no such file; -EBADMSG: it is damaged.  *totals is empty then. */
GG_MUST_CHECK int gg_sent_totals_read(struct gg_sent_totals *totals, int directory,
                                      const char *name, struct gg_error *error);
GG_MUST_CHECK int gg_sent_totals_write(const struct gg_sent_totals *totals, int directory,
                                       const char *name, struct gg_error *error);

/*
 * Replaces what the rows of an extract of one process have allocated by what is new, and the
 * totals by those of the extract.  The extract is by stack, its entries not hidden yet.  The tally
 * of the first row is that of the whole difference then, and those of the others are empty.
 * -ENOMEM.
 */
GG_MUST_CHECK int gg_sent_totals_subtract(struct gg_sent_totals *totals, struct gg_extract *extract,
                                          struct gg_error *error);
