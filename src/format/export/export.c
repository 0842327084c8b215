/* SPDX-License-Identifier: Apache-2.0 */
/* export - the list of formats, and helpers that several formats share. */
#include "format/export/export.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/codec/gzip.h"

const struct gg_export_format *const gg_export_formats[] = {
	&gg_export_pprof,       &gg_export_otlp,
	&gg_export_otlp_json,   &gg_export_perfetto,
	&gg_export_heap_v2,     &gg_export_gperftools,
	&gg_export_firefox,     &gg_export_speedscope,
	&gg_export_collapsed,   &gg_export_dhat,
	&gg_export_heapprofile, &gg_export_csv,
	&gg_export_svg,         NULL,
};

static const char gzip_suffix[] = ".gz";

static bool ends_in(const char *path, size_t length, const char *suffix)
{
	size_t suffix_length = strlen(suffix);

	return suffix_length > 0 && length > suffix_length &&
	       memcmp(path + length - suffix_length, suffix, suffix_length) == 0;
}

/* The suffix of the format in which the path ends; NULL: it ends in none. */
static const char *suffix_in(const char *path, size_t length, const struct gg_export_format *format)
{
	if (ends_in(path, length, format->suffix))
		return format->suffix;
	return format->other_suffix != NULL && ends_in(path, length, format->other_suffix)
	               ? format->other_suffix
	               : NULL;
}

const struct gg_export_format *gg_export_find(const char *name)
{
	for (size_t i = 0; gg_export_formats[i] != NULL; i++)
		if (strcmp(gg_export_formats[i]->name, name) == 0)
			return gg_export_formats[i];
	return NULL;
}

const struct gg_export_format *gg_export_find_by_file(const char *path)
{
	size_t length = strlen(path), longest = 0;
	size_t plain = ends_in(path, length, gzip_suffix) ? length - strlen(gzip_suffix) : length;
	const struct gg_export_format *found = NULL;

	/* The longest suffix counts, because ".otlp.pb.gz" also ends in pprof's ".pb.gz". */
	for (size_t i = 0; gg_export_formats[i] != NULL; i++) {
		const struct gg_export_format *format = gg_export_formats[i];
		const char *packed = format->may_be_gzip ? suffix_in(path, plain, format) : NULL;
		const char *suffix = packed != NULL ? packed : suffix_in(path, length, format);
		size_t suffix_length = suffix != NULL ? strlen(suffix) : 0;

		suffix_length += packed != NULL ? length - plain : 0;
		if (suffix_length > longest) {
			found = format;
			longest = suffix_length;
		}
	}
	return found;
}

int gg_export_check(const struct gg_export_format *format, enum gg_metric metric,
                    struct gg_error *error)
{
	bool is_pinned = metric == GG_METRIC_PINNED;

	if (!format->has_both || (is_pinned && format->has_pinned) ||
	    (metric != GG_METRIC_FREED && metric != GG_METRIC_TEMPORARY &&
	     metric != GG_METRIC_LEFT && !is_pinned))
		return 0;
	gg_error_set(error, -EINVAL, "export: --metric",
	             is_pinned ? "Select pprof, csv, collapsed, svg, speedscope or heapprofile, "
	                         "which hold it."
	                       : "Select csv, collapsed, svg, speedscope or heapprofile, which "
	                         "hold it.",
	             "%s holds live and allocated memory, and cannot hold %s memory", format->name,
	             gg_metric_name(metric));
	return -EINVAL;
}

int gg_export_write(const struct gg_export_format *format, const struct gg_export *job)
{
	int status = format->write(job);

	return status == 0 && job->out->failed ? gg_export_out_of_memory(job) : status;
}

int gg_export_pack(const struct gg_export_format *format, const char *path,
                   const struct gg_export *job)
{
	struct gg_buf plain = *job->out;

	if (!format->may_be_gzip || path == NULL || !ends_in(path, strlen(path), gzip_suffix))
		return 0;
	*job->out = (struct gg_buf){ 0 };
	if (gg_gzip(job->out, plain.data, plain.length) < 0)
		job->out->failed = true;
	gg_buf_done(&plain);
	return job->out->failed ? gg_export_out_of_memory(job) : 0;
}

void gg_export_progress(const struct gg_export *job, uint64_t done_count, uint64_t total_count)
{
	if (done_count % 1024 == 0)
		gg_progress_report(job->progress, done_count, total_count, "exporting");
}

int gg_export_out_of_memory(const struct gg_export *job)
{
	return gg_error_memory(job->error, "export");
}

bool gg_export_path(const struct gg_model *model, uint32_t stack, struct gg_export_path *path)
{
	size_t count = gg_model_path(model, stack, path->items, path->capacity);

	if (count > path->capacity) {
		if (!gg_array_reserve(path, count))
			return false;
		gg_model_path(model, stack, path->items, path->capacity);
	}
	path->count = count;
	return true;
}
