/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fleet_compare - compares versions of a service, and its hosts, with hosts as the units.
 *
 *   gg_diff_run(before.model, before.result, after.model, after.result, &query, &diff, error);
 *   gg_fleet_compare(diff, &before, &after, error);
 *
 * With thousands of hosts the error of sampling vanishes, and any two versions differ.  The
 * question is whether the next host with the new version will differ, so hosts are the units of
 * the test.  A row's number on a side is bytes a process, r = sum y / sum m over hosts with m
 * processes, and its error comes from the hosts' residuals y - r m; the two sides are compared by
 * Welch's test.
 *
 * Threads  any; models are only read.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/compiler.h"
#include "base/error.h"
#include "fleet/fleet_question.h"
#include "query/diff.h"

/* One of the two versions; its model has a process group for each host (GG_FLEET_EACH_HOST). */
struct gg_fleet_side {
	const struct gg_fleet_scope *scope;
	const struct gg_model *model;
	const struct gg_query_result *result;
};

/* The processes of the hosts whose stacks are in the store. */
double gg_fleet_side_processes(const struct gg_fleet_scope *scope);

/*
 * Replaces the differences of all rows, and which of them are significant.  diff->query.scale must
 * be the ratio of the sides' processes, after to before.  -ENOMEM; -ENODATA: a side has no process.
 */
GG_MUST_CHECK int gg_fleet_compare(struct gg_diff *diff, const struct gg_fleet_side *before,
                                   const struct gg_fleet_side *after, struct gg_error *error);

/* How far a host is from the others. */
struct gg_fleet_outlier {
	double value, variance; /* of the host's estimate */
	double ratio;           /* to the median of all hosts */
	double q_value;         /* the false discovery rate at which it is one; NaN: not tested */
};

/*
 * Compares each of `count` hosts with the median of all, on a logarithmic scale: memory of equal
 * hosts differs by factors.  The spread is the median absolute deviation, and the host's own
 * sampling error adds to it.  Student's law with the degrees that such a spread is worth (0.37 of
 * those of a standard deviation) keeps false discoveries at their rate.  Fewer than eight hosts
 * are not tested.  -ENOMEM.
 */
enum { GG_FLEET_OUTLIER_HOSTS_LEAST = 8 };
GG_MUST_CHECK int gg_fleet_find_outliers(struct gg_fleet_outlier *hosts, size_t count);
