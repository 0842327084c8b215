/* SPDX-License-Identifier: Apache-2.0 */
/* top_snapshot - asks a model for the rows of `geiger top`. */
#include "top/top_snapshot.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "query/change_since.h"
#include "query/live_age.h"
#include "report/report.h"
#include "top/top_detail.h"
#include "top/top_tree.h"

/* The answers from which a snapshot is made. */
struct snapshot_run {
	const struct gg_model *model;
	const struct gg_top_request *request;
	struct gg_top_snapshot *snapshot;
	struct gg_query query;
	struct gg_query_result *result, *allocated; /* of the metric; in the period of rates */
	struct gg_changes *changes;                 /* NULL: none */
	double *ages_ns;                            /* by row of `result`; NULL: none */
	uint32_t *keys;                             /* by row of the snapshot */
};

const char *gg_top_metric_name(enum gg_top_metric metric)
{
	static const char *const names[] = {
		[GG_TOP_LIVE] = "live",           [GG_TOP_GROWTH] = "growth",
		[GG_TOP_ALLOCATED] = "allocated", [GG_TOP_TEMPORARY] = "temporary",
		[GG_TOP_PINNED] = "pinned",
	};

	return names[metric];
}

static enum gg_metric metric_of(enum gg_top_metric metric)
{
	switch (metric) {
	case GG_TOP_ALLOCATED:
		return GG_METRIC_ALLOCATED;
	case GG_TOP_TEMPORARY:
		return GG_METRIC_TEMPORARY;
	case GG_TOP_PINNED:
		return GG_METRIC_PINNED;
	default:
		return GG_METRIC_LIVE;
	}
}

/* The period of rates ends with the look; without a begin it is the life of the process. */
static int ask_rates(struct snapshot_run *run, struct gg_error *error)
{
	struct gg_query query = run->query;
	int64_t from_ns = run->request->rate_from_ns;

	query.metric = GG_METRIC_ALLOCATED;
	if (from_ns != GG_TIME_NONE)
		query.from_ns = from_ns;
	run->snapshot->rate_ns = run->snapshot->process.now_ns -
	                         (from_ns != GG_TIME_NONE ? from_ns : 0);
	return gg_query_rows(run->model, &query, &run->allocated, error);
}

static int ask_live(struct snapshot_run *run, struct gg_error *error)
{
	const struct gg_change_options options = {
		.since_ns = run->snapshot->mark_ns,
		.confidence = run->request->confidence,
		.false_discovery_rate = run->snapshot->level,
		.skips_aggregates = run->request->aggregates_between,
	};
	int status = gg_live_ages_find(run->model, run->result, run->snapshot->process.now_ns,
	                               &run->ages_ns, error);

	if (status == 0 && run->snapshot->mark_ns != GG_TIME_NONE)
		status = gg_changes_since_find(run->model, &run->query, &options, &run->changes,
		                               error);
	return status;
}

static int ask(struct snapshot_run *run, struct gg_error *error)
{
	int status;

	gg_query_init(&run->query);
	run->query.metric = metric_of(run->request->metric);
	run->query.by = run->request->by;
	run->query.focus = run->request->focus;
	status = gg_query_rows(run->model, &run->query, &run->result, error);
	/* The recorder, and the watch of a process, look at its memory every ten seconds. */
	if (status == -ENODATA && run->query.metric == GG_METRIC_PINNED) {
		run->snapshot->lack = "Pinned memory is not known: nothing has looked at the "
				      "memory of the process yet.";
		return 0;
	}
	if (status == 0)
		status = ask_rates(run, error);
	if (status == 0 && run->query.metric == GG_METRIC_LIVE && !run->request->is_tree)
		status = ask_live(run, error);
	if (status == 0 && run->request->is_tree)
		status = gg_top_tree_rows(&run->snapshot->rows, &run->snapshot->row_count,
		                          run->model, &run->query, run->request->confidence, error);
	return status;
}

static void set_change(struct gg_top_row *row, const struct gg_change *change)
{
	row->has_change = true;
	row->change = (struct gg_figure){ .estimate = change->difference.value,
		                          .low = change->difference.low,
		                          .high = change->difference.high,
		                          .quantity = GG_BYTES,
		                          .is_change = true };
	row->p_value = change->difference.p_value;
	row->q_value = change->q_value;
	row->is_significant = change->is_significant;
}

static double rate_of(const struct snapshot_run *run, const struct gg_tally *tally)
{
	double seconds = (double)run->snapshot->rate_ns * 1e-9;

	return seconds > 0 ? gg_tally_estimate(tally, GG_BYTES).value / seconds : 0;
}

static struct gg_top_row make_row(const struct snapshot_run *run, const struct gg_tally *tally,
                                  bool discovered)
{
	double confidence = run->request->confidence;

	return (struct gg_top_row){
		.self = gg_figure_of(tally, GG_BYTES, confidence, discovered),
		.blocks = gg_figure_of(tally, GG_ALLOCATIONS, confidence, discovered),
		.p_value = NAN,
		.q_value = NAN,
		.age_ns = NAN,
	};
}

static char *label_of(const struct snapshot_run *run, uint32_t key)
{
	const struct gg_query_row row = { .key = key };
	GG_CLEANUP(gg_buf_done) struct gg_buf label = { 0 };

	gg_query_row_label(run->model, run->result, &row, &label);
	return label.failed ? NULL : strdup(gg_buf_text(&label));
}

/* False: the row allocated nothing itself and only calls others, which `geiger tree` shows. */
static bool is_shown(const struct gg_query_row *row)
{
	return !gg_tally_is_empty(row->self) || gg_tally_is_uncertain(row->self);
}

static struct gg_top_row *add_row(struct snapshot_run *run, uint32_t key,
                                  const struct gg_tally *tally, bool discovered)
{
	struct gg_top_snapshot *snapshot = run->snapshot;
	struct gg_top_row *row = &snapshot->rows[snapshot->row_count];
	const struct gg_change *change = NULL;

	*row = make_row(run, tally, discovered);
	run->keys[snapshot->row_count++] = key;
	row->label = label_of(run, key);
	if (run->changes != NULL)
		change = gg_changes_since_of(run->changes, key);
	if (change != NULL)
		set_change(row, change);
	return row;
}

/* Adds the rows that lost all of their memory since the mark, which the result lacks. */
static int add_gone(struct snapshot_run *run)
{
	size_t key_count = run->changes != NULL ? run->changes->key_count : 0;
	bool *is_there = calloc(key_count + 1, sizeof(*is_there));
	struct gg_tally nothing = { 0 };
	int status = is_there != NULL ? 0 : -ENOMEM;

	gg_tally_expose(&nothing, gg_model_interval(run->model, 0));
	for (size_t i = 0; status == 0 && key_count > 0 && i < run->snapshot->row_count; i++)
		if (run->keys[i] < key_count)
			is_there[run->keys[i]] = true;
	for (size_t key = 0; status == 0 && key < key_count; key++) {
		const struct gg_change *change = gg_changes_since_of(run->changes, (uint32_t)key);

		if (is_there[key] || change == NULL || !change->is_significant)
			continue;
		if (add_row(run, (uint32_t)key, &nothing, false)->label == NULL)
			status = -ENOMEM;
	}
	free(is_there);
	return status;
}

static int make_rows(struct snapshot_run *run)
{
	const struct gg_query_result *result = run->result;
	size_t most = result->row_count + (run->changes != NULL ? run->changes->row_count : 0);

	run->snapshot->rows = calloc(most + 1, sizeof(*run->snapshot->rows));
	run->keys = calloc(most + 1, sizeof(*run->keys));
	if (run->snapshot->rows == NULL || run->keys == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < result->row_count; i++) {
		const struct gg_query_row *asked = &result->rows[i];
		struct gg_top_row *row;

		if (!is_shown(asked))
			continue;
		row = add_row(run, asked->key, asked->self, gg_report_is_discovered(result, asked));
		if (row->label == NULL)
			return -ENOMEM;
		if (run->ages_ns != NULL)
			row->age_ns = run->ages_ns[i];
	}
	return add_gone(run);
}

/* Gives each row its rate: both results have the keys of one model. */
static int add_rates(struct snapshot_run *run)
{
	const struct gg_query_result *allocated = run->allocated;
	uint32_t most = 0;
	const struct gg_tally **of_key;

	for (size_t i = 0; i < allocated->row_count; i++)
		most = allocated->rows[i].key > most ? allocated->rows[i].key : most;
	of_key = calloc((size_t)most + 1, sizeof(*of_key));
	if (of_key == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < allocated->row_count; i++)
		of_key[allocated->rows[i].key] = allocated->rows[i].self;
	for (size_t i = 0; i < run->snapshot->row_count; i++) {
		uint32_t key = run->keys[i];

		if (key <= most && of_key[key] != NULL)
			run->snapshot->rows[i].allocated_per_second = rate_of(run, of_key[key]);
	}
	free(of_key);
	return 0;
}

static int copy_columns(struct gg_top_snapshot *snapshot)
{
	size_t count = snapshot->process.column_count;

	snapshot->columns = calloc(count + 1, sizeof(*snapshot->columns));
	if (snapshot->columns == NULL)
		return -ENOMEM;
	if (count > 0)
		memcpy(snapshot->columns, snapshot->process.columns,
		       count * sizeof(*snapshot->columns));
	snapshot->column_count = count;
	snapshot->process.columns = NULL; /* the caller's may change */
	return 0;
}

static char *copy_text(const char *text)
{
	return strdup(text != NULL ? text : "");
}

static int copy_notes(struct gg_top_snapshot *snapshot, const struct gg_model *model)
{
	snapshot->notes = calloc(model->note_count + 1, sizeof(*snapshot->notes));
	if (snapshot->notes == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < model->note_count; i++) {
		snapshot->notes[i] = copy_text(model->notes[i]);
		if (snapshot->notes[i] == NULL)
			return -ENOMEM;
		snapshot->note_count++;
	}
	return 0;
}

/* The head: live memory as a whole, and the totals of the table. */
static int add_head(struct snapshot_run *run, struct gg_error *error)
{
	const struct gg_model *model = run->model;
	struct gg_top_snapshot *snapshot = run->snapshot;
	struct gg_query query;
	struct gg_sum_up live;
	int status;

	gg_query_init(&query);
	status = gg_query_sum(model, &query, &live, error);
	if (status < 0)
		return status;
	snapshot->live = gg_figure_of(&live.total, GG_BYTES, run->request->confidence, false);
	snapshot->total = make_row(run, run->result != NULL ? &run->result->total : &live.total,
	                           false);
	if (run->allocated != NULL)
		snapshot->total.allocated_per_second = rate_of(run, &run->allocated->total);
	if (run->changes != NULL)
		set_change(&snapshot->total, &run->changes->total);
	snapshot->sample_count = model->sample_total;
	snapshot->dropped_count = gg_model_dropped(model, 0);
	snapshot->command = copy_text(model->sessions[0].command);
	snapshot->total.label = copy_text("");
	if (snapshot->command == NULL || snapshot->total.label == NULL ||
	    copy_notes(snapshot, model) < 0)
		return gg_error_memory(error, "top");
	return 0;
}

/*
 * Frees of blocks from before an attach are not seen.  A process that replaces such blocks seems
 * to grow, so its changes are not tested, nor are those of a tree.
 */
static int64_t mark_of(const struct snapshot_run *run)
{
	return run->model->attach_count > 0 || run->request->is_tree ? GG_TIME_NONE
	                                                             : run->request->mark_ns;
}

/* Several processes, and forked ones, have no such moment in common. */
static void set_attach(struct gg_top_snapshot *snapshot, const struct gg_model *model)
{
	const struct gg_profile_attach *attach = model->attaches;

	if (model->attach_count != 1 || attach->is_inherited)
		return;
	snapshot->is_attached = true;
	snapshot->attached_age_ns = attach->age_ns;
	snapshot->older_bytes = attach->older_bytes;
}

static void set_held(struct gg_top_snapshot *snapshot, const struct gg_model *model)
{
	const struct gg_figure *live = &snapshot->live;

	snapshot->held = gg_report_held_of(model, NULL, 0);
	if (snapshot->held.asked_error > 0 && live->estimate > 0)
		snapshot->held.error = (live->high - live->low) / 2 / live->estimate;
}

/* Divides RSS as `geiger why` does, at the last look at memory that the model has. */
static int add_why(struct snapshot_run *run, struct gg_error *error)
{
	const struct gg_why_options options = { .confidence = run->request->confidence };
	int status = gg_why_of(&run->snapshot->why, run->model, &options, error);

	run->snapshot->has_why = status == 0;
	return status;
}

int gg_top_snapshot_make(struct gg_top_snapshot **ret_snapshot, const struct gg_model *model,
                         const struct gg_top_request *request, const struct gg_top_process *process,
                         struct gg_error *error)
{
	struct gg_top_snapshot *snapshot = calloc(1, sizeof(*snapshot));
	struct snapshot_run run = { .model = model, .request = request, .snapshot = snapshot };
	int status;

	if (snapshot == NULL)
		return gg_error_memory(error, "top");
	gg_assert(request->look_count >= 1 && request->test_count >= request->look_count);
	snapshot->metric = request->metric;
	snapshot->by = request->by;
	snapshot->is_tree = request->is_tree;
	snapshot->process = *process;
	snapshot->confidence = request->confidence;
	snapshot->look_count = request->look_count;
	snapshot->level = gg_changes_since_level(GG_TOP_FALSE_SHARE, request->test_count);
	snapshot->mark_ns = mark_of(&run);
	set_attach(snapshot, model);
	status = ask(&run, error);
	if (status == 0)
		status = add_head(&run, error);
	set_held(snapshot, model);
	if (status == 0 && !request->is_tree && run.result != NULL &&
	    (make_rows(&run) < 0 || add_rates(&run) < 0))
		status = gg_error_memory(error, "top");
	if (status == 0 && copy_columns(snapshot) < 0)
		status = gg_error_memory(error, "top");
	if (status == 0 && request->has_why)
		status = add_why(&run, error);
	/* The pieces of pinned memory are not known (query/row_detail.h). */
	if (status == 0 && request->opened != NULL && request->metric != GG_TOP_PINNED)
		status = gg_top_detail_make(&snapshot->detail, model, run.result, request->opened,
		                            process->now_ns, request->confidence, error);
	gg_query_result_free(run.result);
	gg_query_result_free(run.allocated);
	gg_changes_since_free(run.changes);
	free(run.ages_ns);
	free(run.keys);
	if (status < 0) {
		gg_top_snapshot_free(snapshot);
		return status;
	}
	*ret_snapshot = snapshot;
	return 0;
}

bool gg_top_snapshot_is_of_one_view(const struct gg_top_snapshot *one,
                                    const struct gg_top_snapshot *other)
{
	if (one->by != other->by || one->metric != other->metric ||
	    one->is_tree != other->is_tree || one->has_why != other->has_why ||
	    (one->entries == NULL) != (other->entries == NULL))
		return false;
	return one->detail == NULL || other->detail == NULL
	               ? one->detail == other->detail
	               : strcmp(one->detail->label, other->detail->label) == 0;
}

void gg_top_snapshot_free(struct gg_top_snapshot *snapshot)
{
	if (snapshot == NULL)
		return;
	for (size_t i = 0; i < snapshot->row_count; i++) {
		free(snapshot->rows[i].label);
		if (snapshot->entries != NULL)
			free(snapshot->entries[i].target);
	}
	free(snapshot->rows);
	free(snapshot->entries);
	free(snapshot->total.label);
	free(snapshot->command);
	free(snapshot->columns);
	for (size_t i = 0; i < snapshot->note_count; i++)
		free(snapshot->notes[i]);
	free(snapshot->notes);
	gg_top_detail_free(snapshot->detail);
	if (snapshot->has_why)
		gg_why_list_done(&snapshot->why);
	free(snapshot);
}
