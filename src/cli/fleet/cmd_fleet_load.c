/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_fleet_load - `geiger fleet load`: writes recorded profiles into a store. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>

#include "base/path.h"
#include "base/time_units.h"
#include "cli/fleet/fleet_ask.h"
#include "cli/fleet/fleet_verbs.h"
#include "cli/profiles.h"
#include "fleet/fleet_load.h"
#include "fleet/fleet_schema.h"

struct load_options {
	struct gg_fleet_place place;
	const char *service, *version, *host, *at;
	struct gg_option_pairs labels;
	double slot_seconds, selected;
	bool left_out, ended;
};

static int check(const struct gg_invocation *invocation)
{
	const struct load_options *options = invocation->options;

	if (invocation->operand_count == 0)
		return gg_error_set(invocation->error, -EINVAL, "fleet load",
		                    "Give it so: geiger fleet load --service NAME PROFILE.",
		                    "needs a profile");
	if (options->service == NULL)
		return gg_error_set(invocation->error, -EINVAL, "fleet load",
		                    "Give --service NAME.", "needs the name of the service");
	if (!(options->slot_seconds >= 1 && options->slot_seconds <= 86400))
		return gg_error_set(invocation->error, -EINVAL, "fleet load: --slot", NULL,
		                    "a slot is 1 second to 1 day long");
	if (!(options->selected > 0 && options->selected <= 1))
		return gg_error_set(invocation->error, -EINVAL, "fleet load: --selected", NULL,
		                    "%g is not a chance", options->selected);
	return 0;
}

/* The begin of the slot in which the profile ended, or of the one of --at. */
static int find_slot(const struct gg_model *model, const struct load_options *options,
                     uint32_t *ret_slot_s, struct gg_error *error)
{
	uint32_t slot = (uint32_t)options->slot_seconds, at_s;
	int status = 0;

	at_s = (uint32_t)((model->sessions[0].start_wall_ns + (uint64_t)model->end_ns) /
	                  GG_NS_PER_S);
	if (options->at != NULL)
		status = gg_cli_fleet_time(options->at, "fleet load", "at", &at_s, error);
	*ret_slot_s = at_s / slot * slot;
	return status;
}

static int load_one(const struct load_options *options, const char *path,
                    struct gg_clickhouse *store, struct gg_error *error)
{
	struct gg_fleet_label labels[GG_OPTION_PAIRS_MAX];
	const struct gg_frame_selection frames = { .all_frames = true };
	struct gg_fleet_load_plan plan = {
		.tenant = gg_cli_fleet_tenant(&options->place),
		.service = options->service,
		.version = options->version,
		.host = options->host,
		.labels = labels,
		.label_count = options->labels.count,
		.slot_length_s = (uint32_t)options->slot_seconds,
		.selected_ppm = (uint32_t)(options->selected * 1e6 + 0.5),
		.is_left_out = options->left_out,
		.has_ended = options->ended,
	};
	struct gg_model *model;
	int status = gg_cli_read(&model, path, &frames, error);

	if (status < 0)
		return status;
	for (size_t i = 0; i < options->labels.count; i++)
		labels[i] = (struct gg_fleet_label){ options->labels.pairs[i].key,
			                             options->labels.pairs[i].value };
	if (plan.host == NULL)
		plan.host = model->sessions[0].host;
	status = plan.host == NULL
	                 ? gg_error_set(error, -EINVAL, path, "Give --host NAME.",
	                                "the profile does not say on which host it was made")
	                 : find_slot(model, options, &plan.slot_s, error);
	if (status == 0)
		status = gg_fleet_load(store, model, &plan, error);
	gg_model_free(model);
	return status;
}

static int run(struct gg_invocation *invocation)
{
	const struct load_options *options = invocation->options;
	struct gg_clickhouse store = { 0 };
	int status = check(invocation);

	if (status == 0)
		status = gg_cli_fleet_open(&options->place, &store, invocation->error);
	if (status == 0)
		status = gg_fleet_schema_check(&store, gg_cli_fleet_tenant(&options->place),
		                               invocation->error);
	for (int i = 0; i < invocation->operand_count && status == 0; i++)
		status = load_one(options, invocation->operands[i], &store, invocation->error);
	gg_clickhouse_done(&store);
	if (status == 0)
		printf("loaded %d profile%s\n", invocation->operand_count,
		       invocation->operand_count == 1 ? "" : "s");
	return status;
}

#define AT(field) offsetof(struct load_options, field)

static const struct gg_option options[] = {
	{ "service", 's', GG_OPTION_TEXT, AT(service), "NAME", "of which service they are" },
	{ "version", 'v', GG_OPTION_TEXT, AT(version), "NAME", "of which version of it" },
	{ "host", 0, GG_OPTION_TEXT, AT(host), "NAME", "the host (that of the recording)" },
	{ "label", 'l', GG_OPTION_PAIRS, AT(labels), "KEY=VALUE",
	  "a label of the processes; may be repeated" },
	{ "at", 0, GG_OPTION_TEXT, AT(at), "TIME", "a time in their slot (their end)" },
	{ "slot", 0, GG_OPTION_TIME, AT(slot_seconds), "TIME", "length of a slot (10m)" },
	{ "selected", 0, GG_OPTION_NUMBER, AT(selected), "P",
	  "the chance with which the host was drawn (1)" },
	{ "left-out", 0, GG_OPTION_FLAG, AT(left_out), NULL,
	  "the host was not drawn: load no stacks" },
	{ "ended", 0, GG_OPTION_FLAG, AT(ended), NULL,
	  "the processes ended: nothing counts after this slot" },
	GG_OPTIONS_SHARED(gg_cli_fleet_place_options, AT(place)),
	GG_OPTIONS_END,
};

const struct gg_command gg_command_fleet_load = {
	.name = "fleet load",
	.summary = "write recorded profiles into a store",
	.usage = "PROFILE... --service NAME [OPTION]...",
	.details =
		"Each profile becomes a slot of its host: its live memory at the end, and all of\n"
		"its allocations and frees.  Loading a profile again changes nothing.\n"
		"\n"
		"  geiger fleet load web-1.geiger --service checkout --version 1.2 --host web-1\n",
	.options = options,
	.options_size = sizeof(struct load_options),
	.option_defaults = &(const struct load_options){ .slot_seconds = 600, .selected = 1 },
	.max_operands = -1,
	.run = run,
	.variables = GG_READS_PROFILE | GG_READS_FLEET,
};
