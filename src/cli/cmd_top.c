/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_top - `geiger top`: live memory of a running process, look after look.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/command.h"
#include "report/screen_text.h"
#include "top/top_batch.h"
#include "top/top_screen.h"

/* The value of --frames if the user has not given it. */
#define FRAMES_NOT_GIVEN UINT64_MAX

struct top_options {
	bool batch, json, ascii, all, readonly, why;
	uint64_t frame_count, limit;
	double delay_seconds, confidence;
	int by, metric;
	const char *focus;
};

static int check(const struct gg_invocation *invocation)
{
	const struct top_options *options = invocation->options;

	if (!(options->confidence > 0 && options->confidence < 1))
		return gg_error_set(invocation->error, -EINVAL, "top: --confidence",
		                    "Give a number such as 0.95.", "%g is not between 0 and 1",
		                    options->confidence);
	if (options->delay_seconds < 1 || options->delay_seconds > 86400)
		return gg_error_set(invocation->error, -EINVAL, "top: --delay",
		                    "Give a time such as 2 or 10s.",
		                    "the time between looks is at least 1 s and at most a day");
	if (options->why && invocation->operand_count == 0)
		return gg_error_set(invocation->error, -EINVAL, "top: --why",
		                    "Name a process, a region or a profile.",
		                    "the list of processes has no rows of RSS");
	return 0;
}

static int run_screen(struct gg_invocation *invocation, const struct gg_top_batch *batch,
                      bool is_readonly)
{
	const struct gg_top_screen screen = {
		.target = batch->target,
		.view = batch->view,
		.ascii = batch->state.ascii,
		.has_color = invocation->style.reset[0] != '\0',
		.delay_seconds = batch->delay_seconds,
		.is_readonly = is_readonly,
	};

	return gg_top_screen_run(&screen, invocation->error);
}

static int run(struct gg_invocation *invocation)
{
	const struct top_options *options = invocation->options;
	struct gg_top_batch batch = {
		.view = { .metric = (enum gg_top_metric)options->metric,
		          .by = (enum gg_grouping)options->by,
		          .focus = options->focus,
		          .confidence = options->confidence,
		          .has_why = options->why,
		          .lists_all = options->all },
		.style = invocation->style,
		.delay_seconds = options->delay_seconds,
		.frame_count = options->frame_count,
		.rows_max = options->limit,
		.json = options->json,
		.stream = stdout,
	};
	int status = check(invocation);

	if (status < 0)
		return status;
	batch.target = invocation->operand_count > 0 ? invocation->operands[0] : NULL;
	gg_top_state_init(&batch.state, gg_screen_text_width(STDOUT_FILENO), 0);
	batch.state.ascii = options->ascii || !gg_screen_text_is_utf8();
	batch.state.is_batch = true;
	if (options->metric == GG_TOP_GROWTH)
		batch.state.sort = GG_TOP_BY_CHANGE;
	if (!options->batch && !options->json && options->frame_count == FRAMES_NOT_GIVEN &&
	    gg_top_screen_is_possible(STDIN_FILENO, STDOUT_FILENO))
		return run_screen(invocation, &batch, options->readonly);
	if (options->frame_count == FRAMES_NOT_GIVEN)
		batch.frame_count = options->batch ? 0 : 1;
	return gg_top_batch_run(&batch, invocation->error);
}

#define AT(field) offsetof(struct top_options, field)

static const struct gg_option options[] = {
	{ "batch", 0, GG_OPTION_FLAG, AT(batch), NULL,
	  "print frames, instead of a screen with keys" },
	{ "frames", 'n', GG_OPTION_COUNT, AT(frame_count), "N",
	  "frames to print; 0: until the process ends" },
	{ "delay", 'd', GG_OPTION_TIME, AT(delay_seconds), "SECONDS",
	  "time between two looks, at least 1 s (2)" },
	{ "by", 'b', GG_OPTION_CHOICE, AT(by),
	  "function|line|stack|module|size|kind|heap|type|thread", "what a row is (function)" },
	{ "metric", 'm', GG_OPTION_CHOICE, AT(metric), "live|growth|allocated|temporary",
	  "which memory, or what grew of it (live)" },
	{ "focus", 0, GG_OPTION_TEXT, AT(focus), "RE", "only stacks with a function that matches" },
	{ "all", 'a', GG_OPTION_FLAG, AT(all), NULL,
	  "in the list: also what ended, and what has no agent" },
	{ "limit", 0, GG_OPTION_COUNT, AT(limit), "N", "rows of a frame; 0: all (20)" },
	{ "why", 0, GG_OPTION_FLAG, AT(why), NULL,
	  "where RSS goes, as geiger why shows it (key R of the screen)" },
	{ "confidence", 'c', GG_OPTION_NUMBER, AT(confidence), "P",
	  "coverage of the intervals (0.95)" },
	{ "json", 0, GG_OPTION_FLAG, AT(json), NULL, "print each frame as one line of JSON" },
	{ "readonly", 0, GG_OPTION_FLAG, AT(readonly), NULL,
	  "no key changes the sampling of the process" },
	{ "ascii", 0, GG_OPTION_FLAG, AT(ascii), NULL, "use only ASCII characters" },
	GG_OPTIONS_END,
};

const struct gg_command gg_command_top = {
	.name = "top",
	.summary = "live memory of a running process, look after look",
	.usage = "[PID|REGION|PROFILE] [-n N] [-d SECONDS] [OPTION]...",
	.details =
		"Without a target, a list of the processes that run under the agent; Enter opens\n"
		"one.\n\n"
		"A screen with keys; '?' shows them.  With --batch, --json or -n, and without a\n"
		"terminal, it prints frames: one, if neither --batch nor -n asks for more.  The\n"
		"process is not stopped.  'change' counts from the first look.  It stands there\n"
		"only where it is significant, however long you watch: of all runs of a steady\n"
		"program, at most 5 % show any change.  'allocates' is a mean of some 10 seconds,\n"
		"and 'age' the age that half of the live bytes have.\n\n"
		"  geiger top 4711\n"
		"  geiger top 4711 -n 0 -d 10 --metric growth\n"
		"  geiger top 4711 -n 60 --json > looks.json\n",
	.options = options,
	.options_size = sizeof(struct top_options),
	.option_defaults = &(const struct top_options){ .frame_count = FRAMES_NOT_GIVEN,
	                                                .limit = 20,
	                                                .delay_seconds = 2,
	                                                .confidence = 0.95 },
	.max_operands = 1,
	.run = run,
	.variables = GG_READS_WIDTH | GG_READS_PROFILE | GG_READS_DIRECTORIES,
};
