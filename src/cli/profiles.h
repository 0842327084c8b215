/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profiles - what the commands that report on profiles share: opening, options, times, the pager.
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

/* Opens what a command was given as PROFILE: the one place that knows what that may be. */
GG_MUST_CHECK int gg_cli_open_profile(struct gg_profile **ret_profile, const char *path,
                                      struct gg_error *error);

/* Opens and reads it; tops of stacks are those of the allocator (gg_model_options). */
GG_MUST_CHECK int gg_cli_load(struct gg_model **ret_model, const char *const *paths,
                              size_t path_count, struct gg_error *error);

/*
 * The profile itself is the one file that must not be replaced by what is made of it.  -EINVAL names
 * --output of the command; output may be NULL.
 */
GG_MUST_CHECK int gg_cli_check_output(const char *command, const char *profile, const char *output,
                                      struct gg_error *error);

/* Options of a query and of how its answer looks; commands put the table's part into their own. */
struct gg_report_options {
	int metric; /* enum gg_metric, in the order of the option's choices; -1: not given */
	int unit;   /* enum gg_quantity */
	int by;     /* enum gg_grouping */
	bool self, total;
	const char *at, *between;
	const char *focus, *ignore;
	const char *temporary;
	const char *by_label; /* its key, in place of `by` */
	uint64_t process, limit;
	double confidence;
	bool bytes, json, no_pager, ascii, full_names;
};

/*
 * Rows of option tables that mean the same in every command which has them.  `start`: where the command's struct
 * has its struct gg_report_options.
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

/* With --full-names: names the functions so. */
GG_MUST_CHECK int gg_cli_name_functions(const struct gg_report_options *options,
                                        struct gg_model *model, struct gg_error *error);

/* The query that the options ask for; `command` is the place of errors. */
GG_MUST_CHECK int gg_cli_question(const struct gg_report_options *options, const char *command,
                                  struct gg_query *ret_query, struct gg_error *error);

/*
 * `--between T0 T1` leaves T1 among the operands: takes it out, where --between has one time alone.
 * What is left is PROFILE, at most one.  buffer keeps "T0,T1" as long as the options are used.
 */
GG_MUST_CHECK int gg_cli_take_window(struct gg_invocation *invocation,
                                     struct gg_report_options *options, const char *command,
                                     char buffer[128]);

/*
 * The numbers of a report's head need passes of their own over the samples: they are computed beside
 * those of the rows, by another thread.  end: takes the code of what was done meanwhile, and returns
 * it or that of the head.
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

/* How figures look on this standard output. */
void gg_cli_fit_report(const struct gg_report_options *options, const struct gg_style *style,
                       struct gg_report *report);

/*
 * Prints a text: through $GEIGER_PAGER, $PAGER or less where standard output is a terminal and the text
 * is longer than it.  Fails if the text could not be built.
 */
GG_MUST_CHECK int gg_cli_print(const struct gg_buf *text, bool no_pager, struct gg_error *error);
