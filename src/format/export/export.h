/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export - profiles in the formats of other tools; one file a format, export_NAME.c.
 *
 *   const struct gg_export_format *format = gg_export_find("pprof");
 *   struct gg_export job = { .extract = extract, .out = &out, .error = error };
 *
 *   if (gg_export_check(format, query.metric, error) == 0)
 *           code = gg_export_write(format, &job);
 *
 * To add one: a `const struct gg_export_format gg_export_NAME` with a write function that appends the
 * whole file to job->out, listed in export.c and in the help of cmd_export.c; a section in
 * docs/FORMATS.md; its real consumer in tests/consumers/.
 *
 * The file is built in memory, and written by the caller when it is whole: a file that is there is a
 * good one.
 */
#pragma once

#include "base/array.h"
#include "base/buf.h"
#include "format/export/extract.h"

struct gg_export {
	const struct gg_extract *extract;
	struct gg_buf *out;
	struct gg_error *error;
	/* Told now and then how far it is; NULL: nobody wants to know. */
	void (*progress)(void *context, uint64_t done_count, uint64_t total_count);
	void *progress_context;
};

struct gg_export_format {
	const char *name;
	const char *suffix; /* that files have; "" if it says nothing */
	bool is_binary;     /* not for a terminal */
	bool has_both;      /* live and allocated stand side by side: no other metric fits */
	/* 0, or -Exxx with job->error.  Memory that ran out in out->failed is the caller's to see. */
	int (*write)(const struct gg_export *job);
};

extern const struct gg_export_format *const gg_export_formats[]; /* NULL ends it */

/* By name, or by a file's suffix; NULL: there is none. */
const struct gg_export_format *gg_export_find(const char *name);
const struct gg_export_format *gg_export_find_by_file(const char *path);

/* -EINVAL: the format has no place for that metric. */
GG_MUST_CHECK int gg_export_check(const struct gg_export_format *format, enum gg_metric metric,
                                  struct gg_error *error);
GG_MUST_CHECK int gg_export_write(const struct gg_export_format *format,
                                  const struct gg_export *job);

void gg_export_progress(const struct gg_export *job, uint64_t done_count, uint64_t total_count);

struct gg_export_path {
	GG_ARRAY(struct gg_code_location);
};

/* For formats: -ENOMEM with its text. */
int gg_export_out_of_memory(const struct gg_export *job);

/*
 * All places of a row's stack, innermost first.  Replaces what `path` has; false when memory is out.
 */
bool gg_export_path(const struct gg_model *model, uint32_t stack, struct gg_export_path *path);

extern const struct gg_export_format gg_export_collapsed, gg_export_csv, gg_export_dhat,
	gg_export_firefox, gg_export_gperftools, gg_export_heap_v2, gg_export_heapprofile,
	gg_export_perfetto, gg_export_pprof, gg_export_speedscope, gg_export_svg;
