/* SPDX-License-Identifier: Apache-2.0 */
/*
 * summaries - what a list says about each profile of a folder: command, time, live memory, peak.
 *
 * A summary needs the whole profile, so the server makes a few with each request and keeps them
 * until their files change.
 *
 * Threads  One thread owns a cache.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/map.h"
#include "model/model.h"
#include "report/figure.h"

struct gg_profile_summary {
	char *command;    /* NULL: unknown */
	char *problem;    /* why the profile cannot be read; NULL: it can */
	int64_t start_ns; /* since 1970 */
	int64_t duration_ns;
	bool has_peak;
	struct gg_figure live, peak; /* bytes */
};

struct gg_cached_summary {
	char *name;
	uint64_t bytes; /* size and time of the file that the summary is of */
	int64_t changed_ns;
	struct gg_profile_summary summary;
};

/* All-zero: empty. */
struct gg_summaries {
	GG_ARRAY(struct gg_cached_summary) items;
	struct gg_map by_name;
};

void gg_summaries_done(struct gg_summaries *summaries);

/*
 * Returns the summary of a file of this name, size and time, or NULL.  It is valid until the next
 * put.
 */
const struct gg_profile_summary *gg_summaries_get(const struct gg_summaries *summaries,
                                                  const char *name, uint64_t bytes,
                                                  int64_t changed_ns);

/*
 * Stores the summary of a model, or the reason why there is no model (NULL).  Stores nothing if
 * memory runs out.
 */
void gg_summaries_put(struct gg_summaries *summaries, const char *name, uint64_t bytes,
                      int64_t changed_ns, const struct gg_model *model, double confidence,
                      const char *problem);
