/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import_series - `geiger import --every`: fetches a heap profile by URL again and again.
 *
 * It ends at a signal, after a given time, or when the server no longer answers.
 */
#pragma once

#include "format/import/import.h"

struct gg_import_series {
	const char *url, *output;
	double every_seconds, for_seconds; /* for_seconds 0: until it is stopped */
	const struct gg_import_label *labels;
	size_t label_count;
	uint64_t max_size_bytes; /* of a snapshot; 0: the limits of input.h */
	bool ignore_files, quiet;
};

/* Writes the profile.  An error before the first snapshot leaves no file. */
GG_MUST_CHECK int gg_cli_import_series(const struct gg_import_series *series,
                                       struct gg_error *error);
