/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_send - `geiger send`: sends profiles to a receiver, once or again and again.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/command.h"
#include "cli/send_settings.h"
#include "record/dotnet/unrecorded_runtime.h"
#include "record/regions/find_region.h"

#define FLUSH_SECONDS 10.0

struct send_options {
	struct gg_send_options common;
	double flush_seconds, confidence;
	uint64_t look_max;
	bool quiet;
};

static int check(const struct send_options *options, struct gg_error *error)
{
	if (!(options->confidence > 0 && options->confidence < 1))
		return gg_error_set(error, -EINVAL, "send: --confidence",
		                    "Give a number such as 0.95.", "%g is not between 0 and 1",
		                    options->confidence);
	if (options->common.every_seconds > 86400)
		return gg_error_set(error, -EINVAL, "send: --every", "Give a time such as 60s.",
		                    "the time between looks is at most a day");
	return 0;
}

static void print_result(const struct gg_sender_result *result, const char *state)
{
	const struct gg_send_counts *counts = &result->counts;

	gg_send_settings_print_result(result, state != NULL, " for the next sender");
	if (counts->delivered_count + counts->waiting_count == 0 && result->profile_count == 0 &&
	    result->unchanged_count > 0)
		fprintf(stderr, "geiger: this was sent before; --state none sends it again\n");
}

/* A sender that looks again and again follows the runtime; slots of a fleet have no room for it. */
static bool sends_managed(const struct gg_sender_options *options)
{
	return options->every_seconds > 0 && options->facts.receiver->form != GG_RECEIVER_FLEET;
}

static int run(struct gg_invocation *invocation)
{
	const struct send_options *options = invocation->options;
	struct gg_sender_options sender = {
		.target = invocation->operand_count > 0 ? invocation->operands[0] : NULL,
		.look_max = options->look_max,
		.flush_seconds = options->flush_seconds,
		.confidence = options->confidence,
		.until_fd = -1,
		.tell = options->quiet ? NULL : gg_send_settings_tell,
	};
	struct gg_send_settings settings;
	struct gg_sender_result result;
	int status = check(options, invocation->error);

	if (status == 0)
		status = gg_send_settings_make(&settings, &options->common, "send",
		                               invocation->error);
	if (status < 0)
		return status;
	gg_send_settings_sender(&settings, &options->common, &sender);
	if (!options->quiet && sender.target != NULL && gg_find_region_is_pid(sender.target) &&
	    !sends_managed(&sender) &&
	    gg_unrecorded_runtime_is_in((pid_t)strtol(sender.target, NULL, 10)))
		fprintf(stderr, "geiger: process %s runs .NET, and malloc's memory alone is sent\n",
		        sender.target);
	status = gg_sender_run(&sender, &result, invocation->error);
	if (status == 0 && !options->quiet)
		print_result(&result, sender.state);
	if (status == 0)
		status = !gg_sender_has_sent_all(&result);
	gg_send_settings_done(&settings);
	return status;
}

#define AT(field) offsetof(struct send_options, field)

static const struct gg_option options[] = {
	{ "to", 0, GG_OPTION_TEXT, AT(common.to), "URL", "the receiver; see above" },
	{ "every", 0, GG_OPTION_TIME, AT(common.every_seconds), "TIME",
	  "again and again: 60s, 5m (once)" },
	{ "slot", 0, GG_OPTION_TIME, AT(common.slot_seconds), "TIME",
	  "of a fleet: the length of its slots (10m)" },
	{ "service", 0, GG_OPTION_TEXT, AT(common.service), "NAME",
	  "service.name (the program's name)" },
	{ "label", 0, GG_OPTION_PAIRS, AT(common.labels), "KEY=VALUE",
	  "an attribute of the resource, or a label" },
	{ "headers", 0, GG_OPTION_TEXT, AT(common.headers_file), "FILE",
	  "lines 'Name: value': passwords, tenants" },
	{ "ca-file", 0, GG_OPTION_TEXT, AT(common.ca_file), "FILE",
	  "authorities for https, as PEM (the system's)" },
	{ "timeout", 0, GG_OPTION_TIME, AT(common.timeout_seconds), "TIME", "of a request (10s)" },
	{ "no-gzip", 0, GG_OPTION_FLAG, AT(common.no_gzip), NULL, "do not compress OTLP" },
	{ "state", 0, GG_OPTION_TEXT, AT(common.state), "DIR",
	  "for what waits and what was sent; or none" },
	{ "queue", 0, GG_OPTION_SIZE, AT(common.queue_bytes), "SIZE",
	  "of what waits while the receiver is away (256MiB)" },
	{ "in-doubt", 0, GG_OPTION_CHOICE, AT(common.in_doubt), "resend|drop",
	  "a profile whose reply was lost (resend)" },
	{ "looks", 'n', GG_OPTION_COUNT, AT(look_max), "N", "end after N looks; 0: no limit (0)" },
	{ "flush", 0, GG_OPTION_TIME, AT(flush_seconds), "TIME",
	  "how long the end may wait for the receiver (10s)" },
	{ "confidence", 'c', GG_OPTION_NUMBER, AT(confidence), "P",
	  "coverage of the intervals of totals (0.95)" },
	{ "quiet", 'q', GG_OPTION_FLAG, AT(quiet), NULL, "print nothing unless it fails" },
	GG_OPTIONS_END,
};

static const struct gg_status_meaning exit_statuses[] = {
	{ "0", "the receiver has all profiles" },
	{ "1", "it failed, or some profiles wait, were rejected, or are lost" },
	{ "2", "the request was wrong" },
	{ NULL, NULL },
};

const struct gg_command gg_command_send = {
	.name = "send",
	.summary = "send profiles to a collector, Pyroscope, Parca and others",
	.usage = "[TARGET] --to URL [--every TIME] [OPTION]...",
	.details =
		"The target is the pid of a process that runs under the agent, a region, a\n"
		"directory with regions, or a profile, finished or being recorded.  Without a\n"
		"target: all regions of this machine.\n\n"
		"  http://HOST:4318              OpenTelemetry's collector: OTLP, version 1.10\n"
		"  pyroscope+http://HOST:4040    Pyroscope, Alloy: /ingest\n"
		"  pyroscope-push+http://HOST    the same, by push.v1.PusherService\n"
		"  parca+http://HOST:7070        Parca: WriteRaw\n"
		"  pprof+http://HOST/PATH        a pprof file to any address\n"
		"  fleet://HOST:7117             a fleet: geiger-fleet-receive(1)\n\n"
		"A URL may have a path of its own, and https instead of http.\n\n"
		"Live memory is sent as it is at a look, allocated memory as what is new since\n"
		"the last profile: receivers add it up.  What waits, and what was sent, is kept\n"
		"below --state ($STATE_DIRECTORY, or geiger/send in $XDG_STATE_HOME or\n"
		"~/.local/state), so that neither an outage nor a kill loses anything.\n\n"
		"  geiger send redis.geiger --to http://localhost:4318\n"
		"  geiger send \"$(pgrep -n redis-server)\" --every 60s --to http://localhost:4318\n"
		"  geiger send --every 60s --to pyroscope+http://localhost:4040\n",
	.options = options,
	.options_size = sizeof(struct send_options),
	.option_defaults = &(const struct send_options){ .flush_seconds = FLUSH_SECONDS,
	                                                 .confidence = 0.95 },
	.max_operands = 1,
	.run = run,
	.variables = GG_READS_PROFILE | GG_READS_DIRECTORIES | GG_SENDS,
	.exit_statuses = exit_statuses,
};
