/* SPDX-License-Identifier: Apache-2.0 */
/* send_outline - adds up a region's numbers by row, and encodes them beside a kept dictionary. */
#include "send/send_outline.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/binary_search.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/time_units.h"
#include "format/codec/gzip.h"
#include "format/export/otlp_outline.h"
#include "record/symbols/symbolize.h"
#include "stats/estimate/plain_tally.h"

enum {
	NO_ROW = UINT32_MAX,
	OUTLINE_ROWS_MAX = 1 << 20,
	SHARE_SLOTS = 512,
	FREED_SLOTS = 256,
	TABLES_LEVEL = 6, /* once; samples are packed at each look */
};
#define MAKE_AGAIN_NS (300 * GG_NS_PER_S)

struct gg_send_outline {
	struct gg_otlp_outline otlp;
	struct gg_gzip_part tables; /* without gzip: the bytes themselves */
	struct gg_buf about;
	uint32_t *row_of_node; /* NO_ROW: no row has that node */
	uint32_t *slots;       /* by row; NULL: rows have the slots 1, 2, ... */
	uint32_t *sent_rows;   /* by row: the indices of what was sent */
	struct gg_sent_totals totals;
	uint32_t node_count, module_count, frame_count;
	size_t row_count;
	uint64_t interval_bytes; /* as the control had it */
	uint64_t inherited_below_id;
	double aggregate_interval; /* of freed samples, for the bounds of their sums */
	bool is_lacking;           /* sums are lower bounds */
	enum gg_scheme scheme;
	uint64_t again_ns; /* when to make it anew */
};

/* Sums of a row at a look. */
struct row_sums {
	double live_bytes, live_count, allocated_bytes, allocated_count;
	uint64_t live_samples;
};

/*
 * The share of a sample depends on little, and many samples have that in common.  So tallies add a
 * share once, times the number of its samples.  Schemes that count sample points weigh by their
 * number, so it is a part of the key.
 */
struct known_share {
	uint64_t size_bytes;
	double interval;
	enum gg_scheme scheme;
	uint32_t sample_point_count;
	uint64_t look; /* the last one with such a sample; 0: the slot is empty */
	struct gg_share share;
	uint64_t live_count, allocated_count; /* samples with it that no tally has yet */
};

/*
 * Most sites allocate blocks of one size, and free few samples of them.  So many sites of many
 * processes have the same sums, whose share takes some 500 instructions.
 */
struct known_freed {
	struct gg_sums sums;
	struct gg_folded folded; /* the same sums, with interval and scheme */
	struct gg_folded_share share;
	uint64_t look;  /* the last one with such sums; 0: the slot is empty */
	uint64_t count; /* rows with them that the tally does not have yet */
};

struct gg_send_workspace {
	struct known_share shares[SHARE_SLOTS];
	struct known_freed freed[FREED_SLOTS];
	struct known_share *used[SHARE_SLOTS]; /* slots of this look */
	size_t used_count;
	struct known_share *last; /* the slot of the last sample */
	uint64_t look;            /* 1, 2, ... */
	GG_ARRAY(struct row_sums) rows;
	GG_ARRAY(struct gg_sums) own_freed; /* by row, of a forked process */
	GG_ARRAY(struct gg_otlp_values) values;
	struct gg_plain_tally live, allocated;
	struct gg_buf head, tail;
	struct gg_gzip_part head_part, tail_part;
};

struct gg_send_workspace *gg_send_workspace_new(void)
{
	return calloc(1, sizeof(struct gg_send_workspace));
}

void gg_send_workspace_free(struct gg_send_workspace *workspace)
{
	if (workspace == NULL)
		return;
	gg_array_done(&workspace->rows);
	gg_array_done(&workspace->own_freed);
	gg_array_done(&workspace->values);
	gg_buf_done(&workspace->head);
	gg_buf_done(&workspace->tail);
	gg_gzip_part_done(&workspace->head_part);
	gg_gzip_part_done(&workspace->tail_part);
	free(workspace);
}

void gg_send_outline_free(struct gg_send_outline *outline)
{
	if (outline == NULL)
		return;
	gg_otlp_outline_done(&outline->otlp);
	gg_gzip_part_done(&outline->tables);
	gg_buf_done(&outline->about);
	gg_sent_totals_done(&outline->totals);
	free(outline->row_of_node);
	free(outline->slots);
	free(outline->sent_rows);
	free(outline);
}

size_t gg_send_outline_bytes(const struct gg_send_outline *outline)
{
	const struct gg_otlp_outline *otlp = &outline->otlp;

	return sizeof(*outline) + outline->tables.packed.capacity + otlp->resource.capacity +
	       otlp->attributes.capacity + outline->node_count * sizeof(*outline->row_of_node) +
	       (outline->slots != NULL ? outline->row_count * sizeof(*outline->slots) : 0) +
	       outline->row_count * sizeof(*outline->sent_rows) +
	       outline->totals.rows.capacity * sizeof(*outline->totals.rows.items);
}

/* --- adding up ------------------------------------------------------------------------------ */

/* Gives the samples of a slot to the tallies. */
static void empty_slot(struct gg_send_workspace *workspace, struct known_share *known)
{
	if (known->live_count > 0)
		gg_plain_tally_add_shares(&workspace->live, &known->share, known->size_bytes,
		                          known->live_count);
	if (known->allocated_count > 0)
		gg_plain_tally_add_shares(&workspace->allocated, &known->share, known->size_bytes,
		                          known->allocated_count);
	known->live_count = known->allocated_count = 0;
}

/* A number of points that does not fit comes from the offset (weight.c). */
static bool has_share(const struct known_share *known, const struct gg_draw *draw,
                      uint64_t size_bytes)
{
	return known->size_bytes == size_bytes && known->scheme == draw->scheme &&
	       known->sample_point_count == draw->sample_point_count &&
	       draw->sample_point_count != UINT32_MAX &&
	       memcmp(&known->interval, &draw->sampling_interval, sizeof(known->interval)) == 0;
}

static struct known_share *share_of(struct gg_send_workspace *workspace,
                                    const struct gg_region_sample *sample)
{
	struct gg_draw draw = gg_region_sample_draw(sample);
	uint64_t bits, size_bytes = sample->size_bytes;
	struct known_share *known = workspace->last;

	/* Neighbors often are alike. */
	if (known != NULL && known->look == workspace->look && has_share(known, &draw, size_bytes))
		return known;
	memcpy(&bits, &draw.sampling_interval, sizeof(bits));
	bits ^= size_bytes ^ (uint64_t)draw.sample_point_count << 32;
	known = &workspace->shares[gg_hash_integer(bits, draw.scheme) % SHARE_SLOTS];
	if (known->look != workspace->look) {
		workspace->used[workspace->used_count++] = known;
		known->live_count = known->allocated_count = 0; /* of a look that was refused */
	}
	if (known->look == 0 || !has_share(known, &draw, size_bytes)) {
		empty_slot(workspace, known);
		*known = (struct known_share){ .size_bytes = size_bytes,
			                       .interval = draw.sampling_interval,
			                       .scheme = draw.scheme,
			                       .sample_point_count = draw.sample_point_count,
			                       .share = gg_share_of(&draw, size_bytes) };
		known->share.rest_bytes = 0; /* each sample has its own (add_live) */
	}
	known->look = workspace->look;
	workspace->last = known;
	return known;
}

/* Returns the row of a node, or the number of rows. */
static size_t row_of(const struct gg_send_outline *outline, uint32_t node)
{
	uint32_t row = node < outline->node_count ? outline->row_of_node[node] : NO_ROW;

	return row != NO_ROW ? row : outline->row_count;
}

static struct row_sums *sums_of(const struct gg_send_outline *outline,
                                struct gg_send_workspace *workspace, uint32_t node)
{
	size_t row = row_of(outline, node);

	return row < outline->row_count ? &workspace->rows.items[row] : NULL;
}

static uint64_t rest_bytes_of(const struct gg_region_sample *sample)
{
	return sample->size_bytes > sample->offset_bytes ? sample->size_bytes - sample->offset_bytes
	                                                 : 0;
}

static bool add_live(const struct gg_send_outline *outline, struct gg_send_workspace *workspace,
                     const struct gg_region_view *view)
{
	uint64_t live_rest = 0, allocated_rest = 0;

	workspace->used_count = 0;
	workspace->look++;
	for (uint32_t i = 0; i < view->live_count; i++) {
		const struct gg_region_sample *sample = &view->live[i];
		struct known_share *known = share_of(workspace, sample);
		struct row_sums *sums = sums_of(outline, workspace, sample->stack);

		if (sums == NULL)
			return false;
		sums->live_bytes += known->share.value[GG_BYTES];
		sums->live_count += known->share.value[GG_ALLOCATIONS];
		sums->live_samples++;
		known->live_count++;
		live_rest += rest_bytes_of(sample);
		if (sample->id < outline->inherited_below_id)
			continue;
		sums->allocated_bytes += known->share.value[GG_BYTES];
		sums->allocated_count += known->share.value[GG_ALLOCATIONS];
		known->allocated_count++;
		allocated_rest += rest_bytes_of(sample);
	}
	for (size_t i = 0; i < workspace->used_count; i++)
		empty_slot(workspace, workspace->used[i]);
	workspace->live.rest_bytes += (double)live_rest;
	workspace->allocated.rest_bytes += (double)allocated_rest;
	return true;
}

/*
 * True if a process whose region does not tell inherited blocks apart freed no others: these are
 * not what it allocated (record/process/aggregates.h).
 */
static bool freed_inherited_alone(const struct gg_region_view *view)
{
	uint64_t inherited_count = view->header.counters[GG_COUNT_INHERITED];
	uint64_t live_count = 0, freed_count = 0;

	if (view->header.inherited_below_id == 0)
		return false;
	for (uint32_t i = 0; i < view->live_count; i++)
		live_count += view->live[i].id < view->header.inherited_below_id;
	for (uint32_t i = 0; i < view->site_total_count; i++)
		freed_count += view->site_totals[i].freed.sample_count;
	return freed_count > 0 && live_count + freed_count == inherited_count;
}

/* Gives the sums of a slot to the tally. */
static void empty_freed(struct gg_send_workspace *workspace, struct known_freed *known)
{
	if (known->look == workspace->look && known->count > 0)
		gg_plain_tally_add_folded_shares(&workspace->allocated, &known->folded,
		                                 &known->share, known->count);
	known->count = 0;
}

static struct known_freed *freed_of(const struct gg_send_outline *outline,
                                    struct gg_send_workspace *workspace,
                                    const struct gg_sums *freed)
{
	uint64_t key = gg_hash_integer(freed->size_bytes ^ freed->sample_count << 40,
	                               freed->bytes.low);
	struct known_freed *known = &workspace->freed[key % FREED_SLOTS];

	if (known->look != workspace->look)
		known->count = 0; /* of a look that was refused */
	if (known->look == 0 || memcmp(&known->sums, freed, sizeof(*freed)) != 0 ||
	    known->folded.sampling_interval != outline->aggregate_interval ||
	    known->folded.scheme != outline->scheme) {
		empty_freed(workspace, known);
		known->sums = *freed;
		known->folded = (struct gg_folded){
			.sample_count = freed->sample_count,
			.seen_bytes = freed->size_bytes,
			.bytes = gg_fixed_value(freed->bytes),
			.bytes_variance = gg_fixed_value(freed->bytes_variance),
			.count = gg_fixed_value(freed->count),
			.count_variance = gg_fixed_value(freed->count_variance),
			.sampling_interval = outline->aggregate_interval,
			.scheme = outline->scheme,
			.most_bytes = UINT64_MAX,
		};
		known->share = gg_folded_share_of(&known->folded);
	}
	known->look = workspace->look;
	return known;
}

/* Adds freed blocks, which have no samples any more, to a row; empty_freed() to the tally. */
static void add_freed_sums(const struct gg_send_outline *outline,
                           struct gg_send_workspace *workspace, struct row_sums *sums,
                           const struct gg_sums *freed)
{
	struct known_freed *known = freed_of(outline, workspace, freed);

	sums->allocated_bytes += known->folded.bytes;
	sums->allocated_count += known->folded.count;
	known->count++;
}

/*
 * Adds what a forked process allocated and freed.  It freed the inherited blocks that were live at
 * the fork and are not live now; the rest of its frees is of its own blocks.  Nodes without a row
 * share the last element: such a node has inherited blocks alone, so its rest is 0.
 */
static bool add_freed_by_child(const struct gg_send_outline *outline,
                               struct gg_send_workspace *workspace,
                               const struct gg_region_view *view)
{
	struct gg_sums *own;

	if (!gg_array_extend(&workspace->own_freed, outline->row_count + 1))
		return false;
	own = workspace->own_freed.items;
	memset(own, 0, (outline->row_count + 1) * sizeof(*own));
	for (uint32_t i = 0; i < view->site_total_count; i++) {
		const struct gg_region_site_total *total = &view->site_totals[i];
		size_t row = row_of(outline, total->stack);

		gg_sums_add(&own[row], &total->freed);
		if (total->is_inherited == 1)
			gg_sums_subtract(&own[row], &total->allocated);
	}
	for (uint32_t i = 0; i < view->live_count; i++) {
		const struct gg_region_sample *sample = &view->live[i];
		struct gg_draw draw = gg_region_sample_draw(sample);
		struct gg_sums sums;

		if (sample->id >= outline->inherited_below_id)
			continue;
		sums = gg_sums_of(&draw, sample->size_bytes);
		gg_sums_add(&own[row_of(outline, sample->stack)], &sums);
	}
	for (size_t i = 0; i < outline->row_count; i++) {
		if ((int64_t)own[i].sample_count < 0 || gg_fixed_value(own[i].bytes) < 0 ||
		    gg_fixed_value(own[i].count) < 0)
			return false;
		if (own[i].sample_count > 0)
			add_freed_sums(outline, workspace, &workspace->rows.items[i], &own[i]);
	}
	return own[outline->row_count].sample_count == 0;
}

/* Freed blocks have no samples any more: the sums of their stack and thread stand for them. */
static bool add_freed(const struct gg_send_outline *outline, struct gg_send_workspace *workspace,
                      const struct gg_region_view *view)
{
	if (outline->inherited_below_id != 0 && gg_region_view_tells_inherited(view))
		return add_freed_by_child(outline, workspace, view);
	if (freed_inherited_alone(view))
		return true;
	for (uint32_t i = 0; i < view->site_total_count; i++) {
		const struct gg_region_site_total *total = &view->site_totals[i];
		struct row_sums *sums;

		if (total->freed.sample_count == 0)
			continue;
		sums = sums_of(outline, workspace, total->stack);
		if (sums == NULL)
			return false;
		add_freed_sums(outline, workspace, sums, &total->freed);
	}
	return true;
}

/* Returns false if the outline does not fit. */
static bool add_up(const struct gg_send_outline *outline, struct gg_send_workspace *workspace,
                   const struct gg_region_view *view)
{
	if (view->torn || view->damaged_count > 0 || view->node_count != outline->node_count ||
	    view->module_count != outline->module_count ||
	    view->frame_count != outline->frame_count ||
	    view->header.control.interval_bytes != outline->interval_bytes ||
	    view->header.inherited_below_id != outline->inherited_below_id ||
	    gg_region_is_exact(&view->header) ||
	    view->header.counters[GG_COUNT_BIASED] != 0 || /* their error is unknown */
	    gg_region_is_lacking(&view->header) != outline->is_lacking ||
	    !gg_array_extend(&workspace->rows, outline->row_count))
		return false;
	memset(workspace->rows.items, 0, outline->row_count * sizeof(*workspace->rows.items));
	workspace->live = workspace->allocated = (struct gg_plain_tally){ 0 };
	if (!add_live(outline, workspace, view) || !add_freed(outline, workspace, view))
		return false;
	for (size_t i = 0; i < FREED_SLOTS; i++)
		empty_freed(workspace, &workspace->freed[i]);
	return true;
}

/* --- differences and bodies ----------------------------------------------------------------- */

/* Fills the values of the slots, and the rows of *totals.  Returns false if rows do not add up. */
static bool fill_values(const struct gg_send_outline *outline, struct gg_send_workspace *workspace,
                        struct gg_sent_totals *totals)
{
	struct gg_plain_tally *allocated = &workspace->allocated;
	double bytes_sum = 0, count_sum = 0, slack = (double)outline->row_count + 1;
	struct gg_tally tally;
	double bytes, count;
	struct gg_extract_debt debt = { 0 };
	uint64_t any = 0;

	for (size_t i = 0; i < outline->row_count; i++) {
		const struct row_sums *sums = &workspace->rows.items[i];
		struct gg_sent_row *sent = &totals->rows.items[outline->sent_rows[i]];
		size_t slot = outline->slots != NULL ? outline->slots[i] : i + 1;
		struct gg_otlp_values *values = &workspace->values.items[slot];
		uint64_t now_bytes = gg_extract_whole(sums->allocated_bytes), live_bytes;
		uint64_t now_count = gg_extract_whole(sums->allocated_count), live_count;

		gg_extract_round(&debt, sums->live_samples > 0, sums->live_bytes, sums->live_count,
		                 &live_bytes, &live_count);
		values->items[0] += live_bytes;
		values->items[1] += live_count;
		if (now_bytes > sent->bytes) {
			values->items[2] += now_bytes - sent->bytes;
			bytes_sum += (double)(now_bytes - sent->bytes);
			sent->bytes = now_bytes;
		}
		if (now_count > sent->count) {
			values->items[3] += now_count - sent->count;
			count_sum += (double)(now_count - sent->count);
			sent->count = now_count;
		}
		any |= values->items[0] | values->items[1] | values->items[2] | values->items[3];
	}
	totals->total = *allocated;
	gg_sent_subtract(allocated, &outline->totals.total);
	/* If the rows have more than the total, something is odd: the long way scales them. */
	gg_plain_tally_tally(allocated, &tally);
	bytes = gg_tally_estimate(&tally, GG_BYTES).value;
	count = gg_tally_estimate(&tally, GG_ALLOCATIONS).value;
	return any != 0 && bytes_sum <= bytes * (1 + 1e-9) + slack &&
	       count_sum <= count * (1 + 1e-9) + slack;
}

static int pack(const struct gg_send_outline *outline, struct gg_send_workspace *workspace,
                struct gg_send_body *body)
{
	const struct gg_gzip_part *parts[] = { &workspace->head_part, &outline->tables,
		                               &workspace->tail_part };

	if (!body->is_gzip) {
		gg_buf_append(&body->bytes, gg_buf_text(&workspace->head), workspace->head.length);
		gg_buf_append(&body->bytes, gg_buf_text(&outline->tables.packed),
		              outline->tables.packed.length);
		gg_buf_append(&body->bytes, gg_buf_text(&workspace->tail), workspace->tail.length);
		return body->bytes.failed ? -ENOMEM : 0;
	}
	if (gg_gzip_pack(&workspace->head_part, workspace->head.data, workspace->head.length,
	                 GG_GZIP_QUICK) < 0 ||
	    gg_gzip_pack(&workspace->tail_part, workspace->tail.data, workspace->tail.length,
	                 GG_GZIP_STORED) < 0)
		return -ENOMEM;
	return gg_gzip_join(&body->bytes, parts, GG_COUNT(parts));
}

static int write_body(const struct gg_send_outline *outline, struct gg_send_workspace *workspace,
                      const struct gg_send_outline_look *look, int64_t start_ns, int64_t end_ns,
                      struct gg_send_body *body)
{
	const struct gg_otlp_moment moment = {
		.time_ns = look->begin_wall_ns + (uint64_t)start_ns,
		.duration_ns = (uint64_t)(end_ns - start_ns),
		.identity = gg_hash_random_seed() | 1,
		.live = &workspace->live,
		.allocated = &workspace->allocated,
	};
	int status;

	gg_buf_clear(&workspace->head);
	gg_buf_clear(&workspace->tail);
	status = gg_otlp_outline_write(&outline->otlp, workspace->values.items, &moment,
	                               outline->tables.length, &workspace->head, &workspace->tail);
	if (status < 0)
		return status;
	if (workspace->head.length + outline->tables.length + workspace->tail.length >
	    GG_SEND_BODY_MAX)
		return -EDOM; /* the long way says so */
	gg_buf_append_text(&body->target, look->facts->receiver->path);
	gg_buf_append(&body->about, gg_buf_text(&outline->about), outline->about.length);
	body->type = "application/x-protobuf";
	body->is_gzip = !look->facts->no_gzip;
	status = pack(outline, workspace, body);
	return body->target.failed || body->about.failed ? -ENOMEM : status;
}

int gg_send_outline_body(const struct gg_send_outline *outline, struct gg_send_workspace *workspace,
                         const struct gg_send_outline_look *look, struct gg_sent_totals *ret_totals,
                         struct gg_send_body *body, struct gg_error *error)
{
	const struct gg_sent_totals *then = &outline->totals;
	struct gg_sent_totals now = { .number = then->number };
	int64_t start_ns = then->until_ns > 0 ? then->until_ns : 0;
	size_t slot_count = outline->otlp.slot_count;
	int status;

	if (gg_clock_monotonic_ns() >= outline->again_ns || !add_up(outline, workspace, look->view))
		return 0;
	now.until_ns = look->now_ns > start_ns ? look->now_ns : start_ns;
	if (!gg_array_reserve(&now.rows, then->rows.count + 1) ||
	    !gg_array_extend(&workspace->values, slot_count)) {
		gg_sent_totals_done(&now);
		return gg_error_memory(error, "send");
	}
	memcpy(now.rows.items, then->rows.items, then->rows.count * sizeof(*now.rows.items));
	now.rows.count = then->rows.count;
	memset(workspace->values.items, 0, slot_count * sizeof(*workspace->values.items));
	status = fill_values(outline, workspace, &now);
	if (status == 1) {
		status = write_body(outline, workspace, look, start_ns, now.until_ns, body);
		status = status == 0 ? 1 : status == -EDOM ? 0 : gg_error_memory(error, "send");
	}
	if (status == 1)
		*ret_totals = now;
	else
		gg_sent_totals_done(&now);
	return status;
}

void gg_send_outline_keep(struct gg_send_outline *outline, struct gg_sent_totals *totals)
{
	gg_sent_totals_done(&outline->totals);
	outline->totals = *totals;
	*totals = (struct gg_sent_totals){ 0 };
}

/* --- making --------------------------------------------------------------------------------- */

/* True if nobody could read a module's symbols, such as when that took too long. */
static bool is_unreadable(const struct gg_model_module *module)
{
	const char *unreadable = gg_symbol_status_text(GG_SYMBOL_UNREADABLE);

	return module->status != NULL &&
	       strncmp(module->status, unreadable, strlen(unreadable)) == 0;
}

/*
 * True if names may come later: of code that has no module yet, of a JIT compiler's module, or of
 * a module whose symbols could not be read in time.
 */
static bool may_get_names(const struct gg_model *model)
{
	for (size_t i = 1; i < model->read_frame_count; i++)
		if (model->frames[i].module == 0 &&
		    !gg_model_is_runtime_frame(model, &model->frames[i]))
			return true;
	for (size_t i = 1; i < model->module_count; i++)
		if (gg_symbolize_is_perf_map(model->modules[i].path) ||
		    is_unreadable(&model->modules[i]))
			return true;
	return false;
}

static bool has_unloaded(const struct gg_region_view *view)
{
	const struct gg_region_table *table = gg_region_table_of(&view->header, GG_TABLE_MODULES);

	/* A full table cannot say that another module took the place of an unloaded one. */
	if (table->used_count >= table->capacity)
		return true;
	for (uint32_t i = 0; i < view->module_count; i++)
		if (view->modules[i].unload_ns != 0)
			return true;
	return false;
}

/* Finds the row of each node that samples and totals name.  Returns false if memory runs out. */
static bool find_rows(struct gg_send_outline *outline, const struct gg_send_outline_source *source)
{
	const struct gg_extract *extract = source->extract;
	const struct gg_region_view *view = source->view;
	uint32_t *row_of_stack = malloc(extract->model->stack_count * sizeof(*row_of_stack));
	bool is_whole = row_of_stack != NULL;

	if (is_whole)
		memset(row_of_stack, 0xff, extract->model->stack_count * sizeof(*row_of_stack));
	for (size_t i = 0; is_whole && i < extract->row_count; i++)
		row_of_stack[extract->rows[i].stack] = (uint32_t)i;
	for (uint32_t i = 0; is_whole && i < view->live_count + view->site_total_count; i++) {
		uint32_t node = i < view->live_count
		                        ? view->live[i].stack
		                        : view->site_totals[i - view->live_count].stack;
		uint32_t stack;

		if (outline->row_of_node[node] != NO_ROW)
			continue;
		stack = source->stack_of(node, source->context);
		if (stack < extract->model->stack_count)
			outline->row_of_node[node] = row_of_stack[stack];
		/* A total without a sample yet has no row, and needs none so far. */
	}
	free(row_of_stack);
	return is_whole;
}

static bool is_near(double a, double b)
{
	return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b)) + 1e-6;
}

static bool is_same_tally(const struct gg_plain_tally *plain, const struct gg_tally *wanted)
{
	struct gg_tally tally;

	gg_plain_tally_tally(plain, &tally);
	for (int i = 0; i < GG_QUANTITY_COUNT; i++) {
		struct gg_estimate a = gg_tally_estimate(&tally, (enum gg_quantity)i);
		struct gg_estimate b = gg_tally_estimate(wanted, (enum gg_quantity)i);

		if (!is_near(a.value, b.value) || !is_near(a.variance, b.variance))
			return false;
	}
	return tally.sample_count == wanted->sample_count;
}

/* True if the outline finds the numbers of the extract in the view that it was made of. */
static bool is_right(const struct gg_send_outline *outline, struct gg_send_workspace *workspace,
                     const struct gg_send_outline_source *source)
{
	const struct gg_extract *extract = source->extract;
	struct gg_extract_debt debt = { 0 };
	struct gg_tally tally;
	uint64_t bytes, count;

	if (!add_up(outline, workspace, source->view) ||
	    !is_same_tally(&workspace->live, &extract->live) ||
	    !is_same_tally(&workspace->allocated, &extract->allocated))
		return false;
	for (size_t i = 0; i < extract->row_count; i++) {
		const struct row_sums *sums = &workspace->rows.items[i];
		const struct gg_extract_row *row = &extract->rows[i];

		gg_extract_round(&debt, sums->live_samples > 0, sums->live_bytes, sums->live_count,
		                 &bytes, &count);
		gg_plain_tally_tally(&row->allocated.tally, &tally);
		if (bytes != row->live.bytes || count != row->live.count ||
		    !is_near(sums->allocated_bytes, gg_tally_estimate(&tally, GG_BYTES).value) ||
		    !is_near(sums->allocated_count,
		             gg_tally_estimate(&tally, GG_ALLOCATIONS).value))
			return false;
	}
	return true;
}

/* Finds what was sent of each row of the extract.  Returns false if keys are missing or shared. */
static bool find_sent_rows(struct gg_send_outline *outline, const struct gg_extract *extract,
                           const struct gg_sent_totals *sent)
{
	size_t count = sent->rows.count;
	uint8_t *is_used = calloc(count + 1, 1);
	bool is_whole = is_used != NULL;

	for (size_t i = 0; is_whole && i < extract->row_count; i++) {
		uint64_t key = gg_sent_key(extract->model, extract->rows[i].stack);
		size_t at = gg_lower_bound(0, count, row, sent->rows.items[row].key < key);

		is_whole = at < count && sent->rows.items[at].key == key && !is_used[at];
		if (!is_whole)
			break;
		is_used[at] = 1;
		outline->sent_rows[i] = (uint32_t)at;
	}
	free(is_used);
	return is_whole && gg_sent_totals_copy(&outline->totals, sent) == 0;
}

/* Most rows have stacks of their own: then their slots need no table. */
static void drop_plain_slots(struct gg_send_outline *outline)
{
	size_t i = 0;

	while (i < outline->row_count && outline->slots[i] == i + 1)
		i++;
	if (i < outline->row_count)
		return;
	free(outline->slots);
	outline->slots = NULL;
}

/* Gives back the memory that a buffer does not use. */
static bool shrink(struct gg_buf *buf)
{
	struct gg_buf copy = { 0 };

	gg_buf_append(&copy, gg_buf_text(buf), buf->length);
	if (copy.failed)
		return false;
	gg_buf_done(buf);
	*buf = copy;
	return true;
}

static int pack_tables(struct gg_send_outline *outline, bool is_gzip)
{
	struct gg_buf *tables = &outline->otlp.tables;
	int status = 0;

	if (is_gzip)
		status = gg_gzip_pack(&outline->tables, tables->data, tables->length, TABLES_LEVEL);
	else
		gg_buf_append(&outline->tables.packed, gg_buf_text(tables), tables->length);
	outline->tables.length = tables->length;
	gg_buf_done(tables);
	return status < 0 || outline->tables.packed.failed || !shrink(&outline->tables.packed)
	               ? -ENOMEM
	               : 0;
}

static int fill(struct gg_send_outline *outline, struct gg_send_workspace *workspace,
                const struct gg_send_outline_source *source, struct gg_error *error, bool *ret_fits)
{
	const struct gg_extract *extract = source->extract;
	struct gg_extract shown = *extract;
	int status;

	outline->row_of_node = malloc((outline->node_count + 1) * sizeof(*outline->row_of_node));
	outline->slots = calloc(outline->row_count + 1, sizeof(*outline->slots));
	outline->sent_rows = calloc(outline->row_count + 1, sizeof(*outline->sent_rows));
	shown.rows = malloc(extract->row_count * sizeof(*shown.rows));
	if (outline->row_of_node == NULL || outline->slots == NULL || outline->sent_rows == NULL ||
	    shown.rows == NULL) {
		free(shown.rows);
		return gg_error_memory(error, "send");
	}
	memset(outline->row_of_node, 0xff, outline->node_count * sizeof(*outline->row_of_node));
	memcpy(shown.rows, extract->rows, extract->row_count * sizeof(*shown.rows));
	shown.interval_bytes = gg_model_interval(extract->model, extract->rows[0].process);
	shown.is_lacking = outline->is_lacking;
	gg_extract_hide_entries(&shown);
	*ret_fits = find_rows(outline, source) && is_right(outline, workspace, source) &&
	            find_sent_rows(outline, extract, source->totals);
	status = *ret_fits ? gg_send_body_outline(&outline->otlp, source->facts, &shown,
	                                          outline->slots, &outline->about, error)
	                   : 0;
	free(shown.rows);
	if (status == 0 && *ret_fits)
		drop_plain_slots(outline);
	if (status == 0 && *ret_fits && pack_tables(outline, !source->facts->no_gzip) < 0)
		status = gg_error_memory(error, "send");
	return status;
}

int gg_send_outline_make(struct gg_send_outline **ret_outline, struct gg_send_workspace *workspace,
                         const struct gg_send_outline_source *source, struct gg_error *error)
{
	const struct gg_region_view *view = source->view;
	const struct gg_extract *extract = source->extract;
	const struct gg_profile_process *process =
		&extract->model->processes[extract->rows[0].process];
	struct gg_send_outline *outline;
	bool fits = false;
	int status;

	*ret_outline = NULL;
	if (source->facts->receiver->form != GG_RECEIVER_OTLP || has_unloaded(view) ||
	    extract->row_count > OUTLINE_ROWS_MAX)
		return 0;
	outline = calloc(1, sizeof(*outline));
	if (outline == NULL)
		return gg_error_memory(error, "send");
	outline->node_count = view->node_count;
	outline->module_count = view->module_count;
	outline->frame_count = view->frame_count;
	outline->row_count = extract->row_count;
	outline->interval_bytes = view->header.control.interval_bytes;
	outline->inherited_below_id = view->header.inherited_below_id;
	outline->aggregate_interval = process->interval_bytes;
	outline->scheme = process->scheme;
	outline->is_lacking = gg_model_lacks_objects(extract->model, extract->rows[0].process);
	outline->again_ns = may_get_names(extract->model) ? gg_clock_monotonic_ns() + MAKE_AGAIN_NS
	                                                  : UINT64_MAX;
	status = fill(outline, workspace, source, error, &fits);
	if (status < 0 || !fits)
		gg_send_outline_free(outline);
	else
		*ret_outline = outline;
	return status;
}
