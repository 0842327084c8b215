/* SPDX-License-Identifier: Apache-2.0 */
/*
 * foreign_profile - a heap profile of another tool as numbers of samples.
 *
 *   struct gg_foreign_profile profile = { 0 };
 *
 *   status = gg_foreign_profile_read(&profile, importer, bytes, length, most, &frames_left, &used,
 *                                    error);
 *   for (size_t i = 0; i < profile.rows.count; i++)
 *           ... profile.rows.items[i].live ...
 *   gg_foreign_profile_done(&profile);
 *
 * Samples  Such a file has scaled numbers.  If it states its mean sampling interval R and that all
 *          objects of a row have the size Z (Go's and tcmalloc's label `bytes`), then a row of B
 *          bytes stands for B p / Z samples, p = 1 - exp(-Z/R).  The writer rounded B to whole
 *          bytes, so this is a whole number to within p / Z.  Rows become these numbers again,
 *          because only whole numbers of samples add up and subtract without an error.
 * Sums     Rows without a size, with an unknown interval, or whose number is not whole become sums
 *          (row_sums.h).  Their error is a bound, or unknown.
 * Spans    Each resource of OTLP has a time of its own, and counts allocations in its own way.  Two
 *          resources of one process are refused, as their sum has no meaning.
 * Hostile  The importers check the bytes.  No file that the profile names is opened.
 * Threads  one owner.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/compiler.h"
#include "base/error.h"
#include "format/import/import.h"
#include "model/model.h"
#include "stats/estimate/plain_tally.h"

/* Memory of a stack: whole numbers of samples, or a sum. */
struct gg_foreign_part {
	bool is_sum;
	uint64_t samples;
	struct gg_plain_tally sum;
};

struct gg_foreign_row {
	uint32_t process, stack; /* of the model */
	uint64_t size;
	double gap; /* as in struct gg_fleet_row */
	struct gg_foreign_part live, ever;
};

/* The time and the way to count of a process, as its resource states them. */
struct gg_foreign_span {
	uint32_t resource; /* 0: the format has no resources */
	bool has_allocated, is_delta;
	uint64_t end_ns; /* 0: unknown */
};

struct gg_foreign_profile {
	struct gg_model *model;
	uint64_t end_ns;                        /* since 1970; 0: unknown */
	GG_ARRAY(struct gg_foreign_span) spans; /* by process */
	GG_ARRAY(struct gg_foreign_row) rows;
};

/*
 * `most` limits the bytes, after decompression, which *ret_bytes gets, and *frames_left the frames
 * of all samples; the profile's own are subtracted, also if it is refused.  -ENOMSG: it is a
 * profile of something else than a heap; -EBADMSG; -ENOMEM.
 */
GG_MUST_CHECK int gg_foreign_profile_read(struct gg_foreign_profile *ret_profile,
                                          const struct gg_importer *importer, const void *bytes,
                                          size_t length, uint64_t most, uint64_t *frames_left,
                                          uint64_t *ret_bytes, struct gg_error *error);
void gg_foreign_profile_done(struct gg_foreign_profile *profile);
