/* SPDX-License-Identifier: Apache-2.0 */
/* extract - sums the samples of a query by row, and rounds the estimates consistently. */
#include "format/export/extract.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/assert.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/path.h"

struct extract_builder {
	struct gg_extract *extract;
	GG_ARRAY(struct gg_extract_row) rows;
	struct gg_map row_map; /* from a hash of process, stack, thread and kind */
	bool is_allocated;     /* selects the sum that is being filled */
	bool is_by_stack;      /* rows are whole stacks, of all threads and kinds */
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
	if (builder->is_by_stack)
		thread = 0, kind = (uint32_t)builder->extract->model->kind_count;
	else
		stack = builder->extract->model->stacks[stack].top;
	key.wanted.stack = stack;
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
                       const struct gg_profile_aggregate *aggregate, void *context)
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
	             gg_model_aggregate_kind(model, aggregate));
	if (sum != NULL) {
		struct gg_tally tally = { 0 };

		gg_model_add_aggregate(model, &tally, aggregate);
		gg_plain_tally_of(&more, &tally);
		gg_plain_tally_add(sum, &more);
	}
}

static void add_pinned(const struct gg_model_sample *sample, const struct gg_tally *tally,
                       void *context)
{
	struct extract_builder *builder = context;
	struct gg_plain_tally *sum, more;

	if (builder->failed)
		return;
	sum = sum_of(builder, sample->process, sample->stack, sample->thread, sample->kind);
	if (sum == NULL)
		return;
	gg_plain_tally_of(&more, tally);
	gg_plain_tally_add(sum, &more);
}

/*
 * Rounding.  Formats have whole numbers, but rows have estimates, such as 0.4, 0.4 and 0.4.
 *
 *   1. Rounding each row by itself makes 0, 0 and 0: the sum is wrong by 1.2, and with n rows by up
 *      to n/2.
 *   2. So each row first takes over what the rows before it rounded away.  The first row rounds
 *      to 0 and leaves a debt of 0.4.  The second has 0.8, rounds to 1, and leaves -0.2.  The third
 *      has 0.2 and rounds to 0.
 *   3. The debt stays between -1/2 and 1/2 as long as no row is forced (4).  The sum of consecutive
 *      rows is their estimates, plus the debt before the first, less the debt after the last.  So
 *      each such sum is right to 1, in any part of the file.
 *   4. Two rules may force a row away from its nearest number: no row is negative, and a row that
 *      has a sample counts at least one allocation, because readers skip rows of 0.  The debt then
 *      grows beyond 1/2, and the next rows pay it back.
 */
static uint64_t round_with_debt(double *debt, double value)
{
	double whole = floor(value + *debt + 0.5);

	if (!(whole > 0))
		whole = 0;
	else if (whole > 0x1p62)
		whole = 0x1p62;
	*debt += value - whole;
	return (uint64_t)whole;
}

/* Rounds an estimate to whole numbers; a row without a sample gets zeros. */
void gg_extract_round(struct gg_extract_debt *debt, bool has_samples, double bytes, double count,
                      uint64_t *ret_bytes, uint64_t *ret_count)
{
	*ret_bytes = *ret_count = 0;
	if (!has_samples)
		return;
	*ret_bytes = round_with_debt(&debt->bytes, bytes);
	*ret_count = round_with_debt(&debt->count, count);
	if (*ret_count == 0) {
		*ret_count = 1;
		debt->count -= 1;
	}
}

struct plain_estimate {
	double bytes, count;
	uint64_t samples;
	bool is_empty;
};

static struct plain_estimate estimate_of(const struct gg_plain_tally *sums)
{
	struct gg_tally tally;

	gg_plain_tally_tally(sums, &tally);
	return (struct plain_estimate){ gg_tally_estimate(&tally, GG_BYTES).value,
		                        gg_tally_estimate(&tally, GG_ALLOCATIONS).value,
		                        tally.sample_count, gg_tally_is_empty(&tally) };
}

/*
 * Rounds the sums of all rows.  A reader may subtract live from allocated, so the difference must
 * not become negative.  Therefore the function rounds live memory and freed memory, each with a
 * debt of its own, and allocated memory is the sum of the two whole numbers.  A row may have more
 * live than allocated memory, if the window excludes its allocations or its process inherited
 * them.  In such a row, allocated memory is rounded by itself.  So it is in all rows of pinned
 * memory, which is no part of what was allocated.
 */
static void round_rows(struct gg_extract *extract)
{
	struct gg_extract_debt live_debt = { 0 }, freed_debt = { 0 };

	for (size_t i = 0; i < extract->row_count; i++) {
		struct gg_extract_sum *live = &extract->rows[i].live;
		struct gg_extract_sum *allocated = &extract->rows[i].allocated;
		struct plain_estimate live_estimate = estimate_of(&live->tally);
		struct plain_estimate all = estimate_of(&allocated->tally);
		uint64_t bytes, count;

		gg_extract_round(&live_debt, !live_estimate.is_empty, live_estimate.bytes,
		                 live_estimate.count, &live->bytes, &live->count);
		/* The sums are of doubles, so equal ones may differ in their last digits. */
		if (!live->is_pinned && all.samples >= live_estimate.samples &&
		    all.bytes >= live_estimate.bytes * (1 - 1e-9)) {
			gg_extract_round(&freed_debt, all.samples > live_estimate.samples,
			                 all.bytes - live_estimate.bytes,
			                 all.count - live_estimate.count, &bytes, &count);
			allocated->bytes = live->bytes + bytes;
			allocated->count = live->count + count;
			gg_assert(allocated->bytes >= live->bytes);
			gg_assert(allocated->count >= live->count);
		} else {
			gg_extract_round(&freed_debt, !all.is_empty, all.bytes, all.count,
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
	if (extract->metric == GG_METRIC_PINNED)
		gg_extract_expose(extract, true, &extract->live);
	else
		gg_extract_expose_sum(extract, false, &extract->live);
	gg_extract_expose_sum(extract, true, &extract->allocated);
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

/* Makes the moment of the peak of all stacks the end of the window. */
static int replace_peak(struct gg_extract *extract, struct gg_error *error)
{
	struct gg_query *query = &extract->query, all = extract->query;
	struct gg_peak peak;
	int status;

	if (query->metric != GG_METRIC_PEAK)
		return 0;
	all.focus = all.ignore = NULL;
	status = gg_query_peak(extract->model, &all, &peak, error);
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
	if (metric == GG_METRIC_PINNED)
		status = gg_query_each_pinned(builder->extract->model, &query, add_pinned, builder,
		                              &builder->extract->pinned_scope, error);
	else
		status = gg_query_each(builder->extract->model, &query, add_to_row, builder, error);
	if (status == 0 && builder->failed)
		status = gg_error_memory(error, "export");
	return status;
}

static bool row_lacks(const struct gg_extract *extract, const struct gg_query_losses *losses,
                      const struct gg_extract_row *row)
{
	return losses->is_incomplete ||
	       (losses->lacks_java_objects && gg_model_may_be_java(extract->model, row->kind));
}

static int losses_of(const struct gg_extract *extract, enum gg_metric metric,
                     struct gg_query_losses *ret_losses, struct gg_error *error)
{
	struct gg_query query = extract->query;

	query.metric = metric;
	return gg_query_losses_of(extract->model, &query, ret_losses, error);
}

/*
 * Finds out which sums are lower bounds.  A sum of a window's allocations lacks nothing because of
 * what happened before the window, but live memory may.  Rows of other heaps miss nothing because
 * of a Java VM's older threads.
 */
static int find_losses(struct gg_extract *extract, struct gg_error *error)
{
	enum gg_metric metric = extract->query.metric;
	struct gg_query_losses live, allocated;
	int status = losses_of(extract, GG_METRIC_ALLOCATED, &allocated, error);

	/* Pinned memory has bounds of its own. */
	if (status == 0)
		status = losses_of(extract,
		                   metric == GG_METRIC_PINNED      ? GG_METRIC_ALLOCATED
		                   : metric == GG_METRIC_ALLOCATED ? GG_METRIC_LIVE
		                                                   : metric,
		                   &live, error);
	if (status < 0)
		return status;
	extract->exposure_factor = extract->interval_bytes > 0
	                                   ? live.exposure_bytes / extract->interval_bytes
	                                   : 0;
	extract->is_live_lacking = live.is_incomplete || live.lacks_java_objects;
	extract->is_lacking = metric == GG_METRIC_ALLOCATED
	                              ? allocated.is_incomplete || allocated.lacks_java_objects
	                              : extract->is_live_lacking;
	for (size_t i = 0; i < extract->row_count; i++) {
		struct gg_extract_row *row = &extract->rows[i];

		row->live.is_lacking = row_lacks(extract, &live, row);
		row->allocated.is_lacking = row_lacks(extract, &allocated, row);
	}
	return 0;
}

static int fill(struct gg_extract *extract, bool is_by_stack, struct gg_error *error)
{
	struct extract_builder builder = { .extract = extract, .is_by_stack = is_by_stack };
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
	for (size_t i = 0; i < extract->row_count; i++)
		extract->rows[i].live.is_pinned = extract->metric == GG_METRIC_PINNED;
	if (extract->row_count > 0)
		qsort(extract->rows, extract->row_count, sizeof(*extract->rows), compare_rows);
	round_rows(extract);
	status = find_losses(extract, error);
	if (status == 0)
		add_totals(extract);
	return status;
}

static int make(struct gg_extract **ret_extract, const struct gg_model *model,
                const struct gg_query *query, double confidence, bool is_by_stack,
                struct gg_error *error)
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
	status = fill(extract, is_by_stack, error);
	if (status < 0) {
		gg_extract_free(extract);
		return status;
	}
	*ret_extract = extract;
	return 0;
}

int gg_extract_make(struct gg_extract **ret_extract, const struct gg_model *model,
                    const struct gg_query *query, double confidence, struct gg_error *error)
{
	return make(ret_extract, model, query, confidence, false, error);
}

int gg_extract_make_by_stack(struct gg_extract **ret_extract, const struct gg_model *model,
                             const struct gg_query *query, double confidence,
                             struct gg_error *error)
{
	return make(ret_extract, model, query, confidence, true, error);
}

void gg_extract_hide_entries(struct gg_extract *extract)
{
	for (size_t i = 0; i < extract->row_count; i++)
		extract->rows[i].stack = extract->model->stacks[extract->rows[i].stack].top;
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

void gg_extract_expose(const struct gg_extract *extract, bool is_pinned, struct gg_tally *tally)
{
	if (is_pinned) {
		gg_pinned_scope_expose(&extract->pinned_scope, tally);
		return;
	}
	gg_tally_expose(tally, extract->interval_bytes * extract->exposure_factor);
	if (extract->is_lacking)
		tally->incomplete = 1;
}

void gg_extract_expose_sum(const struct gg_extract *extract, bool is_allocated,
                           struct gg_tally *tally)
{
	gg_extract_expose(extract, false, tally);
	if (extract->metric == GG_METRIC_ALLOCATED && !is_allocated && extract->is_live_lacking)
		tally->incomplete = 1;
}

struct gg_interval gg_extract_interval(const struct gg_extract *extract,
                                       const struct gg_extract_sum *sum, enum gg_quantity quantity)
{
	struct gg_tally tally;

	gg_plain_tally_tally(&sum->tally, &tally);
	gg_extract_expose(extract, sum->is_pinned, &tally);
	if (!sum->is_pinned)
		tally.incomplete = sum->is_lacking ? 1 : 0;
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
