/* SPDX-License-Identifier: Apache-2.0 */
/*
 * v8_samples - decodes the list of samples of a .heapprofile.
 *
 *   struct gg_v8_samples samples = { 0 };
 *
 *   gg_v8_samples_add(&samples, node_id, size);                     each sample of the list
 *   if (gg_v8_samples_decode(&samples, 0) == 0)                     0: finds the interval
 *           row = gg_v8_samples_weigh(&samples, node_id, self_size);
 *   gg_v8_samples_done(&samples);
 *
 * V8 samples by a Poisson process: an object of Z bytes is a sample with p = 1 - exp(-Z/R).  The
 * list has Z round(1/p) for each sample, and a node of the tree has Z round(c/p) for its c samples
 * of one size.  The file states neither Z nor R.
 *
 * Interval  While an object is small, Z round(1/p) is between R and R + Z.  R is a power of two if
 *           nobody chose another one.  So R is the power of two below all of 8 or more sizes.  The
 *           smallest must be at most a sixteenth above it, at least half at most a quarter above
 *           it, and every size the product of some Z that is a multiple of 4.  Files that somebody
 *           scaled otherwise do not look so.
 * Sizes     Often, several Z have the same product.  If there is only one, the sample is weighed
 *           with it: Z/p bytes, 1/p objects.  Otherwise the bytes are those of the tree, whose
 *           rounding is far below the error of a sample.  The error is that of the smallest Z,
 *           which has the largest one.  Nobody knows the number of objects then.
 *
 * Threads   one owner.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/compiler.h"
#include "format/import/row_sums.h"

struct gg_v8_sample {
	uint64_t node_id, size;
};

/* The objects that a sample of that size may be. */
struct gg_v8_size {
	uint64_t size;
	uint64_t smallest_bytes; /* the smallest possible Z; 0: no Z is possible */
	bool is_unique;          /* no other Z is possible */
};

struct gg_v8_samples {
	GG_ARRAY(struct gg_v8_sample) items; /* by node and size, once they are decoded */
	GG_ARRAY(struct gg_v8_size) sizes;   /* each size once, ascending */
	double interval_bytes;               /* 0: unknown, and nothing is decoded */
};

/* False: memory is out. */
GG_MUST_CHECK bool gg_v8_samples_add(struct gg_v8_samples *samples, uint64_t node_id,
                                     uint64_t size);
void gg_v8_samples_done(struct gg_v8_samples *samples);

/*
 * Decodes the samples with the sampling interval, or with the one that it finds if that is 0.
 * -ENODATA: a size does not fit the interval, no interval fits, or there are so many sizes of a
 * large interval that decoding them would take too long; -ENOMEM.
 */
GG_MUST_CHECK int gg_v8_samples_decode(struct gg_v8_samples *samples, double interval_bytes);

/*
 * Weighs a node of the tree with its samples.  A node without samples in the list has an unknown
 * error.
 */
struct gg_row_sums gg_v8_samples_weigh(const struct gg_v8_samples *samples, uint64_t node_id,
                                       double self_bytes);
