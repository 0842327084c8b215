/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fleet_statements - the texts.
 *
 * The tallies repeat the rule of gg_share_of() (src/stats/estimate/tally.h) for samples that a
 * scheme takes by inclusion: k samples of z bytes and of length `len` were drawn with the sampling
 * interval `gap`, so each was taken with p = 1 - m, m = exp(-len / gap).  A gap of at most 1 takes
 * everything.
 *
 * Columns of a tally: number of samples, largest gap, largest gap / len, largest 1 / len; then
 * seen, value, variance and skew of bytes (a) and of allocations (b) of samples that were likely
 * to be missed; and the same (c, d) of those with p >= 0.98.  Folded sums also have the slack of
 * both third cumulants (e), and whether the errors are unknown (u).
 *
 * The column `host` has the id of a sender, of which a host may have several (fleet_question.h).
 * {groups} is 0 for no groups of senders, 1 for a group for each sender, and otherwise their
 * number.
 * {all_slots} = 0 takes the latest slot of each sender in the window alone: a series that is not in
 * it has ended.  {metric} is that of `folded`: 0 allocated, 1 freed, 2 live.
 *
 * {hours} and {days} are the spans that a question reads from the tables of rollups; raw rows of
 * these spans do not count then.  {raw_from} and {raw_to} hold all other slots.
 *
 * {early} and {late} hold the window and some slots around it.
 *
 * Rollups  A row of metric 255 marks the rows of its service and span.  Its fingerprint is a sum
 *          over the raw rows and those of `process`, of their number and their samples: it changes
 *          with every insert.
 */
#include "fleet/fleet_statements.h"

#include <stddef.h>

#include "base/assert.h"

/* clang-format off */

#define SPAN "slot >= toDateTime({from}) AND slot < toDateTime({to}) "

#define ON_HOST \
	"AND ({any_host} OR host IN (SELECT host FROM {db}.host WHERE name = {host_name})) "

/* The window, and some slots around it. */
#define AROUND "slot >= toDateTime({early}) AND slot < toDateTime({late}) "

/* The rows that a question is about. */
#define WINDOW \
	"service = {service} AND " SPAN "AND ({any_series} OR series IN ({series})) " ON_HOST

/*
 * Takes the latest slot of each sender alone, whichever series and services it reported in it.  A
 * question about all services takes the latest slot of each sender and service.
 */
#define LATEST \
	"AND ({all_slots} OR (if({any_service}, service, toUInt64(0)), host, slot) IN (SELECT " \
	"if({any_service}, service, toUInt64(0)) AS part, host, max(slot) FROM {db}.process " \
	"WHERE " SPAN "GROUP BY part, host)) "

/*
 * Live rows of a sender whose row in `process` is on its way do not count yet, because averages
 * divide by the slots in which it reported.
 */
#define IS_REPORTED \
	"(service, host, slot) IN (SELECT service, host, slot FROM {db}.process WHERE " SPAN ") "

#define IS_REPORTED_HERE \
	"(host, slot) IN (SELECT host, slot FROM {db}.process WHERE service = {service} AND " \
	SPAN ") "

/*
 * Rows of the last slot of each sender and service, unless it is older than two slots before the
 * last one in which the service had processes (GG_FLEET_SNAPSHOT_SLOTS).
 */
#define LAST_SNAPSHOTS                                                                              \
	SPAN "AND (service, host, slot) IN (SELECT service, host, last_slot FROM (SELECT service, " \
	"host, max(slot) AS last_slot FROM {db}.process WHERE " SPAN "GROUP BY service, host) AS "  \
	"senders ANY LEFT JOIN (SELECT service, max(toUInt32(slot)) AS newest, "                    \
	"toUInt64(max(covered_s)) AS slot_length FROM {db}.process FINAL WHERE " SPAN "AND "         \
	"processes > 0 GROUP BY service) AS services USING service WHERE toUInt32(last_slot) + {snapshot_slots} " \
	"* greatest(slot_length, 1) > newest) "

/*
 * Rows of processes that ran at the end of their slot.  With {with_ended} also those of processes
 * that ended within it, whose allocations count.  A row that only says that a process has ended
 * covers no second.
 */
#define HAS_RUN \
	"(processes > 0 OR ({with_ended} AND (covered_s > 0 OR allocated_bytes > 0))) "

/* The part of a window that rollups do not cover. */
#define RAW_WINDOW                                                                                  \
	WINDOW                                                                                      \
	"AND slot >= toDateTime({raw_from}) AND slot < toDateTime({raw_to}) AND NOT "               \
	"(toUInt32(slot) - toUInt32(slot) % 3600 IN ({hours})) AND NOT (toUInt32(slot) - "          \
	"toUInt32(slot) % 86400 IN ({days})) "

/* The rows of rollups that a question reads. */
#define ROLLED(spans)                                                                       \
	"service = {service} AND metric = {metric} AND start IN ({" spans "}) AND start >= " \
	"{from} AND start < {to} "

/* The sums of a tally. */
#define SUMS \
	"sum(k) AS t_n, max(if(gap > 1, gap, 0.)) AS t_gap, max(if(gap > 1, gap " \
	"/ len, 0.)) AS t_reserve, max(1 / len) AS t_least, sum(if(sure, 0., k * " \
	"z)) AS a1, sum(if(sure, 0., k * z / p)) AS a2, sum(if(sure, 0., k * z * " \
	"z * m / (p * p))) AS a3, sum(if(sure, 0., k * z * z * z * m * (1 + m) / " \
	"(p * p * p))) AS a4, sum(if(sure, 0., k)) AS b1, sum(if(sure, 0., k / " \
	"p)) AS b2, sum(if(sure, 0., k * m / (p * p))) AS b3, sum(if(sure, 0., k " \
	"* m * (1 + m) / (p * p * p))) AS b4, sum(if(sure, k * z, 0.)) AS c1, " \
	"sum(if(sure, k * z / p, 0.)) AS c2, sum(if(sure, k * z * z * m / (p * " \
	"p), 0.)) AS c3, sum(if(sure, k * z * z * z * m * (1 + m) / (p * p * p), " \
	"0.)) AS c4, sum(if(sure, k, 0.)) AS d1, sum(if(sure, k / p, 0.)) AS d2, " \
	"sum(if(sure, k * m / (p * p), 0.)) AS d3, sum(if(sure, k * m * (1 + m) " \
	"/ (p * p * p), 0.)) AS d4 "

#define FOLDED_SUMS \
	"toFloat64(sum(n)) AS t_n, toFloat64(max(gap_max)) AS t_gap, " \
	"toFloat64(max(reserve_count)) AS t_reserve, max(1 / " \
	"toFloat64(greatest(least_size, 1))) AS t_least, toFloat64(sum(seen)) AS " \
	"a1, sum(bytes) AS a2, toFloat64(sum(bytes_var)) AS a3, " \
	"toFloat64(sum(bytes_skew)) AS a4, toFloat64(sum(n)) - " \
	"toFloat64(sum(sure_n)) AS b1, sum(count) AS b2, " \
	"toFloat64(sum(count_var)) AS b3, toFloat64(sum(count_skew)) AS b4, " \
	"toFloat64(sum(sure_seen)) AS c1, c1 + toFloat64(sum(missed_bytes)) AS " \
	"c2, toFloat64(sum(sure_bytes_var)) AS c3, toFloat64(0) AS c4, " \
	"toFloat64(sum(sure_n)) AS d1, d1 + toFloat64(sum(missed_count)) AS d2, " \
	"toFloat64(sum(sure_count_var)) AS d3, toFloat64(0) AS d4, " \
	"toFloat64(sum(bytes_slack)) AS e1, toFloat64(sum(count_slack)) AS e2, " \
	"toUInt8(max(unknown % 2)) AS u1, toUInt8(max(intDiv(unknown, 2) % 2)) " \
	"AS u2 "

/* The weights of a row. */
#define WEIGHTS \
	"toFloat64(size) AS z, if(size > 1, toFloat64(size), 1.) AS len, gap, " \
	"len / gap AS x, if(gap <= 1, 0., exp(-x)) AS m, if(gap <= 1, 1., if(x < " \
	"1e-5, x * (1 - x / 2), 1 - m)) AS p, p >= 0.98 AS sure "

#define HOST_GROUP \
	"multiIf({groups} = 0, toUInt64(0), {groups} = 1, host, host % " \
	"greatest({groups}, 1)) AS grp "

#define BY_STACK \
	"GROUP BY series, grp, stack ORDER BY series, grp, stack FORMAT " \
	"RowBinary"

#define TALLIES(count, table, condition) \
	"SELECT series, grp, stack, " SUMS "FROM (SELECT series, " HOST_GROUP ", stack, toFloat64(" count \
	") AS k, " WEIGHTS "FROM {db}." table " FINAL WHERE " RAW_WINDOW condition ") " BY_STACK

#define STACK_IDS(table) \
	"(stack IN (SELECT stack FROM {db}." table " WHERE " RAW_WINDOW ") OR stack IN (SELECT " \
	"stack FROM {db}.folded WHERE " RAW_WINDOW "AND metric = {metric}) OR stack IN (SELECT " \
	"stack FROM {db}.rollup_hour WHERE " ROLLED("hours") ") OR stack IN (SELECT stack FROM " \
	"{db}.rollup_day WHERE " ROLLED("days") ")) "

#define FRAME_IDS(table) \
	"SELECT arrayJoin(frames) FROM {db}.stack WHERE service = {service} AND " STACK_IDS(table)

#define STACKS(table) \
	"SELECT stack, frames FROM {db}.stack WHERE service = {service} AND " STACK_IDS(table) \
	"FORMAT RowBinary"

#define FRAMES(table) \
	"SELECT frame, build_id, address, module FROM {db}.frame WHERE frame IN (" FRAME_IDS(table) \
	") FORMAT RowBinary"

#define SYMBOLS(table) \
	"SELECT frame, functions, files, lines FROM {db}.symbol FINAL WHERE frame IN (" \
	FRAME_IDS(table) ") FORMAT RowBinary"

/* --- rollups --------------------------------------------------------------------------------- */

#define MARK "255"

#define RAW_MARK_OF(table, value) \
	"sum(toUInt64(4294967296) + " value ") AS f FROM {db}." table " WHERE " SPAN

/* Raw rows and the samples in them, by some key; `process` decides which live rows count. */
#define FINGERPRINTS(key, condition)                                                           \
	"SELECT " key RAW_MARK_OF("draw", "allocated + 3 * toUInt64(freed)") condition          \
	"GROUP BY key UNION ALL SELECT " key RAW_MARK_OF("live", "5 * toUInt64(n)") condition   \
	"GROUP BY key UNION ALL SELECT " key RAW_MARK_OF("folded", "7 * toUInt64(n)") condition \
	"GROUP BY key UNION ALL SELECT " key RAW_MARK_OF("process",                             \
	                                                 "11 * toUInt64(processes)") condition  \
	"GROUP BY key "

/*
 * Numbers for the parts that hold the raw rows of a day, and those of its rollups.  An insert takes
 * a higher block number, a merge keeps the highest, and a mutation has a higher one as its version.
 * A replicated table gives an insert its number before the rows are there, and replicas fetch parts
 * in any order.  So the count of the blocks there matters as well: it grows with a part below the
 * highest number.  A merge over a number without rows changes it too, until the next roll.
 * A day that does not begin and end with a day of UTC, by the server's time zone, has no row here.
 * The numbers of rollups tell a replica that has the raw rows, but not yet the newest rollups.
 */
#define PARTS_OF(tables)                                                                           \
	"(SELECT table, partition, max(greatest(toInt64(max_block_number), toInt64(data_version))) " \
	"AS last, sum(if(position(engine, 'Replicated') = 1, toInt64(max_block_number) - "         \
	"toInt64(min_block_number) + 1, toInt64(0))) AS blocks FROM system.parts WHERE active AND database = {db_text} AND table IN (" tables ") " \
	"GROUP BY table, partition) "

#define DAY_PARTS                                                                                  \
	"SELECT key, groupBitXor(raw) AS raw_parts, groupBitXor(rolled) AS rolled_parts FROM ("    \
	"SELECT toUInt32(toDateTime(toDate(partition))) AS key, cityHash64(table, last, blocks) AS raw, "  \
	"toUInt64(0) AS rolled FROM " PARTS_OF("'draw', 'live', 'folded', 'process'")              \
	"WHERE toUInt32(toDateTime(toDate(partition))) % 86400 = 0 AND "                           \
	"toUInt32(toDateTime(toDate(partition) + 1)) % 86400 = 0 UNION ALL SELECT "                \
	"toUInt32(intDiv(toUInt32(partition), 86400) * 86400) AS key, toUInt64(0) AS raw, "        \
	"cityHash64(table, partition, last, blocks) AS rolled FROM "                                       \
	PARTS_OF("'rollup_hour', 'rollup_day'") ") GROUP BY key "

#define HOUR_KEY "toUInt32(toUInt32(slot) - toUInt32(slot) % 3600) AS key, "

#define ROLLUP_KEY "start, service, stack, series, host_group, metric, folded, fingerprint, "

#define ROLLUP_SUMS                                                                            \
	"n, gap_max, reserve_count, count_per_byte, bytes_seen, bytes, bytes_var, bytes_skew, " \
	"count_seen, count, count_var, count_skew, sure_bytes_seen, sure_bytes, "               \
	"sure_bytes_var, sure_bytes_skew, sure_count_seen, sure_count, sure_count_var, "        \
	"sure_count_skew, bytes_slack, count_slack, bytes_unknown, count_unknown"

#define INTO_STAGING "INSERT INTO {db}.{staging} (" ROLLUP_KEY ROLLUP_SUMS ") "

#define IS_DRAWN \
	"service IN (SELECT service FROM {db}.process WHERE " SPAN "AND selected_ppm = 0) "

/* Services of which hosts are drawn keep random groups of senders. */
#define ROLLUP_GROUP "if(" IS_DRAWN ", toUInt8(host % 16), toUInt8(0)) AS grp, "

/* A part of all stacks, so that the server's memory suffices for a large service. */
#define CHUNK "AND cityHash64(service, stack) % {chunks} = {chunk} "

/*
 * The columns of `counts` are numbers of samples, each of the metric at its place in `metrics`.
 * One pass over the rows makes both metrics of `draw`, because FINAL merges all rows of the day.
 */
#define ROLL_DRAWS(counts, table, metrics, condition)                                                     \
	INTO_STAGING "SELECT toUInt32({from}), service, stack, series, grp, of_metric, "        \
	"toUInt8(0), toUInt64(0), " SUMS ", 0., 0., toUInt8(0), toUInt8(0) FROM (SELECT "      \
	"service, stack, series, " ROLLUP_GROUP "of_metric, toFloat64(samples) AS k, " WEIGHTS \
	"FROM (SELECT service, stack, series, host, size, gap, [" counts "] AS counts FROM "   \
	"{db}." table " FINAL WHERE " SPAN CHUNK condition ") ARRAY JOIN counts AS samples, [" metrics   \
	"] AS of_metric WHERE samples > 0) GROUP BY service, stack, series, grp, of_metric"

/* The sums of rows of rollups. */
#define ADD_ROLLUPS                                                                            \
	"sum(n) AS r1, max(gap_max) AS r2, max(reserve_count) AS r3, max(count_per_byte) AS "   \
	"r4, sum(bytes_seen) AS a1, sum(bytes) AS a2, sum(bytes_var) AS a3, sum(bytes_skew) "   \
	"AS a4, sum(count_seen) AS b1, sum(count) AS b2, sum(count_var) AS b3, "                \
	"sum(count_skew) AS b4, sum(sure_bytes_seen) AS c1, sum(sure_bytes) AS c2, "            \
	"sum(sure_bytes_var) AS c3, sum(sure_bytes_skew) AS c4, sum(sure_count_seen) AS d1, "   \
	"sum(sure_count) AS d2, sum(sure_count_var) AS d3, sum(sure_count_skew) AS d4, "        \
	"sum(bytes_slack) AS e1, sum(count_slack) AS e2, max(bytes_unknown) AS u1, "            \
	"max(count_unknown) AS u2 "

#define ROLLED_ROWS(table, spans)                                                              \
	"SELECT series, if({groups} = 0, toUInt64(0), toUInt64(host_group)) AS grp, stack, "   \
	ROLLUP_SUMS " FROM {db}." table " WHERE " ROLLED(spans)                                 \
	"AND ({any_series} OR series IN ({series})) "

#define MARKS(table, day)                                                                      \
	"SELECT toUInt8(" day ") AS day, start, sum(fingerprint) AS f, min(host_group) AS "     \
	"grouped FROM {db}." table " WHERE service = {service} AND metric = " MARK              \
	" AND start >= {from} AND start < {to} GROUP BY start "

/* Frames of machine code whose function has no name, or that of its address. */
#define UNNAMED(condition)                                                                         \
	"(SELECT frame, any(build_id) AS build, any(address) AS at, any(module) AS path FROM "     \
	"{db}.frame WHERE " condition " GROUP BY frame) AS code ANY LEFT JOIN (SELECT frame, "     \
	"arrayElement(functions, -1) AS name FROM {db}.symbol FINAL WHERE frame IN (SELECT frame " \
	"FROM {db}.frame WHERE " condition ")) AS named USING frame WHERE name = '' OR "           \
	"position(name, '+0x') > 0 "

static const char *const upkeep[GG_FLEET_UPKEEP_COUNT] = {
	[GG_FLEET_DIRTY_HOURS] =
		"SELECT key, sum(raw) AS raw_sum FROM (SELECT key, f AS raw, toUInt64(0) AS rolled "
		"FROM (" FINGERPRINTS(HOUR_KEY, "") ") UNION ALL SELECT start AS key, toUInt64(0) "
		"AS raw, fingerprint AS rolled FROM {db}.rollup_hour WHERE metric = " MARK
		" AND start >= {from} AND start < {to}) GROUP BY key HAVING sum(raw) != "
		"sum(rolled) AND sum(raw) != 0 ORDER BY key FORMAT RowBinary",
	[GG_FLEET_DIRTY_DAYS] =
		"SELECT key, sum(hours) AS hours_sum FROM (SELECT toUInt32(start - start % 86400) AS key, "
		"fingerprint AS hours, toUInt64(0) AS days FROM {db}.rollup_hour WHERE metric = " MARK
		" AND start >= {from} AND start < {to} UNION ALL SELECT start AS key, toUInt64(0) "
		"AS hours, fingerprint AS days FROM {db}.rollup_day WHERE metric = " MARK
		" AND start >= {from} AND start < {to}) GROUP BY key HAVING sum(hours) != "
		"sum(days) AND sum(hours) != 0 ORDER BY key FORMAT RowBinary",
	[GG_FLEET_DAY_PARTS] =
		DAY_PARTS "ORDER BY key FORMAT RowBinary",
	[GG_FLEET_ROLL_STAGING] =
		"CREATE TABLE {db}.{staging} AS {db}.{table} ENGINE = ReplacingMergeTree() "
		"PARTITION BY start ORDER BY (service, metric, stack, series, host_group, folded)",
	[GG_FLEET_ROLL_MARKS] =
		"INSERT INTO {db}.{staging} (start, service, metric, host_group, fingerprint) "
		"SELECT toUInt32({from}), key AS service, toUInt8(" MARK "), if(" IS_DRAWN
		", toUInt8(16), toUInt8(0)), sum(f) FROM ("
		FINGERPRINTS("service AS key, ", "") ") GROUP BY key",
	[GG_FLEET_ROLL_DRAWS] =
		ROLL_DRAWS("allocated, freed", "draw", "toUInt8(0), toUInt8(1)", ""),
	[GG_FLEET_ROLL_LIVE] =
		ROLL_DRAWS("n", "live", "toUInt8(2)", "AND " IS_REPORTED),
	[GG_FLEET_ROLL_FOLDED] =
		INTO_STAGING "SELECT toUInt32({from}), service, stack, series, " ROLLUP_GROUP
		"metric, toUInt8(1), toUInt64(0), " FOLDED_SUMS "FROM {db}.folded FINAL WHERE " SPAN
		CHUNK "AND (metric != 2 OR " IS_REPORTED ") GROUP BY service, stack, series, grp, "
		"metric",
	[GG_FLEET_ROLL_DAY] =
		INTO_STAGING "SELECT toUInt32({from}), service, stack, series, host_group, metric, "
		"folded, sum(fingerprint) AS f, " ADD_ROLLUPS "FROM {db}.rollup_hour WHERE start >= "
		"{from} AND start < {to} " CHUNK "GROUP BY service, stack, series, host_group, "
		"metric, folded",
	[GG_FLEET_ROLL_REPLACE] =
		"ALTER TABLE {db}.{table} REPLACE PARTITION {from} FROM {db}.{staging}",
	[GG_FLEET_ROLL_DROP_STAGING] =
		"DROP TABLE IF EXISTS {db}.{staging}",
	[GG_FLEET_STAGINGS] =
		"SELECT name, toUInt32(metadata_modification_time) FROM system.tables WHERE database "
		"= {db_text} AND name LIKE 'rollup_staging_%' FORMAT RowBinary",
	[GG_FLEET_DELAY] =
		"SELECT toUInt64(max(absolute_delay)) FROM system.replicas WHERE database = "
		"{db_text} FORMAT RowBinary",
	[GG_FLEET_RAW_ROWS] =
		"SELECT sum(c) FROM (SELECT count() AS c FROM {db}.draw WHERE " SPAN
		"UNION ALL SELECT count() AS c FROM {db}.live WHERE " SPAN ") FORMAT RowBinary",
	/* The end of a day is that of the server's time zone, by which it makes partitions. */
	[GG_FLEET_PARTITIONS] =
		"SELECT table, partition_id, toUInt64(sum(bytes_on_disk)) AS size, "
		"toUInt64(sum(rows)) AS row_count, toUInt32(toDateTime(max(date) + 1)) AS end FROM "
		"(SELECT table, partition_id, bytes_on_disk, rows, toDate(if(table IN ('draw', "
		"'live', 'folded', 'process', 'batch'), partition, '1970-01-01')) AS date FROM "
		"system.parts WHERE active AND database = {db_text}) GROUP BY table, partition_id "
		"ORDER BY table, partition_id FORMAT RowBinary",
	[GG_FLEET_SET_FLOOR] =
		"INSERT INTO {db}.retention SELECT {kind}, toUInt32({from}), now()",
	[GG_FLEET_DROP_PARTITION] =
		"ALTER TABLE {db}.{table} DROP PARTITION ID {partition}",
	[GG_FLEET_UNNAMED_MODULES] =
		"SELECT build, any(path) AS a_path FROM " UNNAMED("build_id != ''")
		"GROUP BY build ORDER BY count() DESC, build FORMAT RowBinary",
	[GG_FLEET_UNNAMED_FRAMES] =
		"SELECT frame, at FROM " UNNAMED("build_id = {build}")
		"ORDER BY at, frame FORMAT RowBinary",
};

/* --- questions ------------------------------------------------------------------------------- */

static const char *const statements[GG_FLEET_STATEMENT_COUNT] = {
	[GG_FLEET_SERVICES] =
		"SELECT service, series, service_name, version, kind, heap, type, keys, "
		"vals FROM {db}.series ORDER BY service_name FORMAT RowBinary",
	[GG_FLEET_SERIES] =
		"SELECT service, series, service_name, version, kind, heap, type, keys, "
		"vals FROM {db}.series WHERE service = {service} ORDER BY version FORMAT "
		"RowBinary",
	[GG_FLEET_HOSTS] =
		"SELECT host, name FROM {db}.host WHERE ({any_host} OR name = {host_name}) AND "
		"host IN (SELECT host FROM {db}.process WHERE ({any_service} OR service = "
		"{service}) AND " SPAN ") FORMAT RowBinary",
	[GG_FLEET_LAST_SLOT] =
		"SELECT max(toUInt32(slot)) AS last_slot, min(toUInt32(slot)) AS "
		"first_slot FROM {db}.process FINAL WHERE " WINDOW
		"AND processes > 0 FORMAT RowBinary",
	[GG_FLEET_PEAK_SLOT] =
		"SELECT toUInt32(slot) AS s, sum(live_bytes) AS live FROM {db}.process "
		"FINAL WHERE " WINDOW
		"GROUP BY s ORDER BY live DESC, s LIMIT 1 FORMAT RowBinary",
	[GG_FLEET_PROCESSES] =
		"SELECT service, series, host, toUInt32(max(slot)) AS last_slot, "
		"toUInt32(maxIf(slot, processes > 0)) AS last_running, "
		"toFloat64(sum(processes)) AS process_slots, toUInt32(argMax(selected_ppm, "
		"slot)) AS selected, toUInt8(max(selected_ppm > 0) != min(selected_ppm > 0)) AS "
		"redrawn, max(gap_max) AS gap, toUInt8(max(scheme)) AS law, "
		"toFloat64(sum(rss)) AS rss_sum, sum(live_bytes) AS live_sum, "
		"sum(allocated_bytes) AS allocated, toFloat64(max(dropped)) AS lost, "
		"toUInt32(maxIf(covered_s, processes > 0)) AS covered FROM {db}.process FINAL WHERE "
		"({any_service} OR service = {service}) AND " SPAN
		"AND ({any_series} OR series IN ({series})) " ON_HOST "AND " HAS_RUN LATEST
		"GROUP BY service, series, host ORDER BY service, series, host FORMAT "
		"RowBinary",
	[GG_FLEET_COVERAGE] =
		"SELECT host, toUInt32(slot) AS s, toUInt64(sum(processes)) AS running FROM "
		"{db}.process FINAL WHERE service = {service} AND " SPAN ON_HOST
		"GROUP BY host, s ORDER BY host, s FORMAT RowBinary",
	[GG_FLEET_LIVES] =
		"SELECT host, toUInt32(min(slot)) AS first_slot, toUInt32(max(slot)) AS last_slot, "
		"toUInt8(max(series IN (SELECT series FROM {db}.series WHERE service = {service} "
		"AND heap IN ('pprof', 'otlp')))) AS foreign FROM {db}.process WHERE service = "
		"{service} AND " AROUND "AND processes > 0 GROUP BY host ORDER BY host FORMAT "
		"RowBinary",
	[GG_FLEET_SIGNS] =
		"SELECT host, toUInt32(seen) AS heard FROM (SELECT host, "
		"argMax(vals[indexOf(keys, '" GG_FLEET_RECEIVER_KEY "')], month) AS heard_by FROM "
		"{db}.host FINAL WHERE has(keys, '" GG_FLEET_RECEIVER_KEY "') AND host IN (SELECT "
		"host FROM {db}.process WHERE service = {service} AND " AROUND ") GROUP BY host) "
		"AS senders ANY LEFT JOIN (SELECT toString(receiver) AS heard_by, "
		"max(toUInt32(at)) AS seen FROM {db}.batch WHERE day >= "
		"toDate(toDateTime(greatest({early}, 172800))) - 1 AND at >= toDateTime({early}) "
		"GROUP BY heard_by) AS signs USING heard_by ORDER BY host FORMAT RowBinary",
	[GG_FLEET_SLOTS] =
		"SELECT toUInt32(slot) AS s, host, toUInt64(sum(processes)) AS running, "
		"toUInt32(max(selected_ppm)) AS selected, toFloat64(sum(rss)) AS resident, "
		"toUInt8(min(processes = 0 OR rss > 0)) AS has_resident FROM {db}.process FINAL "
		"WHERE " WINDOW "GROUP BY s, host ORDER BY s, host FORMAT RowBinary",
	[GG_FLEET_SERVICE_LIVE] =
		"SELECT series, " SUMS "FROM (SELECT series, toFloat64(n) AS k, " WEIGHTS "FROM "
		"{db}.live FINAL WHERE " LAST_SNAPSHOTS ") GROUP BY series FORMAT RowBinary",
	[GG_FLEET_SERVICE_FOLDED] =
		"SELECT series, " FOLDED_SUMS "FROM {db}.folded FINAL WHERE " LAST_SNAPSHOTS
		"AND metric = {metric} GROUP BY series FORMAT RowBinary",
	[GG_FLEET_LIVE_TALLIES] =
		TALLIES("n", "live", LATEST "AND " IS_REPORTED_HERE),
	[GG_FLEET_ALLOCATED_TALLIES] =
		TALLIES("allocated", "draw", "AND allocated > 0"),
	[GG_FLEET_FREED_TALLIES] =
		TALLIES("freed", "draw", "AND freed > 0"),
	[GG_FLEET_FOLDED_TALLIES] =
		"SELECT series, " HOST_GROUP ", stack, " FOLDED_SUMS "FROM {db}.folded FINAL WHERE "
		RAW_WINDOW "AND metric = {metric} " LATEST "AND ({metric} != 2 OR " IS_REPORTED_HERE
		") " BY_STACK,
	[GG_FLEET_LIVE_SLOTS] =
		"SELECT s, grp, " SUMS "FROM (SELECT toUInt64(toUInt32(slot)) AS s, " HOST_GROUP
		", toFloat64(n) AS k, " WEIGHTS "FROM {db}.live FINAL WHERE " WINDOW "AND "
		IS_REPORTED_HERE ") GROUP BY s, grp ORDER BY s, grp FORMAT RowBinary",
	[GG_FLEET_FOLDED_SLOTS] =
		"SELECT toUInt64(toUInt32(slot)) AS s, " HOST_GROUP ", " FOLDED_SUMS "FROM "
		"{db}.folded FINAL WHERE " WINDOW "AND metric = {metric} AND ({metric} != 2 OR "
		IS_REPORTED_HERE ") GROUP BY s, grp ORDER BY s, grp FORMAT RowBinary",
	[GG_FLEET_RAW_MARKS] =
		"SELECT key, sum(f) FROM (" FINGERPRINTS(HOUR_KEY, "AND service = {service} ")
		") GROUP BY key ORDER BY key FORMAT RowBinary",
	[GG_FLEET_ROLLED_MARKS] =
		"SELECT day, start, f, grouped FROM (" MARKS("rollup_hour", "0") "UNION ALL "
		MARKS("rollup_day", "1") ") ORDER BY day DESC, start FORMAT RowBinary",
	[GG_FLEET_CLEAN_DAYS] =
		"SELECT key, sum(here) AS is_here FROM (SELECT key, bitXor(raw_parts, "
		"rolled_parts) AS here, toUInt64(0) AS noted FROM (" DAY_PARTS ") UNION ALL SELECT start AS key, toUInt64(0) AS here, "
		"parts AS noted FROM {db}.rolled_day FINAL) WHERE key + 86400 > {from} AND key < "
		"{to} GROUP BY key HAVING sum(here) = sum(noted) AND sum(noted) != 0 ORDER BY key "
		"FORMAT RowBinary",
	[GG_FLEET_FLOORS] =
		"SELECT kind, max(dropped_before) FROM {db}.retention GROUP BY kind FORMAT RowBinary",
	[GG_FLEET_ROLLED_TALLIES] =
		"SELECT series, grp, stack, " ADD_ROLLUPS "FROM ("
		ROLLED_ROWS("rollup_hour", "hours") "UNION ALL " ROLLED_ROWS("rollup_day", "days")
		") " BY_STACK,
	[GG_FLEET_LIVE_STACKS] =
		STACKS("live"),
	[GG_FLEET_LIVE_FRAMES] =
		FRAMES("live"),
	[GG_FLEET_LIVE_SYMBOLS] =
		SYMBOLS("live"),
	[GG_FLEET_DRAWN_STACKS] =
		STACKS("draw"),
	[GG_FLEET_DRAWN_FRAMES] =
		FRAMES("draw"),
	[GG_FLEET_DRAWN_SYMBOLS] =
		SYMBOLS("draw"),
};

/* clang-format on */

const char *gg_fleet_statement(enum gg_fleet_statement statement)
{
	gg_assert((size_t)statement < GG_FLEET_STATEMENT_COUNT);
	return statements[statement];
}

const char *gg_fleet_upkeep(enum gg_fleet_upkeep statement)
{
	gg_assert((size_t)statement < GG_FLEET_UPKEEP_COUNT);
	return upkeep[statement];
}
