/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profiles - shared parts of the commands that report on profiles: opening, options, times, the
 * pager.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "cli/command.h"
#include "model/model.h"
#include "query/query.h"
#include "report/report.h"

/*
 * Opens the PROFILE operand of a command.  Only this function knows which kinds of files are valid.
 */
GG_MUST_CHECK int gg_cli_open_profile(struct gg_profile **ret_profile, const char *path,
                                      struct gg_error *error);

/*
 * Opens and reads profiles as one model.  The model leaves the allocator's own functions off the
 * tops of stacks (gg_model_options).
 */
GG_MUST_CHECK int gg_cli_load(struct gg_model **ret_model, const char *const *paths,
                              size_t path_count, struct gg_error *error);

/*
 * Fails with -EINVAL if `output` is the profile itself, because the command would overwrite its
 * input.  The error names --output of the command. output may be NULL.
 */
GG_MUST_CHECK int gg_cli_check_output(const char *command, const char *profile, const char *output,
                                      struct gg_error *error);

/*
 * Options of a query and of the form of its report.  Commands include rows of the table in their
 * own.
 */
struct gg_report_options {
	int metric; /* enum gg_metric, in the order of the option's choices; -1: not given */
	int unit;   /* enum gg_quantity */
	int by;     /* enum gg_grouping */
	bool self, total;
	const char *at, *between;
	const char *focus, *ignore;
	const char *temporary;
	const char *by_label; /* a key, which replaces `by` */
	uint64_t process, limit;
	double confidence;
	bool bytes, json, no_pager, ascii, full_names;
};

/*
 * Rows of option tables, which mean the same in every command that has them.  `start` is the offset
 * of the struct gg_report_options in the command's struct.
 */
#define GG_CLI_ROW(...)     \
	{                   \
		__VA_ARGS__ \
	}
#define GG_CLI_FIELD(start, field) ((start) + offsetof(struct gg_report_options, field))
#define GG_CLI_METRIC_OPTIONS(start)                                                 \
	GG_CLI_ROW("metric", 'm', GG_OPTION_CHOICE, GG_CLI_FIELD(start, metric),     \
	           "live|allocated|peak|temporary|freed|left",                       \
	           "which memory (live, or peak if little is left)"),                \
		GG_CLI_ROW("unit", 'u', GG_OPTION_CHOICE, GG_CLI_FIELD(start, unit), \
	                   "bytes|count", "bytes, or allocations (bytes)")
#define GG_CLI_MOMENT_OPTIONS(start)                                                            \
	GG_CLI_ROW("at", 0, GG_OPTION_TEXT, GG_CLI_FIELD(start, at), "TIME",                    \
	           "what was live at a moment, such as 12.5s"),                                 \
		GG_CLI_ROW("between", 0, GG_OPTION_TEXT, GG_CLI_FIELD(start, between), "T0 T1", \
	                   "only what happened between two moments")
#define GG_CLI_STACK_OPTIONS(start)                                                        \
	GG_CLI_ROW("focus", 0, GG_OPTION_TEXT, GG_CLI_FIELD(start, focus), "RE",           \
	           "only stacks with a function that matches"),                            \
		GG_CLI_ROW("ignore", 0, GG_OPTION_TEXT, GG_CLI_FIELD(start, ignore), "RE", \
	                   "only stacks without one that matches")
#define GG_CLI_PROCESS_OPTION(start)                                                     \
	GG_CLI_ROW("process", 'p', GG_OPTION_COUNT, GG_CLI_FIELD(start, process), "PID", \
	           "only this process")
#define GG_CLI_CONFIDENCE_OPTION(start)                                                       \
	GG_CLI_ROW("confidence", 'c', GG_OPTION_NUMBER, GG_CLI_FIELD(start, confidence), "P", \
	           "coverage of the intervals (0.95)")
#define GG_CLI_LOOK_OPTIONS(start)                                                             \
	GG_CLI_CONFIDENCE_OPTION(start),                                                       \
		GG_CLI_ROW("bytes", 0, GG_OPTION_FLAG, GG_CLI_FIELD(start, bytes), NULL,       \
	                   "whole numbers without units"),                                     \
		GG_CLI_ROW("json", 0, GG_OPTION_FLAG, GG_CLI_FIELD(start, json), NULL,         \
	                   "print JSON"),                                                      \
		GG_CLI_ROW("ascii", 0, GG_OPTION_FLAG, GG_CLI_FIELD(start, ascii), NULL,       \
	                   "only ASCII characters"),                                           \
		GG_CLI_ROW("no-pager", 0, GG_OPTION_FLAG, GG_CLI_FIELD(start, no_pager), NULL, \
	                   "never through a pager")

#define GG_CLI_NAMES_OPTION(start)                                                         \
	GG_CLI_ROW("full-names", 0, GG_OPTION_FLAG, GG_CLI_FIELD(start, full_names), NULL, \
	           "names of functions with all of their arguments")

/*
 * With --full-names, replaces the names of the functions by full names.  Otherwise it does nothing.
 */
GG_MUST_CHECK int gg_cli_name_functions(const struct gg_report_options *options,
                                        struct gg_model *model, struct gg_error *error);

/* Makes the query that the options describe.  `command` is the place of errors. */
GG_MUST_CHECK int gg_cli_question(const struct gg_report_options *options, const char *command,
                                  struct gg_query *ret_query, struct gg_error *error);

/*
 * Completes the window of `--between T0 T1`.  The parser takes T0 as the value and leaves T1 among
 * the operands.  If --between has only one time, this function removes the last operand that is a
 * time and joins the two as "T0,T1" in `buffer`, which must outlive the options.  It then checks
 * that exactly one operand is left, the PROFILE.
 */
GG_MUST_CHECK int gg_cli_take_window(struct gg_invocation *invocation,
                                     struct gg_report_options *options, const char *command,
                                     char buffer[128]);

/*
 * Computes the numbers of a report's head in another thread, because they need passes of their own
 * over the samples.  Meanwhile the caller computes the rows. gg_cli_end_head() waits for the
 * thread.  It gets the code of the caller's work and returns that code if it is an error, or else
 * the code of the head.
 */
struct gg_head {
	const struct gg_model *model;
	const struct gg_query *query;
	struct gg_report_summary summary;
	struct gg_error error;
	int code;
	bool is_beside;
	pthread_t thread;
};
void gg_cli_begin_head(struct gg_head *head, const struct gg_model *model,
                       const struct gg_query *query);
GG_MUST_CHECK int gg_cli_end_head(struct gg_head *head, int code, struct gg_error *error);

/* Sets the width, names, figures and style of a report for this standard output. */
void gg_cli_fit_report(const struct gg_report_options *options, const struct gg_style *style,
                       struct gg_report *report);

/*
 * Prints a text.  If standard output is a terminal and the text is longer than the screen, it goes
 * through $GEIGER_PAGER, $PAGER or less.  Fails if the text could not be built.
 */
GG_MUST_CHECK int gg_cli_print(const struct gg_buf *text, bool no_pager, struct gg_error *error);
