/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/fleet/fleet_pair.h"

#include <errno.h>
#include <stdio.h>

#include "fleet/fleet_compare.h"
#include "fleet/fleet_model.h"

static void side_done(struct gg_fleet_pair_side *side)
{
	gg_query_result_free(side->result);
	gg_cli_asked_fleet_done(&side->answer);
}

void gg_cli_fleet_pair_done(struct gg_fleet_pair *pair)
{
	gg_diff_free(pair->diff);
	side_done(&pair->before);
	side_done(&pair->after);
}

/* "checkout 1.1"; sides that differ in time have their times in their names. */
static void name_side(struct gg_fleet_pair_side *side, const struct gg_fleet_ask_options *options,
                      const char *service, bool with_time)
{
	bool has_version = options->version != NULL;

	snprintf(side->name, sizeof(side->name), "%.90s%s%.90s%s%.90s", service,
	         has_version ? " " : "", has_version ? options->version : "", with_time ? ", " : "",
	         with_time ? side->answer.fleet.when : "");
}

/* Reads a side.  Its functions are named with those of the other, so frames wait until then. */
static int read_side(struct gg_fleet_pair_side *side, const struct gg_fleet_ask_options *options,
                     const char *service, bool with_time, struct gg_error *error)
{
	struct gg_fleet_ask_options ask = *options;
	GG_CLEANUP(gg_buf_done) struct gg_buf notes = { 0 };
	struct gg_model_options how = { 0 };
	int status = gg_cli_fleet_ask(&side->answer, &ask, service, "fleet diff", error);

	if (status < 0)
		return status;
	/* The question lives in the answer, but it was made from a local copy of the options. */
	name_side(side, options, service, with_time);
	side->answer.groups = GG_FLEET_EACH_HOST;
	gg_cli_fleet_append_hosts(&side->answer, &notes);
	gg_buf_printf(&notes,
	              ". Hosts with stacks are the units (%zu), and differences hold the error "
	              "between hosts.\n",
	              side->answer.scope.selected_count);
	if (gg_cli_fleet_append_delay(side->answer.delay_s, &notes))
		gg_buf_append_text(&notes, "\n");
	gg_frame_selection_options(&options->common.frames, &how);
	return gg_fleet_model_make(&side->answer.model, &side->answer.store, &side->answer.scope,
	                           GG_FLEET_EACH_HOST, &how, gg_buf_text(&notes), error);
}

static int name_both(const struct gg_fleet_ask_options *options, struct gg_fleet_pair *pair,
                     struct gg_error *error)
{
	struct gg_model *models[] = { pair->before.answer.model, pair->after.answer.model };
	const struct gg_model_name_options naming = { .full_names = options->common.full_names,
		                                      .across_builds = true };
	int status = gg_model_name_functions(models, 2, &naming, error);

	return status < 0 ? status
	                  : gg_frame_selection_apply(&options->common.frames, models, 2, error);
}

static int compare(struct gg_fleet_pair *pair, const struct gg_fleet_ask_options *options,
                   double rate, struct gg_error *error)
{
	struct gg_fleet_pair_side *before = &pair->before, *after = &pair->after;
	double processes_before = gg_fleet_side_processes(&before->answer.scope);
	double processes_after = gg_fleet_side_processes(&after->answer.scope);
	const struct gg_diff_query query = {
		.scale = processes_before > 0 && processes_after > 0
		                 ? processes_after / processes_before
		                 : 1,
		.confidence = options->common.confidence,
		.false_discovery_rate = rate,
	};
	const struct gg_fleet_side sides[2] = {
		{ &before->answer.scope, before->answer.model, before->result },
		{ &after->answer.scope, after->answer.model, after->result },
	};
	int status = gg_diff_run(before->answer.model, before->result, after->answer.model,
	                         after->result, &query, &pair->diff, error);

	return status < 0 ? status : gg_fleet_compare(pair->diff, &sides[0], &sides[1], error);
}

static bool has_same_times(const struct gg_fleet_question *before,
                           const struct gg_fleet_question *after)
{
	return before->when == after->when && before->since_s == after->since_s &&
	       before->until_s == after->until_s;
}

/* Sums over windows are compared a process and not a second, so windows must be equally long. */
static int check_windows(const struct gg_fleet_pair *pair, struct gg_error *error)
{
	const struct gg_fleet_question *before = &pair->before.answer.question;
	const struct gg_fleet_question *after = &pair->after.answer.question;

	if (after->metric == GG_METRIC_LIVE || has_same_times(before, after))
		return 0;
	if (before->until_s != UINT32_MAX && after->until_s != UINT32_MAX &&
	    before->until_s - before->since_s == after->until_s - after->since_s)
		return 0;
	return gg_error_set(error, -EINVAL, "fleet diff", "Give begin and end of both.",
	                    "windows of allocated or freed memory must be equally long");
}

/* True if the options name times of their own for one of the sides. */
static bool has_other_times(const struct gg_fleet_ask_options *before,
                            const struct gg_fleet_ask_options *after)
{
	return before->at != after->at || before->since != after->since ||
	       before->until != after->until;
}

int gg_cli_fleet_pair(struct gg_fleet_pair *pair, const struct gg_fleet_ask_options *before,
                      const struct gg_fleet_ask_options *after, const char *service, double rate,
                      struct gg_error *error)
{
	bool with_time = has_other_times(before, after);
	int status = read_side(&pair->before, before, service, with_time, error);

	if (status == 0)
		status = read_side(&pair->after, after, service, with_time, error);
	if (status == 0)
		status = check_windows(pair, error);
	if (status == 0)
		status = name_both(after, pair, error);
	if (status == 0)
		status = gg_diff_query_both(pair->before.answer.model, pair->after.answer.model,
		                            &pair->before.answer.query, &pair->before.result,
		                            &pair->after.result, error);
	return status < 0 ? status : compare(pair, after, rate, error);
}
