/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fleet_schema - the list of tables.  The engine's name and the words ON CLUSTER depend on the
 * store, so a statement is a table with columns, an engine's argument, and an order.
 */
#include "fleet/fleet_schema.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A tally in plain doubles, in the order of fleet_statements.c. */
#define TALLY_COLUMNS                                                                               \
	"n Float64, gap_max Float64, reserve_count Float64, count_per_byte Float64, bytes_seen "    \
	"Float64, bytes Float64, bytes_var Float64, bytes_skew Float64, count_seen Float64, count " \
	"Float64, count_var Float64, count_skew Float64, sure_bytes_seen Float64, sure_bytes "      \
	"Float64, sure_bytes_var Float64, sure_bytes_skew Float64, sure_count_seen Float64, "       \
	"sure_count Float64, sure_count_var Float64, sure_count_skew Float64, bytes_slack "         \
	"Float64, count_slack Float64, bytes_unknown UInt8, count_unknown UInt8"

#define ROLLUP_COLUMNS                                                                           \
	"start UInt32, service UInt64, stack FixedString(16), series UInt64, host_group UInt8, " \
	"metric UInt8, folded UInt8, fingerprint UInt64, " TALLY_COLUMNS

#define ROLLUP_LAYOUT \
	"PARTITION BY start ORDER BY (service, metric, stack, series, host_group, folded)"

/* A migration makes a table.  Numbers ascend; rows are never removed. */
static const struct migration {
	uint32_t number;
	const char *table, *columns;
	const char *version_column; /* the larger of two rows with one key stays; "": the newer */
	const char *layout;         /* partition and order */
} migrations[] = {
	{ 1, "schema", "version UInt32, at DateTime", "", "ORDER BY version" },
	{ 2, "series",
	  "month UInt32, service UInt64, series UInt64, service_name String, version "
	  "String, kind String, heap String, type String, keys Array(String), vals "
	  "Array(String)",
	  "", "PARTITION BY month ORDER BY (service, series)" },
	{ 3, "host",
	  "month UInt32, host UInt64, name String, keys Array(String), vals "
	  "Array(String)",
	  "", "PARTITION BY month ORDER BY host" },
	{ 4, "process",
	  "slot DateTime, service UInt64, series UInt64, host UInt64, processes UInt32, "
	  "selected_ppm UInt32, gap_max Float64, scheme UInt8, rss UInt64, live_bytes "
	  "Float64, allocated_bytes Float64, covered_s UInt32, dropped UInt64",
	  "", "PARTITION BY toDate(slot) ORDER BY (service, series, host, slot)" },
	{ 5, "draw",
	  "slot DateTime, service UInt64, stack FixedString(16), series UInt64, host "
	  "UInt64, size UInt64, gap Float64, allocated UInt32, freed UInt32, flags UInt8",
	  "",
	  "PARTITION BY toDate(slot) ORDER BY (service, stack, series, size, gap, flags, "
	  "host, slot)" },
	{ 6, "live",
	  "slot DateTime, service UInt64, stack FixedString(16), series UInt64, host "
	  "UInt64, size UInt64, gap Float64, n UInt32, flags UInt8",
	  "",
	  "PARTITION BY toDate(slot) ORDER BY (service, slot, stack, series, size, gap, "
	  "flags, host)" },
	{ 7, "folded",
	  "slot DateTime, service UInt64, stack FixedString(16), series UInt64, host "
	  "UInt64, metric UInt8, n UInt32, sure_n UInt32, seen UInt64, sure_seen UInt64, "
	  "bytes Float64, count Float64, bytes_var Float32, count_var Float32, "
	  "missed_bytes Float32, missed_count Float32, sure_bytes_var Float32, "
	  "sure_count_var Float32, bytes_skew Float32, count_skew Float32, bytes_slack "
	  "Float32, count_slack Float32, unknown UInt8, gap_max Float32, reserve_count "
	  "Float32, least_size UInt64",
	  "",
	  "PARTITION BY toDate(slot) ORDER BY (service, metric, stack, series, host, "
	  "slot)" },
	{ 8, "hour",
	  "hour UInt32, service UInt64, stack FixedString(16), series UInt64, host_group "
	  "UInt8, metric UInt8, hosts UInt32, n Float64, sure_n Float64, seen Float64, "
	  "sure_seen Float64, bytes Float64, count Float64, bytes_var Float32, count_var "
	  "Float32, missed_bytes Float32, missed_count Float32, sure_bytes_var Float32, "
	  "sure_count_var Float32, bytes_skew Float32, count_skew Float32, bytes_slack "
	  "Float32, count_slack Float32, unknown UInt8, gap_max Float32, reserve_count "
	  "Float32, least_size UInt64",
	  "", "PARTITION BY hour ORDER BY (service, metric, stack, series, host_group)" },
	{ 9, "stack", "month UInt32, service UInt64, stack FixedString(16), frames Array(UInt64)",
	  "", "PARTITION BY month ORDER BY (service, stack)" },
	{ 10, "frame", "month UInt32, frame UInt64, build_id String, address UInt64, module String",
	  "", "PARTITION BY month ORDER BY frame" },
	{ 11, "symbol",
	  "frame UInt64, resolved DateTime, functions Array(String), files "
	  "Array(String), lines Array(UInt32)",
	  "resolved", "ORDER BY frame" },
	{ 12, "stack_function",
	  "month UInt32, service UInt64, stack FixedString(16), made DateTime, self "
	  "UInt64, functions Array(UInt64), by_name FixedString(16)",
	  "made", "PARTITION BY month ORDER BY (service, stack)" },
	{ 13, "batch",
	  "day Date, receiver UInt32, segment UInt64, rows UInt64, bytes UInt64, at "
	  "DateTime",
	  "", "PARTITION BY day ORDER BY (receiver, segment)" },
	{ 14, "rollup_hour", ROLLUP_COLUMNS, "", ROLLUP_LAYOUT },
	{ 15, "rollup_day", ROLLUP_COLUMNS, "", ROLLUP_LAYOUT },
	{ 16, "retention", "kind String, dropped_before UInt32, at DateTime", "dropped_before",
	  "ORDER BY kind" },
	{ 17, "rolled_day", "start UInt32, parts UInt64, at DateTime", "at", "ORDER BY start" },
};

uint32_t gg_fleet_schema_version(void)
{
	return migrations[GG_COUNT(migrations) - 1].number;
}

static int add_database(struct gg_buf *out, const char *tenant, const char *cluster,
                        struct gg_error *error)
{
	const struct gg_clickhouse_value values[] = {
		gg_clickhouse_name("tenant", tenant),
		gg_clickhouse_name("cluster", cluster != NULL ? cluster : "-"),
	};

	return gg_clickhouse_bind(
		out,
		cluster != NULL ? "CREATE DATABASE IF NOT EXISTS {tenant} ON CLUSTER {cluster}"
				: "CREATE DATABASE IF NOT EXISTS {tenant}",
		values, GG_COUNT(values), error);
}

/* Appends one statement. */
static int add_table(struct gg_buf *out, const struct migration *migration, const char *tenant,
                     const char *cluster, struct gg_error *error)
{
	char path[300];
	const struct gg_clickhouse_value values[] = {
		gg_clickhouse_name("tenant", tenant),
		gg_clickhouse_name("cluster", cluster != NULL ? cluster : "-"),
		gg_clickhouse_name("table", migration->table),
		gg_clickhouse_text("path", path),
	};
	const char *comma = migration->version_column[0] != '\0' ? ", " : "";
	int status;

	/* The server replaces {shard}; gg_clickhouse_bind() reads no braces in values. */
	snprintf(path, sizeof(path), "/clickhouse/tables/{shard}/%.100s/%s", tenant,
	         migration->table);
	status = gg_clickhouse_bind(
		out,
		cluster != NULL
			? "CREATE TABLE IF NOT EXISTS {tenant}.{table} ON CLUSTER {cluster} ("
			: "CREATE TABLE IF NOT EXISTS {tenant}.{table} (",
		values, GG_COUNT(values), error);
	gg_buf_append_text(out, migration->columns);
	gg_buf_append_text(out, ") ENGINE = ");
	if (status == 0 && cluster != NULL) {
		const struct gg_clickhouse_value replica[] = {
			gg_clickhouse_text("path", path),
			gg_clickhouse_text("replica", "{replica}"),
		};

		status = gg_clickhouse_bind(out, "ReplicatedReplacingMergeTree({path}, {replica}",
		                            replica, GG_COUNT(replica), error);
		gg_buf_printf(out, "%s%s) ", comma, migration->version_column);
	} else {
		gg_buf_printf(out, "ReplacingMergeTree(%s) ", migration->version_column);
	}
	gg_buf_append_text(out, migration->layout);
	return status == 0 && out->failed ? gg_error_memory(error, "schema") : status;
}

int gg_fleet_schema_print(const char *tenant, const char *cluster, struct gg_buf *out,
                          struct gg_error *error)
{
	int status = add_database(out, tenant, cluster, error);

	gg_buf_append_text(out, ";\n");
	for (size_t i = 0; i < GG_COUNT(migrations) && status == 0; i++) {
		status = add_table(out, &migrations[i], tenant, cluster, error);
		gg_buf_append_text(out, ";\n");
	}
	return status == 0 && out->failed ? gg_error_memory(error, "schema") : status;
}

/* The number that the store has seen; 0: it has no tables. */
static int read_version(struct gg_clickhouse *store, const char *tenant, uint32_t *ret_version,
                        struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf query = { 0 }, reply = { 0 };
	const struct gg_clickhouse_value values[] = { gg_clickhouse_name("tenant", tenant) };
	struct gg_clickhouse_rows rows;
	int status = gg_clickhouse_bind(&query,
	                                "SELECT max(version) FROM {tenant}.schema FORMAT RowBinary",
	                                values, GG_COUNT(values), error);

	if (status == 0)
		status = gg_clickhouse_query(store, &query, &reply, error);
	rows = gg_clickhouse_rows_of(&reply);
	*ret_version = status == 0 ? gg_clickhouse_read_u32(&rows) : 0;
	return status;
}

static int run_statement(struct gg_clickhouse *store, const struct gg_buf *statement,
                         struct gg_error *error)
{
	return gg_clickhouse_query(store, statement, NULL, error);
}

static int note_version(struct gg_clickhouse *store, const char *tenant, uint32_t version,
                        struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf query = { 0 };
	const struct gg_clickhouse_value values[] = { gg_clickhouse_name("tenant", tenant),
		                                      gg_clickhouse_u64("version", version) };
	int status = gg_clickhouse_bind(
		&query, "INSERT INTO {tenant}.schema SELECT toUInt32({version}), now()", values,
		GG_COUNT(values), error);

	return status < 0 ? status : run_statement(store, &query, error);
}

int gg_fleet_schema_apply(struct gg_clickhouse *store, const char *tenant, const char *cluster,
                          size_t *ret_count, struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf statement = { 0 };
	uint32_t version = 0;
	int status = read_version(store, tenant, &version, error);

	*ret_count = 0;
	if (status == -ENOENT) {
		status = add_database(&statement, tenant, cluster, error);
		if (status == 0)
			status = run_statement(store, &statement, error);
	}
	for (size_t i = 0; i < GG_COUNT(migrations) && status == 0; i++) {
		if (migrations[i].number <= version)
			continue;
		gg_buf_clear(&statement);
		status = add_table(&statement, &migrations[i], tenant, cluster, error);
		if (status == 0)
			status = run_statement(store, &statement, error);
		if (status == 0)
			++*ret_count;
	}
	/* Noted last: after a failure the next call repeats all, which changes nothing. */
	if (status == 0 && *ret_count > 0)
		status = note_version(store, tenant, gg_fleet_schema_version(), error);
	return status;
}

int gg_fleet_schema_check(struct gg_clickhouse *store, const char *tenant, struct gg_error *error)
{
	uint32_t version = 0, known = gg_fleet_schema_version();
	int status = read_version(store, tenant, &version, error);

	if (status < 0)
		return status;
	if (version < known)
		return gg_error_set(error, -ENOENT, tenant, "Run geiger fleet schema --apply.",
		                    "the store has the tables of version %u, and this geiger needs "
		                    "version %u",
		                    version, known);
	if (version > known)
		return gg_error_set(
			error, -EPROTO, tenant, "Use the newer geiger.",
			"a newer geiger made the tables: version %u, and this one knows "
			"version %u",
			version, known);
	return 0;
}
