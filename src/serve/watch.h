/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch - a process that runs, looked at again and again: the history that its region has not.
 *
 * A look reads the region, and does not stop the process.  Costs some ms and the region's size in memory; where
 * it takes longer, there are fewer: a tenth of a processor at most.
 *
 * Threads  one owner.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/error.h"
#include "page/page.h"
#include "record/regions/polling.h"
#include "record/symbols/live_names.h"

enum { GG_WATCH_POINTS_MAX = 600 };

struct gg_watch {
	char *path; /* of the region */
	uint32_t pid;
	bool is_alive;
	double confidence;
	uint64_t every_ns, last_ns, took_ns; /* CLOCK_MONOTONIC */
	bool has_news;                       /* since the last model */
	int code;                            /* of the look that failed, and why; 0: none has */
	struct gg_error error;
	struct gg_page_watch points[GG_WATCH_POINTS_MAX];
	size_t count;
	struct gg_polling *looks;
	struct gg_names *names;
	struct gg_model *model; /* at the last gg_watch_model() */
};

/* process: a pid or the path of a region. */
GG_MUST_CHECK int gg_watch_init(struct gg_watch *watch, const char *process, double confidence,
                                struct gg_error *error);
void gg_watch_done(struct gg_watch *watch);

/* Looks, if the last look is long enough ago. */
void gg_watch_look(struct gg_watch *watch);

/* The model as of the last look, which is the watch's until the next call. */
GG_MUST_CHECK int gg_watch_model(struct gg_watch *watch, struct gg_model **ret_model,
                                 struct gg_error *error);
