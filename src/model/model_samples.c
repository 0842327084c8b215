/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model_samples - reads the samples of a profile, half of them in a second thread.
 *
 * A report spends most of its time on decoding samples.  Therefore two threads read half of the ids
 * each, through separate connections and into separate parts.  Allocation
 * classes and inherited blocks need all samples, so they are resolved when both parts are complete.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/binary_search.h"
#include "model/model_load.h"
#include "stats/sampling/weight.h"

/* Below this number of ids a second thread does not pay. */
enum { SHARED_FROM = 100000 };

enum { PROGRESS_SAMPLES = 8192 };

struct inherited {
	size_t sample; /* index in the part */
	uint64_t origin;
};

/* Samples with ids in [first_id, last_id]. */
struct sample_part {
	const struct gg_model_load *load;
	struct gg_profile *profile;
	int64_t first_id, last_id;
	struct gg_model_sample_array samples;
	GG_ARRAY(uint64_t) ids; /* ascending */
	GG_ARRAY(struct inherited) inherited;
	GG_ARRAY(uint64_t) kind_keys;       /* mapping, heap, and type of each class in this part */
	struct gg_map kinds;                /* class number by that key */
	int64_t end_ns;                     /* the latest time in this part */
	const struct gg_progress *progress; /* the first part stands for all */
	uint64_t id_count;
	struct gg_error error;
	int status;
};

static void note_time(struct sample_part *part, int64_t time_ns)
{
	if (time_ns != GG_TIME_NONE && time_ns > part->end_ns)
		part->end_ns = time_ns;
}

uint64_t gg_model_load_kind_key(const struct gg_model_load *load, bool is_mapping, uint32_t heap,
                                uint32_t type)
{
	return (uint64_t)is_mapping << 63 |
	       (uint64_t)gg_model_load_number(&load->heaps, heap) << 32 |
	       gg_model_load_number(&load->types, type);
}

/* The part's number of the sample's allocation class. */
static int find_kind(struct sample_part *part, const struct gg_profile_sample *sample,
                     uint32_t *ret_kind)
{
	uint64_t key = gg_model_load_kind_key(part->load,
	                                      (sample->flags & GG_PROFILE_SAMPLE_MAPPING) != 0,
	                                      sample->heap, sample->type);
	uint64_t number = gg_map_get(&part->kinds, key), *kept;

	if (number == GG_MAP_NONE) {
		number = part->kind_keys.count;
		kept = gg_array_add(&part->kind_keys);
		if (kept == NULL || gg_map_put(&part->kinds, key, number) < 0)
			return -ENOMEM;
		*kept = key;
	}
	*ret_kind = (uint32_t)number;
	return 0;
}

static int note_origin(struct sample_part *part, struct gg_model_sample *sample, uint64_t origin)
{
	const struct gg_profile_process *processes = part->load->builder->processes.items;
	struct inherited *inherited = gg_array_add(&part->inherited);

	if (inherited == NULL)
		return -ENOMEM;
	inherited->sample = part->samples.count - 1;
	inherited->origin = origin;
	sample->flags |= GG_MODEL_INHERITED;
	if (sample->process != 0 && sample->alloc_ns < processes[sample->process].start_ns)
		sample->alloc_ns = processes[sample->process].start_ns;
	return 0;
}

static int read_sample(const struct gg_profile_sample *sample, void *context)
{
	struct sample_part *part = context;
	const struct gg_model_load *load = part->load;
	struct gg_model_sample *kept = gg_array_add(&part->samples);
	uint64_t slack = 0;

	if (kept == NULL || !gg_array_push(&part->ids, sample->id))
		return gg_error_memory(&part->error, "reading the profile");
	if (part->samples.count % PROGRESS_SAMPLES == 1)
		gg_progress_report(part->progress, sample->id - (uint64_t)part->first_id,
		                   part->id_count, "reading samples");
	if (sample->usable_bytes > sample->size_bytes)
		slack = sample->usable_bytes - sample->size_bytes;
	kept->alloc_ns = gg_model_load_time(load, sample->alloc_ns);
	kept->free_ns = gg_model_load_time(load, sample->free_ns);
	kept->size_bytes = sample->size_bytes;
	kept->draw = sample->draw;
	kept->weighted_bytes = gg_weight_of(&sample->draw, sample->size_bytes).bytes;
	kept->slack_bytes = slack < UINT32_MAX ? (uint32_t)slack : UINT32_MAX;
	kept->process = gg_model_load_number(&load->processes, sample->process);
	kept->thread = gg_model_load_number(&load->threads, sample->thread);
	kept->stack = gg_model_load_number(&load->stacks, sample->stack);
	kept->flags = sample->flags & ~(uint32_t)GG_MODEL_INHERITED;
	note_time(part, kept->alloc_ns);
	note_time(part, kept->free_ns);
	if (find_kind(part, sample, &kept->kind) < 0 ||
	    (sample->origin != 0 && note_origin(part, kept, sample->origin) < 0))
		return gg_error_memory(&part->error, "reading the profile");
	return 0;
}

/*
 * Makes room for all samples at once, which saves moving them.  It need not succeed.  A file with
 * few samples under widely spread ids gets no room in advance.
 */
static void make_room(struct sample_part *part, int64_t id_count)
{
	enum { MOST_ROOM = 4 << 20 };

	if (id_count <= MOST_ROOM && !gg_array_reserve(&part->samples, (size_t)id_count))
		return; /* the array grows with its samples, or fails then */
}

static void *read_part(void *context)
{
	struct sample_part *part = context;

	part->status = gg_profile_each_sample_between(part->profile, part->first_id, part->last_id,
	                                              read_sample, part, &part->error);
	return NULL;
}

static void part_done(struct sample_part *part)
{
	gg_array_done(&part->samples);
	gg_array_done(&part->ids);
	gg_array_done(&part->inherited);
	gg_array_done(&part->kind_keys);
	gg_map_done(&part->kinds);
}

/* The number of a name in a list; equal names share a number. */
static int number_name(struct gg_model_builder *builder, struct gg_model_text_array *names,
                       const char *name, uint32_t *ret_number)
{
	bool failed = false;
	const char *text = gg_model_text(builder, name, &failed), **kept;
	size_t number = 0;

	if (failed)
		return -ENOMEM;
	while (number < names->count && names->items[number] != text)
		number++;
	if (number == names->count) {
		kept = gg_array_add(names);
		if (kept == NULL)
			return -ENOMEM;
		*kept = text;
	}
	*ret_number = (uint32_t)number;
	return 0;
}

/* The number of the allocation class with that name; equal names share a class. */
static int number_kind(struct gg_model_builder *builder, const struct gg_model_kind *wanted,
                       uint32_t *ret_kind)
{
	bool failed = false;
	const char *name = gg_model_text(builder, wanted->name, &failed);
	struct gg_model_kind *kept;
	size_t number = 0;

	if (failed)
		return -ENOMEM;
	while (number < builder->kinds.count && builder->kinds.items[number].name != name)
		number++;
	if (number == builder->kinds.count) {
		kept = gg_array_add(&builder->kinds);
		if (kept == NULL)
			return -ENOMEM;
		*kept = *wanted;
		kept->name = name;
	}
	*ret_kind = (uint32_t)number;
	return 0;
}

/* Its name is "malloc" or "pool: Node". */
int gg_model_load_kind(struct gg_model_load *load, uint64_t key, uint32_t *ret_kind)
{
	struct gg_model_builder *builder = load->builder;
	uint32_t heap = (uint32_t)(key >> 32) & INT32_MAX, type = (uint32_t)key;
	const char *heap_name = key >> 63 != 0 ? "mapping" : "malloc", *type_name = "[no type]";
	struct gg_model_kind kind;
	char name[512];

	if (heap != 0)
		heap_name = load->heap_names.items[heap];
	if (type != 0)
		type_name = load->type_names.items[type];
	snprintf(name, sizeof(name), "%.240s%s%.240s", heap_name, type != 0 ? ": " : "",
	         type != 0 ? type_name : "");
	kind.name = name;
	if (number_name(builder, &builder->heaps, heap_name, &kind.heap) < 0 ||
	    number_name(builder, &builder->types, "[no type]", &kind.type) < 0 ||
	    number_name(builder, &builder->types, type_name, &kind.type) < 0)
		return -ENOMEM;
	return number_kind(builder, &kind, ret_kind);
}

/* Replaces the part's class numbers by the model's. */
static int settle_kinds(struct gg_model_load *load, struct sample_part *part)
{
	struct gg_model_sample *samples = part->samples.items;
	uint32_t *kinds = calloc(part->kind_keys.count + 1, sizeof(*kinds));
	bool are_same = true;
	int status = kinds == NULL ? -ENOMEM : 0;

	for (size_t i = 0; i < part->kind_keys.count && status == 0; i++) {
		status = gg_model_load_kind(load, part->kind_keys.items[i], &kinds[i]);
		are_same &= kinds[i] == i;
	}
	for (size_t i = 0; i < part->samples.count && status == 0 && !are_same; i++)
		samples[i].kind = kinds[samples[i].kind];
	free(kinds);
	return status;
}

/* Appends the parts to the model's samples.  Each sample is its own block at first. */
static int append(struct gg_model_builder *builder, struct sample_part *parts, size_t part_count)
{
	size_t before = builder->samples.count, count;
	struct gg_model_sample *samples;

	if (before == 0) { /* the first part becomes the array without a copy */
		gg_array_done(&builder->samples);
		builder->samples = parts[0].samples;
		parts[0].samples = (struct gg_model_sample_array){ 0 };
	}
	count = builder->samples.count;
	for (size_t i = 0; i < part_count; i++)
		count += parts[i].samples.count;
	if (count >= UINT32_MAX)
		return -ENOMEM;
	if (!gg_array_reserve(&builder->samples, count))
		return -ENOMEM;
	samples = builder->samples.items;
	for (size_t i = 0; i < part_count; i++) {
		size_t used = parts[i].samples.count;

		if (used > 0)
			memcpy(samples + builder->samples.count, parts[i].samples.items,
			       used * sizeof(*samples));
		builder->samples.count += used;
	}
	gg_assert(builder->samples.count == count);
	for (size_t i = before; i < count; i++)
		samples[i].block = (uint32_t)i;
	return 0;
}

/* The index of the sample with that id, counted from the first part; SIZE_MAX: none. */
static size_t find_sample(const struct sample_part *parts, size_t part_count, uint64_t id)
{
	size_t before = 0;

	for (size_t i = 0; i < part_count; i++) {
		const uint64_t *ids = parts[i].ids.items;
		size_t at = gg_lower_bound(0, parts[i].ids.count, k, ids[k] < id);

		if (at < parts[i].ids.count && ids[at] == id)
			return before + at;
		before += parts[i].ids.count;
	}
	return SIZE_MAX;
}

/*
 * An inherited sample belongs to the block of the sample that it comes from.  If the profile does
 * not have that sample, the block is that of the first sample with the same origin.  Ids ascend, so
 * an origin with a larger id is invalid and ignored.
 */
static int settle_blocks(struct gg_model_builder *builder, size_t before,
                         const struct sample_part *parts, size_t part_count)
{
	struct gg_model_sample *samples = builder->samples.items;
	struct gg_map orphans = { 0 };
	size_t offset = before;
	int status = 0;

	for (size_t i = 0; i < part_count; i++) {
		const struct inherited *inherited = parts[i].inherited.items;

		for (size_t k = 0; k < parts[i].inherited.count && status == 0; k++) {
			size_t number = offset + inherited[k].sample;
			size_t first = find_sample(parts, part_count, inherited[k].origin);
			uint64_t orphan;

			builder->model.has_inherited = true;
			if (first != SIZE_MAX && before + first < number) {
				samples[number].block = samples[before + first].block;
				gg_assert(samples[number].block < number);
				continue;
			}
			orphan = gg_map_get(&orphans, inherited[k].origin);
			if (orphan != GG_MAP_NONE)
				samples[number].block = (uint32_t)orphan;
			else
				status = gg_map_put(&orphans, inherited[k].origin, number);
		}
		offset += parts[i].ids.count;
	}
	gg_map_done(&orphans);
	return status;
}

/*
 * A profile has the sampling interval with which each process started.  If somebody raised it
 * later, the samples show the larger one, and groups without samples were exposed to it as well.
 */
static void settle_intervals(struct gg_model_builder *builder, size_t before)
{
	const struct gg_model_sample *samples = builder->samples.items;
	struct gg_profile_process *processes = builder->processes.items;

	for (size_t i = before; i < builder->samples.count; i++) {
		const struct gg_draw *draw = &samples[i].draw;
		struct gg_profile_process *process = &processes[samples[i].process];

		if (draw->scheme == GG_SCHEME_PER_ALLOCATION || draw->scheme == GG_SCHEME_OPTIMAL)
			continue;
		if (draw->sampling_interval > 0 &&
		    (builder->model.least_interval_bytes <= 0 ||
		     draw->sampling_interval < builder->model.least_interval_bytes))
			builder->model.least_interval_bytes = draw->sampling_interval;
		if (samples[i].process != 0 && draw->sampling_interval > process->interval_bytes)
			process->interval_bytes = draw->sampling_interval;
	}
}

struct sample_numbers {
	const struct sample_part *parts;
	size_t part_count, before;
};

static size_t number_of(uint64_t id, const void *context)
{
	const struct sample_numbers *numbers = context;
	size_t at = find_sample(numbers->parts, numbers->part_count, id);

	return at == SIZE_MAX ? at : numbers->before + at;
}

static int settle(struct gg_model_load *load, struct sample_part *parts, size_t part_count)
{
	struct gg_model_builder *builder = load->builder;
	size_t before = builder->samples.count;
	int status = 0;

	for (size_t i = 0; i < part_count && status == 0; i++) {
		status = settle_kinds(load, &parts[i]);
		builder->model.sample_total += parts[i].samples.count - parts[i].inherited.count;
		if (parts[i].end_ns > builder->model.end_ns)
			builder->model.end_ns = parts[i].end_ns;
	}
	if (status == 0)
		status = append(builder, parts, part_count);
	if (status == 0)
		status = settle_blocks(builder, before, parts, part_count);
	settle_intervals(builder, before);
	if (status == 0)
		gg_model_settle_looks(load, number_of,
		                      &(struct sample_numbers){ parts, part_count, before });
	return status < 0 ? gg_error_memory(load->error, "reading the profile") : 0;
}

/* Reads the parts; a second thread reads the second one. */
static int read_parts(struct gg_model_load *load, struct sample_part *parts, size_t part_count)
{
	pthread_t thread;
	bool is_beside = part_count > 1 && pthread_create(&thread, NULL, read_part, &parts[1]) == 0;

	read_part(&parts[0]);
	if (is_beside)
		pthread_join(thread, NULL);
	else if (part_count > 1)
		read_part(&parts[1]);
	for (size_t i = 0; i < part_count; i++)
		if (parts[i].status != 0) {
			*load->error = parts[i].error;
			return parts[i].status;
		}
	return 0;
}

int gg_model_load_samples(struct gg_model_load *load)
{
	struct sample_part parts[2] = { { .load = load, .profile = load->profile },
		                        { .load = load } };
	const struct gg_profile_session *session =
		&load->builder->sessions.items[load->builder->sessions.count - 1];
	size_t part_count = 1;
	int status = gg_profile_sample_ids(load->profile, &parts[0].first_id, &parts[0].last_id,
	                                   load->error);

	if (status < 0)
		return status;
	/*
	 * A profile that is still being recorded may change between two reads, so read it in one.
	 */
	if (parts[0].first_id > 0 && parts[0].last_id - parts[0].first_id >= SHARED_FROM &&
	    session->end_ns != GG_TIME_NONE &&
	    gg_profile_again(&parts[1].profile, load->profile, NULL) == 0) {
		part_count = 2;
		parts[1].last_id = parts[0].last_id;
		parts[0].last_id -= (parts[0].last_id - parts[0].first_id) / 2;
		parts[1].first_id = parts[0].last_id + 1;
		make_room(&parts[0], parts[1].last_id - parts[0].first_id + 1); /* of both */
		make_room(&parts[1], parts[1].last_id - parts[0].last_id);
	}
	parts[0].id_count = (uint64_t)parts[0].last_id - (uint64_t)parts[0].first_id + 1;
	if (load->builder->options != NULL)
		parts[0].progress = load->builder->options->progress;
	status = read_parts(load, parts, part_count);
	if (status == 0)
		status = settle(load, parts, part_count);
	for (size_t i = 0; i < 2; i++)
		part_done(&parts[i]);
	gg_profile_close(parts[1].profile);
	return status;
}
