/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page - the page that people look at: its data, and the one file that holds both.
 *
 *   struct gg_page_options options = { .title = "made.geiger", .confidence = 0.95, .most_bytes = 1 << 20 };
 *   GG_CLEANUP(gg_buf_done) struct gg_buf packed = { 0 };
 *
 *   if (gg_page_data(model, NULL, &options, &packed, error) < 0)      gzip of the JSON
 *           return error->code;
 *   gg_page_html(&packed, &out, error);                               a file of its own
 *
 * The JSON is described in docs/reference/PAGE_DATA.md.  What does not fit into most_bytes is made coarser, in
 * steps: fewer nodes, sizes and times rounded; `folds` in the data says so.  The text of the profiled
 * program is in the JSON alone, and the JSON is in the file as base64 of gzip: no name can become markup.
 *
 * Cost      7 to 8 times a report of the same profile (200 000 and 1 M samples on 100 000 stacks): most of it is
 *           asking for the tables, and trying what fits.
 * Threads   any number of runs on one model.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/error.h"
#include "model/model.h"

/* Who has watched a process that still runs: points for `series`, where the model has no history. */
struct gg_page_watch {
	int64_t time_ns;
	double live_bytes, low, high, rss_bytes; /* rss_bytes: negative, not known */
	double allocated_bytes;                  /* since the start */
};

/* What was made of a profile, for whoever tells people. */
struct gg_page_summary {
	size_t stack_count;              /* of the profile, that have samples */
	size_t node_count, folded_count; /* of the tree: in the page, and left out */
	double folded_share;             /* of the bytes allocated, in nodes that are left out */
	bool are_sizes_rounded, are_times_rounded;
};

struct gg_page_options {
	const char *title;
	double confidence;
	size_t most_bytes;                   /* of the packed data; 0: as much as it takes */
	bool is_live;                        /* the recording goes on */
	const struct gg_page_watch *watched; /* NULL: nobody has */
	size_t watched_count;
	/* What it has seen stands in the model from then on, in steps of the grid (record/regions/polling.h); 0: it does not. */
	int64_t watched_from_ns, watched_grid_ns;
	/*
	 * Where a server has the profile as other tools' files: an address that "format=pprof" is put
	 * behind.  NULL: nowhere.
	 */
	const char *exports;
	struct gg_page_summary *summary; /* filled in; NULL: nobody wants it */
	/* For a comparison: */
	const char *before_title;
	double scale;              /* of before; 0: 1 */
	const char *normalized_by; /* what the scale was chosen by, for people; NULL: nobody has */
};

/*
 * Names the functions of two profiles that are to be compared, so that equal names are the same function.
 * -ENOMEM.
 */
GG_MUST_CHECK int gg_page_name_functions(struct gg_model *model, struct gg_model *before,
                                         struct gg_error *error);

/*
 * Appends the packed data.  before: the profile that this one is compared with, or NULL.  -ENOMEM,
 * -ENOTSUP (built without zlib), or as the questions of query.h fail.
 */
GG_MUST_CHECK int gg_page_data(const struct gg_model *model, const struct gg_model *before,
                               const struct gg_page_options *options, struct gg_buf *packed,
                               struct gg_error *error);

/* Appends the JSON that was packed.  -ENOMEM, -ENOTSUP. */
GG_MUST_CHECK int gg_page_unpack(const struct gg_buf *packed, struct gg_buf *json,
                                 struct gg_error *error);

/* Appends one self-contained file.  -ENOMEM. */
GG_MUST_CHECK int gg_page_html(const struct gg_buf *packed, struct gg_buf *out,
                               struct gg_error *error);

/*
 * Appends the file that asks a server for its data.  source: an address of that server, of letters, digits
 * and any of "/?=&.-_%" alone (else -EINVAL).
 */
GG_MUST_CHECK int gg_page_html_live(const char *source, bool is_live, struct gg_buf *out,
                                    struct gg_error *error);

/* The content security policy of the served page: what stands in the file, for the header. */
GG_MUST_CHECK int gg_page_policy(struct gg_buf *out, struct gg_error *error);

/* Appends the text as part of an address: all but letters, digits and "-._" as %XX. */
void gg_page_append_escaped(const char *text, struct gg_buf *out);

/* The smallest file: the page without data.  For whoever has a limit for the whole. */
size_t gg_page_base_bytes(void);
