/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_fleet_timeline - `geiger fleet timeline`: a service's live memory and RSS, slot by slot. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/time_units.h"
#include "cli/fleet/fleet_ask.h"
#include "cli/pager.h"
#include "cli/profiles.h"
#include "fleet/slot_sums.h"
#include "report/report_timeline.h"

struct fleet_timeline_options {
	struct gg_fleet_ask_options ask; /* first, because the helpers read it */
	uint64_t width, height; /* characters of the plotted area; width 0: as many as fit */
};

enum { CHART_CHARACTERS_MAX = 1000 };

static int check(const struct gg_invocation *invocation)
{
	const struct fleet_timeline_options *options = invocation->options;

	if (options->width != 0 &&
	    (options->width < GG_TIMELINE_LEAST_WIDTH || options->width > CHART_CHARACTERS_MAX))
		return gg_error_set(invocation->error, -EINVAL, "fleet timeline: --width", NULL,
		                    "a chart is %d to %d characters wide", GG_TIMELINE_LEAST_WIDTH,
		                    CHART_CHARACTERS_MAX);
	if (options->height < GG_TIMELINE_LEAST_HEIGHT || options->height > CHART_CHARACTERS_MAX)
		return gg_error_set(invocation->error, -EINVAL, "fleet timeline: --height", NULL,
		                    "a chart is %d to %d characters high", GG_TIMELINE_LEAST_HEIGHT,
		                    CHART_CHARACTERS_MAX);
	return gg_cli_fleet_check_service(invocation, "fleet timeline");
}

static size_t width_of(const struct fleet_timeline_options *options, size_t screen_width)
{
	size_t least = GG_TIMELINE_MARGIN + GG_TIMELINE_LEAST_WIDTH;

	if (options->width != 0)
		return options->width;
	if (screen_width < least)
		return GG_TIMELINE_LEAST_WIDTH;
	return (screen_width < CHART_CHARACTERS_MAX ? screen_width : CHART_CHARACTERS_MAX) -
	       GG_TIMELINE_MARGIN;
}

static int make_points(struct gg_timeline *timeline, size_t count)
{
	timeline->points = calloc(count, sizeof(*timeline->points));
	if (timeline->points == NULL)
		return -ENOMEM;
	timeline->point_count = count;
	timeline->rss_peak_bytes = -1;
	return 0;
}

/* Makes a point of what a slot held. */
static void put_point(struct gg_timeline *timeline, size_t index, int64_t time_ns,
                      const struct gg_slot_sum *slot)
{
	struct gg_timeline_point *point = &timeline->points[index];

	*point = (struct gg_timeline_point){
		.time_ns = time_ns,
		.live_bytes = slot->live_bytes,
		.most_bytes = slot->live_bytes,
		.low = slot->low,
		.high = slot->high,
		.rss_bytes = slot->rss_bytes > 0 ? slot->rss_bytes : -1,
		.rss_ns = time_ns,
	};
	if (point->rss_bytes > timeline->rss_peak_bytes) {
		timeline->rss_peak_bytes = point->rss_bytes;
		timeline->rss_peak_ns = time_ns;
	}
}

/* JSON has a point for each slot, at the time of its begin. */
static int list_points(const struct gg_slot_sums *slots, struct gg_timeline *timeline)
{
	const struct gg_slot_sum *items = slots->items.items;

	if (make_points(timeline, slots->items.count) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < slots->items.count; i++)
		put_point(timeline, i, (int64_t)(items[i].slot_s - items[0].slot_s) * GG_NS_PER_S,
		          &items[i]);
	return 0;
}

/* A chart has evenly spaced points; each shows the slot in which it lies. */
static int spread_points(const struct gg_slot_sums *slots, uint32_t slot_length_s, size_t count,
                         struct gg_timeline *timeline)
{
	uint32_t first_s = slots->items.items[0].slot_s;
	uint32_t last_s = slots->items.items[slots->items.count - 1].slot_s;
	size_t at = 0;

	if (make_points(timeline, count) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		double time_s = first_s +
		                (double)(last_s - first_s) * (double)i / (double)(count - 1);
		int64_t time_ns = (int64_t)((time_s - first_s) * (double)GG_NS_PER_S);

		while (at + 1 < slots->items.count && slots->items.items[at + 1].slot_s <= time_s)
			at++;
		/* Nobody reported for a while: a gap. */
		if (time_s > slots->items.items[at].slot_s + 2.0 * slot_length_s)
			timeline->points[i] = (struct gg_timeline_point){ .time_ns = time_ns,
				                                          .rss_bytes = -1 };
		else
			put_point(timeline, i, time_ns, &slots->items.items[at]);
	}
	return 0;
}

static int append(const struct gg_invocation *invocation, struct gg_asked_fleet *answer,
                  const struct gg_slot_sums *slots, struct gg_buf *out)
{
	const struct fleet_timeline_options *options = invocation->options;
	const struct gg_report_options *common = &options->ask.common;
	struct gg_report_summary summary = {
		.interval_bytes = gg_model_interval(answer->model, 0),
		.least_interval_bytes = gg_model_least_interval(answer->model),
		.sample_count = answer->model->sample_total,
		.highest = { .bytes = -1 },
	};
	struct gg_report report = { .model = answer->model,
		                    .summary = &summary,
		                    .fleet = &answer->fleet };
	struct gg_timeline timeline = { 0 };
	size_t width;
	int status;

	gg_cli_fit_report(common, &invocation->style, &report);
	if (report.head == GG_HEAD_FULL)
		report.head = GG_HEAD_TITLE;
	width = width_of(options, report.width);
	status = common->json
	                 ? list_points(slots, &timeline)
	                 : spread_points(slots, answer->question.slot_length_s,
	                                 gg_report_timeline_points(width, report.figures.ascii),
	                                 &timeline);
	if (status < 0)
		return gg_error_memory(invocation->error, "fleet timeline");
	if (common->json)
		gg_report_timeline_json(&report, &timeline, out);
	else
		gg_report_timeline_text(&report, &timeline, width, options->height, out);
	free(timeline.points);
	return 0;
}

static int answer_timeline(struct gg_invocation *invocation, struct gg_buf *out)
{
	struct fleet_timeline_options *options = invocation->options;
	GG_CLEANUP(gg_cli_asked_fleet_done) struct gg_asked_fleet answer = { 0 };
	GG_CLEANUP(gg_slot_sums_done) struct gg_slot_sums slots = { 0 };
	int status = check(invocation);

	/* Every slot counts: without --since the window has all of them. */
	options->ask.by_slot = true;
	if (options->ask.since == NULL)
		options->ask.since = "@0";
	if (status == 0)
		status = gg_cli_fleet_ask(&answer, &options->ask, invocation->operands[0],
		                          "fleet timeline", invocation->error);
	if (status == 0)
		status = gg_slot_sums_of(&slots, &answer.store, &answer.scope,
		                         options->ask.common.confidence, invocation->error);
	if (status == 0) {
		answer.extends_slots = slots.is_extended;
		/* The times of points are counted from the first slot. */
		answer.scope.start_s = slots.items.items[0].slot_s;
		status = gg_cli_fleet_model(&answer, &options->ask, invocation->error);
	}
	return status == 0 ? append(invocation, &answer, &slots, out) : status;
}

static int run(struct gg_invocation *invocation)
{
	const struct fleet_timeline_options *options = invocation->options;

	return gg_cli_fleet_print(invocation, answer_timeline,
	                          options->ask.common.no_pager || options->ask.common.json);
}

#define AT(field) offsetof(struct gg_fleet_ask_options, field)

static const struct gg_option options[] = {
	{ "version", 'v', GG_OPTION_TEXT, AT(version), "NAME", "only this version" },
	GG_OPTIONS_SHARED(gg_cli_fleet_scope_options, 0),
	{ "since", 0, GG_OPTION_TEXT, AT(since), "TIME", "from this time on" },
	{ "until", 0, GG_OPTION_TEXT, AT(until), "TIME", "up to this time" },
	{ "slot", 0, GG_OPTION_TIME, AT(slot_seconds), "TIME",
	  "how often hosts send snapshots (10m)" },
	{ "width", 'w', GG_OPTION_COUNT, offsetof(struct fleet_timeline_options, width), "N",
	  "characters of the chart (as many as fit)" },
	{ "height", 0, GG_OPTION_COUNT, offsetof(struct fleet_timeline_options, height), "N",
	  "lines of the chart (16)" },
	GG_OPTIONS_SHARED(gg_cli_confidence_options, AT(common)),
	GG_OPTIONS_SHARED(gg_cli_output_options, AT(common)),
	GG_OPTIONS_SHARED(gg_cli_fleet_place_options, AT(place)),
	GG_OPTIONS_END,
};

const struct gg_command gg_command_fleet_timeline = {
	.name = "fleet timeline",
	.summary = "a service's live memory and RSS over time, as a chart",
	.usage = "SERVICE [OPTION]...",
	.details = "Draws the sum over the hosts that sent a snapshot, slot by slot, with its\n"
		   "confidence interval, and their RSS.\n"
		   "\n"
		   "  geiger fleet timeline checkout --since 1d\n",
	.options = options,
	.options_size = sizeof(struct fleet_timeline_options),
	.option_defaults = &(const struct fleet_timeline_options){ .ask = { GG_FLEET_ASK_DEFAULTS },
	                                                           .height = 16 },
	.max_operands = 1,
	.run = run,
	.answer = answer_timeline,
	.variables = GG_READS_WIDTH | GG_READS_FLEET,
};
