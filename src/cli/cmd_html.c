/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_html - `geiger html`: writes a profile as one page that opens from disk.
 *
 * The page consists of a fixed part (scripts and styles) and the packed data.  --max-size limits
 * the file, so the data may have the rest.  If a profile needs more, the command folds light
 * stacks, rounds sizes and times, and says so.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/path.h"
#include "base/printable.h"
#include "base/size.h"
#include "cli/command.h"
#include "cli/profiles.h"
#include "cli/progress_line.h"
#include "page/page.h"
#include "query/normalize.h"
#include "query/query.h"
#include "report/frame_selection.h"

#define DEFAULT_MAX_BYTES UINT64_C(1500000)

/* The smallest useful amount of data; with less the page has hardly any profile in it. */
#define LEAST_DATA_BYTES 20000

struct html_options {
	const char *output, *diff, *normalize;
	double confidence;
	uint64_t max_bytes;
	struct gg_frame_selection frames;
	bool quiet, with_source;
	const char *source_path; /* FROM=TO */
};

static int check(const struct gg_invocation *invocation)
{
	const struct html_options *options = invocation->options;
	bool to_output = options->output == NULL || strcmp(options->output, "-") == 0;

	if (invocation->operand_count != 1)
		return gg_error_set(invocation->error, -EINVAL, "html",
		                    "Name one: geiger html FILE.", "no profile was given");
	if (!(options->confidence > 0 && options->confidence < 1))
		return gg_error_set(invocation->error, -EINVAL, "html: --confidence",
		                    "Give a number such as 0.95.", "%g is not between 0 and 1",
		                    options->confidence);
	if (to_output && isatty(STDOUT_FILENO))
		return gg_error_set(invocation->error, -EINVAL, "html", "Name a file: -o FILE.",
		                    "a page is not for a terminal");
	if (options->max_bytes > 0 && options->max_bytes < gg_page_base_bytes() + LEAST_DATA_BYTES)
		return gg_error_set(invocation->error, -EINVAL, "html: --max-size",
		                    "Give a size such as 1MB.", "the page alone takes %zu bytes",
		                    gg_page_base_bytes());
	if (options->normalize != NULL && options->diff == NULL)
		return gg_error_set(invocation->error, -EINVAL, "html: --normalize",
		                    "Name the earlier profile: --diff BEFORE.",
		                    "there is nothing to compare with");
	if (options->source_path != NULL && strchr(options->source_path, '=') == NULL)
		return gg_error_set(invocation->error, -EINVAL, "html: --source-path",
		                    "Give two folders, such as /build=/home/me/src.",
		                    "there is no '=' in it");
	return gg_cli_check_output("html", invocation->operands[0], options->output,
	                           invocation->error);
}

/*
 * Returns the number of bytes that the packed data may have, or 0 for any number.  Base64 turns 3
 * bytes into 4, and may pad the end.
 */
static size_t data_bytes(uint64_t max_bytes)
{
	return max_bytes == 0 ? 0 : (size_t)(max_bytes - gg_page_base_bytes() - 8) / 4 * 3;
}

/*
 * Prints "geiger: wrote FILE: 1.4 MiB, 812 stacks", and how much of the profile was folded or
 * rounded.
 */
static void tell(const struct html_options *options, size_t file_bytes,
                 const struct gg_page_summary *summary)
{
	bool to_output = options->output == NULL || strcmp(options->output, "-") == 0;
	char size[GG_SIZE_TEXT_MAX];

	if (options->quiet)
		return;
	fprintf(stderr, "geiger: wrote %s: %s, %zu stack%s",
	        to_output ? "the page" : GG_PRINTABLE(options->output),
	        gg_size_format((double)file_bytes, size), summary->stack_count,
	        summary->stack_count == 1 ? "" : "s");
	if (summary->folded_count > 0)
		fprintf(stderr,
		        "; %zu of %zu nodes of the tree, with %.2g %% of the bytes allocated, are folded",
		        summary->folded_count, summary->folded_count + summary->node_count,
		        summary->folded_share * 100);
	if (summary->are_sizes_rounded)
		fprintf(stderr, "%s rounded",
		        summary->are_times_rounded ? "; sizes and times are" : "; sizes are");
	if (summary->folded_count > 0 || summary->are_sizes_rounded)
		fputs(" (--max-size 0: nothing is)", stderr);
	fputs("\n", stderr);
}

static int write_page(const struct gg_invocation *invocation, const struct gg_model *model,
                      const struct gg_model *before)
{
	const struct html_options *options = invocation->options;
	struct gg_page_summary summary = { 0 };
	struct gg_progress_line line;
	struct gg_page_options page = {
		.title = gg_path_base(invocation->operands[0]),
		.before_title = options->diff != NULL ? gg_path_base(options->diff) : NULL,
		.confidence = options->confidence,
		.most_bytes = data_bytes(options->max_bytes),
		.normalized_by = options->normalize,
		.summary = &summary,
		.with_source = options->with_source || options->source_path != NULL,
		.source_path = options->source_path,
		.progress = &line.progress,
	};
	GG_CLEANUP(gg_buf_done) struct gg_buf packed = { 0 };
	GG_CLEANUP(gg_buf_done) struct gg_buf out = { 0 };
	struct gg_query query;
	int status = 0;

	gg_progress_line_init(&line);
	gg_query_init(&query);
	if (before != NULL)
		status = gg_normalize_find(before, model, &query, options->normalize,
		                           "html: --normalize", &page.scale, invocation->error);
	if (status == 0)
		status = gg_page_data(model, before, &page, &packed, invocation->error);
	gg_progress_line_end(&line);
	if (status == 0)
		status = gg_page_html(&packed, &out, invocation->error);
	if (status == 0)
		status = gg_cli_save(options->output, &out, invocation->error);
	if (status == 0)
		tell(options, out.length, &summary);
	return status;
}

static int run(struct gg_invocation *invocation)
{
	const struct html_options *options = invocation->options;
	struct gg_model *model = NULL, *before = NULL;
	int status = check(invocation);

	if (options->quiet)
		gg_progress_line_forbid();
	if (status == 0)
		status = gg_cli_read(&model, invocation->operands[0], &options->frames,
		                     invocation->error);
	/*
	 * The earlier profile is loaded second, so an error in the main profile is reported first.
	 */
	if (status == 0 && options->diff != NULL)
		status = gg_cli_read(&before, options->diff, &options->frames, invocation->error);
	/* A diff matches functions by name, so both models need names in the same form. */
	if (status == 0 && before != NULL)
		status = gg_page_name_functions(model, before, invocation->error);
	if (status == 0)
		status = gg_frame_selection_apply(&options->frames,
		                                  (struct gg_model *[]){ model, before },
		                                  before != NULL ? 2 : 1, invocation->error);
	if (status == 0)
		status = write_page(invocation, model, before);
	gg_model_free(before);
	gg_model_free(model);
	return status;
}

#define AT(field) offsetof(struct html_options, field)

static const struct gg_option options[] = {
	{ "output", 'o', GG_OPTION_TEXT, AT(output), "FILE", "where to; - is standard output" },
	{ "diff", 'd', GG_OPTION_TEXT, AT(diff), "BEFORE",
	  "compare with this profile: what has changed since" },
	{ "normalize", 0, GG_OPTION_TEXT, AT(normalize), "time|allocated|FACTOR",
	  "with --diff: multiply 'before' by a ratio of runs" },
	{ "max-size", 0, GG_OPTION_SIZE, AT(max_bytes), "SIZE",
	  "of the page; light stacks are folded (1.5MB); 0: any" },
	{ "mine", 0, GG_OPTION_FLAG, AT(frames.mine), NULL,
	  "give memory to the program's own code" },
	{ "module", 0, GG_OPTION_TEXT, AT(frames.module), "RE",
	  "give memory to the modules that match" },
	{ "all-frames", 0, GG_OPTION_FLAG, AT(frames.all_frames), NULL,
	  "show wrappers of malloc, such as xmalloc" },
	{ "native", 0, GG_OPTION_FLAG, AT(frames.native), NULL,
	  "show the interpreter's functions between Python's" },
	{ "only-python", 0, GG_OPTION_FLAG, AT(frames.only_python), NULL,
	  "show Python's functions only, where a stack has any" },
	{ "source", 0, GG_OPTION_FLAG, AT(with_source), NULL,
	  "put source lines of the largest functions in it" },
	{ "source-path", 0, GG_OPTION_TEXT, AT(source_path), "FROM=TO",
	  "with --source: look for files of folder FROM in TO" },
	{ "quiet", 'q', GG_OPTION_FLAG, AT(quiet), NULL, "print nothing unless it fails" },
	{ "confidence", 'c', GG_OPTION_NUMBER, AT(confidence), "P",
	  "coverage of the intervals (0.95)" },
	GG_OPTIONS_END,
};

static const struct gg_status_meaning exit_statuses[] = {
	{ "0", "the file is written, as a whole" },
	{ "1", "it could not be written; the file that was there before is untouched" },
	{ "2", "the request was wrong" },
	{ NULL, NULL },
};

const struct gg_command gg_command_html = {
	.name = "html",
	.summary = "a profile as one page: flame graph, time, tables, leaks",
	.usage = "PROFILE -o FILE [OPTION]...",
	.details =
		"The page is one file that opens from disk and asks no network for anything.\n\n"
		"  geiger html redis.geiger -o redis.html\n"
		"  geiger html after.geiger --diff before.geiger -o change.html\n"
		"  geiger html after.geiger --diff before.geiger --normalize time -o change.html\n",
	.options = options,
	.options_size = sizeof(struct html_options),
	.option_defaults = &(const struct html_options){ .confidence = 0.95,
	                                                 .max_bytes = DEFAULT_MAX_BYTES },
	.max_operands = 1,
	.run = run,
	.variables = GG_READS_PROFILE,
	.exit_statuses = exit_statuses,
};
