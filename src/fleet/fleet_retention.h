/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fleet_retention - drops old rows of a store, as whole partitions.
 *
 *   struct gg_fleet_retention plan = { .tenant = "default", .now_s = now, .raw_s = 7 * day };
 *   struct gg_fleet_dropped dropped = { 0 };
 *
 *   gg_fleet_retain(&store, &plan, &dropped, error);
 *   gg_fleet_dropped_done(&dropped);
 *
 * There are three kinds of rows: raw ones (draw, live, folded), rollups of hours, and rollups of
 * days.  The rows of `process` and the names of hosts, series and stacks are kept as long as the
 * kind that is kept longest, because every question needs them.
 *
 * Order  Raw rows are dropped only where a rollup of their hours stands for them, and rollups of
 *        hours only where that of their day does, unless no such rollups are to be kept.  Before
 *        rows are dropped, the table `retention` gets the time up to which they are gone: from then
 *        on rollups are no longer compared with raw rows, and late rows from before do not count.
 * Size   With bytes to free, the oldest raw rows go first, then the oldest hours, then the oldest
 *        days, until so much is free; the last two days stay.
 *
 * Threads  any, each with a store of its own.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/compiler.h"
#include "base/error.h"
#include "fleet/clickhouse.h"

/* Rows of a kind before these times were dropped; 0: none was. */
struct gg_fleet_floors {
	uint32_t raw_s, hours_s, days_s;
};

GG_MUST_CHECK int gg_fleet_read_floors(struct gg_fleet_floors *ret_floors,
                                       struct gg_clickhouse *store, const char *tenant,
                                       struct gg_error *error);

enum gg_fleet_kind {
	GG_FLEET_RAW,
	GG_FLEET_HOURS,
	GG_FLEET_DAYS,
};

enum { GG_FLEET_KIND_COUNT = GG_FLEET_DAYS + 1 };

struct gg_fleet_retention {
	const char *tenant;
	uint32_t now_s;
	uint32_t keep_s[GG_FLEET_KIND_COUNT]; /* ages; 0: for ever */
	uint64_t max_bytes;                   /* of the tenant's tables on disk; 0: no limit */
	uint64_t free_bytes;                  /* that must be freed at least */
	bool is_dry_run;                      /* only finds what would be dropped */
	/*
	 * After a roll failed, raw rows, and hours, that end after these times may not be added up.
	 * They stay, and days go by age alone.  0: no roll failed.
	 */
	uint32_t unrolled_hour_s, unrolled_day_s;
};

/* A partition that was dropped, or would be. */
struct gg_fleet_partition {
	char table[32], id[32]; /* names of ClickHouse */
	uint64_t bytes, row_count;
	uint32_t end_s; /* its rows are before this time */
};

struct gg_fleet_dropped {
	GG_ARRAY(struct gg_fleet_partition) partitions;
	uint64_t bytes; /* of them */
	uint64_t kept_bytes;
	bool is_short; /* the limit on bytes is not met, because the last two days stay */
};

/*
 * Roll first (fleet_rollup.h): a dropped row that no rollup has is lost.  -EINVAL: raw rows are to
 * be kept longer than hours, or hours longer than days, or anything for less than two days.
 */
GG_MUST_CHECK int gg_fleet_retain(struct gg_clickhouse *store,
                                  const struct gg_fleet_retention *plan,
                                  struct gg_fleet_dropped *dropped, struct gg_error *error);
void gg_fleet_dropped_done(struct gg_fleet_dropped *dropped);
