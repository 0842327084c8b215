/* SPDX-License-Identifier: Apache-2.0 */
/* import_support - imports small files from memory and adds up their aggregates. */
#include "import_support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct gg_error import_error;
struct gg_import_result import_result;

/* Ends the program if a call failed: the test has nothing to go on with. */
static void must(int status)
{
	if (status < 0)
		abort();
}

static int add_row(const struct gg_profile_aggregate *row, void *context)
{
	struct imported_sums *sums = context;
	double bytes = gg_fixed_value(row->sums.bytes), count = gg_fixed_value(row->sums.count);

	if (row->to_ns == GG_TIME_NONE) {
		sums->live += bytes;
		sums->live_count += count;
		sums->live_variance += gg_fixed_value(row->sums.bytes_variance);
	}
	if (!row->is_inherited) { /* another row counts their allocation */
		sums->allocated += bytes;
		sums->allocated_count += count;
	}
	sums->unknown_errors |= row->unknown_errors;
	sums->rows++;
	return 0;
}

struct imported_sums imported_sums_of(struct gg_profile *profile)
{
	struct imported_sums sums = { 0 };

	must(gg_profile_each_aggregate(profile, add_row, &sums, &import_error));
	return sums;
}

struct gg_profile *import_test_file(const void *bytes, size_t length,
                                    const struct gg_import_options *options)
{
	struct gg_import_options given = { .ignore_files = true };
	struct gg_profile *profile;
	struct gg_input *input;
	int status;

	if (options != NULL)
		given = *options;
	import_error = (struct gg_error){ 0 };
	must(gg_profile_create(&profile, NULL, &import_error));
	if (gg_input_of(&input, bytes, length, "file", &import_error) < 0) {
		gg_profile_close(profile);
		return NULL;
	}
	status = gg_import(profile, input, &given, &import_result, &import_error);
	if (status == 0)
		status = gg_import_session(profile, &import_result, 1, &import_error);
	gg_input_close(input);
	if (status == 0)
		return profile;
	gg_profile_close(profile);
	return NULL;
}

struct gg_profile *import_test_text(const char *text)
{
	return import_test_file(text, strlen(text), NULL);
}

bool is_near(double value, double wanted)
{
	return fabs(value - wanted) <= 1e-6 * fabs(wanted) + 1e-5;
}

double scaled(double count, double bytes, double interval_bytes)
{
	return bytes / (1 - exp(-bytes / count / interval_bytes));
}
