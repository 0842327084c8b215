/* SPDX-License-Identifier: Apache-2.0 */
/* merge_rows - adds up samples by group, stack, allocation class and fate. */
#include "format/merge/merge_rows.h"

#include <errno.h>
#include <math.h>

#include "base/assert.h"
#include "base/hash.h"

enum { SIZE_CLASS_MIXED = 255 };

/* Exact sums may have bytes without a count. */
static bool is_empty(const struct gg_merge_row *row)
{
	return !(row->part.sum.samples > 0) && !(row->part.sum.size > 0);
}

static int write_row(struct gg_merge_rows *rows, const struct gg_merge_row *row,
                     struct gg_error *error)
{
	const struct gg_row_sums *sum = &row->part.sum;
	struct gg_profile_aggregate aggregate = {
		.process = row->key.group,
		.stack = row->key.stack,
		.to_ns = row->key.fate >= GG_MERGE_LEFT ? GG_TIME_NONE : 0,
		.lost = row->key.fate == GG_MERGE_FREED_HELD || row->key.fate == GG_MERGE_LEFT_HELD,
		.may_be_left = row->key.fate == GG_MERGE_FREED_LEFT,
		.is_left = row->key.fate == GG_MERGE_LEFT || row->key.fate == GG_MERGE_LEFT_HELD,
		.is_inherited = row->key.is_inherited,
		.size_class = row->part.size_class,
		.interval_bytes = row->part.interval_bytes,
		.sums = gg_row_sums_sums(sum),
		.count_skew = sum->count_skew,
		.bytes_skew = sum->bytes_skew,
		.unknown_errors = sum->unknown_errors,
	};

	if (row->key.kind > 0) {
		const struct gg_merge_kind *kind = &rows->kinds->list.items[row->key.kind - 1];

		aggregate.has_kind = true;
		aggregate.is_mapping = kind->is_mapping;
		aggregate.heap = kind->heap;
		aggregate.type = kind->type;
	}
	return gg_profile_add_aggregate(rows->out, &aggregate, error);
}

int gg_merge_rows_write(struct gg_merge_rows *rows, struct gg_error *error)
{
	int status = 0;

	for (size_t i = 0; i < rows->rows.count && status == 0; i++)
		if (!is_empty(&rows->rows.items[i]))
			status = write_row(rows, &rows->rows.items[i], error);
	rows->rows.count = 0;
	gg_map_done(&rows->by_key);
	return status;
}

struct row_search {
	const struct gg_merge_rows *rows;
	const struct gg_merge_key *key;
};

static bool has_key(uint64_t index, const void *context)
{
	const struct row_search *search = context;
	const struct gg_merge_key *key = &search->rows->rows.items[index].key;

	return key->group == search->key->group && key->stack == search->key->stack &&
	       key->kind == search->key->kind && key->fate == search->key->fate &&
	       key->is_inherited == search->key->is_inherited &&
	       key->sure_class == search->key->sure_class;
}

/* Returns the row of this key, a new one if necessary; NULL: out of memory. */
static struct gg_merge_row *find_row(struct gg_merge_rows *rows, const struct gg_merge_key *key)
{
	struct row_search search = { rows, key };
	uint64_t hash = gg_hash_integer(
		(uint64_t)key->stack << 32 | key->kind,
		gg_map_seed(&rows->by_key) +
			((uint64_t)key->sure_class << 40 | (uint64_t)key->group << 4 |
	                 (uint64_t)key->is_inherited << 3 | (uint64_t)key->fate));
	uint64_t index = gg_map_find(&rows->by_key, hash, has_key, &search);
	struct gg_merge_row *row;

	gg_assert(key->fate <= GG_MERGE_LIVE);
	gg_assert(index == GG_MAP_NONE || index < rows->rows.count);
	if (index != GG_MAP_NONE)
		return &rows->rows.items[index];
	row = gg_array_add(&rows->rows);
	if (row == NULL)
		return NULL;
	row->key = *key;
	if (gg_map_insert(&rows->by_key, hash, rows->rows.count - 1) == 0)
		return row;
	rows->rows.count--;
	return NULL;
}

int gg_merge_rows_add(struct gg_merge_rows *rows, const struct gg_merge_key *key,
                      const struct gg_merge_part *part, struct gg_error *error)
{
	struct gg_merge_row *row;

	row = find_row(rows, key);
	if (row == NULL)
		return gg_error_memory(error, "merge");
	if (is_empty(row))
		row->part.size_class = part->size_class;
	else if (row->part.size_class != part->size_class)
		row->part.size_class = SIZE_CLASS_MIXED;
	row->part.interval_bytes = fmax(row->part.interval_bytes, part->interval_bytes);
	gg_row_sums_add(&row->part.sum, &part->sum);
	return 0;
}

void gg_merge_rows_subtract(struct gg_merge_rows *rows, const struct gg_merge_key *key,
                            const struct gg_row_sums *sample)
{
	struct gg_merge_row *row = find_row(rows, key);
	struct gg_row_sums *sum;

	if (row == NULL || row->part.sum.samples < 1)
		return;
	sum = &row->part.sum;
	sum->samples -= 1;
	sum->size -= sample->size;
	sum->count -= sample->count;
	sum->count_variance -= sample->count_variance;
	sum->bytes -= sample->bytes;
	sum->bytes_variance -= sample->bytes_variance;
	sum->count_skew = fmax(sum->count_skew - sample->count_skew, 0);
	sum->bytes_skew = fmax(sum->bytes_skew - sample->bytes_skew, 0);
	if (sum->samples < 1)
		*sum = (struct gg_row_sums){ 0 };
}

void gg_merge_rows_done(struct gg_merge_rows *rows)
{
	gg_array_done(&rows->rows);
	gg_map_done(&rows->by_key);
}
