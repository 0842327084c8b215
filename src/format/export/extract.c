/* SPDX-License-Identifier: Apache-2.0 */
/* extract - collects rows and blocks of a query, and rounds their estimates consistently. */
#include "format/export/extract.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/path.h"
#include "stats/sampling/weight.h"

struct extract_builder {
	struct gg_extract *extract;
	GG_ARRAY(struct gg_extract_row) rows;
	struct gg_map row_map; /* from a hash of process, stack, thread and kind */
	bool is_allocated;     /* selects the sum that is being filled */
	bool failed;           /* memory ran out */
};

struct extract_row_key {
	const struct extract_builder *builder;
	struct gg_extract_row wanted;
};

static bool row_is_equal(uint64_t value, const void *context)
{
	const struct extract_row_key *key = context;
	const struct gg_extract_row *row = &key->builder->rows.items[value], *wanted = &key->wanted;

	return row->stack == wanted->stack && row->thread == wanted->thread &&
	       row->process == wanted->process && row->kind == wanted->kind;
}

static struct gg_extract_row *add_row(struct extract_builder *builder,
                                      const struct gg_extract_row *wanted, uint64_t hash)
{
	size_t number = builder->rows.count;

	if (gg_map_insert(&builder->row_map, hash, number) < 0 ||
	    !gg_array_push(&builder->rows, *wanted))
		return NULL;
	return &builder->rows.items[number];
}

/* Finds the sum that a sample or an aggregate adds to; NULL: memory ran out. */
static struct gg_plain_tally *sum_of(struct extract_builder *builder, uint32_t process,
                                     uint32_t stack, uint32_t thread, uint32_t kind)
{
	struct extract_row_key key = { .builder = builder };
	struct gg_extract_row *row;
	uint64_t hash, number;

	key.wanted.process = process;
	key.wanted.stack = builder->extract->model->stacks[stack].top;
	key.wanted.thread = thread;
	key.wanted.kind = kind;
	hash = gg_hash_integer((uint64_t)key.wanted.stack << 32 | thread,
	                       gg_map_seed(&builder->row_map) + ((uint64_t)process << 32 | kind));
	number = gg_map_find(&builder->row_map, hash, row_is_equal, &key);
	row = number != GG_MAP_NONE ? &builder->rows.items[number]
	                            : add_row(builder, &key.wanted, hash);
	builder->failed |= row == NULL;
	if (row == NULL)
		return NULL;
	return builder->is_allocated ? &row->allocated.tally : &row->live.tally;
}

static void add_to_row(const struct gg_model_sample *sample,
                       const struct gg_profile_coarse *aggregate, void *context)
{
	struct extract_builder *builder = context;
	const struct gg_model *model = builder->extract->model;
	struct gg_plain_tally *sum, more;

	if (builder->failed)
		return;
	if (sample != NULL) {
		sum = sum_of(builder, sample->process, sample->stack, sample->thread, sample->kind);
		if (sum != NULL)
			gg_plain_tally_add_sample(sum, &sample->draw, sample->size_bytes);
		return;
	}
	sum = sum_of(builder, aggregate->process, aggregate->stack, aggregate->thread,
	             (uint32_t)model->kind_count);
	if (sum != NULL) {
		struct gg_tally tally = { 0 };

		gg_model_add_coarse(model, &tally, aggregate);
		gg_plain_tally_of(&more, &tally);
		gg_plain_tally_add(sum, &more);
	}
}

/* The rounding error that the next row takes over. */
struct owed {
	double bytes, count;
};

static uint64_t round_owing(double *owed, double value)
{
	double whole = floor(value + *owed + 0.5);

	if (!(whole > 0))
		whole = 0;
	else if (whole > 0x1p62)
		whole = 0x1p62;
	*owed += value - whole;
	return (uint64_t)whole;
}

/* Rounds an estimate to whole numbers; a row without a sample gets zeros. */
static void round_sum(struct owed *owed, bool has_samples, double bytes, double count,
                      uint64_t *ret_bytes, uint64_t *ret_count)
{
	*ret_bytes = *ret_count = 0;
	if (!has_samples)
		return;
	*ret_bytes = round_owing(&owed->bytes, bytes);
	*ret_count = round_owing(&owed->count, count);
	if (*ret_count == 0) {
		*ret_count = 1;
		owed->count -= 1;
	}
}

struct plain {
	double bytes, count;
	uint64_t samples;
};

static struct plain plain_of(const struct gg_plain_tally *sums)
{
	struct gg_tally tally;

	gg_plain_tally_tally(sums, &tally);
	return (struct plain){ gg_tally_estimate(&tally, GG_BYTES).value,
		               gg_tally_estimate(&tally, GG_ALLOCATIONS).value,
		               tally.sample_count };
}

/* Rounds live and no longer live memory separately; allocated is the sum of the two. */
static void round_rows(struct gg_extract *extract)
{
	struct owed live_owed = { 0 }, gone_owed = { 0 };

	for (size_t i = 0; i < extract->row_count; i++) {
		struct gg_extract_sum *live = &extract->rows[i].live;
		struct gg_extract_sum *allocated = &extract->rows[i].allocated;
		struct plain held = plain_of(&live->tally), all = plain_of(&allocated->tally);
		uint64_t bytes, count;

		round_sum(&live_owed, held.samples > 0, held.bytes, held.count, &live->bytes,
		          &live->count);
		if (all.samples >= held.samples && all.bytes >= held.bytes * (1 - 1e-9)) {
			round_sum(&gone_owed, all.samples > held.samples, all.bytes - held.bytes,
			          all.count - held.count, &bytes, &count);
			allocated->bytes = live->bytes + bytes;
			allocated->count = live->count + count;
		} else {
			round_sum(&gone_owed, all.samples > 0, all.bytes, all.count,
			          &allocated->bytes, &allocated->count);
		}
		extract->live_bytes += live->bytes;
		extract->live_count += live->count;
		extract->allocated_bytes += allocated->bytes;
		extract->allocated_count += allocated->count;
	}
}

static void add_totals(struct gg_extract *extract)
{
	struct gg_plain_tally live = { 0 }, allocated = { 0 };

	for (size_t i = 0; i < extract->row_count; i++) {
		gg_plain_tally_add(&live, &extract->rows[i].live.tally);
		gg_plain_tally_add(&allocated, &extract->rows[i].allocated.tally);
	}
	gg_plain_tally_tally(&live, &extract->live);
	gg_plain_tally_tally(&allocated, &extract->allocated);
	gg_tally_expose(&extract->live, extract->interval_bytes);
	gg_tally_expose(&extract->allocated, extract->interval_bytes);
}

static int compare_rows(const void *a, const void *b)
{
	const struct gg_extract_row *left = a, *right = b;

	if (left->process != right->process)
		return left->process < right->process ? -1 : 1;
	if (left->stack != right->stack)
		return left->stack < right->stack ? -1 : 1;
	if (left->thread != right->thread)
		return left->thread < right->thread ? -1 : 1;
	return (left->kind > right->kind) - (left->kind < right->kind);
}

static double interval_of(const struct gg_model *model, uint32_t pid)
{
	const struct gg_profile_process *processes = model->processes;
	double most = 0;

	for (size_t i = 1; i < model->process_count; i++)
		if (pid == 0 || processes[i].pid == pid)
			most = fmax(most, gg_model_interval(model, (uint32_t)i));
	return most;
}

/* Makes the moment of the peak the end of the window. */
static int replace_peak(struct gg_extract *extract, struct gg_error *error)
{
	struct gg_query *query = &extract->query;
	struct gg_peak peak;
	int status;

	if (query->metric != GG_METRIC_PEAK)
		return 0;
	status = gg_query_peak(extract->model, query, &peak, error);
	if (status < 0)
		return status;
	query->metric = GG_METRIC_LIVE;
	query->to_ns = peak.time_ns;
	return 0;
}

static int add_up(struct extract_builder *builder, enum gg_metric metric, struct gg_error *error)
{
	struct gg_query query = builder->extract->query;
	int status;

	query.metric = metric;
	builder->is_allocated = metric == GG_METRIC_ALLOCATED;
	status = gg_query_each(builder->extract->model, &query, add_to_row, builder, error);
	if (status == 0 && builder->failed)
		status = gg_error_memory(error, "export");
	return status;
}

static int fill(struct gg_extract *extract, struct gg_error *error)
{
	struct extract_builder builder = { .extract = extract };
	const struct gg_query *query = &extract->query;
	int64_t last_ns = extract->model->end_ns;
	int status = replace_peak(extract, error);

	if (status == 0)
		status = add_up(&builder,
		                query->metric == GG_METRIC_ALLOCATED ? GG_METRIC_LIVE
		                                                     : query->metric,
		                error);
	if (status == 0)
		status = add_up(&builder, GG_METRIC_ALLOCATED, error);
	gg_map_done(&builder.row_map);
	extract->rows = builder.rows.items;
	extract->row_count = builder.rows.count;
	if (status < 0)
		return status;
	extract->start_ns = query->from_ns > 0 ? query->from_ns : 0;
	extract->end_ns = query->to_ns < last_ns ? query->to_ns : last_ns;
	if (extract->end_ns < extract->start_ns)
		extract->end_ns = extract->start_ns;
	if (extract->row_count > 0)
		qsort(extract->rows, extract->row_count, sizeof(*extract->rows), compare_rows);
	round_rows(extract);
	add_totals(extract);
	return 0;
}

int gg_extract_make(struct gg_extract **ret_extract, const struct gg_model *model,
                    const struct gg_query *query, double confidence, struct gg_error *error)
{
	struct gg_extract *extract = calloc(1, sizeof(*extract));
	int status;

	if (extract == NULL)
		return gg_error_memory(error, "export");
	extract->model = model;
	extract->query = *query;
	extract->metric = query->metric;
	extract->confidence = confidence;
	extract->interval_bytes = interval_of(model, query->pid);
	status = fill(extract, error);
	if (status < 0) {
		gg_extract_free(extract);
		return status;
	}
	*ret_extract = extract;
	return 0;
}

void gg_extract_free(struct gg_extract *extract)
{
	if (extract == NULL)
		return;
	free(extract->rows);
	free(extract);
}

const struct gg_extract_sum *gg_extract_queried(const struct gg_extract *extract,
                                                const struct gg_extract_row *row)
{
	return extract->metric == GG_METRIC_ALLOCATED ? &row->allocated : &row->live;
}

struct gg_interval gg_extract_interval(const struct gg_extract *extract,
                                       const struct gg_extract_sum *sum, enum gg_quantity quantity)
{
	struct gg_tally tally;

	gg_plain_tally_tally(&sum->tally, &tally);
	gg_tally_expose(&tally, extract->interval_bytes);
	return gg_interval_of(&tally, quantity, extract->confidence, true);
}

const char *gg_extract_kind(const struct gg_extract *extract, uint32_t kind)
{
	return kind < extract->model->kind_count ? extract->model->kinds[kind].name : "[not kept]";
}

uint32_t gg_extract_heap(const struct gg_extract *extract, uint32_t kind)
{
	return kind < extract->model->kind_count ? extract->model->kinds[kind].heap
	                                         : (uint32_t)extract->model->heap_count;
}

const char *gg_extract_heap_name(const struct gg_extract *extract, uint32_t heap)
{
	return heap < extract->model->heap_count ? extract->model->heaps[heap] : "[not kept]";
}

void gg_extract_thread_name(const struct gg_extract *extract, uint32_t thread, struct gg_buf *out)
{
	const struct gg_profile_thread *of = extract->model->threads + thread;

	if (of->name != NULL && of->name[0] != '\0')
		gg_buf_append_text(out, of->name);
	else if (thread != 0)
		gg_buf_printf(out, "thread %u", of->tid);
	else
		gg_buf_append_text(out, "[unknown]");
}

void gg_extract_process_name(const struct gg_extract *extract, uint32_t process, struct gg_buf *out)
{
	const struct gg_profile_process *of = extract->model->processes + process;

	if (of->exe != NULL && of->exe[0] != '\0')
		gg_buf_append_text(out, gg_path_base(of->exe));
	else if (process != 0)
		gg_buf_printf(out, "process %u", of->pid);
	else
		gg_buf_append_text(out, "[unknown]");
}

/* --- blocks --------------------------------------------------------------------------------- */

struct blocks {
	const struct gg_extract *extract;
	GG_ARRAY(struct gg_extract_block) blocks;
	bool failed;
};

static struct gg_extract_block block_of_sample(const struct gg_model_sample *sample)
{
	double count = sample->size_bytes > 0 ? sample->weighted_bytes / (double)sample->size_bytes
	                                      : gg_weight_of(&sample->draw, 0).count;

	return (struct gg_extract_block){
		.alloc_ns = sample->alloc_ns,
		.free_ns = sample->free_ns,
		.bytes = sample->weighted_bytes,
		.count = count,
		.process = sample->process,
		.stack = sample->stack,
		.thread = sample->thread,
		.kind = sample->kind,
	};
}

/*
 * An aggregate counts from when all of it was live until a part of it was freed (query.h,
 * "Exactness").
 */
static struct gg_extract_block block_of_aggregate(const struct gg_model *model,
                                                  const struct gg_profile_coarse *aggregate)
{
	int64_t range = aggregate->to_ns - aggregate->from_ns, bucket = aggregate->bucket_ns;
	struct gg_extract_block block = {
		.bytes = gg_fixed_value(aggregate->sums.bytes),
		.count = gg_fixed_value(aggregate->sums.count),
		.process = aggregate->process,
		.stack = aggregate->stack,
		.thread = aggregate->thread,
		.kind = (uint32_t)model->kind_count,
	};

	if (aggregate->is_left) { /* the time of the exit is unknown */
		block.alloc_ns = block.free_ns = aggregate->from_ns + bucket;
		return block;
	}
	if (bucket <= 0 || bucket > range)
		bucket = range;
	block.alloc_ns = aggregate->from_ns + bucket;
	block.free_ns = aggregate->to_ns - bucket + 1;
	if (block.free_ns < block.alloc_ns)
		block.free_ns = block.alloc_ns;
	return block;
}

static void visit_block(const struct gg_model_sample *sample,
                        const struct gg_profile_coarse *aggregate, void *context)
{
	struct blocks *blocks = context;
	const struct gg_extract *extract = blocks->extract;
	const struct gg_query *query = &extract->query;
	struct gg_extract_block block;

	if (blocks->failed)
		return;
	block = sample != NULL ? block_of_sample(sample)
	                       : block_of_aggregate(extract->model, aggregate);
	if (block.alloc_ns > query->to_ns ||
	    (block.alloc_ns <= query->from_ns && block.free_ns <= query->from_ns))
		return;
	if (block.alloc_ns < extract->start_ns)
		block.alloc_ns = extract->start_ns;
	if (block.free_ns > query->to_ns)
		block.free_ns = GG_TIME_NONE;
	block.stack = extract->model->stacks[block.stack].top;
	blocks->failed |= !gg_array_push(&blocks->blocks, block);
}

static int compare_blocks(const void *a, const void *b)
{
	const struct gg_extract_block *left = a, *right = b;

	return (left->alloc_ns > right->alloc_ns) - (left->alloc_ns < right->alloc_ns);
}

int gg_extract_blocks(const struct gg_extract *extract, struct gg_extract_block **ret_blocks,
                      size_t *ret_count, struct gg_error *error)
{
	struct blocks blocks = { .extract = extract };
	int status = gg_query_blocks(extract->model, &extract->query, visit_block, &blocks, error);

	if (status == 0 && blocks.failed)
		status = gg_error_memory(error, "export");
	if (status < 0) {
		gg_array_done(&blocks.blocks);
		return status;
	}
	if (blocks.blocks.count > 0)
		qsort(blocks.blocks.items, blocks.blocks.count, sizeof(*blocks.blocks.items),
		      compare_blocks);
	*ret_blocks = blocks.blocks.items;
	*ret_count = blocks.blocks.count;
	return 0;
}

static int compare_ends(const void *a, const void *b, void *context)
{
	const struct gg_extract_block *blocks = context;
	int64_t left = blocks[*(const uint32_t *)a].free_ns;
	int64_t right = blocks[*(const uint32_t *)b].free_ns;

	return (left > right) - (left < right);
}

int gg_extract_ends(const struct gg_extract_block *blocks, size_t count, uint32_t **ret_ends,
                    size_t *ret_end_count)
{
	uint32_t *ends = malloc((count + 1) * sizeof(*ends));
	size_t end_count = 0;

	if (ends == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (blocks[i].free_ns != GG_TIME_NONE)
			ends[end_count++] = (uint32_t)i;
	qsort_r(ends, end_count, sizeof(*ends), compare_ends, (void *)blocks);
	*ret_ends = ends;
	*ret_end_count = end_count;
	return 0;
}
