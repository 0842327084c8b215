/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page - the page that shows a profile in a browser: its data, and the one file that holds both.
 *
 *   struct gg_page_options options = { .title = "made.geiger", .confidence = 0.95,
 *                                      .most_bytes = 1 << 20 };
 *   GG_CLEANUP(gg_buf_done) struct gg_buf packed = { 0 };
 *
 *   if (gg_page_data(model, NULL, &options, &packed, error) < 0)      gzip of the JSON
 *           return error->status;
 *   gg_page_html(&packed, &out, error);                               a self-contained file
 *
 * docs/reference/PAGE_DATA.md describes the JSON.  If the data exceed most_bytes, the page makes
 * them coarser in steps: it keeps fewer nodes and rounds sizes and times; `folds` in the data says
 * so.  Text of the profiled program stands only in the JSON, and the file holds the JSON as base64
 * of gzip, so that no name can become markup.
 *
 * Cost: 7 to 8 times a report of the same profile (200 000 and 1 M samples on 100 000 stacks).
 * Queries for the tables and attempts to fit the data take most of it.
 *
 * Threads: any number of runs can share one model.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/error.h"
#include "base/progress.h"
#include "model/model.h"

/*
 * One observation of a process that still runs.  The points become `series` if the model has no
 * history.
 */
struct gg_page_watch {
	int64_t time_ns;
	double live_bytes, low, high, rss_bytes; /* rss_bytes: negative if it is not known */
	double allocated_bytes;                  /* since the process started */
};

/* A summary of the page's data, for messages to the user. */
struct gg_page_summary {
	size_t stack_count;              /* stacks of the profile that have samples */
	size_t node_count, folded_count; /* tree nodes in the page, and nodes left out */
	double folded_share;             /* the share of the allocated bytes in nodes left out */
	bool are_sizes_rounded, are_times_rounded;
};

struct gg_page_options {
	const char *title;
	double confidence;
	size_t most_bytes;                   /* limit of the packed data; 0: no limit */
	bool is_live;                        /* the recording still runs */
	const struct gg_page_watch *watched; /* NULL: there are no observations */
	size_t watched_count;
	/*
	 * The model holds the observations from this time on, in steps of the grid
	 * (record/regions/polling.h).  0: the model does not hold them.
	 */
	int64_t watched_from_ns, watched_grid_ns;
	/*
	 * A server offers the profile in formats of other tools at this address, followed by
	 * "format=pprof".  NULL: no server does.
	 */
	const char *exports;
	/*
	 * The page gets source lines of the functions that allocated most.  source_path "FROM=TO":
	 * TO replaces FROM at the beginning of a file's name; NULL: names stay as they are.
	 */
	bool with_source;
	const char *source_path;
	struct gg_page_summary *summary;    /* filled in unless it is NULL */
	const struct gg_progress *progress; /* gets percent of the work; NULL: nobody */
	/* For a comparison: */
	const char *before_title;
	double scale;              /* factor for `before`; 0 means 1 */
	const char *normalized_by; /* text that names the basis of the scale; NULL: no basis */
};

/*
 * Names the functions of two profiles for a comparison, so that equal names mean the same function.
 * Returns -ENOMEM.
 */
GG_MUST_CHECK int gg_page_name_functions(struct gg_model *model, struct gg_model *before,
                                         struct gg_error *error);

/*
 * Appends the packed data.  `before` is the profile to compare with, or NULL.  Returns -ENOMEM,
 * -ENOTSUP (built without zlib), or an error of the queries (query.h).
 */
GG_MUST_CHECK int gg_page_data(const struct gg_model *model, const struct gg_model *before,
                               const struct gg_page_options *options, struct gg_buf *packed,
                               struct gg_error *error);

/* Appends the JSON that gg_page_data() packed.  Returns -ENOMEM or -ENOTSUP. */
GG_MUST_CHECK int gg_page_unpack(const struct gg_buf *packed, struct gg_buf *json,
                                 struct gg_error *error);

/* Appends one self-contained file.  Returns -ENOMEM. */
GG_MUST_CHECK int gg_page_html(const struct gg_buf *packed, struct gg_buf *out,
                               struct gg_error *error);

/*
 * Appends the file that requests its data from a server.  `source` is an address of that server; it
 * may have only letters, digits and "/?=&.-_%" (otherwise -EINVAL).
 */
GG_MUST_CHECK int gg_page_html_live(const char *source, bool is_live, struct gg_buf *out,
                                    struct gg_error *error);

/* Appends the file that shows a fleet, whose data it requests from its server.  Returns -ENOMEM. */
GG_MUST_CHECK int gg_page_html_fleet(struct gg_buf *out, struct gg_error *error);

/*
 * The content security policy of the served page, or of that of a fleet.  The header repeats the
 * policy in the file.
 */
GG_MUST_CHECK int gg_page_policy(bool is_fleet, struct gg_buf *out, struct gg_error *error);

/*
 * Appends the text as part of an address: every character except letters, digits and "-._" becomes
 * %XX.
 */
void gg_page_append_escaped(const char *text, struct gg_buf *out);

/* The size of the page without data, for callers that limit the size of the whole file. */
size_t gg_page_base_bytes(void);
