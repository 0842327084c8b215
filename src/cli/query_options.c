/* SPDX-License-Identifier: Apache-2.0 */
/*
 * query_options - parses times and windows, and checks what the tables cannot.
 *
 * Commands call gg_cli_take_window() first, which fixes the operands, then gg_cli_make_query(), and
 * read the profile last, so that wrong options are reported before a large file is read.
 */
#include "cli/query_options.h"
#include "base/assert.h"
#include "cli/command.h"
#include "cli/profiles.h"
#include "query/query.h"
#include "report/report.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/screen_text.h"

#define AT(field) offsetof(struct gg_report_options, field)

const struct gg_option gg_cli_metric_options[] = {
	{ "metric", 'm', GG_OPTION_CHOICE, AT(metric),
	  "live|allocated|peak|temporary|freed|left|pinned",
	  "which memory (live, or peak if little is left)" },
	{ "unit", 'u', GG_OPTION_CHOICE, AT(unit), "bytes|count", "bytes, or allocations (bytes)" },
	GG_OPTIONS_END,
};

const struct gg_option gg_cli_moment_options[] = {
	{ "at", 0, GG_OPTION_TEXT, AT(at), "TIME", "what was live at a moment, such as 12.5s" },
	{ "between", 0, GG_OPTION_TEXT, AT(between), "T0 T1",
	  "only what happened between two moments" },
	GG_OPTIONS_END,
};

const struct gg_option gg_cli_stack_options[] = {
	{ "focus", 0, GG_OPTION_TEXT, AT(focus), "RE", "only stacks with a function that matches" },
	{ "ignore", 0, GG_OPTION_TEXT, AT(ignore), "RE",
	  "only stacks without a function that matches" },
	GG_OPTIONS_END,
};

const struct gg_option gg_cli_process_options[] = {
	{ "process", 'p', GG_OPTION_COUNT, AT(process), "PID", "only this process" },
	GG_OPTIONS_END,
};

const struct gg_option gg_cli_confidence_options[] = {
	{ "confidence", 'c', GG_OPTION_NUMBER, AT(confidence), "P",
	  "coverage of the intervals (0.95)" },
	GG_OPTIONS_END,
};

const struct gg_option gg_cli_output_options[] = {
	{ "head", 0, GG_OPTION_FLAG, AT(head), NULL,
	  "print the totals of the whole profile first" },
	{ "no-head", 0, GG_OPTION_FLAG, AT(no_head), NULL, "print rows alone: no title, no notes" },
	{ "bytes", 0, GG_OPTION_FLAG, AT(bytes), NULL, "print whole numbers without units" },
	{ "json", 0, GG_OPTION_FLAG, AT(json), NULL, "print JSON" },
	{ "ascii", 0, GG_OPTION_FLAG, AT(ascii), NULL, "use only ASCII characters" },
	{ "no-pager", 0, GG_OPTION_FLAG, AT(no_pager), NULL, "do not use a pager" },
	GG_OPTIONS_END,
};

const struct gg_option gg_cli_name_options[] = {
	{ "full-names", 0, GG_OPTION_FLAG, AT(full_names), NULL,
	  "names of functions with all of their arguments" },
	GG_OPTIONS_END,
};

const struct gg_option gg_cli_frame_options[] = {
	{ "mine", 0, GG_OPTION_FLAG, AT(frames.mine), NULL,
	  "give memory to the program's own code" },
	{ "module", 0, GG_OPTION_TEXT, AT(frames.module), "RE",
	  "give memory to the modules that match" },
	{ "hide", 0, GG_OPTION_TEXT, AT(frames.hide), "RE",
	  "leave functions that match out of stacks" },
	{ "all-frames", 0, GG_OPTION_FLAG, AT(frames.all_frames), NULL,
	  "show wrappers such as xmalloc, and library frames" },
	{ "native", 0, GG_OPTION_FLAG, AT(frames.native), NULL,
	  "show the interpreter's functions between Python's" },
	{ "only-python", 0, GG_OPTION_FLAG, AT(frames.only_python), NULL,
	  "show Python's functions only, where a stack has any" },
	GG_OPTIONS_END,
};

int gg_cli_load_named(struct gg_model **ret_model, const char *path,
                      const struct gg_report_options *options, struct gg_error *error)
{
	const struct gg_model_name_options naming = { .full_names = true };
	int status = gg_frame_selection_check(&options->frames, error);

	if (status == 0)
		status = gg_cli_read(ret_model, path, &options->frames, error);
	if (status < 0)
		return status;
	if (options->full_names)
		status = gg_model_name_functions(ret_model, 1, &naming, error);
	if (status == 0)
		status = gg_frame_selection_apply(&options->frames, ret_model, 1, error);
	if (status < 0)
		gg_model_free(*ret_model);
	return status;
}

/*
 * Parses "12.5s", "300ms", "2min", "1h" or a number of seconds as ns since the start.  -EINVAL
 * names the option.
 */
static int parse_time(const char *text, const char *command, const char *option, int64_t *ret_ns,
                      struct gg_error *error)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {
		{ "", 1e9 }, { "s", 1e9 },    { "ms", 1e6 }, { "us", 1e3 },
		{ "ns", 1 }, { "min", 6e10 }, { "m", 6e10 }, { "h", 3.6e12 },
	};
	char *end;
	double value = strtod(text, &end);

	while (*end == ' ')
		end++;
	for (size_t i = 0; i < GG_COUNT(units); i++)
		if (end != text && strcmp(end, units[i].name) == 0 && value >= 0 &&
		    value * units[i].ns < 0x1p62) {
			*ret_ns = (int64_t)(value * units[i].ns + 0.5);
			return 0;
		}
	gg_error_set(error, -EINVAL, NULL,
	             "Give a time since the start such as 12.5s, 300ms or 2min.",
	             "'%s' is not a time", text);
	gg_error_set_place(error, "%s: --%s", command, option);
	return -EINVAL;
}

/* Parses a window, "T0,T1" or "T0 T1". */
static int parse_window(const char *text, const char *command, struct gg_query *query,
                        struct gg_error *error)
{
	size_t length = strcspn(text, ", ");
	char first[64];
	int status;

	if (text[length] == '\0' || length >= sizeof(first)) {
		gg_error_set(error, -EINVAL, NULL, "Give two times such as 10s,20s.",
		             "'%s' is not a window", text);
		gg_error_set_place(error, "%s: --between", command);
		return -EINVAL;
	}
	memcpy(first, text, length);
	first[length] = '\0';
	status = parse_time(first, command, "between", &query->from_ns, error);
	if (status == 0)
		status = parse_time(text + length + 1, command, "between", &query->to_ns, error);
	if (status == 0 && query->from_ns == 0)
		query->from_ns = INT64_MIN; /* 0 means from the very beginning */
	return status;
}

/*
 * Finds the newest profile in the current directory, which the user probably meant.  The advice
 * names it.
 */
static bool find_newest(char ret_name[128])
{
	static const char suffix[] = ".geiger";
	struct timespec newest = { 0 };
	bool is_found = false;
	struct dirent *entry;
	DIR *directory = opendir(".");

	while (directory != NULL && (entry = readdir(directory)) != NULL) {
		size_t length = strlen(entry->d_name);
		struct stat status;

		if (length < sizeof(suffix) || length > 80 ||
		    strcmp(entry->d_name + length - strlen(suffix), suffix) != 0 ||
		    stat(entry->d_name, &status) < 0 || !S_ISREG(status.st_mode))
			continue;
		if (is_found && (status.st_mtim.tv_sec < newest.tv_sec ||
		                 (status.st_mtim.tv_sec == newest.tv_sec &&
		                  status.st_mtim.tv_nsec <= newest.tv_nsec)))
			continue;
		is_found = true;
		newest = status.st_mtim;
		snprintf(ret_name, 128, "%s", entry->d_name);
	}
	if (directory != NULL)
		closedir(directory);
	return is_found;
}

int gg_cli_take_window(struct gg_invocation *invocation, struct gg_report_options *options,
                       const char *command, char buffer[128])
{
	int64_t ignored;
	char newest[128];

	if (options->between != NULL && strpbrk(options->between, ", ") == NULL)
		/*
		 * The window's end is the last operand that is a time.  A profile may also have a
		 * name such as "10", so the search begins at the end.
		 */
		for (int i = invocation->operand_count; i-- > 0;) {
			if (parse_time(invocation->operands[i], command, "between", &ignored,
			               NULL) < 0)
				continue;
			snprintf(buffer, 128, "%.60s,%.60s", options->between,
			         invocation->operands[i]);
			options->between = buffer;
			/*
			 * The user wrote the time before the profile, so the profile moves to the
			 * front.
			 */
			if (i == 0)
				invocation->operands[0] = invocation->operands[1];
			invocation->operand_count--;
			break;
		}
	gg_assert(invocation->operand_count >= 0);
	if (invocation->operand_count == 1)
		return 0;
	gg_error_set(invocation->error, -EINVAL, command, NULL,
	             invocation->operand_count == 0 ? "no profile was given"
	                                            : "more than one profile was given");
	if (invocation->operand_count > 0 || !find_newest(newest))
		snprintf(newest, sizeof(newest), "FILE");
	snprintf(invocation->error->advice, sizeof(invocation->error->advice),
	         "Name one: geiger %s %s.", command, newest);
	return -EINVAL;
}

int gg_cli_make_query(const struct gg_report_options *options, const char *command,
                      struct gg_query *ret_query, struct gg_error *error)
{
	struct gg_query query;
	int status = 0;

	gg_query_init(&query);
	query.metric = options->metric < 0 ? GG_METRIC_LIVE : (enum gg_metric)options->metric;
	query.unit = (enum gg_quantity)options->unit;
	query.by = (enum gg_grouping)options->by;
	if (options->by_label != NULL) {
		query.by = GG_BY_LABEL;
		query.label = options->by_label;
	}
	query.sort_by_total = options->total && !options->self;
	query.focus = options->focus;
	query.ignore = options->ignore;
	query.pid = (uint32_t)options->process;
	if (!(options->confidence > 0 && options->confidence < 1)) {
		gg_error_set(error, -EINVAL, NULL, "Give a number such as 0.95.",
		             "%g is not between 0 and 1", options->confidence);
		gg_error_set_place(error, "%s: --confidence", command);
		return -EINVAL;
	}
	if (options->process > UINT32_MAX)
		return gg_error_set(error, -EINVAL, "--process", NULL, "no process has such a pid");
	if (options->between != NULL)
		status = parse_window(options->between, command, &query, error);
	if (query.metric == GG_METRIC_PINNED && options->at != NULL &&
	    strcmp(options->at, "peak") == 0)
		query.look_moment = GG_LOOK_PEAK;
	else if (status == 0 && options->at != NULL)
		status = parse_time(options->at, command, "at", &query.to_ns, error);
	if (status == 0 && options->temporary != NULL)
		status = parse_time(options->temporary, command, "temporary", &query.temporary_ns,
		                    error);
	if (status == 0)
		*ret_query = query;
	return status;
}

void gg_cli_fit_report(const struct gg_report_options *options, const struct gg_style *style,
                       struct gg_report *report)
{
	report->confidence = options->confidence;
	report->width = gg_screen_text_width(STDOUT_FILENO);
	report->name_width = gg_screen_text_name_width(
		STDOUT_FILENO); /* a program may search for a whole name */
	report->figures = (struct gg_figure_style){
		.raw = options->bytes, .ascii = options->ascii || !gg_screen_text_is_utf8()
	};
	report->style = *style;
	report->head = options->no_head ? GG_HEAD_NONE
	               : options->head  ? GG_HEAD_FULL
	                                : GG_HEAD_TITLE;
	report->all_columns = options->all_columns;
}
