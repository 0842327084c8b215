/* SPDX-License-Identifier: Apache-2.0 */
/* page_classes - finds or adds the class of a pick, and writes classes as columns. */
#include "page/page_classes.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/map.h"
#include "model/model.h"
#include "page/page_columns.h"
#include "page/page_run.h"
#include "query/query.h"
#include "stats/estimate/plain_tally.h"

/* The key that the samples of one class share. */
struct class_key {
	double size, sampling_interval;
	uint32_t scheme, kind;
	uint32_t size_class, unused; /* the size class of size rows (query.h) */
	uint64_t aggregate; /* 1 + the pick's number if the class is one sum; otherwise 0 */
};

struct gg_page_class {
	struct class_key key;
	double samples;
	struct gg_plain_tally sums;
	/* The columns, in the order of docs/reference/PAGE_DATA.md. */
	double size, bytes, count, bytes_variance, count_variance, bytes_skew, count_skew;
	double reserve_bytes, reserve_count, per_byte, bytes_slack, count_slack;
	double upper;
	uint32_t sure, unknown, kind;
};

struct key_of {
	const struct gg_page_classes *classes;
	const struct class_key *key;
};

static bool key_is_equal(uint64_t value, const void *context)
{
	const struct key_of *of = context;

	return memcmp(&of->classes->items[value].key, of->key, sizeof(*of->key)) == 0;
}

/* Returns the number of the class; UINT32_MAX if memory runs out or there are too many classes. */
static uint32_t class_of(struct gg_page_classes *classes, const struct class_key *key)
{
	struct key_of of = { classes, key };
	uint64_t hash = gg_hash_bytes(key, sizeof(*key), gg_map_seed(&classes->map));
	uint64_t found = gg_map_find(&classes->map, hash, key_is_equal, &of);

	if (found != GG_MAP_NONE)
		return (uint32_t)found;
	if (classes->count >= classes->limit ||
	    gg_map_insert(&classes->map, hash, classes->count) < 0 ||
	    !gg_array_push(classes, (struct gg_page_class){ .key = *key }))
		return UINT32_MAX;
	return (uint32_t)classes->count - 1;
}

/* Rounds a value up to a step of an octave.  Values of different size classes stay apart. */
static double rounded(double value, uint32_t steps)
{
	if (steps == 0 || !(value > 1))
		return value;
	return exp2(ceil(log2(value) * steps) / steps);
}

uint32_t gg_page_classify(struct gg_page_classes *classes, const struct gg_page_pick *pick,
                          size_t number)
{
	uint32_t steps = classes->run->detail.size_steps, class;
	struct class_key key = { .kind = pick->kind };
	struct gg_tally tally = { 0 };
	struct gg_plain_tally more;

	if (pick->sample != NULL) {
		key.size = rounded((double)pick->sample->size_bytes, steps);
		key.size_class = gg_query_size_class(pick->sample->size_bytes);
		key.sampling_interval = rounded(pick->sample->draw.sampling_interval, steps);
		key.scheme = pick->sample->draw.scheme;
	} else {
		double n = fmax(1, (double)pick->aggregate->sums.sample_count);

		key.size = rounded(gg_fixed_value(pick->aggregate->sums.bytes) / n, steps);
		key.sampling_interval = rounded(pick->aggregate->interval_bytes, steps);
		key.size_class = pick->aggregate->size_class;
		key.scheme = UINT32_MAX - pick->aggregate->unknown_errors;
		key.aggregate = steps == 0 ? number + 1 : 0;
	}
	class = class_of(classes, &key);
	if (class == UINT32_MAX || pick->share == GG_PAGE_SHARE_HELD)
		return class;
	if (pick->sample != NULL) {
		gg_plain_tally_add_sample(&classes->items[class].sums, &pick->sample->draw,
		                          pick->sample->size_bytes);
		classes->items[class].samples += 1;
	} else {
		gg_model_add_aggregate(classes->run->model, &tally, pick->aggregate);
		gg_plain_tally_of(&more, &tally);
		gg_plain_tally_add(&classes->items[class].sums, &more);
		classes->items[class].samples += fmax(1,
		                                      (double)pick->aggregate->sums.sample_count);
	}
	return class;
}

static void average(struct gg_page_class *class)
{
	struct gg_tally tally;
	const struct gg_moments *bytes = tally.usual, *count = tally.usual + 1;
	double n = class->samples;

	gg_plain_tally_tally(&class->sums, &tally);
	class->sure = gg_sum_value(&tally.sure[GG_ALLOCATIONS].value) > 0;
	if (class->sure) {
		bytes = tally.sure;
		count = tally.sure + 1;
	}
	class->kind = class->key.kind;
	class->upper = class->key.size_class < 64 ? exp2(class->key.size_class) : NAN;
	class->size = gg_sum_value(&bytes->seen) / n;
	class->bytes = gg_sum_value(&bytes->value) / n;
	class->count = gg_sum_value(&count->value) / n;
	class->bytes_variance = gg_sum_value(&bytes->variance) / n;
	class->count_variance = gg_sum_value(&count->variance) / n;
	class->bytes_skew = gg_sum_value(&bytes->skew) / n;
	class->count_skew = gg_sum_value(&count->skew) / n;
	class->bytes_slack = gg_sum_value(&tally.skew_slack[GG_BYTES]) / n;
	class->count_slack = gg_sum_value(&tally.skew_slack[GG_ALLOCATIONS]) / n;
	class->unknown = (gg_tally_has_error(&tally, GG_BYTES) ? 0 : 1) |
	                 (gg_tally_has_error(&tally, GG_ALLOCATIONS) ? 0 : 2) |
	                 (tally.unbounded_bytes > 0 ? 4 : 0);
	class->reserve_bytes = tally.sampled_interval_max;
	class->reserve_count = tally.reserve_max[GG_ALLOCATIONS];
	class->per_byte = tally.allocations_per_byte_max;
}

/* The last name is for aggregates, which do not know the allocation classes of their samples. */
static void close_names(bool has_aggregates, struct gg_json *json)
{
	if (has_aggregates)
		gg_json_text(json, NULL, "[not kept]");
	gg_json_close(json);
}

static void write_names(const char *key, const char *const *names, size_t count,
                        bool has_aggregates, struct gg_json *json)
{
	gg_json_open(json, key, '[');
	for (size_t i = 0; i < count; i++)
		gg_json_text(json, NULL, names[i]);
	close_names(has_aggregates, json);
}

static void write_kinds(const struct gg_model *model, struct gg_json *json)
{
	size_t kinds = model->kind_count, heaps = model->heap_count, types = model->type_count;
	bool has_aggregates = model->aggregate_count > 0;

	gg_json_open(json, "kinds", '[');
	for (size_t i = 0; i < kinds; i++)
		gg_json_text(json, NULL, model->kinds[i].name);
	close_names(has_aggregates, json);
	write_names("heaps", model->heaps, heaps, has_aggregates, json);
	write_names("types", model->types, types, has_aggregates, json);
	gg_json_open(json, "kind_parts", '{');
	gg_json_open(json, "heap", '[');
	for (uint32_t i = 0; i < kinds + has_aggregates; i++)
		gg_json_integer(json, NULL, i < kinds ? model->kinds[i].heap : heaps);
	gg_json_close(json);
	gg_json_open(json, "type", '[');
	for (uint32_t i = 0; i < kinds + has_aggregates; i++)
		gg_json_integer(json, NULL, i < kinds ? model->kinds[i].type : types);
	gg_json_close(json);
	gg_json_close(json);
}

/* Sums over a million samples need more digits than the page shows. */
enum { CLASS_DIGITS = 10 };

static void write_columns(const struct gg_page_classes *classes, struct gg_json *json)
{
	const struct gg_page_class *items = classes->items;
	size_t count = classes->count;

	gg_json_open(json, "classes", '{');
	GG_PAGE_DOUBLES(json, "size", items, count, size, CLASS_DIGITS);
	GG_PAGE_INTEGERS(json, "sure", items, count, sure);
	GG_PAGE_DOUBLES(json, "bytes", items, count, bytes, CLASS_DIGITS);
	GG_PAGE_DOUBLES(json, "count", items, count, count, CLASS_DIGITS);
	GG_PAGE_DOUBLES(json, "bytes_variance", items, count, bytes_variance, CLASS_DIGITS);
	GG_PAGE_DOUBLES(json, "count_variance", items, count, count_variance, CLASS_DIGITS);
	GG_PAGE_DOUBLES(json, "bytes_skew", items, count, bytes_skew, CLASS_DIGITS);
	GG_PAGE_DOUBLES(json, "count_skew", items, count, count_skew, CLASS_DIGITS);
	GG_PAGE_DOUBLES(json, "reserve_bytes", items, count, reserve_bytes, CLASS_DIGITS);
	GG_PAGE_DOUBLES(json, "reserve_count", items, count, reserve_count, CLASS_DIGITS);
	GG_PAGE_DOUBLES(json, "per_byte", items, count, per_byte, CLASS_DIGITS);
	GG_PAGE_DOUBLES(json, "bytes_slack", items, count, bytes_slack, CLASS_DIGITS);
	GG_PAGE_DOUBLES(json, "count_slack", items, count, count_slack, CLASS_DIGITS);
	GG_PAGE_INTEGERS(json, "unknown", items, count, unknown);
	GG_PAGE_INTEGERS(json, "kind", items, count, kind);
	GG_PAGE_DOUBLES(json, "upper", items, count, upper, CLASS_DIGITS + 10);
	gg_json_close(json);
}

void gg_page_classes_write(struct gg_page_classes *classes, struct gg_json *json)
{
	for (size_t i = 0; i < classes->count; i++)
		average(&classes->items[i]);
	write_kinds(classes->run->model, json);
	write_columns(classes, json);
}

void gg_page_classes_done(struct gg_page_classes *classes)
{
	gg_array_done(classes);
	gg_map_done(&classes->map);
}
