/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fleet_rollup - sums of whole hours and days in place of their raw rows.
 *
 *   const struct gg_fleet_roll_plan plan = { .tenant = "default", .now_s = now, .settle_s = 1200 };
 *   struct gg_fleet_rolled rolled;
 *
 *   gg_fleet_roll(&store, &plan, &rolled, error);                  makes them
 *
 *   struct gg_fleet_cover cover = { 0 };
 *
 *   gg_fleet_cover_of(&cover, &store, &scope, groups, true, error);  which of them a question reads
 *   gg_fleet_cover_done(&cover);
 *
 * A rollup is the tally of each stack and series over a span.  It is computed whole in a table of
 * its own, and takes the place of the old one as a partition, so a roll can be repeated, and one
 * that is killed leaves the old rollup.
 *
 * Late rows  With its rows a rollup has a fingerprint of the raw rows that it was made from, taken
 *            before they were added up.  A question compares it with the raw rows that are there
 *            now.  If they differ, the question reads the raw rows, and the next roll makes that
 *            rollup again.  So an answer never depends on when somebody rolled.
 * Clean days Comparing costs a pass over the raw rows.  So a roll notes which parts of the tables
 *            hold the raw rows of each day that is over, if these did not change while it compared
 *            and rolled.  While the server has the same parts, the raw rows are those of the
 *            rollups, and questions do not read them.
 * Retention  Where raw rows were dropped (fleet_retention.h), the rollup stands for them.
 * Groups     Services of which some hosts are drawn keep their senders apart in 16 random groups.
 * Threads    any, each with a store of its own; two rolls at once disturb each other's work only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/compiler.h"
#include "base/error.h"
#include "fleet/clickhouse.h"
#include "fleet/fleet_question.h"

enum { GG_FLEET_ROLLUP_GROUPS = 16, GG_FLEET_HOUR_S = 3600, GG_FLEET_DAY_S = 86400 };

struct gg_fleet_roll_plan {
	const char *tenant;
	uint32_t now_s;
	uint32_t settle_s;   /* an hour is rolled so long after its end, because slots come late */
	bool is_dry_run;     /* only counts */
	uint64_t chunk_rows; /* raw rows that are added up at once; 0: 4 million */
};

struct gg_fleet_rolled {
	size_t hour_count, day_count; /* that were made, or would be */
	uint64_t raw_row_count;       /* in these hours */
	size_t failed_count;          /* hours and days that failed, or could not be looked for */
	/* Raw rows, and hours, from here on may lack rollups; UINT32_MAX: none does. */
	uint32_t first_hour_s, first_day_s;
};

/*
 * Makes all rollups that are missing or not those of their raw rows.  After a span that failed
 * it goes on with the others, and returns the first error.  -ENOENT: no tables.
 */
GG_MUST_CHECK int gg_fleet_roll(struct gg_clickhouse *store, const struct gg_fleet_roll_plan *plan,
                                struct gg_fleet_rolled *ret_rolled, struct gg_error *error);

/*
 * `by_span`: the question needs no single slot or host, so rollups can answer it.  -ENODATA: raw
 * rows that it needs were dropped.
 */
GG_MUST_CHECK int gg_fleet_cover_of(struct gg_fleet_cover *cover, struct gg_clickhouse *store,
                                    const struct gg_fleet_scope *scope, uint64_t groups,
                                    bool by_span, struct gg_error *error);
void gg_fleet_cover_done(struct gg_fleet_cover *cover);
