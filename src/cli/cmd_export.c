/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_export - `geiger export`: writes a profile in the format of another tool.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/printable.h"
#include "base/size.h"
#include "cli/command.h"
#include "cli/profiles.h"
#include "cli/progress_line.h"
#include "cli/query_options.h"
#include "cli/suggest.h"
#include "format/export/export.h"
#include "query/query.h"

struct export_options {
	struct gg_report_options common; /* first, because the helpers read it */
	const char *format;              /* NULL: the name of the output determines the format */
	const char *output;
	bool hide_wrappers, quiet;
};

/* Reports an unknown format; the advice names the nearest one. */
static int unknown_format(const char *name, struct gg_error *error)
{
	struct gg_suggestion nearest = { 0 };
	char advice[128] = "'geiger export --help' lists the formats.";

	for (size_t i = 0; gg_export_formats[i] != NULL; i++)
		gg_suggest(&nearest, name, gg_export_formats[i]->name);
	if (nearest.name != NULL)
		snprintf(advice, sizeof(advice), "Did you mean '%s'?", nearest.name);
	return gg_error_set(error, -EINVAL, "export: --format", advice, "no format '%.40s'", name);
}

/* Chooses the format: by --format or, without it, by the ending of the output's name. */
static int choose_format(const struct export_options *options,
                         const struct gg_export_format **ret_format, struct gg_error *error)
{
	const struct gg_export_format *format = options->format != NULL
	                                                ? gg_export_find(options->format)
	                                        : options->output != NULL
	                                                ? gg_export_find_by_file(options->output)
	                                                : NULL;

	if (format == NULL && options->format != NULL)
		return unknown_format(options->format, error);
	if (format == NULL)
		return gg_error_set(error, -EINVAL, "export: --format",
		                    "'geiger export --help' lists the formats.",
		                    "no format was given, and the output's name tells none");
	/* Binary data on a terminal would be unreadable and could change its settings. */
	if (format->is_binary && isatty(STDOUT_FILENO) &&
	    (options->output == NULL || strcmp(options->output, "-") == 0))
		return gg_error_set(error, -EINVAL, "export", "Name a file: -o FILE.",
		                    "%s is not for a terminal", format->name);
	*ret_format = format;
	return 0;
}

/*
 * Formats of one metric have the memory that is live at the end, unless the user asks for another
 * metric.  If nothing is live, the file is empty.  Only standard error can tell the user why.
 */
static void tell_nothing_live(const struct gg_model *model, const struct gg_query *query,
                              const struct gg_export_format *format,
                              const struct gg_extract *extract)
{
	/*
	 * Filters can leave nothing as well, so an empty result under --focus or --ignore needs no
	 * advice.
	 */
	if (format->has_both || query->metric != GG_METRIC_LIVE || extract->live_count > 0 ||
	    model->sample_total == 0 || query->focus != NULL || query->ignore != NULL)
		return;
	if (query->to_ns != GG_TIME_NONE)
		fprintf(stderr, "geiger: nothing was live at that moment: give --metric peak or "
		                "allocated\n");
	else
		fprintf(stderr,
		        "geiger: nothing was live when the last process ended: give --metric "
		        "%sallocated\n",
		        !gg_model_has_history(model) ? ""
		        : model->process_count > 1   ? "peak, left or "
		                                     : "peak or ");
}

/* Prints "geiger: wrote FILE: 12.3 KiB of pprof", unless the output is standard output. */
static void tell_written(const char *output, const struct gg_export_format *format,
                         const struct gg_buf *out)
{
	char size[GG_SIZE_TEXT_MAX];

	if (output != NULL && strcmp(output, "-") != 0)
		fprintf(stderr, "geiger: wrote %s: %s of %s\n", GG_PRINTABLE(output),
		        gg_size_format((double)out->length, size), format->name);
}

static int export_model(const struct gg_model *model, const struct gg_query *query,
                        const struct gg_export_format *format,
                        const struct gg_invocation *invocation)
{
	const struct export_options *options = invocation->options;
	GG_CLEANUP(gg_buf_done) struct gg_buf out = { 0 };
	struct gg_progress_line line;
	struct gg_export job = { .out = &out, .error = invocation->error };
	struct gg_extract *extract;
	int status = gg_extract_make(&extract, model, query, options->common.confidence,
	                             invocation->error);

	if (status < 0)
		return status;
	job.extract = extract;
	gg_progress_line_init(&line);
	job.progress = &line.progress;
	status = gg_export_write(format, &job);
	if (status == 0)
		status = gg_export_pack(format, options->output, &job);
	gg_progress_line_end(&line);
	if (status == 0)
		status = gg_cli_save(options->output, &out, invocation->error);
	if (status == 0 && !options->quiet)
		tell_written(options->output, format, &out);
	if (status == 0)
		tell_nothing_live(model, query, format, extract);
	gg_extract_free(extract);
	return status;
}

static int run(struct gg_invocation *invocation)
{
	struct export_options *options = invocation->options;
	const struct gg_export_format *format = NULL;
	struct gg_query query;
	struct gg_model *model;
	char window[128];
	int status = gg_cli_take_window(invocation, &options->common, "export", window);

	if (status == 0)
		status = choose_format(options, &format, invocation->error);
	if (status == 0)
		status = gg_cli_make_query(&options->common, "export", &query, invocation->error);
	if (status == 0)
		status = gg_export_check(format, query.metric, invocation->error);
	if (status == 0)
		status = gg_cli_check_output("export", invocation->operands[0], options->output,
		                             invocation->error);
	/* Other tools hide frames by rules of their own, so they get all. */
	options->common.frames.all_frames = !options->hide_wrappers;
	if (status == 0)
		status = gg_cli_load_named(&model, invocation->operands[0], &options->common,
		                           invocation->error);
	if (status < 0)
		return status;
	status = export_model(model, &query, format, invocation);
	gg_model_free(model);
	return status;
}

#define AT(field) offsetof(struct export_options, field)

static const struct gg_option options[] = {
	{ "format", 'f', GG_OPTION_TEXT, AT(format), "FORMAT",
	  "of the output (what its name ends in)" },
	{ "output", 'o', GG_OPTION_TEXT, AT(output), "FILE", "where to; - is standard output" },
	{ "metric", 'm', GG_OPTION_CHOICE, AT(common.metric),
	  "live|allocated|peak|temporary|freed|left|pinned", "which memory (live)" },
	GG_OPTIONS_SHARED(gg_cli_moment_options, AT(common)),
	GG_OPTIONS_SHARED(gg_cli_process_options, AT(common)),
	{ "hide-wrappers", 0, GG_OPTION_FLAG, AT(hide_wrappers), NULL,
	  "leave out wrappers of malloc, such as xmalloc" },
	GG_OPTIONS_SHARED(gg_cli_name_options, AT(common)),
	GG_OPTIONS_SHARED(gg_cli_confidence_options, AT(common)),
	{ "quiet", 'q', GG_OPTION_FLAG, AT(quiet), NULL, "print nothing unless it fails" },
	GG_OPTIONS_END,
};

static const struct gg_status_meaning exit_statuses[] = {
	{ "0", "the file is written, as a whole" },
	{ "1", "it could not be written; the file that was there before is untouched" },
	{ "2", "the request was wrong, or the format has no place for the metric" },
	{ NULL, NULL },
};

const struct gg_command gg_command_export = {
	.name = "export",
	.summary = "a profile in the format of another tool",
	.usage = "PROFILE --format FORMAT [-o FILE] [OPTION]...",
	.details = "Formats, what names of files end in, and who reads them:\n\n"
		   "  pprof        .pb.gz            pprof, Go's tools, Pyroscope, Parca\n"
		   "  otlp         .otlp.pb          OpenTelemetry's collector, Pyroscope\n"
		   "  otlp_json    .otlp.json        the same, as JSON\n"
		   "  perfetto     .pftrace          ui.perfetto.dev, trace_processor\n"
		   "  firefox      .profile.json     profiler.firefox.com\n"
		   "  heap_v2      .heap             jeprof\n"
		   "  gperftools   .gperf            google-pprof\n"
		   "  speedscope   .speedscope.json  speedscope.app\n"
		   "  collapsed    .collapsed        flamegraph.pl and others; also .folded\n"
		   "  dhat         .dhat.json        dh_view.html of Valgrind\n"
		   "  heapprofile  .heapprofile      DevTools of Chromium, VS Code\n"
		   "  csv          .csv              spreadsheets, data frames\n"
		   "  svg          .svg              a flame graph, as a picture\n\n"
		   "A name that ends in .otlp.pb.gz or .otlp.json.gz makes a compressed file.\n"
		   "OTLP's profiles are alpha: geiger writes version 1.10 of the format.\n\n"
		   "Those that hold live and allocated memory side by side show the one that\n"
		   "--metric asks for first.\n\n"
		   "  geiger export redis.geiger -o redis.pb.gz\n"
		   "  geiger export redis.geiger --format collapsed -m allocated | flamegraph.pl\n",
	.options = options,
	.options_size = sizeof(struct export_options),
	.option_defaults = &(const struct export_options){ .common = { .confidence = 0.95 } },
	.max_operands = 2, /* the second one is T1 of --between */
	.run = run,
	.variables = GG_READS_PROFILE,
	.exit_statuses = exit_statuses,
};
