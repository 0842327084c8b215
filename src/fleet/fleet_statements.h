/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fleet_statements - every SQL statement that questions ask of a store, each with its name.
 *
 *   gg_clickhouse_bind(&query, gg_fleet_statement(GG_FLEET_LIVE_TALLIES), values, count, error);
 *
 * SQL stands in this file alone (and that of the tables in fleet_schema.c), and a test runs each
 * statement.  All of them run on ClickHouse 18.16 and later: no functions or syntax of newer
 * servers.  Statistics are not made here: a statement gives sums of integers and of their
 * weights, from which src/stats computes estimates and intervals.
 *
 * Threads  any; the texts are constant.
 */
#pragma once

/* The key in `host` under which a process of another agent has the number of its receiver. */
#define GG_FLEET_RECEIVER_KEY "geiger.receiver"

enum gg_fleet_statement {
	GG_FLEET_SERVICES,  /* all series of all services */
	GG_FLEET_SERIES,    /* the series of a service, with labels */
	GG_FLEET_HOSTS,     /* the names of the hosts of senders in a window */
	GG_FLEET_LAST_SLOT, /* the latest slot of a service, and its first */
	GG_FLEET_PEAK_SLOT, /* the slot with most live bytes */
	GG_FLEET_PROCESSES, /* what each series and sender had in a window */
	GG_FLEET_COVERAGE,  /* the slots that each sender reported */
	GG_FLEET_LIVES, /* the first and last slots of senders, and whether they are other agents */
	GG_FLEET_SIGNS, /* when the receiver of another agent's process was last heard */
	GG_FLEET_SLOTS, /* the senders of each slot, their shares and resident bytes */
	GG_FLEET_SERVICE_LIVE,      /* sums over the last snapshots, by series */
	GG_FLEET_SERVICE_FOLDED,    /* the same of sums that hosts folded */
	GG_FLEET_LIVE_TALLIES,      /* sums over snapshots, by series, host group and stack */
	GG_FLEET_LIVE_SLOTS,        /* the same sums by slot and host group */
	GG_FLEET_ALLOCATED_TALLIES, /* sums over what was allocated in a window */
	GG_FLEET_FREED_TALLIES,
	GG_FLEET_FOLDED_TALLIES, /* sums that hosts folded: stacks with many sizes */
	GG_FLEET_FOLDED_SLOTS,
	GG_FLEET_RAW_MARKS,      /* the fingerprints of the raw rows of each hour */
	GG_FLEET_ROLLED_MARKS,   /* those of the rows that rollups were made from */
	GG_FLEET_CLEAN_DAYS,     /* days whose raw rows are those of their rollups, by the note */
	GG_FLEET_FLOORS,         /* up to when rows of each kind were dropped */
	GG_FLEET_ROLLED_TALLIES, /* sums of rollups of hours and days */
	GG_FLEET_LIVE_STACKS,    /* the frames of the stacks that those have */
	GG_FLEET_DRAWN_STACKS,
	GG_FLEET_LIVE_FRAMES, /* module and address of their frames */
	GG_FLEET_DRAWN_FRAMES,
	GG_FLEET_LIVE_SYMBOLS, /* functions of their frames */
	GG_FLEET_DRAWN_SYMBOLS,
};

enum { GG_FLEET_STATEMENT_COUNT = GG_FLEET_DRAWN_SYMBOLS + 1 };

/* Statements that keep a store in order: fleet_rollup.c and fleet_retention.c bind their values. */
enum gg_fleet_upkeep {
	GG_FLEET_DIRTY_HOURS, /* hours whose raw rows are not those of their rollup */
	GG_FLEET_DIRTY_DAYS,  /* days whose rollup is not that of their hours */
	GG_FLEET_DAY_PARTS,   /* numbers for the parts of each day, raw and rolled */
	GG_FLEET_ROLL_STAGING,
	GG_FLEET_ROLL_MARKS,
	GG_FLEET_ROLL_DRAWS,
	GG_FLEET_ROLL_LIVE,
	GG_FLEET_ROLL_FOLDED,
	GG_FLEET_ROLL_DAY,
	GG_FLEET_ROLL_REPLACE,
	GG_FLEET_ROLL_DROP_STAGING,
	GG_FLEET_STAGINGS,
	GG_FLEET_DELAY,      /* seconds that this replica is behind; 0: none, or no replica */
	GG_FLEET_RAW_ROWS,   /* how many a span has */
	GG_FLEET_PARTITIONS, /* of all tables, with their sizes */
	GG_FLEET_SET_FLOOR,
	GG_FLEET_DROP_PARTITION,
	GG_FLEET_UNNAMED_MODULES, /* builds with frames that have no name, most frames first */
	GG_FLEET_UNNAMED_FRAMES,  /* the frames of a build */
};

enum { GG_FLEET_UPKEEP_COUNT = GG_FLEET_UNNAMED_FRAMES + 1 };

const char *gg_fleet_statement(enum gg_fleet_statement statement);
const char *gg_fleet_upkeep(enum gg_fleet_upkeep statement);
