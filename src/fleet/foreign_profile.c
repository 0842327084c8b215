/* SPDX-License-Identifier: Apache-2.0 */
/*
 * foreign_profile - reads a profile by its importer, and takes its rows before they are weighed.
 *
 * The importer interns stacks and processes in a profile in memory.  Each row leaves an aggregate
 * there whose time is the number of the row, so that the model says which stack the row has.
 */
#include "fleet/foreign_profile.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/time_units.h"
#include "fleet/fleet_wire.h"

enum { FOREIGN_ROWS_MOST = GG_FLEET_ROWS_MAX };

#define FOREIGN_SAMPLES_MOST 0x1p48
/* The relative error of sums of doubles; a writer may compute p as 1 - exp(-x). */
#define ROUNDING 1e-15
/* Farther from a whole number, another one is as near. */
#define WHOLE_SLACK 0.25

typedef GG_ARRAY(struct gg_import_row_values) value_list;

static int take_row(struct gg_import *import, const struct gg_import_row_values *row)
{
	value_list *list = import->options->row_context;
	struct gg_profile_aggregate place = { .process = row->process,
		                              .stack = row->stack,
		                              .from_ns = (int64_t)list->count,
		                              .to_ns = GG_TIME_NONE,
		                              .size_class = 255,
		                              .sums = { .sample_count = 1 } };

	if (list->count >= FOREIGN_ROWS_MOST)
		return gg_error_set(import->error, -EBADMSG, "profile", NULL,
		                    "the profile has more than %d samples", FOREIGN_ROWS_MOST);
	if (!gg_array_push(list, *row))
		return gg_error_memory(import->error, "profile");
	return gg_profile_add_aggregate(import->profile, &place, import->error);
}

/* Finds the whole number of samples.  Returns false if the row has no such number. */
static bool count_samples(const struct gg_import_row_values *row, double gap, double count,
                          double bytes, uint64_t *ret_samples)
{
	double size = (double)row->size_bytes, p = gap > 1 ? -expm1(-size / gap) : 1;
	double samples = bytes * p / size, whole = round(samples);
	double slack = p / size + samples * (ROUNDING + ROUNDING / p) + 1e-9;

	*ret_samples = 0;
	if (count == 0 && bytes == 0)
		return true;
	/* The writer rounds objects and bytes down, each for itself. */
	if (fabs(count - bytes / size) > 1 + count * 1e-9)
		return false;
	if (whole < 1 || whole > FOREIGN_SAMPLES_MOST || slack > WHOLE_SLACK ||
	    fabs(samples - whole) > slack)
		return false;
	*ret_samples = (uint64_t)whole;
	return true;
}

static void make_sum(struct gg_foreign_part *part, const struct gg_import_row_values *row,
                     double count, double bytes)
{
	struct gg_row_weighing how = row->how;
	struct gg_row_sums sums;
	struct gg_folded folded;

	how.is_mixed = true;
	sums = gg_row_weighing(&how, count, bytes);
	if (sums.samples == 0)
		return;
	folded = (struct gg_folded){ .sample_count = (uint64_t)fmin(sums.samples,
		                                                    FOREIGN_SAMPLES_MOST),
		                     .seen_bytes = (uint64_t)fmin(sums.size, 0x1p62),
		                     .bytes = sums.bytes,
		                     .bytes_variance = sums.bytes_variance,
		                     .count = sums.count,
		                     .count_variance = sums.count_variance,
		                     .bytes_skew = sums.bytes_skew,
		                     .count_skew = sums.count_skew,
		                     .sampling_interval = how.interval_bytes,
		                     .scheme = GG_SCHEME_POISSON,
		                     .most_bytes = UINT64_MAX,
		                     .unknown_errors = sums.unknown_errors };
	gg_plain_tally_add_folded(&part->sum, &folded);
	part->is_sum = true;
}

static void make_row(struct gg_foreign_row *made, const struct gg_import_row_values *row)
{
	bool has_interval = row->how.kind == GG_ROW_WEIGHING_EXACT ||
	                    row->how.kind == GG_ROW_WEIGHING_SCALED;
	bool is_drawn = row->size_bytes > 0 && has_interval;

	made->size = row->size_bytes;
	made->gap = row->how.kind == GG_ROW_WEIGHING_SCALED ? row->how.interval_bytes : 0;
	if (!is_drawn ||
	    !count_samples(row, made->gap, row->live_count, row->live_bytes, &made->live.samples))
		make_sum(&made->live, row, row->live_count, row->live_bytes);
	if (!is_drawn ||
	    !count_samples(row, made->gap, row->ever_count, row->ever_bytes, &made->ever.samples))
		make_sum(&made->ever, row, row->ever_count, row->ever_bytes);
}

static int note_span(struct gg_foreign_profile *profile, uint32_t process,
                     const struct gg_import_row_values *row, struct gg_error *error)
{
	struct gg_foreign_span *span = &profile->spans.items[process];

	if (span->resource != 0 && span->resource != row->resource)
		return gg_error_set(error, -EBADMSG, "profile", NULL,
		                    "two resources are one process: give each a label such as "
		                    "service.instance.id");
	*span = (struct gg_foreign_span){ .resource = row->resource,
		                          .has_allocated = row->has_allocated,
		                          .is_delta = row->is_delta,
		                          .end_ns = row->end_ns };
	return 0;
}

static int make_rows(struct gg_foreign_profile *profile, const value_list *values,
                     struct gg_error *error)
{
	if (!gg_array_extend(&profile->spans, profile->model->process_count))
		return gg_error_memory(error, "profile");
	for (size_t i = 0; i < profile->model->aggregate_count; i++) {
		const struct gg_profile_aggregate *place = &profile->model->aggregates[i];
		struct gg_foreign_row row = { .process = place->process, .stack = place->stack };
		int status;

		if (place->from_ns < 0 || (size_t)place->from_ns >= values->count)
			continue;
		status = note_span(profile, place->process, &values->items[place->from_ns], error);
		if (status < 0)
			return status;
		make_row(&row, &values->items[place->from_ns]);
		if (!gg_array_push(&profile->rows, row))
			return gg_error_memory(error, "profile");
	}
	return 0;
}

int gg_foreign_profile_read(struct gg_foreign_profile *ret_profile,
                            const struct gg_importer *importer, const void *bytes, size_t length,
                            uint64_t most, uint64_t *frames_left, uint64_t *ret_bytes,
                            struct gg_error *error)
{
	value_list values = { 0 };
	const struct gg_import_options options = { .ignore_files = true,
		                                   .known_types_only = true,
		                                   .frames_left = frames_left,
		                                   .take_row = take_row,
		                                   .row_context = &values };
	struct gg_foreign_profile read = { 0 };
	struct gg_import_result result = { 0 };
	struct gg_profile *profile = NULL;
	struct gg_input *input = NULL, *plain = NULL;
	const uint8_t *unpacked;
	size_t unpacked_length;
	int status = gg_input_of(&input, bytes, length, "the profile", error);

	if (status < 0)
		return status;
	gg_input_limit(input, most);
	status = gg_input_all(input, most, &unpacked, &unpacked_length, error);
	if (status == 0) {
		*ret_bytes = unpacked_length;
		status = gg_input_of(&plain, unpacked, unpacked_length, "the profile", error);
	}
	if (status == 0)
		status = gg_profile_create(&profile, NULL, error);
	if (status == 0)
		status = gg_import_as(importer, profile, plain, &options, &result, error);
	if (status == 0)
		status = gg_import_session(profile, &result, 1, error);
	if (status == 0)
		status = gg_model_load(&read.model, &profile, 1, NULL, error);
	if (status == 0)
		status = make_rows(&read, &values, error);
	read.end_ns = result.start_wall_ns > 0 ? result.start_wall_ns + (uint64_t)result.duration_ns
	                                       : 0;
	gg_profile_close(profile);
	gg_input_close(plain);
	gg_input_close(input);
	gg_array_done(&values);
	if (status < 0)
		gg_foreign_profile_done(&read);
	else
		*ret_profile = read;
	return status;
}

void gg_foreign_profile_done(struct gg_foreign_profile *profile)
{
	gg_model_free(profile->model);
	gg_array_done(&profile->rows);
	gg_array_done(&profile->spans);
	*profile = (struct gg_foreign_profile){ 0 };
}
