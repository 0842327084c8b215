/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import_support - imports small files from memory, for the tests of importers.
 *
 *   struct gg_profile *profile = import_test_text("main;load 64\n");
 *
 *   sums = imported_sums_of(profile);
 *   gg_profile_close(profile);
 */
#pragma once

#include "format/import/import.h"

/* The sums of all aggregates of a profile. */
struct imported_sums {
	double live, live_count, allocated, allocated_count, live_variance;
	uint32_t unknown_errors;
	uint64_t rows;
};

extern struct gg_error import_error;          /* of the last import that failed */
extern struct gg_import_result import_result; /* of the last import that did not */

/*
 * Imports a file.  Returns NULL if the importer refused it, and `import_error` says why.  Without
 * options, the import opens no file that the profile names.
 */
struct gg_profile *import_test_file(const void *bytes, size_t length,
                                    const struct gg_import_options *options);
struct gg_profile *import_test_text(const char *text);

struct imported_sums imported_sums_of(struct gg_profile *profile);

/* True if a value differs from the wanted one by rounding alone. */
bool is_near(double value, double wanted);

/* Returns the estimate of a row's bytes, each object of which was sampled at a mean interval. */
double scaled(double count, double bytes, double interval_bytes);
