/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compact - compaction: old freed samples become aggregates, and old aggregates become larger ones.
 *
 * Compaction works in passes.  A pass over the samples takes those that were freed before the end
 * of a bucket, and adds them to aggregates by (bucket of allocation, bucket of free, process,
 * thread, stack, size class, heap, type, unknown errors).  A pass over the aggregates does the same
 * with longer buckets.  Each call processes a batch of rows in the order of their ids.  One
 * transaction adds their sums to the aggregates and deletes the rows, so a kill leaves a profile
 * with equal sums before and after any batch.
 *
 * A block that several processes hold (origin) becomes part of an aggregate when all have freed it.
 * A counter of each process has the number of its inherited samples that went, because
 * unseen_heirs.h counts the samples that a profile has of those that a process inherited.
 *
 * Memory    One key for each aggregate that the pass has made: about 100 bytes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/buf.h"
#include "base/time_units.h"
#include "profile/row_reader.h"
#include "stats/estimate/tally.h"

const struct gg_compaction_rule gg_compaction_rule_default = {
	.keep_ns = 3600 * GG_NS_PER_S,
	.bucket_ns = 3600 * GG_NS_PER_S,
	.age_buckets = 4,
	.row_max = 2000000,
	.batch_count = 20000,
};

/*
 * A pass remembers this many keys.  After that it forgets them, and makes a second aggregate for a
 * key that comes again.  Sums over both are the same.
 */
enum { KEY_MAX = 500000 };

/*
 * Compaction gives up one more of these in each pass while there are too many aggregates: threads,
 * size classes, heaps and types, and from JOIN_TIMES on half of the resolution in time.
 */
enum { JOIN_THREADS = 1, JOIN_SIZES = 2, JOIN_KINDS = 3, JOIN_TIMES = 4, JOINS_MAX = 13 };

enum { SIZES_MIXED = 255 }; /* gg_profile_aggregate.size_class */

enum pass { PASS_NONE, PASS_SAMPLES, PASS_ROWS };

struct bucket_key {
	int64_t from_ns, to_ns;
	uint32_t process, thread, stack, heap, type;
	uint16_t size_class;
	uint8_t unknown_errors; /* 1 << enum gg_quantity; they must not spread to known ones */
	uint8_t kind_bits;      /* KIND_* */
};

enum { KIND_KNOWN = 1, KIND_MAPPING = 2 };

/* An aggregate that this pass has made, indexed by the key's id - 1. */
struct made_row {
	int64_t row;       /* its id; 0: not written yet */
	uint32_t position; /* 1 + its index in the batch; 0: not in the batch */
};

struct bucket_sums {
	uint32_t key; /* id */
	struct gg_profile_aggregate sums;
};

struct gg_compaction {
	enum pass pass;
	int64_t limit_ns;       /* this pass takes what ended before this time */
	int joins;              /* how many steps of JOIN_* are in force */
	bool shares;            /* processes share blocks of the samples of this batch */
	int64_t position, last; /* ids: processed so far, and the last one to process */
	int64_t samples_done_ns, rows_done_ns; /* limits of the last completed passes */
	struct gg_intern keys;
	struct gg_buf made;    /* struct made_row */
	struct gg_buf parts;   /* struct bucket_sums: sums of this batch */
	struct gg_buf removed; /* int64_t: ids of the rows that `parts` now counts */
};

static void forget_pass(struct gg_compaction *compaction)
{
	compaction->pass = PASS_NONE;
	gg_intern_done(&compaction->keys);
	gg_buf_done(&compaction->made);
}

void gg_compaction_free(struct gg_compaction *compaction)
{
	if (compaction == NULL)
		return;
	forget_pass(compaction);
	gg_buf_done(&compaction->parts);
	gg_buf_done(&compaction->removed);
	free(compaction);
}

static int64_t floor_to(int64_t time_ns, int64_t bucket_ns)
{
	int64_t rest = time_ns % bucket_ns;

	gg_assert(bucket_ns > 0);
	return time_ns - (rest < 0 ? rest + bucket_ns : rest);
}

/*
 * The batch's sums for a key.  NULL: out of memory.
 *
 * A key keeps its id for the whole pass, so that later batches add to the row that an earlier one
 * wrote.  Its sums of this batch are in `parts`, at a position that the key's made_row holds.
 */
static struct gg_profile_aggregate *part_of(struct gg_compaction *compaction,
                                            const struct bucket_key *key)
{
	uint32_t id = gg_intern_find(&compaction->keys, key, sizeof(*key));
	struct made_row *made, none = { 0 };
	struct bucket_sums part = { .key = id };

	if (id == 0) {
		gg_buf_append(&compaction->made, &none, sizeof(none));
		if (compaction->made.failed ||
		    gg_intern_add(&compaction->keys, key, sizeof(*key)) < 0)
			return NULL;
		part.key = id = compaction->keys.count;
	}
	gg_assert(id <= compaction->made.length / sizeof(none));
	made = (struct made_row *)(void *)compaction->made.data + id - 1;
	if (made->position == 0) {
		part.sums = (struct gg_profile_aggregate){ .process = key->process,
			                                   .thread = key->thread,
			                                   .stack = key->stack,
			                                   .from_ns = key->from_ns,
			                                   .to_ns = key->to_ns,
			                                   .size_class = key->size_class,
			                                   .unknown_errors = key->unknown_errors,
			                                   .has_kind = key->kind_bits != 0,
			                                   .is_mapping = (key->kind_bits &
			                                                  KIND_MAPPING) != 0,
			                                   .heap = key->heap,
			                                   .type = key->type };
		gg_buf_append(&compaction->parts, &part, sizeof(part));
		if (compaction->parts.failed)
			return NULL;
		made->position = (uint32_t)(compaction->parts.length / sizeof(part));
	}
	return &((struct bucket_sums *)(void *)compaction->parts.data)[made->position - 1].sums;
}

static void remember(struct gg_compaction *compaction, int64_t id)
{
	gg_buf_append(&compaction->removed, &id, sizeof(id));
}

/* --- samples ------------------------------------------------------------------------------ */

static uint32_t size_class_of(uint64_t size_bytes)
{
	return size_bytes <= 1 ? 0 : 64 - (uint32_t)__builtin_clzll(size_bytes - 1);
}

/* The error of a biased sampler is not known. */
static uint8_t unknown_errors_of(const struct gg_draw *draw)
{
	return draw->scheme == GG_SCHEME_BIASED ? 1 << GG_BYTES | 1 << GG_ALLOCATIONS : 0;
}

static uint8_t kind_bits_of(uint32_t sample_flags)
{
	return KIND_KNOWN | ((sample_flags & GG_PROFILE_SAMPLE_MAPPING) != 0 ? KIND_MAPPING : 0);
}

static double skew_of(const struct gg_tally *tally, enum gg_quantity quantity)
{
	return gg_sum_value(&tally->usual[quantity].skew) +
	       gg_sum_value(&tally->sure[quantity].skew);
}

static int compact_sample(struct gg_compaction *compaction, const struct gg_profile_sample *sample,
                          int64_t bucket_ns)
{
	struct bucket_key key = { .from_ns = floor_to(sample->alloc_ns, bucket_ns),
		                  .to_ns = floor_to(sample->free_ns, bucket_ns) + bucket_ns,
		                  .process = sample->process,
		                  .thread = sample->thread,
		                  .stack = sample->stack,
		                  .heap = sample->heap,
		                  .type = sample->type,
		                  .kind_bits = kind_bits_of(sample->flags),
		                  .size_class = (uint16_t)size_class_of(sample->size_bytes),
		                  .unknown_errors = unknown_errors_of(&sample->draw) };
	struct gg_profile_aggregate *sums = part_of(compaction, &key);
	struct gg_sums own = gg_sums_of(&sample->draw, sample->size_bytes);
	struct gg_tally tally = { 0 };

	if (sums == NULL)
		return -ENOMEM;
	gg_tally_add(&tally, &sample->draw, sample->size_bytes);
	gg_sums_add(&sums->sums, &own);
	sums->bucket_ns = bucket_ns;
	sums->count_skew += skew_of(&tally, GG_ALLOCATIONS);
	sums->bytes_skew += skew_of(&tally, GG_BYTES);
	sums->lifetime_ns_sum += (double)(sample->free_ns - sample->alloc_ns);
	if (sample->draw.sampling_interval > sums->interval_bytes)
		sums->interval_bytes = sample->draw.sampling_interval;
	return 0;
}

/* The samples of one block: ids, the last end (GG_TIME_NONE: still held), and the first holder. */
struct holders {
	struct gg_buf ids; /* int64_t */
	int64_t end_ns;
	bool has_first;
};

static int find_holders(struct gg_profile *profile, uint64_t block, struct holders *holders)
{
	struct gg_row_reader reading;

	gg_row_reader_begin(&reading, profile,
	                    "select id, t_free from sample where origin = ?1 or id = ?1");
	if (reading.statement != NULL)
		sqlite3_bind_int64(reading.statement, 1, (int64_t)block);
	while (gg_row_reader_next(&reading)) {
		int64_t id = (int64_t)gg_row_reader_bits(&reading);
		int64_t free_ns = gg_row_reader_time(&reading);

		gg_buf_append(&holders->ids, &id, sizeof(id));
		holders->has_first |= id == (int64_t)block;
		if (free_ns > holders->end_ns)
			holders->end_ns = free_ns;
	}
	if (holders->ids.failed)
		gg_row_reader_visited(&reading, -ENOMEM);
	return gg_row_reader_end(&reading, NULL);
}

/*
 * Compacts a sample whose block forks may have shared.  Reports count such a block once, by its
 * first sample, for as long as any process holds it.  Compaction must not change that:
 *
 *   1. The first sample waits until every holder has freed the block.  Then it becomes part of an
 *      aggregate, as a sample that ended at the last free, and all samples of the block go with it.
 *      If the first sample was inherited, it is not counted, because nobody counted its allocation.
 *   2. A later sample has nothing to add while another process still holds the block, because its
 *      own end does not end the block.  It goes at once.
 *   3. A later sample whose first sample is missing goes as well: nothing represents its block.
 *   4. Any other later sample stays, because step 1 removes it together with its first sample.
 */
static int compact_shared(struct gg_profile *profile, struct gg_profile_sample *sample,
                          int64_t bucket_ns)
{
	struct gg_compaction *compaction = profile->compaction;
	struct holders holders = { .end_ns = INT64_MIN };
	bool is_first = sample->origin == 0 || sample->origin == sample->id;
	int status = find_holders(profile, is_first ? sample->id : sample->origin, &holders);

	if (status == 0 && is_first && holders.end_ns < compaction->limit_ns) {
		sample->free_ns = holders.end_ns;
		if (sample->origin == 0)
			status = compact_sample(compaction, sample, bucket_ns);
		gg_buf_append(&compaction->removed, holders.ids.data, holders.ids.length);
	}
	if (!is_first && (holders.end_ns == GG_TIME_NONE || !holders.has_first))
		remember(compaction, (int64_t)sample->id);
	gg_buf_done(&holders.ids);
	return status;
}

static int scan_samples(struct gg_profile *profile, const struct gg_compaction_rule *rule,
                        struct gg_error *error)
{
	struct gg_compaction *compaction = profile->compaction;
	struct gg_row_reader reading;
	uint32_t count = 0;
	int result, status = 0;

	compaction->shares = gg_database_read_integer(
		profile, "select exists (select 1 from sample where origin is not null)", &result);

	/* A look refers to samples, so they stay as long as the profile keeps it. */
	gg_row_reader_begin(
		&reading, profile,
		profile->version < GG_PROFILE_VERSION_LOOK
			? "select id, t_free, t_alloc, process, thread, stack, size, scheme,"
			  " interval, offset, marks, origin, heap, type, flags"
			  " from sample where id > ? order by id limit ?"
			: "select id, t_free, t_alloc, process, thread, stack, size, scheme,"
			  " interval, offset, marks, origin, heap, type, flags"
			  " from sample where id > ?"
			  " and id not in (select sample from look_block where sample is not null)"
			  " order by id limit ?");
	if (reading.statement != NULL) {
		sqlite3_bind_int64(reading.statement, 1, compaction->position);
		sqlite3_bind_int64(reading.statement, 2, rule->batch_count);
	}
	while (status == 0 && gg_row_reader_next(&reading)) {
		struct gg_profile_sample sample = { .id = gg_row_reader_bits(&reading) };

		count++;
		compaction->position = (int64_t)sample.id;
		sample.free_ns = gg_row_reader_time(&reading);
		if (sample.free_ns >= compaction->limit_ns)
			continue;
		sample.alloc_ns = gg_row_reader_integer(&reading, INT64_MIN, INT64_MAX);
		sample.process = gg_row_reader_id(&reading, GG_DENSE_PROCESS);
		sample.thread = gg_row_reader_id(&reading, GG_DENSE_THREAD);
		sample.stack = gg_row_reader_id(&reading, GG_DENSE_STACK);
		sample.size_bytes = (uint64_t)gg_row_reader_integer(&reading, 0, INT64_MAX);
		sample.draw.scheme = (enum gg_scheme)gg_row_reader_integer(&reading, 0, UINT32_MAX);
		sample.draw.sampling_interval = gg_row_reader_number(&reading, 0, 0x1p127);
		sample.draw.offset_bytes = gg_row_reader_bits(&reading);
		sample.draw.sample_point_count = (uint32_t)gg_row_reader_integer(&reading, 0,
		                                                                 UINT32_MAX);
		sample.origin = gg_row_reader_bits(&reading);
		sample.heap = gg_row_reader_id(&reading, GG_DENSE_HEAP);
		sample.type = gg_row_reader_id(&reading, GG_DENSE_TYPE);
		sample.flags = (uint32_t)gg_row_reader_integer(&reading, 0, UINT32_MAX);
		if (compaction->shares) {
			status = compact_shared(profile, &sample, rule->bucket_ns);
			continue;
		}
		status = compact_sample(compaction, &sample, rule->bucket_ns);
		remember(compaction, (int64_t)sample.id);
	}
	if (count < rule->batch_count || compaction->position >= compaction->last)
		compaction->last = 0; /* the pass is complete */
	gg_row_reader_visited(&reading, status);
	return gg_row_reader_end(&reading, error);
}

/*
 * --- aggregates --------------------------------------------------------------------------------
 */

static struct gg_fixed read_fixed(struct gg_row_reader *reading)
{
	return gg_fixed_from(gg_row_reader_number(reading, 0, 0x1p127));
}

static int compact_row(struct gg_compaction *compaction, struct gg_row_reader *reading,
                       const struct bucket_key *narrow, int64_t bucket_ns)
{
	struct bucket_key key = *narrow;
	struct gg_profile_aggregate *sums;
	struct gg_sums own;
	double interval;

	key.from_ns = floor_to(narrow->from_ns, bucket_ns);
	key.to_ns = floor_to(narrow->to_ns - 1, bucket_ns) + bucket_ns;
	if (compaction->joins >= JOIN_THREADS)
		key.thread = 0;
	if (compaction->joins >= JOIN_SIZES)
		key.size_class = SIZES_MIXED;
	if (compaction->joins >= JOIN_KINDS)
		key.heap = key.type = key.kind_bits = 0;
	sums = part_of(compaction, &key);
	if (sums == NULL)
		return -ENOMEM;
	interval = gg_row_reader_number(reading, 0, 0x1p127);
	if (interval > sums->interval_bytes)
		sums->interval_bytes = interval;
	sums->bucket_ns = bucket_ns;
	own.sample_count = (uint64_t)gg_row_reader_integer(reading, 0, INT64_MAX);
	own.size_bytes = (uint64_t)gg_row_reader_integer(reading, 0, INT64_MAX);
	own.count = read_fixed(reading);
	own.count_variance = read_fixed(reading);
	own.bytes = read_fixed(reading);
	own.bytes_variance = read_fixed(reading);
	gg_sums_add(&sums->sums, &own);
	sums->count_skew += gg_row_reader_number(reading, 0, 0x1p1000);
	sums->bytes_skew += gg_row_reader_number(reading, 0, 0x1p1000);
	sums->lifetime_ns_sum += gg_row_reader_number(reading, 0, 0x1p1000);
	return 0;
}

/*
 * The bucket length for an aggregate that ended at to_ns: the shortest length times a power of two.
 * Resolution is given up in proportion to age: a bucket is at most 1 / age_buckets of the
 * aggregate's age.  A longer bucket must also have ended before the limit of the pass, because its
 * other samples may not be compacted yet.
 */
static int64_t bucket_for(const struct gg_compaction *compaction,
                          const struct gg_compaction_rule *rule, int64_t to_ns)
{
	int64_t bucket_ns = rule->bucket_ns, age_ns = compaction->limit_ns - to_ns;
	int64_t times = rule->age_buckets;

	if (compaction->joins >= JOIN_TIMES)
		age_ns = age_ns << (compaction->joins - JOIN_TIMES + 1);
	while (age_ns / times >= 2 * bucket_ns &&
	       floor_to(to_ns - 1, 2 * bucket_ns) + 2 * bucket_ns <= compaction->limit_ns)
		bucket_ns *= 2;
	gg_assert(bucket_ns % rule->bucket_ns == 0);
	return bucket_ns;
}

#define ROW_KEY                                                               \
	" id, to_ns, bucket_ns, from_ns, process, thread, stack, size_class," \
	" count_variance is null, bytes_variance is null, "
#define ROW_SUMS                                                                  \
	" interval, samples, size, count, count_variance, bytes, bytes_variance," \
	" count_skew, bytes_skew, lifetime_ns from coarse"                        \
	" where id > ? and id <= ? and coalesce(lost, 0) & 8 = 0 order by id limit ?"

static int scan_rows(struct gg_profile *profile, const struct gg_compaction_rule *rule,
                     struct gg_error *error)
{
	struct gg_compaction *compaction = profile->compaction;
	struct gg_row_reader reading;
	uint32_t count = 0;
	int status = 0;

	/* Exact aggregates (bit 8) stay: a row cannot hold both these and estimates. */
	gg_row_reader_begin(&reading, profile,
	                    profile->version < GG_PROFILE_VERSION_AGGREGATE_KIND
	                            ? "select" ROW_KEY "0, null, null," ROW_SUMS
	                            : "select" ROW_KEY "lost >> 5 & 3, heap, type," ROW_SUMS);
	if (reading.statement != NULL) {
		sqlite3_bind_int64(reading.statement, 1, compaction->position);
		sqlite3_bind_int64(reading.statement, 2, compaction->last);
		sqlite3_bind_int64(reading.statement, 3, rule->batch_count);
	}
	while (status == 0 && gg_row_reader_next(&reading)) {
		int64_t id = (int64_t)gg_row_reader_bits(&reading), bucket_ns, wanted_ns;
		struct bucket_key key = { 0 };

		count++;
		compaction->position = id;
		key.to_ns = gg_row_reader_time(&reading);
		bucket_ns = gg_row_reader_integer(&reading, 0, INT64_MAX);
		if (key.to_ns > compaction->limit_ns || bucket_ns == 0)
			continue;
		key.from_ns = gg_row_reader_integer(&reading, INT64_MIN, INT64_MAX);
		key.process = gg_row_reader_id(&reading, GG_DENSE_PROCESS);
		key.thread = gg_row_reader_id(&reading, GG_DENSE_THREAD);
		key.stack = gg_row_reader_id(&reading, GG_DENSE_STACK);
		key.size_class = (uint16_t)gg_row_reader_integer(&reading, 0, SIZES_MIXED);
		if (gg_row_reader_integer(&reading, 0, 1) != 0)
			key.unknown_errors |= 1 << GG_ALLOCATIONS;
		if (gg_row_reader_integer(&reading, 0, 1) != 0)
			key.unknown_errors |= 1 << GG_BYTES;
		key.kind_bits = (uint8_t)gg_row_reader_integer(&reading, 0, 3);
		key.heap = gg_row_reader_id(&reading, GG_DENSE_HEAP);
		key.type = gg_row_reader_id(&reading, GG_DENSE_TYPE);
		wanted_ns = bucket_for(compaction, rule, key.to_ns);
		if (bucket_ns >= wanted_ns &&
		    (compaction->joins < JOIN_THREADS || key.thread == 0) &&
		    (compaction->joins < JOIN_SIZES || key.size_class == SIZES_MIXED) &&
		    (compaction->joins < JOIN_KINDS || key.kind_bits == 0))
			continue;
		if (wanted_ns < bucket_ns)
			wanted_ns = bucket_ns;
		status = compact_row(compaction, &reading, &key, wanted_ns);
		remember(compaction, id);
	}
	if (count < rule->batch_count)
		compaction->last = 0;
	gg_row_reader_visited(&reading, status);
	return gg_row_reader_end(&reading, error);
}

/*
 * --- passes ------------------------------------------------------------------------------------
 */

static int add_to_row(struct gg_profile *profile, int64_t id,
                      const struct gg_profile_aggregate *sums, struct gg_error *error)
{
	static const char sql[] =
		"update coarse set interval = max(interval, ?2), samples = samples + ?3,"
		" size = size + ?4, count = count + ?5, count_variance = count_variance + ?6,"
		" bytes = bytes + ?7, bytes_variance = bytes_variance + ?8,"
		" count_skew = count_skew + ?9, bytes_skew = bytes_skew + ?10,"
		" lifetime_ns = lifetime_ns + ?11 where id = ?1";
	struct gg_statement row;
	int status = gg_statement_begin(&row, profile, GG_SQL_AGGREGATE_ADD, sql, error);

	if (status < 0)
		return status;
	gg_statement_integer(&row, id);
	gg_statement_number(&row, sums->interval_bytes);
	gg_statement_integer(&row, (int64_t)sums->sums.sample_count);
	gg_statement_integer(&row, (int64_t)sums->sums.size_bytes);
	gg_statement_number(&row, gg_fixed_value(sums->sums.count));
	gg_statement_number(&row, gg_fixed_value(sums->sums.count_variance));
	gg_statement_number(&row, gg_fixed_value(sums->sums.bytes));
	gg_statement_number(&row, gg_fixed_value(sums->sums.bytes_variance));
	gg_statement_number(&row, sums->count_skew);
	gg_statement_number(&row, sums->bytes_skew);
	gg_statement_number(&row, sums->lifetime_ns_sum);
	return gg_statement_run(&row, error);
}

static int write_parts(struct gg_profile *profile, struct gg_error *error)
{
	struct gg_compaction *compaction = profile->compaction;
	struct bucket_sums *parts = (struct bucket_sums *)(void *)compaction->parts.data;
	size_t count = compaction->parts.length / sizeof(*parts);
	int status = 0;

	for (size_t i = 0; i < count && status == 0; i++) {
		struct made_row *made = (struct made_row *)(void *)compaction->made.data +
		                        parts[i].key - 1;

		gg_assert(made->position == i + 1);
		made->position = 0;
		if (made->row != 0) {
			status = add_to_row(profile, made->row, &parts[i].sums, error);
			continue;
		}
		status = gg_profile_add_aggregate(profile, &parts[i].sums, error);
		made->row = sqlite3_last_insert_rowid(profile->db);
	}
	return status;
}

/* Counts the sample if its process inherited it. */
static int count_inherited(struct gg_profile *profile, int64_t id, struct gg_error *error)
{
	static const char sql[] = "insert into counter(process, name, value)"
				  " select process, '" GG_PROFILE_COUNTER_COMPACTED
				  "', 1 from sample"
				  " where id = ?1 and origin is not null and process is not null"
				  " on conflict(process, name) do update set value = value + 1";
	struct gg_statement row;
	int status = gg_statement_begin(&row, profile, GG_SQL_COUNTER_COMPACTED, sql, error);

	if (status < 0)
		return status;
	gg_statement_integer(&row, id);
	return gg_statement_run(&row, error);
}

static int remove_sources(struct gg_profile *profile, struct gg_error *error)
{
	struct gg_compaction *compaction = profile->compaction;
	const int64_t *ids = (const int64_t *)(const void *)compaction->removed.data;
	struct gg_statement row;
	int status = 0;

	for (size_t i = 0; i < compaction->removed.length / sizeof(*ids) && status == 0; i++) {
		if (compaction->shares)
			status = count_inherited(profile, ids[i], error);
		if (status < 0)
			break;
		status = compaction->pass == PASS_SAMPLES
		                 ? gg_statement_begin(&row, profile, GG_SQL_SAMPLE_REMOVE,
		                                      "delete from sample where id = ?", error)
		                 : gg_statement_begin(&row, profile, GG_SQL_AGGREGATE_REMOVE,
		                                      "delete from coarse where id = ?", error);
		if (status < 0)
			break;
		gg_statement_integer(&row, ids[i]);
		status = gg_statement_run(&row, error);
	}
	return status;
}

/*
 * Starts a pass if one is due.  False: none is.  A pass over the samples comes first, whenever one
 * more bucket has ended.  Aggregates change more slowly, so their pass waits for age_buckets
 * buckets.  It begins with the next step of JOIN_* if there are still too many aggregates.
 */
static bool begin_pass(struct gg_profile *profile, const struct gg_compaction_rule *rule,
                       int64_t now_ns)
{
	struct gg_compaction *compaction = profile->compaction;
	int64_t samples_ns = floor_to(now_ns - rule->keep_ns, rule->bucket_ns);
	int64_t rows_ns = floor_to(samples_ns, rule->bucket_ns * rule->age_buckets);
	int result;

	gg_assert(compaction->pass == PASS_NONE);
	if (samples_ns > compaction->samples_done_ns) {
		compaction->pass = PASS_SAMPLES;
		compaction->samples_done_ns = compaction->limit_ns = samples_ns;
		compaction->last = (int64_t)profile->last_sample;
	} else if (rows_ns > compaction->rows_done_ns) {
		compaction->pass = PASS_ROWS;
		compaction->rows_done_ns = compaction->limit_ns = rows_ns;
		compaction->last = gg_database_read_integer(profile, "select max(id) from coarse",
		                                            &result);
		if (compaction->joins < JOINS_MAX &&
		    gg_database_read_integer(profile, "select count(*) from coarse", &result) >
		            rule->row_max)
			compaction->joins++;
	}
	compaction->position = 0;
	return compaction->pass != PASS_NONE;
}

/* Limits the memory that a pass uses for keys. */
static void limit_keys(struct gg_compaction *compaction)
{
	if (compaction->keys.count < KEY_MAX)
		return;
	gg_intern_done(&compaction->keys);
	gg_buf_done(&compaction->made);
}

int gg_profile_compact(struct gg_profile *profile, const struct gg_compaction_rule *rule,
                       int64_t now_ns, struct gg_error *error)
{
	struct gg_compaction *compaction = profile->compaction;
	int status;

	gg_assert(rule->bucket_ns > 0 && rule->age_buckets > 0 && rule->batch_count > 0);
	if (compaction == NULL)
		compaction = profile->compaction = calloc(1, sizeof(*compaction));
	if (compaction == NULL)
		return gg_error_memory(error, profile->path);
	if (compaction->pass == PASS_NONE && !begin_pass(profile, rule, now_ns))
		return 0;
	limit_keys(compaction);
	gg_buf_clear(&compaction->parts);
	gg_buf_clear(&compaction->removed);
	compaction->shares = false;
	status = gg_database_begin(profile, error);
	if (status == 0)
		status = gg_database_execute(profile, "savepoint compaction", error);
	if (status < 0)
		return status;
	status = compaction->pass == PASS_SAMPLES ? scan_samples(profile, rule, error)
	                                          : scan_rows(profile, rule, error);
	if (status == -ENOMEM || (status == 0 && compaction->removed.failed))
		status = gg_error_memory(error, profile->path);
	if (status == 0)
		status = write_parts(profile, error);
	if (status == 0)
		status = remove_sources(profile, error);
	/* Half a batch would count samples twice: in an aggregate, and by themselves. */
	if (status < 0 && profile->failure == 0)
		(void)!gg_database_execute(profile, "rollback to compaction; release compaction",
		                           NULL);
	if (status == 0)
		status = gg_database_execute(profile, "release compaction", error);
	if (status < 0 || compaction->last == 0)
		forget_pass(compaction);
	return status < 0 ? status
	                  : compaction->pass != PASS_NONE || begin_pass(profile, rule, now_ns);
}
