/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cells - the samples, as groups that the page cannot tell apart: one class, one node, one bin of birth and
 * one of death.
 *
 * A class is what one sample adds to a tally: size, sampling interval and scheme decide it.  Where there
 * would be too many, sizes and intervals are rounded to steps of an octave, and the class is the mean
 * of its samples: sums over all samples stay exact.
 *
 * A cell is one number: node, class, birth and death in its bits, so that sorting them is sorting numbers.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "page/page_internal.h"
#include "stats/rough.h"

enum { CELLS_OF_CLASS = 16 };

enum { CLASS_BITS = 20, BIN_BITS = 9, NODE_BITS = 64 - CLASS_BITS - 2 * BIN_BITS };

_Static_assert(2 * (GG_PAGE_BINS_MAX + 1) + 1 < 1 << BIN_BITS, "a bin fits");

/* What makes samples one class. */
struct class_key {
	double size, interval;
	uint32_t scheme, kind;
	uint64_t coarse; /* 1 + number of the pick, where the class is a sum of its own; else 0 */
};

struct class
{
	struct class_key key;
	double samples;
	struct gg_rough sums;
	/* Columns, in the order of docs/PAGE_DATA.md. */
	double size, bytes, count, bytes_variance, count_variance, bytes_skew, count_skew;
	double reserve_bytes, reserve_count, per_byte, bytes_slack, count_slack;
	uint32_t sure, unknown, kind;
};

struct cell {
	uint64_t key;
	uint32_t n;
};

struct cells {
	struct gg_page_run *run;
	const struct gg_page_tree *tree;
	struct gg_map map; /* of classes */
	struct class *classes;
	size_t class_count, class_capacity, class_limit;
	struct cell *cells;
	size_t count;
};

struct key_of {
	const struct cells *cells;
	const struct class_key *key;
};

static bool key_is_equal(uint64_t value, const void *context)
{
	const struct key_of *of = context;

	return memcmp(&of->cells->classes[value].key, of->key, sizeof(*of->key)) == 0;
}

/* The number; UINT32_MAX when memory is out or there are too many. */
static uint32_t class_of(struct cells *cells, const struct class_key *key)
{
	struct key_of of = { cells, key };
	uint64_t hash = gg_hash_bytes(key, sizeof(*key), gg_map_seed(&cells->map));
	uint64_t found = gg_map_find(&cells->map, hash, key_is_equal, &of);

	if (found != GG_MAP_NONE)
		return (uint32_t)found;
	if (cells->class_count == cells->class_capacity) {
		size_t capacity = cells->class_capacity == 0 ? 256 : cells->class_capacity * 2;
		struct class *more = reallocarray(cells->classes, capacity, sizeof(*more));

		if (more == NULL)
			return UINT32_MAX;
		cells->classes = more;
		cells->class_capacity = capacity;
	}
	if (cells->class_count >= cells->class_limit ||
	    gg_map_insert(&cells->map, hash, cells->class_count) < 0)
		return UINT32_MAX;
	cells->classes[cells->class_count] = (struct class){ .key = *key };
	return (uint32_t)cells->class_count++;
}

/* Rounded down to a step of an octave. */
static double rounded(double value, uint32_t steps)
{
	if (steps == 0 || !(value > 1))
		return value;
	return exp2(floor(log2(value) * steps) / steps);
}

/* Adds the pick to its class, which is the answer. */
static uint32_t classify(struct cells *cells, size_t number)
{
	const struct gg_page_pick *pick = &cells->run->picks[number];
	uint32_t steps = cells->run->detail.size_steps, class;
	struct class_key key = { .kind = pick->kind };
	struct gg_tally tally = { 0 };
	struct gg_rough more;

	if (pick->sample != NULL) {
		key.size = rounded((double)pick->sample->size_bytes, steps);
		key.interval = rounded(pick->sample->draw.interval, steps);
		key.scheme = pick->sample->draw.scheme;
	} else {
		double n = fmax(1, (double)pick->coarse->sums.sample_count);

		key.size = rounded(gg_fixed_value(pick->coarse->sums.bytes) / n, steps);
		key.interval = rounded(pick->coarse->interval_bytes, steps);
		key.scheme = UINT32_MAX - pick->coarse->unknown_errors;
		key.coarse = steps == 0 ? number + 1 : 0;
	}
	class = class_of(cells, &key);
	if (class == UINT32_MAX)
		return class;
	if (pick->sample != NULL) {
		gg_rough_add_sample(&cells->classes[class].sums, &pick->sample->draw,
		                    pick->sample->size_bytes);
		cells->classes[class].samples += 1;
	} else {
		gg_model_add_coarse(cells->run->model, &tally, pick->coarse);
		gg_rough_of(&more, &tally);
		gg_rough_add(&cells->classes[class].sums, &more);
		cells->classes[class].samples += fmax(1, (double)pick->coarse->sums.sample_count);
	}
	return class;
}

static void average(struct class *class)
{
	struct gg_tally tally;
	const struct gg_moments *bytes = tally.usual, *count = tally.usual + 1;
	double n = class->samples;

	gg_rough_tally(&class->sums, &tally);
	class->sure = gg_sum_value(&tally.sure[GG_ALLOCATIONS].value) > 0;
	if (class->sure) {
		bytes = tally.sure;
		count = tally.sure + 1;
	}
	class->kind = class->key.kind;
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
	                 (gg_tally_has_error(&tally, GG_ALLOCATIONS) ? 0 : 2);
	class->reserve_bytes = tally.sampled_interval_max;
	class->reserve_count = tally.reserve_max[GG_ALLOCATIONS];
	class->per_byte = tally.allocations_per_byte_max;
}

/* The middle of the group of bins that a bin of a light node is rounded to. */
static uint32_t lighten(const struct gg_page_run *run, uint32_t bin)
{
	uint32_t groups = run->detail.light_bins, count = run->bins.count, group;

	if (groups == 0 || groups >= count)
		return bin;
	group = bin * groups / count;
	return (group * count + count / 2) / groups;
}

static uint64_t place(const struct cells *cells, const struct gg_page_pick *pick, uint32_t class)
{
	const struct gg_page_run *run = cells->run;
	uint32_t count = run->bins.count;
	uint32_t node = cells->tree->node_of[pick->top];
	uint32_t born = gg_page_bin(&run->bins, pick->born_ns);
	uint32_t gone = gg_page_bin(&run->bins, pick->gone_ns);
	bool is_light = cells->tree->nodes[node].light < 1e-3F;

	born = (is_light ? lighten(run, born) : born) + (pick->is_inherited ? count + 1 : 0);
	if (pick->is_kept)
		gone = pick->gone_ns >= run->bins.edges[count] ? count : count + 1 + gone;
	else if (is_light)
		gone = lighten(run, gone);
	return (uint64_t)node << (CLASS_BITS + 2 * BIN_BITS) | (uint64_t) class << (2 * BIN_BITS) |
	       (uint64_t)born << BIN_BITS | gone;
}

static int compare_cells(const void *a, const void *b)
{
	const struct cell *left = a, *right = b;

	return (left->key > right->key) - (left->key < right->key);
}

static void merge(struct cells *cells)
{
	size_t kept = 0;

	qsort(cells->cells, cells->count, sizeof(*cells->cells), compare_cells);
	for (size_t i = 0; i < cells->count; i++) {
		if (kept > 0 && cells->cells[kept - 1].key == cells->cells[i].key)
			cells->cells[kept - 1].n += cells->cells[i].n;
		else
			cells->cells[kept++] = cells->cells[i];
	}
	cells->count = kept;
}

static int fill(struct cells *cells)
{
	const struct gg_page_run *run = cells->run;

	cells->cells = malloc((run->pick_count + 1) * sizeof(*cells->cells));
	if (cells->cells == NULL)
		return -ENOMEM;
	if (cells->tree->node_count >> NODE_BITS != 0)
		return -E2BIG;
	for (size_t i = 0; i < run->pick_count; i++) {
		const struct gg_page_pick *pick = &run->picks[i];
		uint32_t class = classify(cells, i);
		uint64_t n = pick->coarse != NULL ? pick->coarse->sums.sample_count : 1;

		if (class == UINT32_MAX)
			return cells->class_count >= cells->class_limit ? -E2BIG : -ENOMEM;
		cells->cells[cells->count++] = (struct cell){
			place(cells, pick, class),
			n == 0 ? 1 : (uint32_t)(n < UINT32_MAX ? n : UINT32_MAX),
		};
	}
	merge(cells);
	for (size_t i = 0; i < cells->class_count; i++)
		average(&cells->classes[i]);
	return 0;
}

static void write_kinds(const struct cells *cells, struct gg_json *json)
{
	const struct gg_model *model = cells->run->model;
	size_t coarse_count;

	gg_json_open(json, "kinds", '[');
	for (uint32_t i = 0; i < gg_model_kind_count(model); i++)
		gg_json_text(json, NULL, gg_model_kind_name(model, i));
	gg_model_coarse(model, &coarse_count);
	if (coarse_count > 0)
		gg_json_text(json, NULL, "[not kept]"); /* of samples that are sums */
	gg_json_close(json);
}

/* Sums over a million samples want more digits than what is shown. */
enum { DIGITS = 10 };

static void write_classes(const struct cells *cells, struct gg_json *json)
{
	const struct class *classes = cells->classes;
	size_t count = cells->class_count;

	gg_json_open(json, "classes", '{');
	GG_PAGE_DOUBLES(json, "size", classes, count, size, DIGITS);
	GG_PAGE_INTEGERS(json, "sure", classes, count, sure);
	GG_PAGE_DOUBLES(json, "bytes", classes, count, bytes, DIGITS);
	GG_PAGE_DOUBLES(json, "count", classes, count, count, DIGITS);
	GG_PAGE_DOUBLES(json, "bytes_variance", classes, count, bytes_variance, DIGITS);
	GG_PAGE_DOUBLES(json, "count_variance", classes, count, count_variance, DIGITS);
	GG_PAGE_DOUBLES(json, "bytes_skew", classes, count, bytes_skew, DIGITS);
	GG_PAGE_DOUBLES(json, "count_skew", classes, count, count_skew, DIGITS);
	GG_PAGE_DOUBLES(json, "reserve_bytes", classes, count, reserve_bytes, DIGITS);
	GG_PAGE_DOUBLES(json, "reserve_count", classes, count, reserve_count, DIGITS);
	GG_PAGE_DOUBLES(json, "per_byte", classes, count, per_byte, DIGITS);
	GG_PAGE_DOUBLES(json, "bytes_slack", classes, count, bytes_slack, DIGITS);
	GG_PAGE_DOUBLES(json, "count_slack", classes, count, count_slack, DIGITS);
	GG_PAGE_INTEGERS(json, "unknown", classes, count, unknown);
	GG_PAGE_INTEGERS(json, "kind", classes, count, kind);
	gg_json_close(json);
}

/* The four parts of the keys, one after the other in one array. */
static int write_cells(const struct cells *cells, struct gg_json *json)
{
	static const char *const names[] = { "node_delta", "class", "born", "gone" };
	static const int shifts[] = { CLASS_BITS + 2 * BIN_BITS, 2 * BIN_BITS, BIN_BITS, 0 };
	static const int bits[] = { NODE_BITS, CLASS_BITS, BIN_BITS, BIN_BITS };
	uint32_t *column = malloc((cells->count + 1) * sizeof(*column));

	if (column == NULL)
		return -ENOMEM;
	gg_json_open(json, "cells", '{');
	for (size_t k = 0; k < GG_COUNT(names); k++) {
		for (size_t i = 0; i < cells->count; i++)
			column[i] = (uint32_t)(cells->cells[i].key >> shifts[k] &
			                       ((UINT64_C(1) << bits[k]) - 1));
		for (size_t i = cells->count; k == 0 && i-- > 1;)
			column[i] -= column[i - 1];
		gg_page_integers(json, names[k], column, cells->count, sizeof(*column));
	}
	GG_PAGE_INTEGERS(json, "n", cells->cells, cells->count, n);
	gg_json_close(json);
	free(column);
	return 0;
}

int gg_page_cells_write(struct gg_page_run *run, const struct gg_page_tree *tree, size_t cell_limit,
                        struct gg_json *json)
{
	struct cells cells = { .run = run, .tree = tree, .class_limit = (size_t)1 << CLASS_BITS };
	int code;

	/* A class has fifteen numbers, most of them long: it takes as much as so many cells. */
	if (cell_limit > 0 && cell_limit / CELLS_OF_CLASS < cells.class_limit)
		cells.class_limit = cell_limit / CELLS_OF_CLASS;
	code = fill(&cells);

	if (code == 0 && cell_limit > 0 && cells.count > cell_limit) {
		run->excess = (double)cells.count / (double)cell_limit;
		code = -E2BIG;
	}
	if (code == 0) {
		write_kinds(&cells, json);
		write_classes(&cells, json);
		code = write_cells(&cells, json);
	}
	free(cells.classes);
	free(cells.cells);
	gg_map_done(&cells.map);
	return code == -ENOMEM ? gg_page_out_of_memory(run) : code;
}
