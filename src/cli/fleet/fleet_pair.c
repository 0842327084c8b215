/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/fleet/fleet_pair.h"

#include <stdio.h>

#include "fleet/fleet_compare.h"
#include "fleet/fleet_model.h"

static void version_done(struct gg_fleet_version *version)
{
	gg_query_result_free(version->result);
	gg_cli_asked_fleet_done(&version->answer);
}

void gg_cli_fleet_pair_done(struct gg_fleet_pair *pair)
{
	gg_diff_free(pair->diff);
	version_done(&pair->before);
	version_done(&pair->after);
}

/* Reads a side.  Its functions are named with those of the other, so frames wait until then. */
static int read_version(struct gg_fleet_version *side, const struct gg_fleet_ask_options *options,
                        const char *service, const char *version, struct gg_error *error)
{
	struct gg_fleet_ask_options ask = *options;
	GG_CLEANUP(gg_buf_done) struct gg_buf notes = { 0 };
	struct gg_model_options how = { 0 };
	int status;

	ask.version = version;
	snprintf(side->name, sizeof(side->name), "%.90s %.90s", service, version);
	status = gg_cli_fleet_ask(&side->answer, &ask, service, "fleet diff", error);
	if (status < 0)
		return status;
	/* The question lives in the answer, but it was made from a local copy of the options. */
	side->answer.groups = GG_FLEET_EACH_HOST;
	gg_cli_fleet_append_hosts(&side->answer, &notes);
	gg_buf_printf(&notes,
	              ". Hosts with stacks are the units (%zu), and differences hold the error "
	              "between hosts.\n",
	              side->answer.scope.selected_count);
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
	struct gg_fleet_version *before = &pair->before, *after = &pair->after;
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

int gg_cli_fleet_pair(struct gg_fleet_pair *pair, const struct gg_fleet_ask_options *options,
                      const char *service, const char *before, const char *after, double rate,
                      struct gg_error *error)
{
	int status = read_version(&pair->before, options, service, before, error);

	if (status == 0)
		status = read_version(&pair->after, options, service, after, error);
	if (status == 0)
		status = name_both(options, pair, error);
	if (status == 0)
		status = gg_diff_query_both(pair->before.answer.model, pair->after.answer.model,
		                            &pair->before.answer.query, &pair->before.result,
		                            &pair->after.result, error);
	return status < 0 ? status : compare(pair, options, rate, error);
}
