/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_control - `geiger control`: shows and changes the sampling of a profiled program while it
 * runs.
 *
 * The command needs no recorder and does not stop the process.  It reads the process's region and
 * writes requests into a word of it.  The agent looks at that word only on cold paths, so no answer
 * comes back and the command does not wait for an effect.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/percent.h"
#include "base/printable.h"
#include "base/size.h"
#include "cli/command.h"
#include "cli/progress_line.h"
#include "cli/sampling.h"
#include "record/regions/change_region.h"
#include "record/regions/find_region.h"
#include "record/regions/process_alive.h"
#include "record/regions/region_profile.h"
#include "region/control.h"
#include "region/reader/view.h"
#include "report/figure.h"
#include "report/screen_text.h"
#include "stats/estimate/interval.h"
#include "stats/estimate/wanted_error.h"

struct control_options {
	bool json, quiet;
};

static const struct gg_option control_option_table[] = {
	{ "json", 0, GG_OPTION_FLAG, offsetof(struct control_options, json), NULL,
	  "print the status as JSON" },
	{ "quiet", 'q', GG_OPTION_FLAG, offsetof(struct control_options, quiet), NULL,
	  "print nothing unless it fails; not for status" },
	GG_OPTIONS_END,
};

#define CONTROL_CONFIDENCE 0.95

/* --- status --- */

/* The values that `status` prints.  Its texts point into the view. */
struct region_status {
	struct gg_region_view view;
	const char *path;
	bool is_alive;
	double age_seconds; /* since its region began */
	struct gg_figure live;
	uint64_t dropped_count;
};

/* Under the scheme per-allocation the interval counts allocations and not bytes. */
static bool counts_allocations(const struct gg_region_header *header)
{
	static const char option[] = "GEIGER_SCHEME=per-allocation";

	return memmem(header->options, header->options_bytes, option, sizeof(option) - 1) != NULL;
}

/*
 * Adds up the live samples.  A live block may have been allocated under the coarsest interval that
 * was in use, under one that is about to be, or while nothing was sampled.  The upper bound must
 * allow for blocks that went unsampled under any of them.
 */
static struct gg_tally tally_live(const struct gg_region_view *view)
{
	const struct gg_region_header *header = &view->header;
	struct gg_tally tally = { 0 };

	if (!counts_allocations(header)) {
		gg_tally_expose(&tally, (double)header->control.interval_bytes);
		gg_tally_expose(&tally, (double)header->counters[GG_COUNT_COARSEST_INTERVAL]);
	}
	if (gg_region_is_lacking(header))
		tally.incomplete = 1;
	for (uint32_t i = 0; i < view->live_count; i++) {
		struct gg_draw draw = gg_region_sample_draw(&view->live[i]);

		if (gg_draw_is_valid(&draw))
			gg_tally_add(&tally, &draw, view->live[i].size_bytes);
	}
	return tally;
}

static int read_status(struct region_status *shown, const char *path, struct gg_error *error)
{
	const struct gg_region_header *header = &shown->view.header;
	uint64_t now_ns = gg_clock_wall_ns();
	struct gg_tally tally;
	int status = gg_region_view_open(&shown->view, path, error);

	if (status < 0)
		return status;
	shown->path = path;
	shown->is_alive = header->end_monotonic_ns == 0 &&
	                  gg_process_alive(header->pid, header->process_start_ticks);
	/* The wall clock may have been set back since the process began. */
	if (now_ns > header->start_wall_ns)
		shown->age_seconds = (double)(now_ns - header->start_wall_ns) * 1e-9;
	shown->dropped_count = gg_region_dropped(header);
	tally = tally_live(&shown->view);
	shown->live = gg_figure_of(&tally, GG_BYTES, CONTROL_CONFIDENCE, false);
	return 0;
}

/* Appends the arguments with blanks between them.  Each ends in a 0 byte in the header. */
static void append_command(const struct gg_region_header *header, struct gg_buf *out)
{
	size_t length = header->command_bytes;

	while (length > 0 && header->command[length - 1] == '\0')
		length--;
	for (size_t begin = 0, end; begin < length; begin = end + 1) {
		end = begin + strnlen(header->command + begin, length - begin);
		gg_buf_append_text(out, begin > 0 ? " " : "");
		gg_printable_append(out, header->command + begin, end - begin, GG_PRINTABLE_ESCAPE);
	}
}

static void append_interval(const struct gg_region_header *header, struct gg_buf *out)
{
	char size[GG_SIZE_TEXT_MAX];
	uint64_t interval = header->control.interval_bytes;

	if (counts_allocations(header))
		gg_buf_printf(out, "%" PRIu64 " allocations", interval);
	else
		gg_buf_append_text(out, gg_size_format_short((double)interval, size));
}

/* The measured share of the program's own processor time; -1: nothing was measured. */
static double share_of(const struct gg_region_header *header, enum gg_region_counter counter)
{
	uint64_t program_ns = header->counters[GG_COUNT_PROGRAM_NS];

	return program_ns > 0 ? (double)header->counters[counter] / (double)program_ns : -1;
}

static void append_overhead(const struct gg_region_header *header, struct gg_buf *out)
{
	char asked[GG_PERCENT_TEXT_MAX];

	if (header->control.overhead_ppm == 0)
		return;
	gg_buf_printf(out, "\noverhead     %s asked for",
	              gg_percent_format(header->control.overhead_ppm, asked));
	if (header->counters[GG_COUNT_PROGRAM_NS] > 0)
		gg_buf_printf(out, "; samples %.2f %%, hooks %.2f %% so far",
		              100 * share_of(header, GG_COUNT_SAMPLING_NS),
		              100 * share_of(header, GG_COUNT_HOOKS_NS));
}

/* The mean rate of allocation since the region began; 0: unknown. */
static double allocated_per_second(const struct region_status *shown)
{
	double bytes = 0;

	for (uint32_t i = 0; i < shown->view.site_total_count; i++)
		if (shown->view.site_totals[i].is_inherited == 0)
			bytes += gg_fixed_value(shown->view.site_totals[i].allocated.bytes);
	return shown->age_seconds > 0 ? bytes / shown->age_seconds : 0;
}

/* Half the width of the confidence interval, as a share of the estimate; NAN: unknown. */
static double find_error(const struct gg_figure *figure)
{
	return figure->estimate > 0 ? (figure->high - figure->low) / 2 / figure->estimate : NAN;
}

/*
 * In how many seconds the error will be as asked for, at the mean rate of allocation so far.  The
 * intervals are at least as wide as by their variance, so the figure is a least one.
 */
static double find_seconds(const struct region_status *shown)
{
	const struct gg_region_control *control = &shown->view.header.control;
	double asked = control->error_ppm * 1.0 / GG_PPM;
	struct gg_tally tally = tally_live(&shown->view);
	struct gg_estimate estimate = gg_tally_estimate(&tally, GG_BYTES);

	if (find_error(&shown->live) <= asked)
		return 0;
	return gg_wanted_error_seconds(&estimate, (double)control->interval_bytes,
	                               allocated_per_second(shown), asked, CONTROL_CONFIDENCE);
}

static void append_error(const struct region_status *shown, struct gg_buf *out)
{
	uint32_t ppm = shown->view.header.control.error_ppm;
	double error = find_error(&shown->live), seconds;
	char asked[GG_PERCENT_TEXT_MAX];

	if (ppm == 0)
		return;
	gg_buf_printf(out, "\nerror        %s asked for; ", gg_percent_format(ppm, asked));
	if (!isfinite(error)) {
		gg_buf_append_text(out, shown->view.live_count > 0
		                                ? "the live samples have no known error"
		                                : "no sample is live yet");
		return;
	}
	seconds = find_seconds(shown);
	gg_buf_printf(out, "%.2g %% now", 100 * error);
	if (seconds > 0 && isfinite(seconds))
		gg_buf_printf(out, ", as asked in about %.2g s at the rate of allocation so far",
		              seconds);
	else if (seconds > 0)
		gg_buf_append_text(out, allocated_per_second(shown) > 0
		                                ? ", which the current interval does not reach"
		                                : ", until the program allocates again");
}

/* The member "error": shares of the live bytes. */
static void append_error_json(const struct region_status *shown, struct gg_json *json)
{
	uint32_t ppm = shown->view.header.control.error_ppm;
	double error = find_error(&shown->live);

	if (ppm == 0)
		return;
	gg_json_open(json, "error", '{');
	gg_json_number(json, "asked", ppm * 1.0 / GG_PPM);
	gg_json_number(json, "live_bytes", error); /* or null */
	gg_json_number(json, "seconds_left", isfinite(error) ? find_seconds(shown) : NAN);
	gg_json_close(json);
}

/* The member "overhead": shares of the program's own processor time. */
static void append_overhead_json(const struct gg_region_header *header, struct gg_json *json)
{
	if (header->control.overhead_ppm == 0)
		return;
	gg_json_open(json, "overhead", '{');
	gg_json_number(json, "asked", header->control.overhead_ppm * 1.0 / GG_PPM);
	if (header->counters[GG_COUNT_PROGRAM_NS] > 0) {
		gg_json_number(json, "samples", share_of(header, GG_COUNT_SAMPLING_NS));
		gg_json_number(json, "hooks", share_of(header, GG_COUNT_HOOKS_NS));
	}
	gg_json_integer(json, "interval_changes", header->counters[GG_COUNT_INTERVAL_CHANGES]);
	gg_json_close(json);
}

/*
 * Events count as lost only if a recorder reads them.  Without a recorder the ring fills and stays
 * full.
 */
static uint64_t lost_events(const struct gg_region_header *header)
{
	return header->ring_tail != 0 ? header->counters[GG_COUNT_DROP_EVENTS] : 0;
}

static void append_text(const struct region_status *shown, const struct gg_figure_style *how,
                        struct gg_buf *out)
{
	const struct gg_region_header *header = &shown->view.header;

	gg_buf_printf(out, "process      %" PRIu32 ", %s\ncommand      ", header->pid,
	              shown->is_alive ? "alive" : "dead");
	append_command(header, out);
	gg_buf_printf(out, "\nregion       %s\nage          %.1f s\nsampling     %s, interval ",
	              GG_PRINTABLE(shown->path), shown->age_seconds,
	              header->control.active != 0 ? "on" : "off");
	append_interval(header, out);
	append_overhead(header, out);
	append_error(shown, out);
	gg_buf_printf(out, "\nsamples      %" PRIu64 " taken, %" PRIu32 " live\nlive         ",
	              header->counters[GG_COUNT_SAMPLES], shown->view.live_count);
	gg_figure_append(how, &shown->live, out);
	gg_buf_append_text(out, "\n");
	if (shown->dropped_count > 0)
		gg_buf_printf(out, "dropped      %" PRIu64 " sample%s or frees found no place\n",
		              shown->dropped_count, shown->dropped_count == 1 ? "" : "s");
	if (lost_events(header) > 0)
		gg_buf_printf(out, "lost         %" PRIu64 " event%s of the history\n",
		              lost_events(header), lost_events(header) == 1 ? "" : "s");
	if (shown->view.damaged_count > 0)
		gg_buf_printf(out, "damaged      %" PRIu64 " record%s left out\n",
		              (uint64_t)shown->view.damaged_count,
		              shown->view.damaged_count == 1 ? "" : "s");
}

static void append_json(const struct region_status *shown, struct gg_buf *out)
{
	const struct gg_region_header *header = &shown->view.header;
	GG_CLEANUP(gg_buf_done) struct gg_buf command = { 0 };
	struct gg_json json = { .out = out };

	append_command(header, &command);
	out->failed |= command.failed;
	gg_json_open(&json, NULL, '{');
	gg_json_integer(&json, "version", 1);
	gg_json_integer(&json, "pid", header->pid);
	gg_json_bool(&json, "alive", shown->is_alive);
	gg_json_text(&json, "command", gg_buf_text(&command));
	gg_json_text(&json, "region", shown->path);
	gg_json_number(&json, "age_seconds", shown->age_seconds);
	gg_json_bool(&json, "sampling", header->control.active != 0);
	gg_json_integer(&json,
	                counts_allocations(header) ? "interval_allocations" : "interval_bytes",
	                header->control.interval_bytes);
	append_overhead_json(header, &json);
	append_error_json(shown, &json);
	gg_json_integer(&json, "samples", header->counters[GG_COUNT_SAMPLES]);
	gg_json_integer(&json, "live_samples", shown->view.live_count);
	gg_json_number(&json, "confidence", CONTROL_CONFIDENCE);
	gg_json_open(&json, "live_bytes", '{');
	gg_json_number(&json, "estimate", shown->live.estimate);
	gg_json_number(&json, "low", shown->live.low);
	gg_json_number(&json, "high", shown->live.high);
	gg_json_close(&json);
	gg_json_integer(&json, "dropped", shown->dropped_count);
	gg_json_integer(&json, "lost_events", lost_events(header));
	gg_json_integer(&json, "damaged", shown->view.damaged_count);
	gg_json_bool(&json, "torn", shown->view.torn);
	gg_json_close(&json);
	gg_buf_append_text(out, "\n");
}

static int print_status(struct gg_invocation *invocation, const char *path)
{
	const struct control_options *given = invocation->options;
	GG_CLEANUP(gg_buf_done) struct gg_buf out = { 0 };
	const struct gg_figure_style how = { .ascii = !gg_screen_text_is_utf8() };
	struct region_status shown = { 0 };
	int status = read_status(&shown, path, invocation->error);

	if (status < 0)
		return status;
	if (given->json)
		append_json(&shown, &out);
	else
		append_text(&shown, &how, &out);
	gg_region_view_done(&shown.view);
	if (out.failed)
		return gg_error_memory(invocation->error, "control");
	fwrite(out.data, 1, out.length, stdout);
	return 0;
}

/* --- changes --- */

static void tell_change(const struct gg_region_header *header,
                        const struct gg_region_change *change)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	/*
	 * append_interval() formats the interval of a header, so a copy gets the requested
	 * interval.
	 */
	struct gg_region_header asked = *header;
	char share[GG_PERCENT_TEXT_MAX];

	if (change->interval_bytes != 0) {
		asked.control.interval_bytes = change->interval_bytes;
		gg_buf_append_text(&text, "a sampling interval of ");
		append_interval(&asked, &text);
	} else if (change->overhead_ppm != 0) {
		gg_buf_printf(&text, "an overhead of %s",
		              gg_percent_format(change->overhead_ppm, share));
	} else if (change->error_ppm != 0) {
		gg_buf_printf(&text, "an error of %s for live bytes",
		              gg_percent_format(change->error_ppm, share));
	} else {
		gg_buf_printf(&text, "sampling %s", change->active ? "on" : "off");
	}
	fprintf(stderr,
	        "geiger: asked process %" PRIu32 " for %s; each thread follows when it looks next, "
	        "after %s of allocations at the latest\n",
	        header->pid, gg_buf_text(&text), header->control.active != 0 ? "8 MiB" : "1 MiB");
}

/* The agent ignores an overhead or an error under schemes that cannot follow it. */
static int check_scheme(const char *path, const struct gg_region_change *change,
                        struct gg_error *error)
{
	static const char option[] = "GEIGER_SCHEME=optimal";
	struct gg_region_view view;
	int status;

	if (change->overhead_ppm == 0 && change->error_ppm == 0)
		return 0;
	status = gg_region_view_open(&view, path, error);
	if (status < 0)
		return status;
	if (counts_allocations(&view.header) ||
	    memmem(view.header.options, view.header.options_bytes, option, sizeof(option) - 1) !=
	            NULL)
		status = gg_error_set(error, -EINVAL, change->error_ppm != 0 ? "error" : "overhead",
		                      NULL,
		                      "the schemes optimal and per-allocation cannot follow it");
	gg_region_view_done(&view);
	return status;
}

static int change_region(struct gg_invocation *invocation, const char *path,
                         const struct gg_region_change *change)
{
	const struct control_options *given = invocation->options;
	struct gg_region_header header;
	int status = check_scheme(path, change, invocation->error);

	if (status == 0)
		status = gg_change_region(path, change, &header, invocation->error);

	if (status == 0 && !given->quiet)
		tell_change(&header, change);
	return status;
}

static int take_snapshot(struct gg_invocation *invocation, char *path, const char *output)
{
	const struct control_options *given = invocation->options;
	struct gg_salvage salvage;
	struct gg_progress_line line;
	int status;

	if (given->quiet)
		gg_progress_line_forbid();
	gg_progress_line_init(&line);
	status = gg_region_profile_salvage(&path, 1, output, &line.progress, &salvage,
	                                   invocation->error);
	gg_progress_line_end(&line);
	if (status == 0 && !given->quiet && salvage.why[0] != '\0')
		fprintf(stderr, "geiger: wrote %s: nothing was sampled: %s\n", GG_PRINTABLE(output),
		        GG_PRINTABLE(salvage.why));
	else if (status == 0 && !given->quiet)
		fprintf(stderr,
		        "geiger: wrote %s: %" PRIu64 " live sample%s, and what was freed as sums\n",
		        GG_PRINTABLE(output), salvage.sample_count,
		        salvage.sample_count == 1 ? "" : "s");
	return status == -EINVAL ? -EBADMSG
	                         : status; /* the error is in a file, not in the request */
}

/* --- the request --- */

enum verb {
	VERB_ON,
	VERB_OFF,
	VERB_INTERVAL,
	VERB_OVERHEAD,
	VERB_ERROR,
	VERB_SNAPSHOT,
	VERB_STATUS
};

static const struct {
	const char *name, *operand;
} verbs[] = {
	[VERB_ON] = { "on", NULL },
	[VERB_OFF] = { "off", NULL },
	[VERB_INTERVAL] = { "interval", "a size, such as 64KiB" },
	[VERB_OVERHEAD] = { "overhead", "a share of processor time, such as 0.5%" },
	[VERB_ERROR] = { "error", "an error of live bytes, such as 5%" },
	[VERB_SNAPSHOT] = { "snapshot", "the file to write" },
	[VERB_STATUS] = { "status", NULL },
};

/* Returns the verb with this name, or GG_COUNT(verbs) for any other name. */
static size_t find_verb(const char *name)
{
	size_t verb = 0;

	while (verb < GG_COUNT(verbs) && strcmp(name, verbs[verb].name) != 0)
		verb++;
	return verb;
}

static int read_request(struct gg_invocation *invocation, enum verb *ret_verb,
                        struct gg_region_change *change)
{
	struct gg_error *error = invocation->error;
	char **operands = invocation->operands;
	size_t verb;
	char place[64];
	int wanted;

	if (invocation->operand_count < 2)
		return gg_error_set(error, -EINVAL, "control",
		                    "geiger control PID on|off|interval SIZE|overhead PERCENT|"
		                    "error PERCENT|snapshot FILE|status",
		                    "tell which process, and what to do");
	verb = find_verb(operands[1]);
	/* The two words are probably in the wrong order. */
	if (verb == GG_COUNT(verbs) && find_verb(operands[0]) < GG_COUNT(verbs))
		return gg_error_set(error, -EINVAL, "control", NULL,
		                    "the process comes first: geiger control %s %s", operands[1],
		                    operands[0]);
	if (verb == GG_COUNT(verbs))
		return gg_error_set(
			error, -EINVAL, "control",
			"There are: on, off, interval, overhead, error, snapshot, status.",
			"nothing called '%s' can be done", operands[1]);
	wanted = verbs[verb].operand != NULL ? 3 : 2;
	snprintf(place, sizeof(place), "control: %s", verbs[verb].name);
	if (invocation->operand_count < wanted)
		return gg_error_set(error, -EINVAL, place, NULL, "tell also %s",
		                    verbs[verb].operand);
	if (invocation->operand_count > wanted)
		return gg_error_set(error, -EINVAL, place, NULL, "'%s' is one word too many",
		                    operands[wanted]);
	*ret_verb = (enum verb)verb;
	/*
	 * An interval_bytes of 0 leaves the interval as it is, so `on` and `off` change only
	 * `active`.
	 */
	change->set_active = verb == VERB_ON || verb == VERB_OFF;
	change->active = verb == VERB_ON;
	if (verb == VERB_INTERVAL &&
	    (gg_size_parse(operands[2], &change->interval_bytes) < 0 ||
	     change->interval_bytes == 0 || change->interval_bytes > GG_REGION_INTERVAL_MAX))
		return gg_error_set(error, -EINVAL, place, GG_SIZE_ADVICE,
		                    "'%s' is not a size from 1 to 256TiB", operands[2]);
	if (verb == VERB_OVERHEAD)
		return gg_cli_parse_overhead(operands[2], place, &change->overhead_ppm, error);
	if (verb == VERB_ERROR)
		return gg_cli_parse_error(operands[2], place, &change->error_ppm, error);
	return 0;
}

static int run_control(struct gg_invocation *invocation)
{
	struct gg_region_change change = { 0 };
	enum verb verb = VERB_STATUS;
	char *path = NULL;
	int status = read_request(invocation, &verb, &change);

	if (status == 0)
		status = gg_find_region(&path, invocation->operands[0], invocation->error);
	if (status < 0)
		return status;
	if (verb == VERB_STATUS)
		status = print_status(invocation, path);
	else if (verb == VERB_SNAPSHOT)
		status = take_snapshot(invocation, path, invocation->operands[2]);
	else
		status = change_region(invocation, path, &change);
	free(path);
	return status;
}

const struct gg_command gg_command_control = {
	.name = "control",
	.summary = "look at a profiled process, or change its sampling, as it runs",
	.usage = "PID on|off|status|interval N|overhead N|error N|snapshot F",
	.details =
		"For every process that has a region: under 'geiger record', or with the agent\n"
		"alone ('geiger env'), wherever its region is; or the region's path instead of\n"
		"PID.\n"
		"\n"
		"on, off        sampling begins again, or pauses; what was sampled stays\n"
		"interval SIZE  another sampling interval; what was sampled before keeps its own\n"
		"overhead PERCENT\n"
		"               chooses the interval from now on so that sampling takes this\n"
		"               share of the program's processor time; 'interval' ends that\n"
		"error PERCENT  chooses the interval from now on so that the confidence interval\n"
		"               of live bytes is at most so wide to each side; likewise\n"
		"snapshot FILE  writes a profile of its state now; the process goes on\n"
		"status         tells its settings, and what it holds\n"
		"\n"
		"A thread looks for new settings when its sampler is due, after 8 MiB of\n"
		"allocations at the latest, or 1 MiB while sampling is off. A recorder that\n"
		"follows the process notes the change as an event of the profile.\n",
	.options = control_option_table,
	.options_size = sizeof(struct control_options),
	.max_operands = 3,
	.run = run_control,
	.variables = GG_READS_DIRECTORIES | GG_READS_PROFILE,
};
