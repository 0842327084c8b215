/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_top - `geiger top`: live memory of a running process, look after look.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "region/control.h"
#include "report/screen_text.h"
#include "top/top_batch.h"
#include "top/top_screen.h"

/* The value of --frames if the user has not given it. */
#define FRAMES_NOT_GIVEN UINT64_MAX

struct top_options {
	bool batch, json, ascii, all, readonly, no_mouse, why;
	const char *output, *log; /* of a command */
	uint64_t frame_count, limit, sampling_interval;
	double delay_seconds, confidence;
	int by, metric;
	const char *focus;
};

/* The place of the `--` that begins a command, or the number of operands if no command follows. */
static int end_of_options(const struct gg_invocation *invocation)
{
	int place = 0;

	while (place < invocation->operand_count && strcmp(invocation->operands[place], "--") != 0)
		place++;
	return place;
}

static int check_command(const struct gg_invocation *invocation)
{
	const struct top_options *options = invocation->options;
	int count = invocation->operand_count, end = end_of_options(invocation);
	struct gg_error *error = invocation->error;

	if (end < count && end > 0)
		return gg_error_set(error, -EINVAL, "top", "Leave one of them away.",
		                    "it shows a target or records a command");
	if (end + 1 == count)
		return gg_error_set(error, -EINVAL, "top", "geiger top -- COMMAND",
		                    "no command behind --");
	if (end == count && count > 1)
		return gg_error_set(error, -EINVAL, "top",
		                    "A command to record begins with --: geiger top -- COMMAND",
		                    "unexpected operand '%s'", invocation->operands[1]);
	if (end == count && (options->output != NULL || options->log != NULL ||
	                     options->sampling_interval != UINT64_MAX))
		return gg_error_set(error, -EINVAL, "top", "geiger top -o FILE -- COMMAND",
		                    "-o, -i and --log are for a command");
	if (options->sampling_interval != UINT64_MAX &&
	    (options->sampling_interval == 0 ||
	     options->sampling_interval > GG_REGION_INTERVAL_MAX))
		return gg_error_set(error, -EINVAL, "top: --interval", "Give 1 to 256TiB.",
		                    "it is out of range");
	return 0;
}

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
	return check_command(invocation);
}

/* Records the command behind `--`, if there is one. */
static int start_command(struct gg_invocation *invocation, bool has_screen,
                         struct gg_top_command **ret_command)
{
	const struct top_options *options = invocation->options;
	struct gg_top_command_options command = {
		.session = { .command = invocation->operands + 1,
		             .output = options->output,
		             .sampling_interval = options->sampling_interval != UINT64_MAX
		                                          ? options->sampling_interval
		                                          : 0 },
		.log = options->log,
		.has_screen = has_screen,
	};
	int exit_status, status;

	*ret_command = NULL;
	if (end_of_options(invocation) == invocation->operand_count)
		return 0;
	command.session.command[invocation->operand_count - 1] = NULL; /* ends the list */
	status = gg_top_command_start(ret_command, &command, &exit_status, invocation->error);
	if (status < 0)
		invocation->failure_status = exit_status;
	return status;
}

/*
 * True if there is a screen.  A command may have its input from elsewhere; keys then come from the
 * terminal of the process.
 */
static bool has_screen(const struct gg_invocation *invocation, int *ret_keys_fd)
{
	const struct top_options *options = invocation->options;
	bool has_command = end_of_options(invocation) < invocation->operand_count;

	*ret_keys_fd = -1;
	if (options->batch || options->json || options->frame_count != FRAMES_NOT_GIVEN)
		return false;
	if (gg_top_screen_is_possible(STDIN_FILENO, STDOUT_FILENO))
		return true;
	if (!has_command)
		return false;
	*ret_keys_fd = open("/dev/tty", O_RDONLY | O_CLOEXEC);
	if (*ret_keys_fd >= 0 && gg_top_screen_is_possible(*ret_keys_fd, STDOUT_FILENO))
		return true;
	if (*ret_keys_fd >= 0)
		close(*ret_keys_fd);
	*ret_keys_fd = -1;
	return false;
}

static int run_screen(struct gg_invocation *invocation, const struct gg_top_batch *batch,
                      const struct top_options *options)
{
	const struct gg_top_screen screen = {
		.target = batch->target,
		.view = batch->view,
		.ascii = batch->state.ascii,
		.has_color = invocation->style.reset[0] != '\0',
		.delay_seconds = batch->delay_seconds,
		.has_no_mouse = options->no_mouse,
		.is_readonly = options->readonly,
		.command = batch->command,
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
	int status = check(invocation), keys_fd = -1;
	bool is_screen;

	if (status < 0)
		return status;
	is_screen = has_screen(invocation, &keys_fd);
	status = start_command(invocation, is_screen, &batch.command);
	if (keys_fd >= 0) {
		dup2(keys_fd, STDIN_FILENO); /* the command has the other one */
		close(keys_fd);
	}
	if (status < 0)
		return status;
	if (batch.command == NULL && invocation->operand_count > 0)
		batch.target = invocation->operands[0];
	gg_top_state_init(&batch.state, gg_screen_text_width(STDOUT_FILENO), 0);
	batch.state.ascii = options->ascii || !gg_screen_text_is_utf8();
	batch.state.is_batch = true;
	if (options->metric == GG_TOP_GROWTH)
		batch.state.sort = GG_TOP_BY_CHANGE;
	/* A command is followed to its end, any other target has one frame. */
	if (options->frame_count == FRAMES_NOT_GIVEN)
		batch.frame_count = options->batch || batch.command != NULL ? 0 : 1;
	status = is_screen ? run_screen(invocation, &batch, options)
	                   : gg_top_batch_run(&batch, invocation->error);
	gg_top_command_free(batch.command);
	return status;
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
	  "function|line|stack|module|size|kind|heap|type|thread|process",
	  "what a row is (function)" },
	{ "metric", 'm', GG_OPTION_CHOICE, AT(metric), "live|growth|allocated|temporary|pinned",
	  "which memory, or what grew of it (live)" },
	{ "focus", 0, GG_OPTION_TEXT, AT(focus), "RE", "only stacks with a function that matches" },
	{ "all", 'a', GG_OPTION_FLAG, AT(all), NULL,
	  "in the list: also what ended, and what has no agent" },
	{ "limit", 0, GG_OPTION_COUNT, AT(limit), "N", "rows of a frame; 0: all (20)" },
	{ "why", 0, GG_OPTION_FLAG, AT(why), NULL,
	  "where RSS goes, as geiger why shows it (key R)" },
	{ "confidence", 'c', GG_OPTION_NUMBER, AT(confidence), "P",
	  "coverage of the intervals (0.95)" },
	{ "json", 0, GG_OPTION_FLAG, AT(json), NULL, "print each frame as one line of JSON" },
	{ "output", 'o', GG_OPTION_TEXT, AT(output), "FILE",
	  "of a command: the profile (COMMAND.PID.geiger)" },
	{ "interval", 'i', GG_OPTION_SIZE, AT(sampling_interval), "SIZE",
	  "of a command: the sampling interval (512KiB)" },
	{ "log", 0, GG_OPTION_TEXT, AT(log), "FILE",
	  "of a command: a file or terminal for its output" },
	{ "no-mouse", 0, GG_OPTION_FLAG, AT(no_mouse), NULL, "leave the mouse to the terminal" },
	{ "readonly", 0, GG_OPTION_FLAG, AT(readonly), NULL,
	  "no key changes a process or attaches to one" },
	{ "ascii", 0, GG_OPTION_FLAG, AT(ascii), NULL, "use only ASCII characters" },
	GG_OPTIONS_END,
};

static const struct gg_status_meaning exit_statuses[] = {
	{ "0", "it succeeded" },
	{ "1", "it failed" },
	{ "2", "the request was wrong" },
	{ "0 to 255", "with a command: the command's, and 128 + N if signal N ended it" },
	{ "125", "with a command: geiger failed before the command ran" },
	{ "126", "with a command: it cannot be executed" },
	{ "127", "with a command: it was not found" },
	{ NULL, NULL },
};

const struct gg_command gg_command_top = {
	.name = "top",
	.summary = "live memory of a running process, look after look",
	.usage = "[PID|REGION|PROFILE] [-d SECONDS] [OPTION]... [-- COMMAND ...]",
	.details =
		"Without a target, a list of the processes that run under the agent; Enter opens\n"
		"one.  A process without the agent is attached to after a question.\n\n"
		"With -- it records the command, as 'geiger record' does, and shows its process.\n"
		"What the command prints goes to a file; the screen shows its last line, 'v'\n"
		"more of it, and after 'q' all of it follows.  Then geiger waits for the command\n"
		"and ends with its exit status.  Ctrl-C interrupts the command.\n\n"
		"A screen with keys; '?' shows them.  With --batch, --json or -n, and without a\n"
		"terminal, it prints frames: one, if neither --batch nor -n asks for more.  The\n"
		"process is not stopped.  'change' counts from the first look.  It stands there\n"
		"only where it is significant, however long you watch: of all runs of a steady\n"
		"program, at most 5 % show any change.  'allocates' is a mean of some 10 seconds,\n"
		"and 'age' the age that half of the live bytes have.\n\n"
		"  geiger top 4711\n"
		"  geiger top 4711 -n 0 -d 10 --metric growth\n"
		"  geiger top 4711 -n 60 --json > looks.json\n"
		"  geiger top -o app.geiger -- ./app --port 8080\n",
	.options = options,
	.options_size = sizeof(struct top_options),
	.option_defaults = &(const struct top_options){ .frame_count = FRAMES_NOT_GIVEN,
	                                                .limit = 20,
	                                                .sampling_interval = UINT64_MAX,
	                                                .delay_seconds = 2,
	                                                .confidence = 0.95 },
	.option_mode = GG_OPTIONS_KEEP_END,
	.max_operands = -1,
	.run = run,
	.variables = GG_READS_WIDTH | GG_READS_PROFILE | GG_READS_DIRECTORIES | GG_READS_AGENT,
	.exit_statuses = exit_statuses,
};
