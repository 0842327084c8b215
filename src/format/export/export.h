/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export - writes profiles in the formats of other tools; each format has a file export_NAME.c.
 *
 *   const struct gg_export_format *format = gg_export_find("pprof");
 *   struct gg_export job = { .extract = extract, .out = &out, .error = error };
 *
 *   if (gg_export_check(format, query.metric, error) == 0)
 *           status = gg_export_write(format, &job);
 *
 * To add a format, write a `const struct gg_export_format gg_export_NAME` with a write function
 * that appends the whole file to job->out.  List it in export.c and in the help of cmd_export.c.
 * Add a section to docs/FORMATS.md and a test with its real consumer to tests/consumers/.
 *
 * The exporter builds the file in memory, and the caller writes it when it is complete.  So an
 * output file is never truncated.
 */
#pragma once

#include "base/array.h"
#include "base/buf.h"
#include "base/progress.h"
#include "format/export/extract.h"

/* A fact on all processes of a file.  It replaces what the profile says under that key. */
struct gg_export_attribute {
	const char *key, *value;
};

struct gg_export {
	const struct gg_extract *extract;
	struct gg_buf *out;
	struct gg_error *error;
	const struct gg_progress *progress; /* NULL: nobody */
	/* The rest is for senders; pprof and OTLP have it. */
	bool sums_only; /* rows are of all threads and kinds (gg_extract_make_by_stack()) */
	const struct gg_export_attribute *attributes; /* OTLP: of the resource */
	size_t attribute_count;
	uint64_t identity; /* OTLP: profiles have ids made of it; 0: none */
};

struct gg_export_format {
	const char *name;
	const char *suffix;       /* of its files; "" if no suffix identifies the format */
	const char *other_suffix; /* another one that is in use; NULL: none */
	bool is_binary;           /* must not be written to a terminal */
	bool has_both;    /* the file holds live and allocated; it has no room for other metrics */
	bool has_pinned;  /* but a file of pinned memory alone is possible */
	bool may_be_gzip; /* gg_export_pack() compresses a file whose name ends in .gz as well */
	/*
	 * Returns 0, or -Exxx with job->error set.  The caller checks out->failed for lack of
	 * memory.
	 */
	int (*write)(const struct gg_export *job);
};

extern const struct gg_export_format *const gg_export_formats[]; /* ends with NULL */

/* Find a format by its name or by a file's suffix; NULL: no format matches. */
const struct gg_export_format *gg_export_find(const char *name);
const struct gg_export_format *gg_export_find_by_file(const char *path);

/* Returns -EINVAL if the format cannot hold that metric. */
GG_MUST_CHECK int gg_export_check(const struct gg_export_format *format, enum gg_metric metric,
                                  struct gg_error *error);
GG_MUST_CHECK int gg_export_write(const struct gg_export_format *format,
                                  const struct gg_export *job);

/*
 * Compresses what the format wrote if the file's name ends in .gz and the format allows it.  `path`
 * may be NULL.
 */
GG_MUST_CHECK int gg_export_pack(const struct gg_export_format *format, const char *path,
                                 const struct gg_export *job);

/* Reports the progress of every 1024th thing. */
void gg_export_progress(const struct gg_export *job, uint64_t done_count, uint64_t total_count);

struct gg_export_path {
	GG_ARRAY(struct gg_code_location);
};

/* Sets the error "out of memory" for a format, and returns -ENOMEM. */
int gg_export_out_of_memory(const struct gg_export *job);

/*
 * Replaces the content of `path` with all locations of a row's stack, innermost first.  Returns
 * false when memory runs out.
 */
bool gg_export_path(const struct gg_model *model, uint32_t stack, struct gg_export_path *path);

extern const struct gg_export_format gg_export_collapsed, gg_export_csv, gg_export_dhat,
	gg_export_firefox, gg_export_gperftools, gg_export_heap_v2, gg_export_heapprofile,
	gg_export_otlp, gg_export_otlp_json, gg_export_perfetto, gg_export_pprof,
	gg_export_speedscope, gg_export_svg;
