/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_timeline - `geiger timeline`: draws live memory and RSS over time.
 */
#include <errno.h>
#include <stddef.h>

#include "base/buf.h"
#include "cli/command.h"
#include "cli/pager.h"
#include "cli/profiles.h"
#include "cli/query_options.h"
#include "query/query.h"
#include "report/report.h"
#include "report/report_collections.h"
#include "report/report_timeline.h"

struct timeline_options {
	struct gg_report_options common;
	uint64_t width, height; /* characters of the plotted area; width 0: as many as fit */
};

enum { MOST_CHARACTERS = 1000 };

/*
 * Checks the size of the chart.  Without an upper limit, a mistyped number would print for minutes.
 */
static int check(const struct timeline_options *options, struct gg_error *error)
{
	if (options->width != 0 &&
	    (options->width < GG_TIMELINE_LEAST_WIDTH || options->width > MOST_CHARACTERS))
		return gg_error_set(error, -EINVAL, "timeline: --width", NULL,
		                    "a chart is %d to %d characters wide", GG_TIMELINE_LEAST_WIDTH,
		                    MOST_CHARACTERS);
	if (options->height < GG_TIMELINE_LEAST_HEIGHT || options->height > MOST_CHARACTERS)
		return gg_error_set(error, -EINVAL, "timeline: --height", NULL,
		                    "a chart is %d to %d characters high", GG_TIMELINE_LEAST_HEIGHT,
		                    MOST_CHARACTERS);
	return 0;
}

/* Returns the requested width, or the width that fits the screen. */
static size_t width_of(const struct timeline_options *options, const struct gg_report *report)
{
	/* The margin has the labels of the axis.  On a narrower screen the lines wrap. */
	size_t least = GG_TIMELINE_MARGIN + GG_TIMELINE_LEAST_WIDTH;

	if (options->width != 0)
		return options->width;
	if (report->width < least)
		return GG_TIMELINE_LEAST_WIDTH;
	return (report->width < MOST_CHARACTERS ? report->width : MOST_CHARACTERS) -
	       GG_TIMELINE_MARGIN;
}

/*
 * Imported and merged profiles have only sums.  A chart of them would be a flat line that means
 * nothing.
 */
static bool has_chart(const struct gg_model *model)
{
	return gg_model_has_times(model) || gg_model_spacing_ns(model) != 0;
}

static int print_timeline(const struct gg_model *model, const struct gg_query *query,
                          const struct gg_invocation *invocation)
{
	const struct timeline_options *options = invocation->options;
	struct gg_head head;
	struct gg_report report = { .model = model, .summary = &head.summary };
	GG_CLEANUP(gg_buf_done) struct gg_buf out = { 0 };
	struct gg_timeline *timeline = NULL;
	struct gg_query of_head = *query;
	size_t width;
	int status = 0;

	gg_cli_fit_report(&options->common, &invocation->style, &report);
	width = width_of(options, &report);
	/* A merged profile has no sums for one process, and needs none for its collections. */
	if (!has_chart(model))
		of_head.pid = 0;
	gg_cli_begin_head(&head, model, &of_head);
	if (has_chart(model))
		status = gg_timeline_run(model, query->pid,
		                         gg_report_timeline_points(width, report.figures.ascii),
		                         options->common.confidence, &timeline, invocation->error);
	status = gg_cli_end_head(&head, status, invocation->error);
	head.summary.pid = query->pid;
	if (status == 0 && timeline == NULL && !gg_report_has_collections(&report))
		status = gg_error_set(invocation->error, -ENOTSUP, "timeline",
		                      "Compare two moments instead: geiger diff BEFORE AFTER.",
		                      "an imported or merged profile has no times to draw");
	if (status == 0) {
		if (options->common.json)
			gg_report_timeline_json(&report, timeline, &out);
		else
			gg_report_timeline_text(&report, timeline, width, options->height, &out);
		status = gg_cli_print(&out, options->common.no_pager || options->common.json,
		                      invocation->error);
	}
	gg_timeline_free(timeline);
	return status;
}

static int run(struct gg_invocation *invocation)
{
	struct timeline_options *options = invocation->options;
	struct gg_query query;
	struct gg_model *model;
	char unused[128]; /* take_window() needs it, but a chart has no window */
	int status = gg_cli_take_window(invocation, &options->common, "timeline", unused);

	if (status == 0)
		status = check(options, invocation->error);
	if (status == 0)
		status = gg_cli_make_query(&options->common, "timeline", &query, invocation->error);
	if (status == 0)
		status = gg_cli_load(&model, invocation->operands[0],
		                     &(struct gg_frame_selection){ 0 }, invocation->error);
	if (status < 0)
		return status;
	status = print_timeline(model, &query, invocation);
	gg_model_free(model);
	return status;
}

#define AT(field) offsetof(struct timeline_options, field)

static const struct gg_option options[] = {
	GG_OPTIONS_SHARED(gg_cli_process_options, AT(common)),
	{ "width", 'w', GG_OPTION_COUNT, AT(width), "N",
	  "characters of the chart (as many as fit)" },
	{ "height", 0, GG_OPTION_COUNT, AT(height), "N", "lines of the chart (16)" },
	GG_OPTIONS_SHARED(gg_cli_confidence_options, AT(common)),
	GG_OPTIONS_SHARED(gg_cli_output_options, AT(common)),
	GG_OPTIONS_END,
};

const struct gg_command gg_command_timeline = {
	.name = "timeline",
	.summary = "live memory and RSS over time, as a chart",
	.usage = "PROFILE [OPTION]...",
	.details = "Draws the live heap from the start of the recording to its end, with its\n"
		   "confidence interval and its peak, and the RSS where it was read.\n"
		   "\n"
		   "  geiger timeline redis.geiger --height 24\n",
	.options = options,
	.options_size = sizeof(struct timeline_options),
	.option_defaults = &(const struct timeline_options){ .common = { .confidence = 0.95 },
	                                                     .height = 16 },
	.max_operands = 1,
	.run = run,
	.variables = GG_READS_WIDTH | GG_READS_PROFILE,
};
