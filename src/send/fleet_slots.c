/* SPDX-License-Identifier: Apache-2.0 */
/* fleet_slots - counts samples by row, and makes messages of them. */
#include "send/fleet_slots.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/path.h"
#include "base/time_units.h"
#include "format/codec/gzip.h"
#include "format/codec/stable_hash.h"
#include "stats/estimate/plain_tally.h"

enum {
	PART_ROWS = 50000,
	ROWS_MOST = 8000,
	GROUP_LEAST = 4, /* rows that become sums: three rows would not shrink */
	PART_STACKS = 4000,
	OLD_RSS_PART = 10, /* of the life of a process */
	FIT_BYTES = GG_FLEET_TEXT_MAX - 96,
};

/* A process row that grows, and whether its rows are sent. */
struct series_extra {
	bool is_selected;
	bool has_run; /* a process of it ran in the slot, if only at its beginning */
};

/* A sum that becomes a folded row. */
struct fold {
	uint32_t series, stack;
	enum gg_fleet_metric metric;
	struct gg_plain_tally tally;
};

struct slot_part {
	size_t first_row, row_end, first_fold, fold_end;
};

struct gg_slot_maker {
	const struct gg_send_facts *facts;
	struct gg_slot_span span;
	int64_t start_ns, end_ns;                /* of the slot, since 1970 */
	struct gg_fleet_slot all;                /* series, stacks, processes, rows, folded */
	struct gg_fleet_definitions definitions; /* of all stacks, in their order */
	GG_ARRAY(struct series_extra) extras;    /* by series */
	GG_ARRAY(struct fold) folds;
	GG_ARRAY(struct slot_part) parts;
	GG_ARRAY(char *) owned; /* texts */
	GG_ARRAY(struct gg_fleet_label *) owned_labels;
	struct gg_map stack_map, frame_map;
	bool is_out_of_memory;
};

/* Maps a model's numbers to those of the messages. */
struct adding {
	struct gg_slot_maker *maker;
	const struct gg_model *model;
	const struct gg_slot_what *what;
	uint32_t *stacks; /* by stack of the model: 1 + index; 0: not yet */
	uint32_t *series; /* by process: 1 + index of its series for malloc; 0: not yet */
	/* By sample that is the first of its block: until when it was not freed, and was held. */
	int64_t *block_end_ns, *block_held_ns;
};

int gg_slot_maker_new(struct gg_slot_maker **ret_maker, const struct gg_send_facts *facts,
                      const struct gg_slot_span *span)
{
	struct gg_slot_maker *maker = calloc(1, sizeof(*maker));

	if (maker == NULL)
		return -ENOMEM;
	maker->facts = facts;
	maker->span = *span;
	maker->start_ns = (int64_t)(span->start_s * GG_NS_PER_S);
	maker->end_ns = maker->start_ns + (int64_t)(span->seconds * GG_NS_PER_S);
	*ret_maker = maker;
	return 0;
}

void gg_slot_maker_free(struct gg_slot_maker *maker)
{
	if (maker == NULL)
		return;
	for (size_t i = 0; i < maker->owned.count; i++)
		free(maker->owned.items[i]);
	for (size_t i = 0; i < maker->owned_labels.count; i++)
		free(maker->owned_labels.items[i]);
	gg_array_done(&maker->owned);
	gg_array_done(&maker->owned_labels);
	gg_array_done(&maker->extras);
	gg_array_done(&maker->folds);
	gg_array_done(&maker->parts);
	gg_fleet_slot_done(&maker->all);
	gg_fleet_definitions_done(&maker->definitions);
	gg_map_done(&maker->stack_map);
	gg_map_done(&maker->frame_map);
	free(maker);
}

/* --- texts ---------------------------------------------------------------------------------- */

/* The text, or a copy of its beginning if it is too long for a message. */
static const char *fit(struct gg_slot_maker *maker, const char *text)
{
	size_t length;
	char *copy;

	if (text == NULL)
		return "";
	if (strlen(text) <= FIT_BYTES)
		return text;
	length = FIT_BYTES;
	while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80)
		length--;
	copy = strndup(text, length);
	if (copy == NULL || !gg_array_push(&maker->owned, copy)) {
		free(copy);
		maker->is_out_of_memory = true;
		return "";
	}
	return copy;
}

/* --- series --------------------------------------------------------------------------------- */

static bool is_column(const char *key)
{
	return strcmp(key, "service.name") == 0 || strcmp(key, "service.version") == 0 ||
	       strcmp(key, "version") == 0 || strcmp(key, "host.name") == 0;
}

static const char *service_of(const struct adding *adding, uint32_t process)
{
	const struct gg_send_facts *facts = adding->maker->facts;
	const char *exe = adding->model->processes[process].exe;
	const char *name = facts->service != NULL ? facts->service
	                                          : gg_send_facts_label(facts, "service.name");

	if (name == NULL || name[0] == '\0')
		name = exe != NULL && exe[0] != '\0' ? gg_path_base(exe) : NULL;
	return name != NULL && name[0] != '\0' ? fit(adding->maker, name) : "[unknown]";
}

static const char *version_of(const struct adding *adding, uint32_t process)
{
	const struct gg_send_facts *facts = adding->maker->facts;
	const char *version = gg_send_facts_label(facts, "service.version");

	if (version == NULL)
		version = gg_send_facts_label(facts, "version");
	if (version == NULL && !adding->what->no_model_labels)
		version = gg_model_label(adding->model, process, "version");
	return fit(adding->maker, version);
}

/* The user's labels, and those of the process that the user did not give. */
static size_t list_labels(const struct adding *adding, uint32_t process,
                          struct gg_fleet_label labels[GG_FLEET_LABELS_MAX])
{
	const struct gg_send_facts *facts = adding->maker->facts;
	size_t count = 0;

	for (size_t i = 0; i < facts->label_count && count < GG_FLEET_LABELS_MAX; i++)
		if (!is_column(facts->labels[i].key))
			labels[count++] = (struct gg_fleet_label){
				fit(adding->maker, facts->labels[i].key),
				fit(adding->maker, facts->labels[i].value)
			};
	for (size_t i = 0; i < adding->model->label_count && count < GG_FLEET_LABELS_MAX &&
	                   !adding->what->no_model_labels;
	     i++) {
		const struct gg_model_label *label = &adding->model->labels[i];

		if (label->process == process && !is_column(label->key) &&
		    strcmp(label->key, "host") != 0 &&
		    gg_send_facts_label(facts, label->key) == NULL)
			labels[count++] = (struct gg_fleet_label){
				fit(adding->maker, label->key), fit(adding->maker, label->value)
			};
	}
	return count;
}

static bool is_series(const struct gg_fleet_series *a, const struct gg_fleet_series *b)
{
	if (strcmp(a->service, b->service) != 0 || strcmp(a->version, b->version) != 0 ||
	    strcmp(a->kind, b->kind) != 0 || strcmp(a->heap, b->heap) != 0 ||
	    strcmp(a->type, b->type) != 0 || a->label_count != b->label_count)
		return false;
	for (size_t i = 0; i < a->label_count; i++)
		if (strcmp(a->labels[i].key, b->labels[i].key) != 0 ||
		    strcmp(a->labels[i].value, b->labels[i].value) != 0)
			return false;
	return true;
}

/* Hosts draw whether they send, each by itself, and anew each hour (docs/FLEET.md, "Shares"). */
static bool is_selected(const struct gg_slot_maker *maker, const char *service, uint32_t ppm)
{
	uint64_t hash = gg_fleet_sender_id(maker->span.host, maker->span.instance);

	hash = gg_hash_integer(hash, gg_fleet_service_id(service));
	hash = gg_hash_integer(hash, maker->span.start_s / 3600);
	return hash % GG_FLEET_PPM < ppm;
}

/* Returns 1 + the index of the series with these texts; 0: memory is out. */
static uint32_t put_series(struct adding *adding, uint32_t process)
{
	struct gg_slot_maker *maker = adding->maker;
	struct gg_fleet_label labels[GG_FLEET_LABELS_MAX];
	struct gg_fleet_series series = {
		.service = service_of(adding, process),
		.version = version_of(adding, process),
		.kind = adding->what->kind != NULL ? adding->what->kind : "native",
		.heap = adding->what->heap != NULL ? adding->what->heap : "",
		.type = "",
		.labels = labels,
		.label_count = list_labels(adding, process, labels),
	};
	struct gg_fleet_process_row row = { .selected_ppm = GG_FLEET_PPM };
	struct gg_fleet_label *copy;
	bool selected;

	for (size_t i = 0; i < maker->all.series.count; i++)
		if (is_series(&maker->all.series.items[i], &series))
			return (uint32_t)i + 1;
	copy = malloc((series.label_count + 1) * sizeof(*copy));
	if (copy == NULL || !gg_array_push(&maker->owned_labels, copy)) {
		free(copy);
		return 0;
	}
	memcpy(copy, labels, series.label_count * sizeof(*copy));
	series.labels = copy;
	if (adding->what->share_of != NULL)
		row.selected_ppm = adding->what->share_of(series.service, adding->what->context);
	row.series = (uint32_t)maker->all.series.count;
	selected = is_selected(maker, series.service, row.selected_ppm);
	if (!selected) /* 0 says so, and the others say with which chance they were drawn */
		row.selected_ppm = 0;
	if (!gg_array_push(&maker->all.series, series) ||
	    !gg_array_push(&maker->extras, (struct series_extra){ selected, false }) ||
	    !gg_array_push(&maker->all.processes, row)) /* by series, until the end */
		return 0;
	return (uint32_t)maker->all.series.count;
}

static uint32_t series_of_process(struct adding *adding, uint32_t process)
{
	if (adding->series[process] == 0)
		adding->series[process] = put_series(adding, process);
	if (adding->series[process] == 0)
		adding->maker->is_out_of_memory = true;
	return adding->series[process] > 0 ? adding->series[process] - 1 : 0;
}

/* --- frames and stacks ---------------------------------------------------------------------- */

/*
 * True if the code of a frame has a name, at least by the address where its function begins.  The
 * model calls other frames by their own address, which is no name.
 */
static bool has_names(const struct gg_model *model, const struct gg_model_frame *frame)
{
	const struct gg_code_location *location = &model->locations[frame->first_location];
	const struct gg_model_function *function = &model->functions[location->function];
	char own[512];

	if (function->is_named || frame->location_count > 1)
		return true;
	snprintf(own, sizeof(own), "%s+0x%" PRIx64, model->modules[frame->module].name,
	         frame->address);
	return frame->module != 0 && strcmp(function->short_name, own) != 0;
}

/* Appends the names of a frame, if it has some. */
static bool put_lines(struct adding *adding, const struct gg_model_frame *frame,
                      struct gg_fleet_frame *to)
{
	const struct gg_model *model = adding->model;
	struct gg_fleet_definitions *all = &adding->maker->definitions;
	uint32_t count = has_names(model, frame) ? frame->location_count : 0;

	to->first_line = all->lines.count;
	for (uint32_t i = 0; i < count && i < GG_FLEET_LINES_MAX; i++) {
		const struct gg_code_location *at = &model->locations[frame->first_location + i];
		struct gg_fleet_line line = {
			.function = fit(adding->maker, model->functions[at->function].short_name),
			.file = fit(adding->maker, model->lines[at->line].file),
			.line = model->lines[at->line].line
		};

		if (!gg_array_push(&all->lines, line))
			return false;
		to->line_count++;
	}
	return true;
}

/* Returns the index of a frame, or UINT32_MAX if memory is out. */
static uint32_t put_frame(struct adding *adding, uint32_t number)
{
	struct gg_slot_maker *maker = adding->maker;
	struct gg_fleet_definitions *all = &maker->definitions;
	const struct gg_model_frame *frame = &adding->model->frames[number];
	const struct gg_model_module *module = &adding->model->modules[frame->module];
	struct gg_fleet_frame made = { .build_id = fit(maker, module->build_id),
		                       .module = frame->module != 0 ? fit(maker, module->path) : "",
		                       .address = frame->address };
	uint64_t id, index;

	if (!put_lines(adding, frame, &made))
		return UINT32_MAX;
	id = gg_fleet_frame_id_of(all, &made);
	index = gg_map_get(&maker->frame_map, id);
	if (index != GG_MAP_NONE) {
		all->lines.count = made.first_line;
		return (uint32_t)index;
	}
	if (!gg_array_push(&all->frames, made) ||
	    gg_map_put(&maker->frame_map, id, all->frames.count - 1) < 0)
		return UINT32_MAX;
	return (uint32_t)all->frames.count - 1;
}

struct sought_stack {
	const struct gg_slot_maker *maker;
	struct gg_fleet_stack_id id;
};

static bool is_stack(uint64_t index, const void *context)
{
	const struct sought_stack *key = context;

	return memcmp(key->maker->all.stacks.items[index].bytes, key->id.bytes,
	              sizeof(key->id.bytes)) == 0;
}

/* Returns 1 + the index; 0: memory is out. */
static uint32_t put_stack(struct adding *adding, uint32_t stack)
{
	struct gg_slot_maker *maker = adding->maker;
	struct gg_fleet_definitions *all = &maker->definitions;
	struct gg_fleet_stack made = { .first_frame = all->stack_frames.count };
	struct sought_stack key = { .maker = maker };
	uint64_t ids[GG_FLEET_DEPTH_MAX], hash, index;

	/* Whole stacks: which frames are the allocator's is a question of names, for reports. */
	for (uint32_t at = stack; at != 0 && made.frame_count < GG_FLEET_DEPTH_MAX;
	     at = adding->model->stacks[at].parent) {
		uint32_t frame = put_frame(adding, adding->model->stacks[at].frame);

		if (frame == UINT32_MAX || !gg_array_push(&all->stack_frames, frame))
			return 0;
		ids[made.frame_count++] = gg_fleet_frame_id_of(all, &all->frames.items[frame]);
	}
	key.id = gg_fleet_stack_id(ids, made.frame_count);
	hash = gg_hash_bytes(key.id.bytes, sizeof(key.id.bytes), gg_map_seed(&maker->stack_map));
	index = gg_map_find(&maker->stack_map, hash, is_stack, &key);
	if (index != GG_MAP_NONE) {
		all->stack_frames.count = made.first_frame;
		return (uint32_t)index + 1;
	}
	if (!gg_array_push(&maker->all.stacks, key.id) || !gg_array_push(&all->stacks, made) ||
	    gg_map_insert(&maker->stack_map, hash, maker->all.stacks.count - 1) < 0)
		return 0;
	return (uint32_t)maker->all.stacks.count;
}

static uint32_t stack_of(struct adding *adding, uint32_t stack)
{
	if (adding->stacks[stack] == 0)
		adding->stacks[stack] = put_stack(adding, stack);
	if (adding->stacks[stack] == 0)
		adding->maker->is_out_of_memory = true;
	return adding->stacks[stack] > 0 ? adding->stacks[stack] - 1 : 0;
}

/* --- samples -------------------------------------------------------------------------------- */

/*
 * The sampling interval with which 1 - exp(-length / gap) is the sample's p; 0: p is 1.  Negative:
 * the sample was not drawn so.
 */
static double gap_of(const struct gg_draw *draw)
{
	double interval = draw->sampling_interval;

	switch (draw->scheme) {
	case GG_SCHEME_POISSON:
		return interval > 1 ? interval : 0;
	case GG_SCHEME_BERNOULLI:
		return interval > 1 ? -1 / log1p(-1 / interval) : 0;
	case GG_SCHEME_OPTIMAL: /* down to 1 the store takes each for sure */
		return !(interval > 0) ? 0 : interval > 1 ? interval : -1;
	default:
		return interval <= 1 ? 0 : -1;
	}
}

static struct gg_plain_tally *fold_of(struct gg_slot_maker *maker, uint32_t series, uint32_t stack,
                                      enum gg_fleet_metric metric)
{
	struct fold *fold;

	/* Samples of one stack often follow each other; the rest is merged at the end. */
	for (size_t i = maker->folds.count; i > 0 && i + 3 > maker->folds.count; i--) {
		fold = &maker->folds.items[i - 1];
		if (fold->series == series && fold->stack == stack && fold->metric == metric)
			return &fold->tally;
	}
	fold = gg_array_add(&maker->folds);
	if (fold == NULL) {
		maker->is_out_of_memory = true;
		return NULL;
	}
	fold->series = series;
	fold->stack = stack;
	fold->metric = metric;
	return &fold->tally;
}

static void fold_sample(struct gg_slot_maker *maker, uint32_t series, uint32_t stack,
                        enum gg_fleet_metric metric, const struct gg_model_sample *sample)
{
	struct gg_plain_tally *tally = fold_of(maker, series, stack, metric);

	if (tally != NULL)
		gg_plain_tally_add_sample(tally, &sample->draw, sample->size_bytes);
}

/* Adds a block, which is known by its first sample. */
static void add_block(struct adding *adding, const struct gg_model_sample *sample,
                      bool is_allocated, bool is_freed, bool is_live)
{
	struct gg_slot_maker *maker = adding->maker;
	double gap = gap_of(&sample->draw);
	uint32_t base = series_of_process(adding, sample->process);
	struct gg_fleet_process_row *process = &maker->all.processes.items[base];
	struct gg_fleet_row row = { .size = sample->size_bytes,
		                    .gap = gap,
		                    .allocated = is_allocated,
		                    .freed = is_freed,
		                    .live = is_live,
		                    .flags = (sample->flags & GG_PROFILE_SAMPLE_MAPPING) != 0
		                                     ? GG_FLEET_MAPPING
		                                     : 0 };

	if (maker->is_out_of_memory)
		return;
	process->live_bytes += is_live ? sample->weighted_bytes : 0;
	process->allocated_bytes += is_allocated ? sample->weighted_bytes : 0;
	if (!maker->extras.items[base].is_selected)
		return;
	row.series = base;
	row.stack = stack_of(adding, sample->stack);
	if (maker->is_out_of_memory)
		return;
	if (gap >= 0) {
		if (!gg_array_push(&maker->all.rows, row))
			maker->is_out_of_memory = true;
		return;
	}
	if (is_allocated)
		fold_sample(maker, row.series, row.stack, GG_FLEET_ALLOCATED, sample);
	if (is_freed)
		fold_sample(maker, row.series, row.stack, GG_FLEET_FREED, sample);
	if (is_live)
		fold_sample(maker, row.series, row.stack, GG_FLEET_LIVE, sample);
}

/* When the process ended; GG_TIME_NONE: it runs. */
static int64_t process_end(const struct adding *adding, uint32_t process)
{
	int64_t end_ns = process > 0 ? adding->model->processes[process].end_ns : GG_TIME_NONE;

	return end_ns == GG_TIME_NONE && adding->what->is_finished ? adding->model->end_ns : end_ns;
}

/*
 * The end of a block is that of the last process that holds it.  Blocks that were live at the end
 * of a session have no end there, but nobody holds them after their process.
 */
static void find_block_ends(struct adding *adding)
{
	const struct gg_model *model = adding->model;
	bool has_ends = adding->what->has_history || adding->what->is_living;

	for (size_t i = 0; i < model->sample_count; i++)
		adding->block_end_ns[i] = adding->block_held_ns[i] = INT64_MIN;
	for (size_t i = 0; i < model->sample_count; i++) {
		const struct gg_model_sample *sample = &model->samples[i];
		int64_t until_ns = gg_model_sample_until(model, sample), held_ns = until_ns;

		if (has_ends && until_ns == GG_TIME_NONE)
			held_ns = process_end(adding, sample->process);
		if (until_ns > adding->block_end_ns[sample->block])
			adding->block_end_ns[sample->block] = until_ns;
		if (held_ns > adding->block_held_ns[sample->block])
			adding->block_held_ns[sample->block] = held_ns;
	}
}

static int64_t wall_of(const struct adding *adding, int64_t time_ns)
{
	return time_ns == GG_TIME_NONE ? INT64_MAX : (int64_t)adding->what->zero_wall_ns + time_ns;
}

static void add_samples(struct adding *adding)
{
	const struct gg_model *model = adding->model;
	int64_t start_ns = adding->maker->start_ns, end_ns = adding->maker->end_ns;

	for (size_t i = 0; i < model->sample_count; i++) {
		const struct gg_model_sample *sample = &model->samples[i];
		int64_t from_ns, to_ns, held_ns;
		bool is_allocated, is_freed, is_live;

		if (sample->block != i)
			continue;
		to_ns = wall_of(adding, adding->block_end_ns[i]);
		held_ns = wall_of(adding, adding->block_held_ns[i]);
		if (!adding->what->has_history) {
			if (adding->block_held_ns[i] == GG_TIME_NONE)
				add_block(adding, sample, false, false, true);
			continue;
		}
		from_ns = wall_of(adding, sample->alloc_ns);
		/* A process that inherited the block did not allocate it. */
		is_allocated = from_ns >= start_ns && from_ns < end_ns &&
		               (sample->flags & GG_MODEL_INHERITED) == 0;
		is_freed = to_ns >= start_ns && to_ns < end_ns;
		is_live = from_ns < end_ns && held_ns >= end_ns;
		if (is_allocated || is_freed || is_live)
			add_block(adding, sample, is_allocated, is_freed, is_live);
	}
}

/* --- sums without samples -------------------------------------------------------------------- */

static void add_fold(struct adding *adding, uint32_t process, uint32_t stack,
                     enum gg_fleet_metric metric, const struct gg_plain_tally *more)
{
	struct gg_slot_maker *maker = adding->maker;
	uint32_t series = series_of_process(adding, process);
	struct gg_plain_tally *tally;

	if (maker->is_out_of_memory)
		return;
	if (metric == GG_FLEET_ALLOCATED)
		maker->all.processes.items[series].allocated_bytes += more->usual[GG_BYTES].value +
		                                                      more->sure[GG_BYTES].value;
	else if (metric == GG_FLEET_LIVE && !adding->what->has_history)
		maker->all.processes.items[series].live_bytes += more->usual[GG_BYTES].value +
		                                                 more->sure[GG_BYTES].value;
	if (!maker->extras.items[series].is_selected)
		return;
	tally = fold_of(maker, series, stack_of(adding, stack), metric);
	if (tally != NULL)
		gg_plain_tally_add(tally, more);
}

/* Compacted and lost samples: allocated where their span begins, and freed where it ends. */
static void add_aggregates(struct adding *adding)
{
	const struct gg_model *model = adding->model;
	int64_t start_ns = adding->maker->start_ns, end_ns = adding->maker->end_ns;

	for (size_t i = 0; i < model->aggregate_count; i++) {
		const struct gg_profile_aggregate *aggregate = &model->aggregates[i];
		int64_t from_ns = wall_of(adding, aggregate->from_ns);
		int64_t to_ns = wall_of(adding, aggregate->to_ns);
		bool is_live = aggregate->to_ns == GG_TIME_NONE && !aggregate->is_left &&
		               from_ns < end_ns &&
		               wall_of(adding, process_end(adding, aggregate->process)) >= end_ns;
		struct gg_tally tally = { 0 };
		struct gg_plain_tally plain;

		gg_model_add_aggregate(model, &tally, aggregate);
		gg_plain_tally_of(&plain, &tally);
		if (from_ns >= start_ns && from_ns < end_ns && !aggregate->is_inherited)
			add_fold(adding, aggregate->process, aggregate->stack, GG_FLEET_ALLOCATED,
			         &plain);
		if (to_ns >= start_ns && to_ns < end_ns && !aggregate->is_inherited)
			add_fold(adding, aggregate->process, aggregate->stack, GG_FLEET_FREED,
			         &plain);
		if (is_live ||
		    (from_ns < end_ns && to_ns >= end_ns && aggregate->to_ns != GG_TIME_NONE))
			add_fold(adding, aggregate->process, aggregate->stack, GG_FLEET_LIVE,
			         &plain);
	}
}

/* --- processes ------------------------------------------------------------------------------ */

/* The last reading of a process's resident memory before the end of the slot, or 0. */
static uint64_t rss_of(const struct adding *adding, uint32_t process)
{
	bool is_state =
		adding->what->is_living; /* of the look, which follows the end of the slot */
	uint64_t rss = 0;

	if (!adding->what->has_history && !is_state)
		return gg_slot_last_rss(adding->model, process);
	for (size_t i = 0; i < adding->model->memory_count; i++) {
		const struct gg_profile_memory *memory = &adding->model->memory[i];

		if (memory->process == process && memory->rss_bytes > 0 &&
		    (is_state || wall_of(adding, memory->time_ns) < adding->maker->end_ns))
			rss = (uint64_t)memory->rss_bytes;
	}
	return rss;
}

uint8_t gg_slot_scheme(const struct gg_model *model, uint32_t process, uint8_t others)
{
	unsigned lacking = gg_model_lacks_objects(model, process) ? GG_FLEET_LACKING : 0;

	return (uint8_t)(model->processes[process].scheme | (others & GG_FLEET_LACKING) | lacking);
}

/*
 * Processes that ran in the slot make the row; those that run at its end are counted.  A process
 * that ended in the slot before gets a row as well: that slot may have gone when nobody knew.
 */
static void add_process(struct adding *adding, uint32_t number)
{
	struct gg_slot_maker *maker = adding->maker;
	const struct gg_slot_what *what = adding->what;
	const struct gg_profile_process *process = &adding->model->processes[number];
	int64_t from_ns = wall_of(adding, process->start_ns);
	bool is_state = !what->has_history;
	/* A finished session without times is known at its end alone, and is all live there. */
	int64_t to_ns = is_state && !what->is_living ? INT64_MAX
	                                             : wall_of(adding, process_end(adding, number));
	bool is_running = to_ns >= maker->end_ns;
	bool has_ended = what->has_ended != NULL && what->has_ended[number];
	int64_t slot_ns = maker->end_ns - maker->start_ns;
	struct gg_fleet_process_row *row;
	double gap = gg_model_exposure(adding->model, number);
	uint32_t covered_s, series;

	if (is_state && to_ns == INT64_MAX) /* it runs at the look, so its live blocks are here */
		from_ns = from_ns < maker->end_ns ? from_ns : maker->end_ns - 1;
	if (from_ns >= maker->end_ns || (to_ns < maker->start_ns - slot_ns && !has_ended))
		return;
	series = series_of_process(adding, number);
	if (maker->is_out_of_memory)
		return;
	maker->extras.items[series].has_run = true;
	row = &maker->all.processes.items[series];
	row->scheme = gg_slot_scheme(adding->model, number, row->scheme);
	if (to_ns < maker->start_ns)
		return;
	from_ns = from_ns > maker->start_ns ? from_ns : maker->start_ns;
	to_ns = to_ns < maker->end_ns ? to_ns : maker->end_ns;
	covered_s = (uint32_t)((to_ns - from_ns + (int64_t)GG_NS_PER_S - 1) / (int64_t)GG_NS_PER_S);
	row->gap_max = gap > row->gap_max ? gap : row->gap_max;
	row->covered_s = covered_s > row->covered_s ? covered_s : row->covered_s;
	row->dropped += gg_model_dropped(adding->model, number);
	if (!is_running)
		return;
	row->processes++;
	row->rss_bytes += rss_of(adding, number);
}

/* The estimate of the bytes that some equal samples stand for. */
static double bytes_of(const struct gg_fleet_row *row, uint32_t count)
{
	const struct gg_draw draw = { .sampling_interval = row->gap > 1 ? row->gap : 1,
		                      .sample_point_count = 1,
		                      .scheme = GG_SCHEME_POISSON };

	return count * gg_share_of(&draw, row->size).value[GG_BYTES];
}

/* Adds equal samples that the model does not have. */
static void add_counted(struct adding *adding, const struct gg_slot_counted *counted)
{
	struct gg_slot_maker *maker = adding->maker;
	struct gg_fleet_row row = { .series = series_of_process(adding, counted->process),
		                    .size = counted->size,
		                    .gap = counted->gap,
		                    .allocated = counted->allocated,
		                    .freed = counted->freed,
		                    .live = counted->live };

	if (maker->is_out_of_memory)
		return;
	maker->all.processes.items[row.series].live_bytes += bytes_of(&row, row.live);
	maker->all.processes.items[row.series].allocated_bytes += bytes_of(&row, row.allocated);
	if (!maker->extras.items[row.series].is_selected)
		return;
	row.stack = stack_of(adding, counted->stack);
	if (!maker->is_out_of_memory && !gg_array_push(&maker->all.rows, row))
		maker->is_out_of_memory = true;
}

int gg_slot_maker_add(struct gg_slot_maker *maker, const struct gg_model *model,
                      const struct gg_slot_what *what)
{
	struct adding adding = {
		.maker = maker,
		.model = model,
		.what = what,
		.stacks = calloc(model->stack_count + 1, sizeof(uint32_t)),
		.series = calloc(model->process_count + 1, sizeof(uint32_t)),
		.block_end_ns = malloc((model->sample_count + 1) * sizeof(int64_t)),
		.block_held_ns = malloc((model->sample_count + 1) * sizeof(int64_t)),
	};

	if (adding.stacks == NULL || adding.series == NULL || adding.block_end_ns == NULL ||
	    adding.block_held_ns == NULL) {
		maker->is_out_of_memory = true;
	} else {
		for (uint32_t i = 1; i < model->process_count; i++)
			if (what->only_process == 0 || what->only_process == i)
				add_process(&adding, i);
		find_block_ends(&adding);
		add_samples(&adding);
		if (what->has_history)
			add_aggregates(&adding);
		for (size_t i = 0; i < what->allocated_count; i++)
			add_fold(&adding, what->allocated[i].process, what->allocated[i].stack,
			         what->allocated[i].metric, &what->allocated[i].tally);
		for (size_t i = 0; i < what->counted_count; i++)
			add_counted(&adding, &what->counted[i]);
	}
	free(adding.stacks);
	free(adding.series);
	free(adding.block_end_ns);
	free(adding.block_held_ns);
	return maker->is_out_of_memory ? -ENOMEM : 0;
}

int gg_slot_maker_stack_ids(struct gg_slot_maker *maker, const struct gg_model *model,
                            const uint32_t *stacks, size_t count, struct gg_fleet_stack_id *ret_ids)
{
	struct adding adding = {
		.maker = maker,
		.model = model,
		.stacks = calloc(model->stack_count + 1, sizeof(uint32_t)),
	};

	if (adding.stacks == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < count && !maker->is_out_of_memory; i++) {
		uint32_t stack = stack_of(&adding, stacks[i]);

		if (!maker->is_out_of_memory)
			ret_ids[i] = maker->all.stacks.items[stack];
	}
	free(adding.stacks);
	return maker->is_out_of_memory ? -ENOMEM : 0;
}

/* --- the end -------------------------------------------------------------------------------- */

static int compare_rows(const void *a, const void *b)
{
	return gg_fleet_row_compare(a, b);
}

static int compare_folds(const void *a, const void *b)
{
	const struct fold *x = a, *y = b;

	if (x->series != y->series)
		return x->series < y->series ? -1 : 1;
	if (x->stack != y->stack)
		return x->stack < y->stack ? -1 : 1;
	return (int)x->metric - (int)y->metric;
}

static void merge_rows(struct gg_slot_maker *maker)
{
	struct gg_fleet_row *rows = maker->all.rows.items;
	size_t count = 0;

	if (maker->all.rows.count == 0)
		return;
	qsort(rows, maker->all.rows.count, sizeof(*rows), compare_rows);
	for (size_t i = 0; i < maker->all.rows.count; i++) {
		if (count > 0 && gg_fleet_row_compare(&rows[count - 1], &rows[i]) == 0) {
			rows[count - 1].allocated += rows[i].allocated;
			rows[count - 1].freed += rows[i].freed;
			rows[count - 1].live += rows[i].live;
		} else {
			rows[count++] = rows[i];
		}
	}
	maker->all.rows.count = count;
}

/* Rows of one stack and series: how many sizes it has. */
struct size_group {
	size_t first, count;
};

static int compare_groups(const void *a, const void *b)
{
	const struct size_group *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

static void fold_count(struct gg_slot_maker *maker, const struct gg_fleet_row *row,
                       enum gg_fleet_metric metric, uint32_t count, const struct gg_share *share)
{
	struct gg_plain_tally *tally = NULL;

	if (count > 0)
		tally = fold_of(maker, row->series, row->stack, metric);
	if (tally != NULL)
		gg_plain_tally_add_shares(tally, share, row->size, count);
}

/* Makes the rows of a group sums, and marks them as such. */
static void fold_group(struct gg_slot_maker *maker, const struct size_group *group)
{
	for (size_t i = group->first; i < group->first + group->count; i++) {
		struct gg_fleet_row *row = &maker->all.rows.items[i];
		const struct gg_draw draw = { .sampling_interval = row->gap > 1 ? row->gap : 1,
			                      .sample_point_count = 1,
			                      .scheme = GG_SCHEME_POISSON };
		struct gg_share share = gg_share_of(&draw, row->size);

		fold_count(maker, row, GG_FLEET_ALLOCATED, row->allocated, &share);
		fold_count(maker, row, GG_FLEET_FREED, row->freed, &share);
		fold_count(maker, row, GG_FLEET_LIVE, row->live, &share);
		row->allocated = row->freed = row->live = 0;
	}
}

/*
 * A slot has ROWS_MOST rows at most, so that a host sends no more than some kilobytes a minute.
 * Beyond that, stacks with the most sizes become sums, which lose nothing but the sizes.
 */
static void fold_overflow(struct gg_slot_maker *maker)
{
	struct gg_fleet_row *rows = maker->all.rows.items;
	size_t count = maker->all.rows.count, kept = 0, left = count, group_count = 0;
	struct size_group *groups;

	if (count <= ROWS_MOST)
		return;
	groups = calloc(count, sizeof(*groups));
	if (groups == NULL) {
		maker->is_out_of_memory = true;
		return;
	}
	for (size_t i = 0; i < count; i++) {
		if (i == 0 || rows[i].series != rows[i - 1].series ||
		    rows[i].stack != rows[i - 1].stack)
			groups[group_count++].first = i;
		groups[group_count - 1].count++;
	}
	qsort(groups, group_count, sizeof(*groups), compare_groups);
	for (size_t i = 0; i < group_count && left > ROWS_MOST; i++) {
		if (groups[i].count < GROUP_LEAST)
			break;
		fold_group(maker, &groups[i]);
		left -= groups[i].count;
	}
	free(groups);
	for (size_t i = 0; i < count; i++)
		if (rows[i].allocated > 0 || rows[i].freed > 0 || rows[i].live > 0)
			rows[kept++] = rows[i];
	maker->all.rows.count = kept;
}

static double positive(double value)
{
	return value > 0 && isfinite(value) ? value : 0;
}

static uint64_t whole(double value)
{
	return value >= 0x1p63 ? UINT64_C(1) << 63 : value > 0 ? (uint64_t)(value + 0.5) : 0;
}

static uint32_t whole_count(double value)
{
	return value >= UINT32_MAX ? UINT32_MAX : value > 0 ? (uint32_t)(value + 0.5) : 0;
}

/* Bytes and count of likely samples are apart from those of sure ones (docs/FLEET.md). */
static struct gg_fleet_folded folded_of(const struct fold *fold)
{
	const struct gg_plain_tally *tally = &fold->tally;
	const struct gg_plain_moments *usual = tally->usual, *sure = tally->sure;
	struct gg_fleet_folded row = { .series = fold->series,
		                       .stack = fold->stack,
		                       .metric = (uint8_t)fold->metric };

	row.n = whole_count(tally->sample_count);
	row.sure_n = whole_count(sure[GG_ALLOCATIONS].seen);
	row.seen = whole(usual[GG_BYTES].seen);
	row.sure_seen = whole(sure[GG_BYTES].seen);
	row.bytes = positive(usual[GG_BYTES].value);
	row.count = positive(usual[GG_ALLOCATIONS].value);
	row.bytes_var = positive(usual[GG_BYTES].variance);
	row.count_var = positive(usual[GG_ALLOCATIONS].variance);
	row.missed_bytes = positive(sure[GG_BYTES].value - sure[GG_BYTES].seen);
	row.missed_count = positive(sure[GG_ALLOCATIONS].value - sure[GG_ALLOCATIONS].seen);
	row.sure_bytes_var = positive(sure[GG_BYTES].variance);
	row.sure_count_var = positive(sure[GG_ALLOCATIONS].variance);
	row.bytes_skew = positive(usual[GG_BYTES].skew + sure[GG_BYTES].skew);
	row.count_skew = positive(usual[GG_ALLOCATIONS].skew + sure[GG_ALLOCATIONS].skew);
	row.bytes_slack = positive(tally->skew_slack[GG_BYTES]);
	row.count_slack = positive(tally->skew_slack[GG_ALLOCATIONS]);
	row.gap_max = positive(tally->sampled_interval_max);
	row.reserve_count = positive(tally->reserve_max[GG_ALLOCATIONS]);
	row.unknown = (uint8_t)((tally->unknown[GG_BYTES] > 0 || tally->unbounded_bytes > 0) |
	                        (tally->unknown[GG_ALLOCATIONS] > 0) << 1);
	if (tally->allocations_per_byte_max > 0)
		row.least_size = whole(floor(1 / tally->allocations_per_byte_max));
	return row;
}

static bool merge_folds(struct gg_slot_maker *maker)
{
	struct fold *folds = maker->folds.items;
	size_t count = 0;

	if (maker->folds.count == 0)
		return true;
	qsort(folds, maker->folds.count, sizeof(*folds), compare_folds);
	for (size_t i = 0; i < maker->folds.count; i++) {
		if (count > 0 && compare_folds(&folds[count - 1], &folds[i]) == 0)
			gg_plain_tally_add(&folds[count - 1].tally, &folds[i].tally);
		else
			folds[count++] = folds[i];
	}
	for (size_t i = 0; i < count; i++)
		if (!gg_array_push(&maker->all.folded, folded_of(&folds[i])))
			return false;
	return true;
}

/* Keeps the process rows of series whose processes ran, or that have values. */
static void keep_processes(struct gg_slot_maker *maker)
{
	struct gg_fleet_process_row *rows = maker->all.processes.items;
	size_t count = 0;

	for (size_t i = 0; i < maker->all.processes.count; i++)
		if (maker->extras.items[rows[i].series].has_run || rows[i].live_bytes > 0 ||
		    rows[i].allocated_bytes > 0)
			rows[count++] = rows[i];
	maker->all.processes.count = count;
}

/* Cuts the rows into parts; stacks of rows ascend within a series. */
static bool make_parts(struct gg_slot_maker *maker)
{
	size_t rows = maker->all.rows.count, folds = maker->all.folded.count;
	struct slot_part part = { 0 };

	while (part.row_end < rows || part.fold_end < folds || maker->parts.count == 0) {
		size_t stacks = 0;

		part.first_row = part.row_end;
		part.first_fold = part.fold_end;
		while (part.row_end < rows && part.row_end - part.first_row < PART_ROWS &&
		       stacks < PART_STACKS) {
			const struct gg_fleet_row *row = &maker->all.rows.items[part.row_end];

			stacks += part.row_end == part.first_row || row->stack != row[-1].stack;
			part.row_end++;
		}
		while (part.row_end == rows && part.fold_end < folds && stacks < PART_STACKS) {
			stacks++;
			part.fold_end++;
		}
		if (!gg_array_push(&maker->parts, part))
			return false;
	}
	return true;
}

int gg_slot_maker_finish(struct gg_slot_maker *maker)
{
	merge_rows(maker);
	fold_overflow(maker);
	keep_processes(maker);
	if (maker->is_out_of_memory || !merge_folds(maker))
		return -ENOMEM;
	if (maker->all.processes.count == 0 && maker->all.rows.count == 0 &&
	    maker->all.folded.count == 0)
		return 0;
	return make_parts(maker) ? 0 : -ENOMEM;
}

bool gg_slot_maker_is_empty(const struct gg_slot_maker *maker)
{
	return maker->parts.count == 0;
}

/* --- parts ---------------------------------------------------------------------------------- */

/* Copies the frames of a stack to the definitions of a part, each once. */
static bool copy_stack(const struct gg_fleet_definitions *from, const struct gg_fleet_stack *stack,
                       uint32_t service, uint32_t *frame_numbers, struct gg_fleet_definitions *to)
{
	struct gg_fleet_stack made = { .service = service,
		                       .first_frame = to->stack_frames.count,
		                       .frame_count = stack->frame_count };

	for (size_t i = 0; i < stack->frame_count; i++) {
		uint32_t frame = from->stack_frames.items[stack->first_frame + i];

		if (frame_numbers[frame] == 0) {
			struct gg_fleet_frame copy = from->frames.items[frame];

			copy.first_line = to->lines.count;
			for (size_t k = 0; k < copy.line_count; k++)
				if (!gg_array_push(
					    &to->lines,
					    from->lines.items[from->frames.items[frame].first_line +
				                              k]))
					return false;
			if (!gg_array_push(&to->frames, copy))
				return false;
			frame_numbers[frame] = (uint32_t)to->frames.count;
		}
		if (!gg_array_push(&to->stack_frames, frame_numbers[frame] - 1))
			return false;
	}
	return gg_array_push(&to->stacks, made);
}

struct part_maker {
	const struct gg_slot_maker *maker;
	struct gg_fleet_slot slot;
	struct gg_fleet_definitions definitions;
	uint32_t *stack_numbers, *frame_numbers; /* 1 + the index in the part */
};

/*
 * Returns the index of a stack in the part.  A stack of several services is defined for each of
 * them, which takes another entry: two entries may have one id.
 */
static bool use_stack(struct part_maker *part, uint32_t series, uint32_t stack, uint32_t *ret_index)
{
	const struct gg_slot_maker *maker = part->maker;

	if (part->stack_numbers[stack] == 0) {
		const char *service = maker->all.series.items[series].service;
		uint32_t number = 0;

		while (number < part->definitions.services.count &&
		       strcmp(part->definitions.services.items[number], service) != 0)
			number++;
		if (number == part->definitions.services.count &&
		    !gg_array_push(&part->definitions.services, service))
			return false;
		if (!gg_array_push(&part->slot.stacks, maker->all.stacks.items[stack]) ||
		    !copy_stack(&maker->definitions, &maker->definitions.stacks.items[stack],
		                number, part->frame_numbers, &part->definitions))
			return false;
		part->stack_numbers[stack] = (uint32_t)part->slot.stacks.count;
	}
	*ret_index = part->stack_numbers[stack] - 1;
	return true;
}

/* Entries of another service must not be used: rows are sorted by series, so this forgets them. */
static void forget_stacks(struct part_maker *part)
{
	memset(part->stack_numbers, 0,
	       (part->maker->all.stacks.count + 1) * sizeof(*part->stack_numbers));
}

static bool fill_part(struct part_maker *part, const struct slot_part *range)
{
	const struct gg_fleet_slot *all = &part->maker->all;
	const char *service = NULL;

	for (size_t i = 0; i < all->series.count; i++)
		if (!gg_array_push(&part->slot.series, all->series.items[i]))
			return false;
	for (size_t i = range->first_row; i < range->row_end; i++) {
		struct gg_fleet_row row = all->rows.items[i];

		if (service != NULL && strcmp(service, all->series.items[row.series].service) != 0)
			forget_stacks(part);
		service = all->series.items[row.series].service;
		if (!use_stack(part, row.series, row.stack, &row.stack) ||
		    !gg_array_push(&part->slot.rows, row))
			return false;
	}
	for (size_t i = range->first_fold; i < range->fold_end; i++) {
		struct gg_fleet_folded row = all->folded.items[i];

		if (service != NULL && strcmp(service, all->series.items[row.series].service) != 0)
			forget_stacks(part);
		service = all->series.items[row.series].service;
		if (!use_stack(part, row.series, row.stack, &row.stack) ||
		    !gg_array_push(&part->slot.folded, row))
			return false;
	}
	/* Indices of stacks are new ones. */
	if (part->slot.rows.count > 0)
		qsort(part->slot.rows.items, part->slot.rows.count, sizeof(*part->slot.rows.items),
		      compare_rows);
	return true;
}

static int compare_folded(const void *a, const void *b)
{
	return gg_fleet_folded_compare(a, b);
}

/* Appends bytes as gzip, with its length before it. */
static int pack(struct gg_buf *body, const struct gg_buf *bytes, struct gg_gzip_part *packed)
{
	size_t before = body->length;
	uint32_t length;
	int status;

	if (bytes->failed)
		return -ENOMEM;
	if (bytes->length > GG_FLEET_MESSAGE_MAX)
		return -EFBIG;
	gg_buf_append(body, "\0\0\0", sizeof(length));
	status = gg_gzip_pack(packed, bytes->data, bytes->length, GG_SLOT_GZIP_LEVEL);
	if (status == 0)
		status = gg_gzip_join(body, (const struct gg_gzip_part *[]){ packed }, 1);
	if (status < 0 || body->failed)
		return -ENOMEM;
	length = (uint32_t)(body->length - before - sizeof(length));
	memcpy(body->data + before, &length, sizeof(length));
	return 0;
}

/* The parts own the arrays; all texts are the maker's. */
int gg_slot_maker_part(const struct gg_slot_maker *maker, size_t number,
                       struct gg_fleet_slot *ret_slot, struct gg_fleet_definitions *ret_definitions)
{
	struct part_maker part = {
		.maker = maker,
		.slot = { .host = maker->span.host,
		          .instance = maker->span.instance,
		          /* A slot has one message of each number, however often it is made. */
		          .sequence = maker->span.start_s << 16 | number,
		          .start_s = maker->span.start_s,
		          .seconds = maker->span.seconds },
		.definitions = { .host = maker->span.host, .at_s = maker->span.start_s },
		.stack_numbers = calloc(maker->all.stacks.count + 1, sizeof(uint32_t)),
		.frame_numbers = calloc(maker->definitions.frames.count + 1, sizeof(uint32_t)),
	};
	bool is_made = part.stack_numbers != NULL && part.frame_numbers != NULL;

	memcpy(part.slot.boot, maker->span.boot, sizeof(part.slot.boot));
	is_made = is_made && fill_part(&part, &maker->parts.items[number]);
	if (is_made && part.slot.folded.count > 0)
		qsort(part.slot.folded.items, part.slot.folded.count,
		      sizeof(*part.slot.folded.items), compare_folded);
	/* A reader that sees rows of processes must find the memory of the parts before. */
	for (size_t i = 0;
	     is_made && number + 1 == maker->parts.count && i < maker->all.processes.count; i++)
		is_made = gg_array_push(&part.slot.processes, maker->all.processes.items[i]);
	free(part.stack_numbers);
	free(part.frame_numbers);
	*ret_slot = part.slot;
	*ret_definitions = part.definitions;
	return is_made ? 0 : -ENOMEM;
}

size_t gg_slot_maker_part_count(const struct gg_slot_maker *maker)
{
	return maker->parts.count;
}

static int make_part(const struct gg_slot_maker *maker, size_t number, struct gg_buf *body)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf slot_bytes = { 0 }, definitions_bytes = { 0 };
	struct gg_gzip_part packed = { 0 };
	struct gg_fleet_slot slot;
	struct gg_fleet_definitions definitions;
	int status = gg_slot_maker_part(maker, number, &slot, &definitions);

	if (status == 0) {
		gg_fleet_slot_encode(&slot, &slot_bytes);
		gg_fleet_definitions_encode(&definitions, &definitions_bytes);
		status = pack(body, &slot_bytes, &packed);
	}
	if (status == 0)
		status = pack(body, &definitions_bytes, &packed);
	gg_gzip_part_done(&packed);
	gg_fleet_slot_done(&slot);
	gg_fleet_definitions_done(&definitions);
	return status;
}

int gg_slot_maker_body(const struct gg_slot_maker *maker, struct gg_buf *body)
{
	int status = 0;

	for (size_t i = 0; status == 0 && i < maker->parts.count; i++)
		status = make_part(maker, i, body);
	return status;
}

uint64_t gg_slot_last_rss(const struct gg_model *model, uint32_t process)
{
	const struct gg_profile_process *facts = &model->processes[process];
	int64_t end_ns = facts->end_ns != GG_TIME_NONE ? facts->end_ns : model->end_ns;
	const struct gg_profile_memory *last = NULL;
	int64_t most_bytes = 0;

	for (size_t i = 0; i < model->memory_count; i++) {
		const struct gg_profile_memory *memory = &model->memory[i];

		if (memory->process != process)
			continue;
		if (memory->rss_bytes > 0)
			last = memory;
		if (memory->max_rss_bytes > most_bytes)
			most_bytes = memory->max_rss_bytes;
	}
	if (last != NULL && (most_bytes < last->rss_bytes ||
	                     (end_ns - last->time_ns) <= (end_ns - facts->start_ns) / OLD_RSS_PART))
		return (uint64_t)last->rss_bytes;
	return (uint64_t)most_bytes;
}

uint64_t gg_slot_instance(const struct gg_model *model)
{
	const struct gg_profile_session *session = &model->sessions[0];
	uint64_t hash = gg_stable_hash_text(GG_STABLE_HASH_START, "session");
	char text[64];

	snprintf(text, sizeof(text), "%" PRIu64 " %u", session->start_wall_ns,
	         model->process_count > 1 ? model->processes[1].pid : 0);
	hash = gg_stable_hash_text(hash, text);
	return gg_stable_hash_text(hash, session->host != NULL ? session->host : "");
}
