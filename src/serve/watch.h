/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch - polls the region of a running process, to make the history that a region does not have.
 *
 * A poll copies the region and does not stop the process.  It costs some milliseconds and the size
 * of the region in memory.  When a poll takes longer, polls become rarer: they use a tenth of a
 * processor at most.
 *
 * The first poll, and one every ten seconds, looks at the memory around live samples as well.
 * Looks use 0.2 % of a processor at most.
 *
 * Threads  One thread owns a watch.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/error.h"
#include "page/page.h"
#include "record/regions/polling.h"
#include "record/symbols/live_names.h"

struct gg_frame_selection;

enum { GG_WATCH_POINTS_MAX = 600 };

struct gg_watch {
	char *path; /* of the region */
	uint32_t pid;
	uint64_t start_ticks; /* of the process, as its region says; 0: unknown */
	bool is_attached;     /* the agent was attached while the process ran */
	bool is_alive;
	bool is_lost;    /* the process runs, but its region cannot be read any more */
	bool has_end;    /* the agent noted the end: the process ran its exit handlers */
	int exit_status; /* of a process that has ended, as waitpid() tells; -1: unknown */
	double confidence;
	uint64_t last_ns, took_ns;              /* of the last poll; CLOCK_MONOTONIC */
	uint64_t look_ns, look_took_ns;         /* the last look at the process's memory; 0: none */
	uint64_t last_point_ns, point_every_ns; /* of `points` */
	/*
	 * The time of the process just after the last poll (gg_polling_view_ns): no block that the
	 * poll missed may have been freed later.
	 */
	int64_t polled_ns;
	bool is_active;          /* sampling was on at the last poll */
	uint64_t interval_bytes; /* the sampling interval at the last poll */
	bool has_news;           /* a poll succeeded since the last model */
	bool has_mappings;       /* the profile has where the modules are mapped */
	int status;              /* of the first poll that failed, with its error; or 0 */
	struct gg_error error;
	/* A point for each poll; of a long watch, one each `point_every_ns`. */
	struct gg_page_watch points[GG_WATCH_POINTS_MAX];
	size_t count;
	struct gg_polling *polling;
	struct gg_live_names *names;
	struct gg_model *model; /* made by the last gg_watch_model() */
};

/* Begins to watch `process`: a pid, or the path of a region. */
GG_MUST_CHECK int gg_watch_init(struct gg_watch *watch, const char *process, double confidence,
                                struct gg_error *error);
void gg_watch_done(struct gg_watch *watch);

/* Polls if the last poll is long enough ago. */
void gg_watch_poll(struct gg_watch *watch);

/*
 * Loads a model as of the last poll.  The caller frees it, and applies the frames.  Call it if
 * gg_polling_has_managed(): the region has all of any other process.
 */
GG_MUST_CHECK int gg_watch_read(struct gg_watch *watch, const struct gg_frame_selection *frames,
                                struct gg_model **ret_model, struct gg_error *error);

/* The model as of the last poll.  It belongs to the watch and is valid until the next call. */
GG_MUST_CHECK int gg_watch_model(struct gg_watch *watch, struct gg_model **ret_model,
                                 struct gg_error *error);
