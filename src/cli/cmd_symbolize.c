/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_symbolize - `geiger symbolize`: looks up functions and lines again, also in other places.
 *
 * The command changes the profile in place.  It only adds names and replaces poorer ones: a look-up
 * that finds less than the profile already has changes nothing.
 */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/printable.h"
#include "base/size.h"
#include "cli/command.h"
#include "cli/progress_line.h"
#include "model/model.h"
#include "record/regions/unfinished_profiles.h"
#include "record/symbols/symbolize.h"
#include "report/screen_text.h"
#include "report/symbol_hint.h"

struct symbolize_options {
	const char *sysroot, *debug_dir;
	bool offline;
};

static const struct gg_option symbolize_option_table[] = {
	{ "sysroot", 0, GG_OPTION_TEXT, offsetof(struct symbolize_options, sysroot), "DIR",
	  "look paths up below it" },
	{ "debug-dir", 0, GG_OPTION_TEXT, offsetof(struct symbolize_options, debug_dir), "DIR",
	  "a folder like /usr/lib/debug, asked first" },
	{ "offline", 0, GG_OPTION_FLAG, offsetof(struct symbolize_options, offline), NULL,
	  "ask no debuginfod server" },
	GG_OPTIONS_END,
};

static int symbolize(struct gg_profile *profile, const struct symbolize_options *given,
                     struct gg_symbolize_result *result, struct gg_error *error)
{
	const char *debug_dirs[] = { given->debug_dir, NULL };
	struct gg_symbol_options options = {
		.sysroot = given->sysroot,
		.debug_dirs = given->debug_dir != NULL ? debug_dirs : NULL,
		.offline = given->offline,
	};
	struct gg_progress_line line;
	int status;

	gg_progress_line_init(&line);
	options.progress = &line.progress;
	status = gg_symbolize(profile, &options, result, error);
	if (status == 0) {
		gg_profile_report_progress(profile, &line.progress);
		status = gg_profile_finish(profile, error);
		gg_profile_report_progress(profile, NULL); /* the line ends here */
	}
	gg_progress_line_end(&line);
	return status;
}

/* Wraps a line to the width of the terminal. */
static void print_paragraph(const char *text)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf out = { 0 };

	gg_screen_text_append_paragraph(&out, text, gg_screen_text_width(STDOUT_FILENO),
	                                !gg_screen_text_is_utf8());
	fputs(gg_buf_text(&out), stdout);
}

/* Prints what would name the functions that still have no name. */
static void print_hint(struct gg_profile *profile)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 }, line = { 0 };
	struct gg_model *model;

	if (gg_model_load(&model, &profile, 1, NULL, NULL) < 0)
		return;
	gg_symbol_hint_append(model, NULL, &text);
	if (text.length > 0) {
		gg_buf_printf(&line, "names are missing %s", gg_buf_text(&text));
		print_paragraph(gg_buf_text(&line));
	}
	gg_model_free(model);
}

static void print_result(const struct gg_symbolize_result *result)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	gg_buf_printf(&text, "%" PRIu64 " of %" PRIu64 " frames have names", result->named_count,
	              result->frame_count);
	if (result->bounded_count > 0)
		gg_buf_printf(&text, ", %" PRIu64 " the address of their function",
		              result->bounded_count);
	gg_buf_printf(&text, "; modules looked at: %u, with new names: %u", result->module_count,
	              result->improved_count);
	print_paragraph(gg_buf_text(&text));
}

/* A misspelled directory would look like one without the files. */
static void warn_of_directory(const char *option, const char *path)
{
	struct stat info;

	if (path != NULL && *path != '\0' && (stat(path, &info) < 0 || !S_ISDIR(info.st_mode)))
		fprintf(stderr,
		        "geiger: symbolize: --%s: '%s' is not a directory; no file is there\n",
		        option, GG_PRINTABLE(path));
}

static int run_symbolize(struct gg_invocation *invocation)
{
	const struct symbolize_options *options = invocation->options;
	struct gg_symbolize_result result;
	struct gg_profile *profile;
	int status;

	if (invocation->operand_count == 0)
		return gg_error_set(invocation->error, -EINVAL, "symbolize",
		                    "Name one: geiger symbolize FILE.", "no profile was given");
	status = gg_profile_edit(&profile, invocation->operands[0], invocation->error);
	if (status < 0)
		return status;
	warn_of_directory("sysroot", options->sysroot);
	warn_of_directory("debug-dir", options->debug_dir);
	/*
	 * A recorder that died left its profile unfinished; the edit must end it before it adds
	 * names.
	 */
	if (gg_unfinished_profile(profile, invocation->operands[0]))
		status = gg_unfinished_profile_end(profile, false, invocation->error);
	if (status == 0)
		status = symbolize(profile, options, &result, invocation->error);
	if (status == 0 && result.frame_count == 0) {
		printf("nothing to look up: no frame is without functions and lines\n");
	} else if (status == 0) {
		print_result(&result);
		if (result.named_count < result.frame_count)
			print_hint(profile);
	}
	gg_profile_close(profile);
	return status;
}

const struct gg_command gg_command_symbolize = {
	.name = "symbolize",
	.summary = "look up functions and lines of a profile again",
	.usage = "[OPTION]... FILE",
	.details = "Recording does so when the session ends.  This does it once more: where the\n"
		   "debug information is, or after a debug package was installed.  A file is used\n"
		   "only if its build-id is that of the module that ran; names that are known are\n"
		   "never lost.\n",
	.options = symbolize_option_table,
	.options_size = sizeof(struct symbolize_options),
	.option_mode = GG_OPTIONS_ANYWHERE,
	.max_operands = 1,
	.run = run_symbolize,
	.variables = GG_READS_WIDTH | GG_READS_PROFILE,
};
