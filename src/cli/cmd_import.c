/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_import - `geiger import`: makes a profile from the files of other tools.
 *
 * Each file becomes a process of the profile.  All files must be readable: after the first error
 * there is no profile, because a sum without one of its parts would mislead.
 */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/printable.h"
#include "base/scratch.h"
#include "cli/command.h"
#include "cli/import_fetch.h"
#include "cli/import_series.h"
#include "cli/progress_line.h"
#include "format/import/import.h"
#include "model/model.h"
#include "send/http_get.h"

enum { METRIC_LIVE, METRIC_ALLOCATED };

#define LEAST_EVERY_SECONDS 0.1

struct import_options {
	const char *output;
	struct gg_option_pairs labels;
	uint64_t max_size_bytes, interval_bytes;
	double every_seconds, for_seconds;
	int metric;
	bool quiet, ignore_files;
};

static const struct gg_option import_option_table[] = {
	{ "output", 'o', GG_OPTION_TEXT, offsetof(struct import_options, output), "FILE",
	  "the profile (default: imported.geiger)" },
	{ "label", 'l', GG_OPTION_PAIRS, offsetof(struct import_options, labels), "KEY=VALUE",
	  "what tells these processes from others; repeatable" },
	{ "metric", 'm', GG_OPTION_CHOICE, offsetof(struct import_options, metric),
	  "live|allocated", "what numbers are where the file does not say (live)" },
	{ "interval", 'i', GG_OPTION_SIZE, offsetof(struct import_options, interval_bytes), "SIZE",
	  "how a .heapprofile was sampled (by its sizes)" },
	{ "every", 0, GG_OPTION_TIME, offsetof(struct import_options, every_seconds), "TIME",
	  "fetch the URL again and again, for a time axis" },
	{ "for", 0, GG_OPTION_TIME, offsetof(struct import_options, for_seconds), "TIME",
	  "with --every: end after this time (at Ctrl-C)" },
	{ "ignore-files", 0, GG_OPTION_FLAG, offsetof(struct import_options, ignore_files), NULL,
	  "do not look for the programs that the file names" },
	{ "max-size", 0, GG_OPTION_SIZE, offsetof(struct import_options, max_size_bytes), "SIZE",
	  "largest file, decompressed (4GiB, ratio 200)" },
	{ "quiet", 'q', GG_OPTION_FLAG, offsetof(struct import_options, quiet), NULL,
	  "print nothing unless it fails" },
	GG_OPTIONS_END,
};

static const struct import_options defaults = { .output = "imported.geiger" };

static int import_file(struct gg_profile *profile, const char *path, uint64_t max_size_bytes,
                       const struct gg_import_options *options, struct gg_import_result *result,
                       struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf fetched = { 0 };
	struct gg_input *input;
	int status = gg_cli_fetch(&input, path, &fetched, error);

	if (status < 0)
		return status;
	gg_input_limit(input, max_size_bytes);
	status = gg_import(profile, input, options, result, error);
	gg_input_close(input);
	return status;
}

static int import_all(struct gg_profile *profile, const struct gg_invocation *invocation,
                      const struct gg_import_options *options, struct gg_import_result *results)
{
	const struct import_options *given = invocation->options;
	int status = 0;

	for (int i = 0; i < invocation->operand_count && status == 0; i++) {
		status = import_file(profile, invocation->operands[i], given->max_size_bytes,
		                     options, &results[i], invocation->error);
		/*
		 * Erases the line before that of the result, or of the error, takes its place.
		 */
		gg_progress_end(options->progress);
		if (status == 0 && !given->quiet)
			fprintf(stderr, "geiger: %s: %s, %" PRIu64 " row%s\n",
			        GG_PRINTABLE(invocation->operands[i]), results[i].format,
			        results[i].row_count, results[i].row_count == 1 ? "" : "s");
	}
	if (status == 0)
		/* The session comes last, because it belongs to all imported files. */
		status = gg_import_session(profile, results, (size_t)invocation->operand_count,
		                           invocation->error);
	if (status == 0) {
		gg_profile_report_progress(profile, options->progress);
		status = gg_profile_finish(profile, invocation->error);
	}
	gg_progress_end(options->progress);
	return status;
}

/* Refuses options that mean nothing together. */
static int check_series(const struct gg_invocation *invocation)
{
	const struct import_options *given = invocation->options;

	if (given->for_seconds > 0 && !(given->every_seconds > 0))
		return gg_error_set(invocation->error, -EINVAL, "import --for",
		                    "Give --every TIME as well.",
		                    "nothing says how often to fetch");
	if (!(given->every_seconds > 0))
		return 0;
	if (invocation->operand_count > 1 || !gg_http_is_url(invocation->operands[0]))
		return gg_error_set(invocation->error, -EINVAL, "import --every",
		                    "Give one such as http://localhost:6060/debug/pprof/heap.",
		                    "needs one URL");
	if (given->every_seconds < LEAST_EVERY_SECONDS)
		return gg_error_set(invocation->error, -EINVAL, "import --every",
		                    "Give 0.1s or more.", "is too short");
	return 0;
}

static int import_series(struct gg_invocation *invocation, const struct gg_import_label *labels)
{
	const struct import_options *given = invocation->options;
	const struct gg_import_series series = { .url = invocation->operands[0],
		                                 .output = given->output,
		                                 .every_seconds = given->every_seconds,
		                                 .for_seconds = given->for_seconds,
		                                 .labels = labels,
		                                 .label_count = given->labels.count,
		                                 .max_size_bytes = given->max_size_bytes,
		                                 .ignore_files = given->ignore_files,
		                                 .quiet = given->quiet };
	int status = gg_cli_import_series(&series, invocation->error);

	return status == -EINVAL ? -EBADMSG : status;
}

/* Files with addresses alone leave names to `geiger symbolize`, which needs the modules. */
static void tell_names(struct gg_profile *profile, const char *path)
{
	struct gg_model_unresolved unresolved;
	struct gg_model *model;

	if (gg_model_load(&model, &profile, 1, NULL, NULL) < 0)
		return;
	unresolved = gg_model_unresolved(model);
	if (unresolved.frame_count > 0 && unresolved.worst_module != 0)
		fprintf(stderr,
		        "geiger: %" PRIu64 " of %" PRIu64
		        " frames have no name: geiger symbolize %s\n",
		        unresolved.frame_count, unresolved.all_frame_count, GG_PRINTABLE(path));
	gg_model_free(model);
}

static int run_import(struct gg_invocation *invocation)
{
	const struct import_options *given = invocation->options;
	struct gg_import_label labels[GG_OPTION_PAIRS_MAX];
	struct gg_progress_line line; /* one for all files; it begins again with each */
	struct gg_import_options options = { .labels = labels,
		                             .label_count = given->labels.count,
		                             .interval_bytes = (double)given->interval_bytes,
		                             .is_allocated = given->metric == METRIC_ALLOCATED,
		                             .ignore_files = given->ignore_files,
		                             .progress = &line.progress };
	struct gg_import_result *results;
	struct gg_profile *profile;
	int status;

	if (invocation->operand_count == 0)
		return gg_error_set(invocation->error, -EINVAL, "import",
		                    "Name one: geiger import FILE -o PROFILE.",
		                    "no file was given");
	status = check_series(invocation);
	if (status < 0)
		return status;
	for (size_t i = 0; i < given->labels.count; i++)
		labels[i] = (struct gg_import_label){ given->labels.pairs[i].key,
			                              given->labels.pairs[i].value };
	if (given->every_seconds > 0)
		return import_series(invocation, labels);
	results = calloc((size_t)invocation->operand_count, sizeof(*results));
	if (results == NULL)
		return gg_error_memory(invocation->error, "import");
	if (given->quiet)
		gg_progress_line_forbid();
	gg_progress_line_init(&line);
	gg_scratch_remove_at_signals();
	/* The profile appears under its name only when it is complete. */
	status = gg_profile_create_whole(&profile, given->output, invocation->error);
	if (status < 0) {
		free(results);
		return status;
	}
	status = import_all(profile, invocation, &options, results);
	if (status == 0 && !given->quiet) {
		fprintf(stderr, "geiger: wrote %s\n", GG_PRINTABLE(given->output));
		tell_names(profile, given->output);
	}
	gg_profile_close(profile);
	free(results);
	return status == -EINVAL ? -EBADMSG
	                         : status; /* the error is in a file, not in the request */
}

static const struct gg_status_meaning exit_statuses[] = {
	{ "0", "the files were imported" },
	{ "1",
	  "a file is wrong, truncated or of no known format; the message says where, and nothing was written" },
	{ "2", "the request was wrong" },
	{ NULL, NULL },
};

const struct gg_command gg_command_import = {
	.name = "import",
	.summary = "make a profile of other tools' heap profiles",
	.usage = "[OPTION]... FILE|URL...",
	.details =
		"Reads, plain or compressed by gzip or zstd, found out by what is in the file:\n"
		"jemalloc's heap_v2, gperftools' heap profiles, pprof (Go, tcmalloc and others),\n"
		"OTLP profiles, Perfetto, heaptrack's interpreted data, V8's .heapprofile,\n"
		"Java's .jfr, .NET's .nettrace, PyPy's heap dumps, and collapsed stacks.\n"
		"http://localhost:6060/debug/pprof/heap is fetched from a program of Go;\n"
		"with --every again and again, for a profile with a time axis.\n"
		"- is standard input. Several files are several processes, whose numbers add up;\n"
		"compare two moments of one process by 'geiger diff' instead.\n\n"
		"Numbers have confidence intervals where the file tells how it sampled, and none\n"
		"where it does not. Nothing has a time but the samples of a .nettrace.\n",
	.options = import_option_table,
	.options_size = sizeof(struct import_options),
	.option_defaults = &defaults,
	.max_operands = -1,
	.run = run_import,
	.exit_statuses = exit_statuses,
};
