/* SPDX-License-Identifier: Apache-2.0 */
/* page_pinned_cells - sorts the blocks of looks by what the page tells apart, and sums them up. */
#include "page/page_pinned_cells.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "page/page_columns.h"
#include "page/page_owners.h"
#include "query/pinned.h"
#include "query/query.h"
#include "stats/estimate/looked_value.h"

/* A group needs as much space as this many cells, and all groups may use a fifth of the page. */
enum { CELLS_OF_GROUP = 13, GROUPS_SHARE = 5 };

/* Sums over ten thousand blocks; the page shows three digits of them, and tests compare six. */
enum { SUM_DIGITS = 8, SPREAD_DIGITS = 7 };

/* The key that the blocks of a group share. */
struct group_key {
	uint32_t node, path, line, owner, kind, size_class;
	/* Another process represents the block; its value is unknown. */
	uint32_t is_held, is_unsure;
};

struct pinned_group {
	struct group_key key;
	uint32_t block; /* its first one, by number in the look */
	/* The columns, in the order of docs/reference/PAGE_DATA.md. */
	uint32_t node_delta, n, unknown;
	double bytes, bytes_variance, bytes_skew, seen_bytes, reserve_bytes, upper;
};

static bool are_same(const struct gg_pinned *a, const struct gg_pinned *b)
{
	if (a->blocks.count != b->blocks.count ||
	    a->coverage.look_count != b->coverage.look_count ||
	    a->coverage.time_ns != b->coverage.time_ns)
		return false;
	for (size_t i = 0; i < a->blocks.count; i++)
		if (a->blocks.items[i].sample != b->blocks.items[i].sample ||
		    a->blocks.items[i].look_ns != b->blocks.items[i].look_ns)
			return false;
	return true;
}

int gg_page_pinned_find(struct gg_page_run *run)
{
	static const uint32_t moments[] = { GG_LOOK_LAST, GG_LOOK_PEAK };

	for (size_t i = 0; i < GG_COUNT(moments); i++) {
		struct gg_page_look *look = &run->looks[run->look_count];
		int status = gg_pinned_find(&look->pinned, run->model, NULL, moments[i],
		                            run->error);

		if (status == -ENODATA)
			continue;
		if (status < 0)
			return status;
		if (run->look_count > 0 && are_same(&run->looks[0].pinned, &look->pinned)) {
			run->looks[0].moments |= moments[i];
			gg_pinned_done(&look->pinned);
			continue;
		}
		look->moments = moments[i];
		run->look_count++;
	}
	return 0;
}

void gg_page_pinned_done(struct gg_page_run *run)
{
	for (uint32_t i = 0; i < run->look_count; i++)
		gg_pinned_done(&run->looks[i].pinned);
}

/* The group of a block, by node alone if `is_coarse`. */
static struct group_key key_of(const struct gg_page_run *run, const struct gg_page_tree *tree,
                               const struct gg_pinned_block *block, bool is_coarse)
{
	const struct gg_model_sample *sample = &run->model->samples[block->sample];
	const struct gg_page_pick pick = { .process = sample->process, .thread = sample->thread };
	uint32_t top = run->model->stacks[sample->stack].top;
	struct group_key key = { .node = tree->node_of[top],
		                 .is_held = !block->is_first,
		                 .is_unsure = !block->is_known };

	if (key.node == UINT32_MAX) /* no other sample is there, so the tree has no such node */
		key.node = 0;
	else if (tree->has_paths && !is_coarse) {
		key.path = tree->path_of[top];
		key.line = tree->line_of[top];
	}
	if (is_coarse)
		return key;
	key.owner = gg_page_owner_of(run, &pick);
	key.kind = sample->kind;
	key.size_class = gg_query_size_class(sample->size_bytes);
	return key;
}

static int compare_keys(const struct group_key *a, const struct group_key *b)
{
	const uint32_t *left = &a->node, *right = &b->node;

	_Static_assert(sizeof(*a) == 8 * sizeof(uint32_t), "a key has numbers alone");
	for (size_t i = 0; i < sizeof(*a) / sizeof(uint32_t); i++)
		if (left[i] != right[i])
			return left[i] < right[i] ? -1 : 1;
	return 0;
}

static int compare_groups(const void *a, const void *b)
{
	const struct pinned_group *left = a, *right = b;
	int order = compare_keys(&left->key, &right->key);

	return order != 0 ? order : (left->block > right->block) - (left->block < right->block);
}

/* Sums up the blocks of items[first .. end), which have one key. */
static void sum_group(const struct gg_page_run *run, const struct gg_page_look *look,
                      const struct pinned_group *items, size_t count,
                      struct pinned_group *ret_group)
{
	struct gg_plain_tally sums = { 0 };
	struct pinned_group group = items[0];
	struct gg_tally tally;

	for (size_t i = 0; i < count; i++) {
		const struct gg_pinned_block *block = &look->pinned.blocks.items[items[i].block];
		const struct gg_model_sample *sample = &run->model->samples[block->sample];

		gg_plain_tally_add_value(&sums, &sample->draw, sample->size_bytes, &block->looked);
	}
	gg_plain_tally_tally(&sums, &tally);
	group.n = (uint32_t)count;
	group.bytes = gg_sum_value(&tally.usual[GG_BYTES].value);
	group.bytes_variance = gg_sum_value(&tally.usual[GG_BYTES].variance);
	group.bytes_skew = gg_sum_value(&tally.usual[GG_BYTES].skew);
	group.seen_bytes = gg_sum_value(&tally.usual[GG_BYTES].seen);
	group.reserve_bytes = tally.reserve_max[GG_BYTES];
	group.unknown = !gg_tally_has_error(&tally, GG_BYTES);
	group.upper = group.key.size_class < 64 ? exp2(group.key.size_class) : NAN;
	*ret_group = group;
}

/* Replaces blocks by the sums of groups, which are sorted by node.  Returns their number. */
static size_t sum_groups(const struct gg_page_run *run, const struct gg_page_look *look,
                         struct pinned_group *items)
{
	size_t count = look->pinned.blocks.count, kept = 0;
	uint32_t node = 0;

	qsort(items, count, sizeof(*items), compare_groups);
	for (size_t first = 0, end; first < count; first = end) {
		for (end = first; end < count; end++)
			if (compare_keys(&items[end].key, &items[first].key) != 0)
				break;
		sum_group(run, look, items + first, end - first, &items[kept]);
		items[kept].node_delta = items[kept].key.node - node;
		node = items[kept++].key.node;
	}
	gg_assert(kept <= count);
	return kept;
}

static size_t find_groups(const struct gg_page_run *run, const struct gg_page_tree *tree,
                          const struct gg_page_look *look, bool is_coarse,
                          struct pinned_group *items)
{
	for (size_t i = 0; i < look->pinned.blocks.count; i++)
		items[i] = (struct pinned_group){
			.key = key_of(run, tree, &look->pinned.blocks.items[i], is_coarse),
			.block = (uint32_t)i,
		};
	return sum_groups(run, look, items);
}

static void write_head(const struct gg_page_run *run, const struct gg_page_look *look,
                       bool is_coarse, struct gg_json *json)
{
	const struct gg_pinned_coverage *seen = &look->pinned.coverage;

	gg_json_open(json, "moments", '[');
	if ((look->moments & GG_LOOK_LAST) != 0)
		gg_json_text(json, NULL, "last");
	if ((look->moments & GG_LOOK_PEAK) != 0)
		gg_json_text(json, NULL, "peak");
	gg_json_close(json);
	gg_json_number(json, "time_ns",
	               seen->time_ns != GG_TIME_NONE ? (double)seen->time_ns : NAN);
	gg_json_integer(json, "looks", seen->look_count);
	gg_json_integer(json, "unseen_processes", seen->unseen_process_count);
	gg_json_text(json, "by", is_coarse ? "nodes" : "all");
	gg_json_bool(json, "hides", look->pinned.hides);
	gg_json_bool(json, "incomplete",
	             gg_model_is_incomplete(run->model, 0, INT64_MIN, GG_TIME_NONE));
	gg_json_number(json, "limit_bytes",
	               seen->limit_bytes >= 0 ? (double)seen->limit_bytes : NAN);
	gg_json_integer(json, "changed_bytes", (uint64_t)seen->changed_bytes);
	gg_json_number(json, "changed_share", fmin(seen->changed_share, 0.5));
}

/* Writes a column unless all of its values are 0. */
#define WRITE_IF_ANY(json, name, items, count, member)                      \
	do {                                                                \
		uint32_t any_ = 0;                                          \
                                                                            \
		for (size_t i_ = 0; i_ < (count); i_++)                     \
			any_ |= (items)[i_].member;                         \
		if (any_ != 0)                                              \
			GG_PAGE_INTEGERS(json, name, items, count, member); \
	} while (0)

static void write_groups(const struct pinned_group *items, size_t count, bool is_coarse,
                         struct gg_json *json)
{
	GG_PAGE_INTEGERS(json, "node_delta", items, count, node_delta);
	GG_PAGE_INTEGERS(json, "n", items, count, n);
	GG_PAGE_DOUBLES(json, "bytes", items, count, bytes, SUM_DIGITS);
	GG_PAGE_DOUBLES(json, "bytes_variance", items, count, bytes_variance, SPREAD_DIGITS);
	GG_PAGE_DOUBLES(json, "bytes_skew", items, count, bytes_skew, SPREAD_DIGITS);
	GG_PAGE_DOUBLES(json, "seen_bytes", items, count, seen_bytes, SUM_DIGITS);
	GG_PAGE_DOUBLES(json, "reserve_bytes", items, count, reserve_bytes, SUM_DIGITS);
	WRITE_IF_ANY(json, "unknown", items, count, unknown);
	WRITE_IF_ANY(json, "held", items, count, key.is_held);
	WRITE_IF_ANY(json, "unsure", items, count, key.is_unsure);
	if (is_coarse)
		return;
	WRITE_IF_ANY(json, "path", items, count, key.path);
	WRITE_IF_ANY(json, "line", items, count, key.line);
	WRITE_IF_ANY(json, "owner", items, count, key.owner);
	WRITE_IF_ANY(json, "kind", items, count, key.kind);
	GG_PAGE_DOUBLES(json, "upper", items, count, upper, SUM_DIGITS);
}

static int write_look(const struct gg_page_run *run, const struct gg_page_tree *tree,
                      const struct gg_page_look *look, size_t limit, struct gg_json *json)
{
	struct pinned_group *items = calloc(look->pinned.blocks.count + 1, sizeof(*items));
	bool is_coarse = false;
	size_t count;

	if (items == NULL)
		return -ENOMEM;
	count = find_groups(run, tree, look, is_coarse, items);
	if (limit > 0 && count > limit) {
		is_coarse = true;
		count = find_groups(run, tree, look, is_coarse, items);
	}
	gg_json_open(json, NULL, '{');
	write_head(run, look, is_coarse, json);
	write_groups(items, count, is_coarse, json);
	gg_json_close(json);
	free(items);
	return 0;
}

int gg_page_pinned_cells_write(struct gg_page_run *run, const struct gg_page_tree *tree,
                               size_t cell_limit, struct gg_json *json)
{
	size_t limit = cell_limit / CELLS_OF_GROUP / GROUPS_SHARE;
	int status = 0;

	if (cell_limit > 0 && limit == 0)
		limit = 1;
	gg_json_open(json, "pinned_looks", '[');
	for (uint32_t i = 0; i < run->look_count && status == 0; i++)
		status = write_look(run, tree, &run->looks[i],
		                    (limit + run->look_count - 1) / run->look_count, json);
	gg_json_close(json);
	return status < 0 ? gg_page_out_of_memory(run) : 0;
}
