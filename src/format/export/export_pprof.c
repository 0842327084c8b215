/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export_pprof - profile.proto of pprof, gzipped.
 *
 * Four values a sample in the order that pprof knows heaps by: alloc_objects, alloc_space,
 * inuse_objects, inuse_space.  A sample is a row of the extract, with labels: its thread, tid, process, pid,
 * heap and type, "bytes", the mean size of its blocks, as pprof's own heap profiles have it, the ends of
 * the confidence intervals of both sizes in bytes, and what its process is labelled with, unless that has the
 * key of one of these.  Intervals of the totals are comments.
 *
 * Locations are addresses; what is inlined there are its lines.  A frame without a name has a function
 * that is called by module and offset, because pprof shows nothing else of it.  Names are full ones, which pprof
 * itself shortens for people; the system name is that of the linker, or the short one where there is none.
 */
#include <errno.h>
#include <pprof.pb-c.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/hash.h"
#include "base/size.h"
#include "format/codec/string_table.h"
#include "format/export/address_space.h"
#include "format/export/export.h"

enum { VALUE_COUNT = 4 };

/* Keys of labels, and their units. */
enum word {
	WORD_THREAD,
	WORD_PROCESS,
	WORD_HEAP,
	WORD_TYPE,
	WORD_PID,
	WORD_TID,
	WORD_BYTES, /* also a unit */
	WORD_LIVE_LOW,
	WORD_LIVE_HIGH,
	WORD_ALLOCATED_LOW,
	WORD_ALLOCATED_HIGH,
	WORD_COUNT,
};
static const char *const words[WORD_COUNT] = {
	"thread",
	"process",
	"heap",
	"type",
	"pid",
	"tid",
	"bytes",
	"inuse_space_low",
	"inuse_space_high",
	"alloc_space_low",
	"alloc_space_high",
};

/* Messages are made in arrays of their kind; a list of pointers, as protobuf-c wants it, is made last. */
struct list {
	void *items;
	size_t count, capacity;
};

struct writing {
	const struct gg_export *job;
	const struct gg_extract *extract;
	struct gg_address_space space;
	struct gg_string_table strings;
	struct list functions, locations, lines, location_ids, labels, values;
	struct gg_map function_of, location_of; /* function and file; module and address */
	int64_t words[WORD_COUNT];
	int64_t *thread_text, *process_text, *heap_text, *type_text; /* names of each; 0: not yet */
	uint64_t *location_of_stack;                                 /* of each stack; 0: not yet */
	bool failed;
};

/* Room for `count` more; NULL when memory is out. */
static void *list_add(struct writing *writing, struct list *list, size_t item_bytes, size_t count)
{
	if (list->count + count > list->capacity) {
		size_t capacity = (list->count + count) * 2 + 64;
		void *items = reallocarray(list->items, capacity, item_bytes);

		if (items == NULL) {
			writing->failed = true;
			return NULL;
		}
		list->items = items;
		list->capacity = capacity;
	}
	list->count += count;
	return (char *)list->items + (list->count - count) * item_bytes;
}

static int64_t text(struct writing *writing, const char *value)
{
	return gg_string_table_put(&writing->strings, value);
}

/* --- places --------------------------------------------------------------------------------- */

/* pprof's functions have a file: those of one name in two files are two. */
static uint64_t function_id(struct writing *writing, uint32_t number, const char *file)
{
	const struct gg_model_function function = gg_model_function(writing->extract->model,
	                                                            number);
	int64_t file_text = text(writing, file);
	uint64_t key = (uint64_t)number << 32 | (uint32_t)file_text;
	uint64_t id = gg_map_get(&writing->function_of, key);
	Gg__Pprof__Function *added;

	if (id != GG_MAP_NONE)
		return id;
	added = list_add(writing, &writing->functions, sizeof(*added), 1);
	id = writing->functions.count;
	if (added == NULL || gg_map_put(&writing->function_of, key, id) < 0) {
		writing->failed = true;
		return 0;
	}
	gg__pprof__function__init(added);
	added->id = id;
	added->name = text(writing,
	                   function.full_name != NULL ? function.full_name : function.name);
	added->system_name = text(writing, function.linkage_name != NULL ? function.linkage_name
	                                                                 : function.short_name);
	added->filename = file_text;
	return id;
}

/* Lines are kept by number until all are there: the array moves. */
struct made_location {
	Gg__Pprof__Location location;
	size_t first_line;
};

static uint64_t add_location(struct writing *writing, uint32_t stack, uint64_t address)
{
	const struct gg_model *model = writing->extract->model;
	uint32_t module = gg_model_stack_spot(model, stack).module;
	struct made_location *added = list_add(writing, &writing->locations, sizeof(*added), 1);
	size_t count;
	const struct gg_code_location *places = gg_model_stack_places(model, stack, &count);
	Gg__Pprof__Line *lines = list_add(writing, &writing->lines, sizeof(*lines), count);

	if (added == NULL || lines == NULL)
		return 0;
	gg__pprof__location__init(&added->location);
	added->location.id = writing->locations.count;
	added->location.address = address;
	for (size_t i = 0; i < writing->space.used_count; i++)
		if (writing->space.order[i] == module)
			added->location.mapping_id = i + 1;
	added->location.n_line = count;
	added->first_line = writing->lines.count - count;
	for (size_t i = 0; i < count; i++) {
		struct gg_model_line line = gg_model_line(model, places[i].line);

		gg__pprof__line__init(&lines[i]);
		lines[i].function_id = function_id(writing, places[i].function, line.file);
		lines[i].line = line.line;
	}
	return added->location.id;
}

static uint64_t location_id(struct writing *writing, uint32_t stack)
{
	struct gg_model_spot spot = gg_model_stack_spot(writing->extract->model, stack);
	uint64_t *known = &writing->location_of_stack[stack], address, key, id;

	if (*known != 0)
		return *known;
	address = gg_address_space_address(&writing->space, spot);
	key = gg_hash_integer(spot.address, gg_map_seed(&writing->location_of) + spot.module);
	id = gg_map_get(&writing->location_of, key);
	if (id == GG_MAP_NONE) {
		id = add_location(writing, stack, address);
		if (id == 0 || gg_map_put(&writing->location_of, key, id) < 0)
			writing->failed = true;
	}
	*known = id;
	return id;
}

/* --- samples -------------------------------------------------------------------------------- */

struct made_sample {
	size_t first_location, location_count, first_label, label_count;
};

static Gg__Pprof__Label *add_label(struct writing *writing, struct made_sample *sample,
                                   enum word key)
{
	Gg__Pprof__Label *label = list_add(writing, &writing->labels, sizeof(*label), 1);

	if (label == NULL)
		return NULL;
	gg__pprof__label__init(label);
	label->key = writing->words[key];
	sample->label_count++;
	return label;
}

static void label_text(struct writing *writing, struct made_sample *sample, enum word key,
                       int64_t value)
{
	Gg__Pprof__Label *label = add_label(writing, sample, key);

	if (label != NULL)
		label->str = value;
}

static void label_number(struct writing *writing, struct made_sample *sample, enum word key,
                         double value, enum word unit)
{
	Gg__Pprof__Label *label;

	if (!(value < 0x1p62)) /* no bound */
		return;
	label = add_label(writing, sample, key);
	if (label == NULL)
		return;
	label->num = (int64_t)(value + 0.5);
	label->num_unit = writing->words[unit];
}

static void label_interval(struct writing *writing, struct made_sample *sample,
                           const struct gg_extract_sum *sum, enum word low, enum word high)
{
	struct gg_interval interval;

	if (sum->count == 0)
		return;
	interval = gg_extract_interval(writing->extract, sum, GG_BYTES);
	label_number(writing, sample, low, interval.low, WORD_BYTES);
	label_number(writing, sample, high, interval.high, WORD_BYTES);
}

/* A name that many rows have, made once. */
static int64_t name_of(struct writing *writing, int64_t *known, uint32_t number,
                       void (*name)(const struct gg_extract *, uint32_t, struct gg_buf *))
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text_of = { 0 };

	if (known[number] == 0) {
		name(writing->extract, number, &text_of);
		known[number] = text(writing, gg_buf_text(&text_of));
	}
	return known[number];
}

static void heap_name(const struct gg_extract *extract, uint32_t heap, struct gg_buf *out)
{
	gg_buf_append_text(out, gg_extract_heap_name(extract, heap));
}

static void type_name(const struct gg_extract *extract, uint32_t type, struct gg_buf *out)
{
	gg_buf_append_text(out, gg_model_type_name(extract->model, type));
}

/* Its heap, and its type if it has one. */
static void label_kind(struct writing *writing, struct made_sample *sample, uint32_t kind)
{
	const struct gg_extract *extract = writing->extract;
	uint32_t heap = gg_extract_heap(extract, kind), type = 0;

	if (kind < gg_model_kind_count(extract->model))
		type = gg_model_kind(extract->model, kind).type;
	label_text(writing, sample, WORD_HEAP,
	           name_of(writing, writing->heap_text, heap, heap_name));
	if (type != 0)
		label_text(writing, sample, WORD_TYPE,
		           name_of(writing, writing->type_text, type, type_name));
}

static bool is_word(const char *key)
{
	for (size_t i = 0; i < WORD_COUNT; i++)
		if (strcmp(key, words[i]) == 0)
			return true;
	return false;
}

/* What tells its process from others. */
static void label_process(struct writing *writing, struct made_sample *sample, uint32_t process)
{
	size_t count;
	const struct gg_model_label *labels = gg_model_labels(writing->extract->model, &count);

	for (size_t i = 0; i < count; i++) {
		Gg__Pprof__Label *label;

		if (labels[i].process != process || is_word(labels[i].key))
			continue;
		label = add_label(writing, sample, WORD_THREAD);
		if (label == NULL)
			return;
		label->key = text(writing, labels[i].key);
		label->str = text(writing, labels[i].value);
	}
}

static void add_labels(struct writing *writing, struct made_sample *sample,
                       const struct gg_extract_row *row)
{
	const struct gg_extract *extract = writing->extract;
	const struct gg_extract_sum *all = row->allocated.count > 0 ? &row->allocated : &row->live;
	size_t count;

	sample->first_label = writing->labels.count;
	label_text(writing, sample, WORD_THREAD,
	           name_of(writing, writing->thread_text, row->thread, gg_extract_thread_name));
	label_text(writing, sample, WORD_PROCESS,
	           name_of(writing, writing->process_text, row->process, gg_extract_process_name));
	label_kind(writing, sample, row->kind);
	label_number(writing, sample, WORD_PID,
	             gg_model_processes(extract->model, &count)[row->process].pid, WORD_PID);
	label_number(writing, sample, WORD_TID,
	             gg_model_threads(extract->model, &count)[row->thread].tid, WORD_TID);
	label_process(writing, sample, row->process);
	if (all->count > 0)
		label_number(writing, sample, WORD_BYTES, (double)all->bytes / (double)all->count,
		             WORD_BYTES);
	label_interval(writing, sample, &row->live, WORD_LIVE_LOW, WORD_LIVE_HIGH);
	label_interval(writing, sample, &row->allocated, WORD_ALLOCATED_LOW, WORD_ALLOCATED_HIGH);
}

static void add_sample(struct writing *writing, struct made_sample *sample,
                       const struct gg_extract_row *row)
{
	const struct gg_model *model = writing->extract->model;
	int64_t *values = list_add(writing, &writing->values, sizeof(*values), VALUE_COUNT);
	uint32_t stack = row->stack;

	if (values == NULL)
		return;
	values[0] = (int64_t)row->allocated.count;
	values[1] = (int64_t)row->allocated.bytes;
	values[2] = (int64_t)row->live.count;
	values[3] = (int64_t)row->live.bytes;
	sample->first_location = writing->location_ids.count;
	do {
		uint64_t id = location_id(writing, stack);
		uint64_t *ids = list_add(writing, &writing->location_ids, sizeof(*ids), 1);

		if (ids == NULL)
			return;
		*ids = id;
		sample->location_count++;
		stack = gg_model_stack_parent(model, stack);
	} while (stack != 0);
	add_labels(writing, sample, row);
}

/* --- the file ------------------------------------------------------------------------------- */

static void comment(struct writing *writing, struct list *comments, const char *what,
                    const struct gg_tally *tally)
{
	const struct gg_extract *extract = writing->extract;
	struct gg_interval interval = gg_interval_of(tally, GG_BYTES, extract->confidence, false);
	int64_t *added = list_add(writing, comments, sizeof(*added), 1);

	if (added != NULL)
		*added = gg_string_table_printf(
			&writing->strings, "%s: %.0f bytes, %g %% confidence interval %.0f to %.0f",
			what, gg_tally_estimate(tally, GG_BYTES).value, 100 * extract->confidence,
			interval.low, interval.high);
}

static void add_comments(struct writing *writing, struct list *comments)
{
	const struct gg_extract *extract = writing->extract;
	const struct gg_profile_session *session = gg_model_session_count(extract->model) > 0
	                                                   ? gg_model_session(extract->model, 0)
	                                                   : NULL;
	int64_t *added = list_add(writing, comments, sizeof(*added), 2);

	if (added == NULL)
		return;
	added[0] = gg_string_table_printf(
		&writing->strings, "geiger %s: %s", GG_VERSION,
		session != NULL && session->command != NULL ? session->command : "");
	added[1] = gg_string_table_printf(&writing->strings, "mean sampling interval: %.0f bytes",
	                                  extract->interval_bytes);
	comment(writing, comments, "inuse_space", &extract->live);
	comment(writing, comments, "alloc_space", &extract->allocated);
}

static void *pointers_to(struct writing *writing, void *items, size_t count, size_t item_bytes)
{
	char **pointers = malloc((count + 1) * sizeof(*pointers));

	writing->failed |= pointers == NULL;
	for (size_t i = 0; i < count && pointers != NULL; i++)
		pointers[i] = (char *)items + i * item_bytes;
	return pointers;
}

static Gg__Pprof__Mapping *make_mappings(struct writing *writing)
{
	const struct gg_address_space *space = &writing->space;
	const struct gg_model *model = writing->extract->model;
	Gg__Pprof__Mapping *mappings = malloc((space->used_count + 1) * sizeof(*mappings));

	writing->failed |= mappings == NULL;
	for (size_t i = 0; i < space->used_count && mappings != NULL; i++) {
		const struct gg_address_space_module *module = &space->modules[space->order[i]];
		Gg__Pprof__Mapping *mapping = &mappings[i];

		gg__pprof__mapping__init(mapping);
		mapping->id = i + 1;
		mapping->memory_start = module->start;
		mapping->memory_limit = module->end;
		mapping->file_offset = module->file_offset;
		mapping->filename = text(writing, gg_model_module_path(model, space->order[i]));
		mapping->build_id = text(writing, gg_model_module_build_id(model, space->order[i]));
		mapping->has_functions = module->has_names;
		mapping->has_filenames = module->has_files;
		mapping->has_line_numbers = module->has_lines;
		mapping->has_inline_frames = module->has_inlined;
	}
	return mappings;
}

static Gg__Pprof__Sample *make_samples(struct writing *writing, const struct made_sample *made,
                                       size_t count, Gg__Pprof__Label **labels)
{
	Gg__Pprof__Sample *samples = malloc((count + 1) * sizeof(*samples));

	writing->failed |= samples == NULL;
	for (size_t i = 0; i < count && samples != NULL; i++) {
		Gg__Pprof__Sample *sample = &samples[i];

		gg__pprof__sample__init(sample);
		sample->location_id = (uint64_t *)writing->location_ids.items +
		                      made[i].first_location;
		sample->n_location_id = made[i].location_count;
		sample->value = (int64_t *)writing->values.items + i * VALUE_COUNT;
		sample->n_value = VALUE_COUNT;
		sample->label = labels + made[i].first_label;
		sample->n_label = made[i].label_count;
	}
	return samples;
}

static Gg__Pprof__Location *make_locations(struct writing *writing, Gg__Pprof__Line **lines)
{
	const struct made_location *made = writing->locations.items;
	size_t count = writing->locations.count;
	Gg__Pprof__Location *locations = malloc((count + 1) * sizeof(*locations));

	writing->failed |= locations == NULL;
	for (size_t i = 0; i < count && locations != NULL; i++) {
		locations[i] = made[i].location;
		locations[i].line = lines + made[i].first_line;
	}
	return locations;
}

static int compress_into(const struct gg_export *job, const uint8_t *bytes, size_t length)
{
	struct gg_buf *out = job->out;
	z_stream stream = { 0 };
	size_t bound;
	int result;

	/* 31: the largest window, with gzip's head and tail. */
	if (length > UINT32_MAX || deflateInit2(&stream, 5, Z_DEFLATED, 31, 8, 0) != Z_OK)
		return gg_export_out_of_memory(job);
	bound = deflateBound(&stream, length);
	if (bound > UINT32_MAX || !gg_buf_reserve(out, bound)) {
		deflateEnd(&stream);
		return gg_export_out_of_memory(job);
	}
	stream.next_in = (Bytef *)bytes;
	stream.avail_in = (uInt)length;
	stream.next_out = (Bytef *)out->data + out->length;
	stream.avail_out = (uInt)bound;
	result = deflate(&stream, Z_FINISH);
	out->length += stream.total_out;
	deflateEnd(&stream);
	return result == Z_STREAM_END ? 0 : gg_export_out_of_memory(job);
}

static int pack(struct writing *writing, const Gg__Pprof__Profile *profile)
{
	size_t length = gg__pprof__profile__get_packed_size(profile);
	uint8_t *bytes = malloc(length + 1);
	int code;

	if (bytes == NULL)
		return gg_export_out_of_memory(writing->job);
	gg__pprof__profile__pack(profile, bytes);
	code = compress_into(writing->job, bytes, length);
	free(bytes);
	return code;
}

static void value_type(struct writing *writing, Gg__Pprof__ValueType *type, const char *name,
                       const char *unit)
{
	gg__pprof__value_type__init(type);
	type->type = text(writing, name);
	type->unit = text(writing, unit);
}

/* Everything that is no list. */
static void fill_head(struct writing *writing, Gg__Pprof__Profile *profile,
                      Gg__Pprof__ValueType types[VALUE_COUNT + 1])
{
	const struct gg_extract *extract = writing->extract;

	value_type(writing, &types[0], "alloc_objects", "count");
	value_type(writing, &types[1], "alloc_space", "bytes");
	value_type(writing, &types[2], "inuse_objects", "count");
	value_type(writing, &types[3], "inuse_space", "bytes");
	value_type(writing, &types[4], "space", "bytes");
	profile->n_sample_type = VALUE_COUNT;
	profile->period_type = &types[4];
	profile->period = extract->interval_bytes > 1
	                          ? (int64_t)gg_extract_whole(extract->interval_bytes)
	                          : 1;
	profile->default_sample_type = extract->metric == GG_METRIC_ALLOCATED ? types[1].type
	                                                                      : types[3].type;
	if (gg_model_session_count(extract->model) > 0)
		profile->time_nanos = (int64_t)gg_model_session(extract->model, 0)->start_wall_ns +
		                      extract->start_ns;
	profile->duration_nanos = extract->end_ns - extract->start_ns;
}

static int write_all(struct writing *writing, const struct made_sample *made)
{
	Gg__Pprof__Profile profile = GG__PPROF__PROFILE__INIT;
	Gg__Pprof__ValueType types[VALUE_COUNT + 1];
	struct list comments = { 0 };
	size_t count = writing->extract->row_count;
	Gg__Pprof__Label **labels = pointers_to(writing, writing->labels.items,
	                                        writing->labels.count, sizeof(**labels));
	Gg__Pprof__Line **lines = pointers_to(writing, writing->lines.items, writing->lines.count,
	                                      sizeof(**lines));
	Gg__Pprof__Sample *samples = make_samples(writing, made, count, labels);
	Gg__Pprof__Location *locations = make_locations(writing, lines);
	Gg__Pprof__Mapping *mappings = make_mappings(writing);
	int code;

	fill_head(writing, &profile, types);
	add_comments(writing, &comments);
	profile.sample_type = pointers_to(writing, types, VALUE_COUNT, sizeof(*types));
	profile.sample = pointers_to(writing, samples, count, sizeof(*samples));
	profile.n_sample = count;
	profile.location = pointers_to(writing, locations, writing->locations.count,
	                               sizeof(*locations));
	profile.n_location = writing->locations.count;
	profile.mapping = pointers_to(writing, mappings, writing->space.used_count,
	                              sizeof(*mappings));
	profile.n_mapping = writing->space.used_count;
	profile.function = pointers_to(writing, writing->functions.items, writing->functions.count,
	                               sizeof(Gg__Pprof__Function));
	profile.n_function = writing->functions.count;
	profile.comment = comments.items;
	profile.n_comment = comments.count;
	profile.string_table = writing->strings.texts.items;
	profile.n_string_table = writing->strings.texts.count;
	code = writing->failed || writing->strings.failed ? gg_export_out_of_memory(writing->job)
	                                                  : pack(writing, &profile);
	free(comments.items);
	free(profile.sample_type);
	free(profile.sample);
	free(profile.location);
	free(profile.mapping);
	free(profile.function);
	free(mappings);
	free(locations);
	free(samples);
	free(lines);
	free(labels);
	return code;
}

static void writing_done(struct writing *writing)
{
	free(writing->functions.items);
	free(writing->locations.items);
	free(writing->lines.items);
	free(writing->location_ids.items);
	free(writing->labels.items);
	free(writing->values.items);
	free(writing->location_of_stack);
	free(writing->thread_text);
	free(writing->process_text);
	free(writing->heap_text);
	free(writing->type_text);
	gg_map_done(&writing->function_of);
	gg_map_done(&writing->location_of);
	gg_string_table_done(&writing->strings);
	gg_address_space_done(&writing->space);
}

/* Number 0 of the texts, and what is asked for again and again. */
static bool begin(struct writing *writing)
{
	const struct gg_model *model = writing->extract->model;
	size_t process_count, thread_count;

	gg_model_processes(model, &process_count);
	gg_model_threads(model, &thread_count);
	writing->location_of_stack = calloc(gg_model_stack_count(model),
	                                    sizeof(*writing->location_of_stack));
	writing->thread_text = calloc(thread_count, sizeof(*writing->thread_text));
	writing->process_text = calloc(process_count, sizeof(*writing->process_text));
	writing->heap_text = calloc(gg_model_heap_count(model) + 1, sizeof(*writing->heap_text));
	writing->type_text = calloc(gg_model_type_count(model) + 1, sizeof(*writing->type_text));
	text(writing, "");
	for (size_t i = 0; i < WORD_COUNT; i++)
		writing->words[i] = text(writing, words[i]);
	return writing->location_of_stack != NULL && writing->thread_text != NULL &&
	       writing->process_text != NULL && writing->heap_text != NULL &&
	       writing->type_text != NULL;
}

static int write_pprof(const struct gg_export *job)
{
	struct writing writing = { .job = job, .extract = job->extract };
	size_t count = job->extract->row_count;
	struct made_sample *made = calloc(count + 1, sizeof(*made));
	int code = gg_address_space_make(&writing.space, job->extract, job->error);

	if (code < 0) {
		free(made);
		return code;
	}
	writing.failed = !begin(&writing) || made == NULL;
	for (size_t i = 0; i < count && !writing.failed; i++) {
		gg_export_progress(job, i, count);
		add_sample(&writing, &made[i], &job->extract->rows[i]);
	}
	code = writing.failed ? gg_export_out_of_memory(job) : write_all(&writing, made);
	writing_done(&writing);
	free(made);
	return code;
}

const struct gg_export_format gg_export_pprof = {
	.name = "pprof",
	.suffix = ".pb.gz",
	.is_binary = true,
	.has_both = true,
	.write = write_pprof,
};
