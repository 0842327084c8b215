/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampling_plan - the sampling interval for a wanted error, by a former profile or a described
 * heap.
 *
 * A plan is a list of entries, each of which stands for some allocations of one size.  The error
 * depends only on the wanted entries.  The cost depends on all allocations of the stream, because
 * every sample costs time.
 *
 *   struct gg_sampling_plan plan = { 0 };
 *
 *   if (gg_sampling_plan_read(&plan, &request, error) == 0)
 *           interval = gg_sampling_plan_interval(&plan, 0.05, z);
 *   gg_sampling_plan_done(&plan);
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/error.h"

/* `count` allocations of one size. */
struct gg_sampling_plan_entry {
	double size_bytes, count;
	bool is_wanted;    /* the plan estimates it; otherwise it only belongs to the stream */
	bool is_allocated; /* part of the stream of allocations, which costs samples */
};

/* The memory that the plan estimates, and the stream of allocations around it. */
struct gg_sampling_plan {
	GG_ARRAY(struct gg_sampling_plan_entry) entries;
	double seconds; /* length of the stream; 0: unknown */
	char what[160];
};

/*
 * The wanted part of a profile: its live bytes at the end, or at the peak if little is live then.
 */
struct gg_sampling_plan_request {
	const char *profile;
	const char *function; /* of what this function and its callees allocated; NULL: all */
	bool allocated;       /* allocated bytes in place of live ones */
	const char *command;  /* for errors about the function: "lab plan: --function" */
};

/* Adds the samples of a profile.  -EINVAL: the function is no regular expression. */
GG_MUST_CHECK int gg_sampling_plan_read(struct gg_sampling_plan *plan,
                                        const struct gg_sampling_plan_request *request,
                                        struct gg_error *error);
GG_MUST_CHECK int gg_sampling_plan_add(struct gg_sampling_plan *plan,
                                       struct gg_sampling_plan_entry entry);
void gg_sampling_plan_done(struct gg_sampling_plan *plan);

/* Returns z times the standard deviation as a share of the value at that interval. */
double gg_sampling_plan_error(const struct gg_sampling_plan *plan, double interval, double z);

/* Returns the bytes of the wanted entries. */
double gg_sampling_plan_bytes(const struct gg_sampling_plan *plan);

/* Returns the samples of the wanted entries, or of the stream. */
double gg_sampling_plan_samples(const struct gg_sampling_plan *plan, double interval, bool wanted);

/* Returns the longest interval whose error is at most `error`. */
double gg_sampling_plan_interval(const struct gg_sampling_plan *plan, double error, double z);
