/* SPDX-License-Identifier: Apache-2.0 */
/*
 * query_options - the options of commands that query a profile, and the query that they make.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cli/command.h"
#include "cli/options.h"
#include "model/model.h"
#include "query/query.h"
#include "report/frame_selection.h"
#include "report/report.h"

/*
 * Options of a query and of the form of its report.  The tables below fill it.
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
	struct gg_frame_selection frames;
	bool bytes, json, no_pager, ascii, full_names;
	bool head, no_head, all_columns;
};

/*
 * Tables of options that mean the same in every command that includes them (GG_OPTIONS_SHARED), at
 * the offset of the struct gg_report_options in the command's struct.
 */
extern const struct gg_option gg_cli_metric_options[];     /* --metric, --unit */
extern const struct gg_option gg_cli_moment_options[];     /* --at, --between */
extern const struct gg_option gg_cli_stack_options[];      /* --focus, --ignore */
extern const struct gg_option gg_cli_process_options[];    /* --process */
extern const struct gg_option gg_cli_confidence_options[]; /* --confidence */
/* --head, --no-head, --bytes, --json, --ascii, --no-pager */
extern const struct gg_option gg_cli_output_options[];
extern const struct gg_option gg_cli_name_options[]; /* --full-names */
/* --mine, --module, --hide, --all-frames; and those of them that exports have */
extern const struct gg_option gg_cli_frame_options[];

/* The value of --limit in a table of defaults: the user has not given the option. */
#define GG_LIMIT_NOT_GIVEN UINT64_MAX

/*
 * Loads a profile with the frames that the options select.  With --full-names, its functions have
 * their full names.
 */
GG_MUST_CHECK int gg_cli_load_named(struct gg_model **ret_model, const char *path,
                                    const struct gg_report_options *options,
                                    struct gg_error *error);

/* Makes the query that the options describe.  `command` is the place of errors. */
GG_MUST_CHECK int gg_cli_make_query(const struct gg_report_options *options, const char *command,
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

/* Sets the width, names, figures and style of a report for this standard output. */
void gg_cli_fit_report(const struct gg_report_options *options, const struct gg_style *style,
                       struct gg_report *report);
