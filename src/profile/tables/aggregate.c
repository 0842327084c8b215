/* SPDX-License-Identifier: Apache-2.0 */
/*
 * aggregate - the table `coarse`, which holds aggregates.
 */
#include "profile/tables/record_table.h"
#include "stats/estimate/tally.h"

/* Variances may be unknown, and `lost` holds several facts as bits. */
struct aggregate_row {
	struct gg_profile_aggregate aggregate;
	double count_variance, bytes_variance; /* -1: unknown */
	uint32_t lost;
};

/* Bits of the column `lost`. */
enum {
	AGGREGATE_LOST = 1,
	AGGREGATE_LEFT = 2,
	AGGREGATE_SHARED = 4,
	AGGREGATE_EXACT = 8,
	AGGREGATE_TEMPORARY = 16,
	AGGREGATE_HAS_KIND = 32,
	AGGREGATE_MAPPING = 64,
	AGGREGATE_MAY_BE_LEFT = 128,
	AGGREGATE_INHERITED = 256
};

static const struct gg_column aggregate_columns[] = {
	{ "process", GG_COLUMN_ID, .offset = offsetof(struct aggregate_row, aggregate.process),
	  .target = GG_DENSE_PROCESS },
	{ "thread", GG_COLUMN_ID, .offset = offsetof(struct aggregate_row, aggregate.thread),
	  .target = GG_DENSE_THREAD },
	{ "stack", GG_COLUMN_ID, .offset = offsetof(struct aggregate_row, aggregate.stack),
	  .target = GG_DENSE_STACK },
	{ "from_ns", GG_COLUMN_MOMENT,
	  .offset = offsetof(struct aggregate_row, aggregate.from_ns) },
	{ "to_ns", GG_COLUMN_TIME, .offset = offsetof(struct aggregate_row, aggregate.to_ns) },
	{ "bucket_ns", GG_COLUMN_DURATION,
	  .offset = offsetof(struct aggregate_row, aggregate.bucket_ns) },
	{ "size_class", GG_COLUMN_UINT32,
	  .offset = offsetof(struct aggregate_row, aggregate.size_class) },
	{ "interval", GG_COLUMN_NUMBER,
	  .offset = offsetof(struct aggregate_row, aggregate.interval_bytes) },
	{ "samples", GG_COLUMN_COUNT,
	  .offset = offsetof(struct aggregate_row, aggregate.sums.sample_count) },
	{ "size", GG_COLUMN_COUNT,
	  .offset = offsetof(struct aggregate_row, aggregate.sums.size_bytes) },
	{ "count", GG_COLUMN_FIXED,
	  .offset = offsetof(struct aggregate_row, aggregate.sums.count) },
	{ "count_variance", GG_COLUMN_ESTIMATE,
	  .offset = offsetof(struct aggregate_row, count_variance) },
	{ "bytes", GG_COLUMN_FIXED,
	  .offset = offsetof(struct aggregate_row, aggregate.sums.bytes) },
	{ "bytes_variance", GG_COLUMN_ESTIMATE,
	  .offset = offsetof(struct aggregate_row, bytes_variance) },
	{ "count_skew", GG_COLUMN_CUBE,
	  .offset = offsetof(struct aggregate_row, aggregate.count_skew) },
	{ "bytes_skew", GG_COLUMN_CUBE,
	  .offset = offsetof(struct aggregate_row, aggregate.bytes_skew) },
	{ "lifetime_ns", GG_COLUMN_NUMBER,
	  .offset = offsetof(struct aggregate_row, aggregate.lifetime_ns_sum) },
	{ "lost", GG_COLUMN_UINT32, .offset = offsetof(struct aggregate_row, lost) },
	{ "heap", GG_COLUMN_ID, .offset = offsetof(struct aggregate_row, aggregate.heap),
	  .target = GG_DENSE_HEAP, .from_version = GG_PROFILE_VERSION_AGGREGATE_KIND },
	{ "type", GG_COLUMN_ID, .offset = offsetof(struct aggregate_row, aggregate.type),
	  .target = GG_DENSE_TYPE, .from_version = GG_PROFILE_VERSION_AGGREGATE_KIND },
};

#define COLUMNS_OF_ALL_VERSIONS                                                           \
	"coarse(\n"                                                                       \
	"  id integer primary key, process integer references process(id),\n"             \
	"  thread integer references thread(id), stack integer references stack(id),\n"   \
	"  from_ns integer, to_ns integer, bucket_ns integer,\n"                          \
	"  size_class integer, interval real,\n"                                          \
	"  samples integer, size integer, count real, count_variance real, bytes real,\n" \
	"  bytes_variance real, count_skew real, bytes_skew real, lifetime_ns real,\n"    \
	"  lost integer"

static const struct gg_record_table_older older_aggregates[] = {
	{ GG_PROFILE_VERSION_AGGREGATE_KIND - 1, COLUMNS_OF_ALL_VERSIONS ")" },
	{ 0 },
};

const struct gg_record_table gg_record_table_aggregate = {
	.name = "coarse",
	.create = COLUMNS_OF_ALL_VERSIONS ", heap integer references heap(id),\n"
					  "  type integer references type(id))",
	.older = older_aggregates,
	.insert = "insert",
	.sql = GG_SQL_AGGREGATE,
	.columns = aggregate_columns,
	.column_count = GG_COUNT(aggregate_columns),
};

static double known_variance(const struct gg_profile_aggregate *aggregate,
                             enum gg_quantity quantity, struct gg_fixed variance)
{
	return (aggregate->unknown_errors & 1u << quantity) == 0 ? gg_fixed_value(variance) : -1;
}

/* Files of earlier versions lack the heap and the type, without which the bits mean malloc. */
static uint32_t kind_bits(const struct gg_profile *profile,
                          const struct gg_profile_aggregate *aggregate)
{
	if (!aggregate->has_kind || profile->version < GG_PROFILE_VERSION_AGGREGATE_KIND)
		return 0;
	return AGGREGATE_HAS_KIND | (aggregate->is_mapping ? AGGREGATE_MAPPING : 0);
}

int gg_profile_add_aggregate(struct gg_profile *profile,
                             const struct gg_profile_aggregate *aggregate, struct gg_error *error)
{
	struct aggregate_row row = {
		.aggregate = *aggregate,
		.count_variance = known_variance(aggregate, GG_ALLOCATIONS,
		                                 aggregate->sums.count_variance),
		.bytes_variance = known_variance(aggregate, GG_BYTES,
		                                 aggregate->sums.bytes_variance),
		.lost = (aggregate->lost ? AGGREGATE_LOST : 0) |
		        (aggregate->is_left ? AGGREGATE_LEFT : 0) |
		        (aggregate->is_shared ? AGGREGATE_SHARED : 0) |
		        (aggregate->is_exact ? AGGREGATE_EXACT : 0) |
		        (aggregate->is_temporary ? AGGREGATE_TEMPORARY : 0) |
		        (aggregate->may_be_left ? AGGREGATE_MAY_BE_LEFT : 0) |
		        (aggregate->is_inherited ? AGGREGATE_INHERITED : 0) |
		        kind_bits(profile, aggregate),
	};
	int status = gg_record_table_insert(profile, &gg_record_table_aggregate, &row, error);

	return status < 0 || profile->final_path == NULL
	               ? status
	               : gg_database_commit_if_due(profile, error);
}

int gg_profile_remove_live_aggregates(struct gg_profile *profile, uint32_t process, bool are_exact,
                                      struct gg_error *error)
{
	struct gg_statement row;

	if (gg_statement_begin(&row, profile, GG_SQL_AGGREGATE_LIVE_REMOVE,
	                       "delete from coarse where to_ns is null and process = ?1"
	                       " and (lost & 8 <> 0) = ?2",
	                       error) < 0)
		return error->status;
	gg_statement_id(&row, process);
	gg_statement_integer(&row, are_exact);
	return gg_statement_run(&row, error);
}

static struct gg_fixed read_variance(double variance, enum gg_quantity quantity, uint32_t *unknown)
{
	if (variance >= 0)
		return gg_fixed_from(variance);
	*unknown |= 1u << quantity;
	return (struct gg_fixed){ 0 };
}

static void unpack(struct aggregate_row *row)
{
	struct gg_profile_aggregate *aggregate = &row->aggregate;
	struct gg_sums *sums = &aggregate->sums;

	aggregate->unknown_errors = 0;
	sums->count_variance = read_variance(row->count_variance, GG_ALLOCATIONS,
	                                     &aggregate->unknown_errors);
	sums->bytes_variance = read_variance(row->bytes_variance, GG_BYTES,
	                                     &aggregate->unknown_errors);
	aggregate->lost = (row->lost & (AGGREGATE_LOST | AGGREGATE_SHARED)) != 0;
	aggregate->is_left = (row->lost & AGGREGATE_LEFT) != 0 && aggregate->to_ns == GG_TIME_NONE;
	aggregate->is_shared = (row->lost & AGGREGATE_SHARED) != 0;
	aggregate->is_exact = (row->lost & AGGREGATE_EXACT) != 0;
	aggregate->is_temporary = (row->lost & AGGREGATE_TEMPORARY) != 0;
	aggregate->may_be_left = (row->lost & AGGREGATE_MAY_BE_LEFT) != 0;
	aggregate->is_inherited = (row->lost & AGGREGATE_INHERITED) != 0;
	aggregate->has_kind = (row->lost & AGGREGATE_HAS_KIND) != 0;
	aggregate->is_mapping = aggregate->has_kind && (row->lost & AGGREGATE_MAPPING) != 0;
	if (!aggregate->has_kind)
		aggregate->heap = aggregate->type = 0;
}

int gg_profile_each_aggregate(struct gg_profile *profile, gg_aggregate_visit *visit, void *context,
                              struct gg_error *error)
{
	struct gg_row_reader reading;
	struct aggregate_row row;

	gg_record_table_select(&reading, profile, &gg_record_table_aggregate, " order by id");
	while (gg_record_table_next(&reading, &gg_record_table_aggregate, &row)) {
		unpack(&row);
		gg_row_reader_visited(&reading, visit(&row.aggregate, context));
	}
	return gg_row_reader_end(&reading, error);
}
