/* SPDX-License-Identifier: Apache-2.0 */
/* attach_several - searches, attaches, and collects the results (cli/attach_several.h). */
#include "cli/attach_several.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "attach/process_search.h"
#include "cli/attach_result.h"
#include "cli/survey_text.h"
#include "record/regions/process_alive.h"

enum {
	SEARCHES = 16,   /* those after the first one find processes that began meanwhile */
	MEMBER_TRIES = 3 /* for a process that executes programs meanwhile */
};

/* The processes of a name or of a control group, one after the other. */
struct attach_group {
	const struct gg_attach_options *given;
	const char *agent;
	struct gg_process_search found;
	struct gg_json json;
	struct gg_buf out;
	size_t done_count; /* of the processes that were found */
	uint32_t result_count, failed_count;
};

static int search(struct attach_group *group, struct gg_error *error)
{
	const struct gg_attach_options *given = group->given;

	return given->all != NULL ? gg_process_search_name(&group->found, given->all, error)
	                          : gg_process_search_group(&group->found, given->group, error);
}

/* Adds a process that was attached to. */
static void add_success(struct attach_group *group, struct gg_attach_run *run)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf line = { 0 };

	gg_attach_result_await_java(run->survey, &run->attachment);
	group->result_count++;
	if (group->given->json) {
		gg_json_open(&group->json, NULL, '{');
		gg_json_bool(&group->json, "attached", true);
		gg_attach_result_append_json(run->survey, &run->attachment, &group->json);
		gg_json_close(&group->json);
	} else if (!group->given->quiet) {
		gg_attach_result_append_line(run->survey, &run->attachment, &line);
		fputs(gg_buf_text(&line), stderr);
	}
}

/* Adds a process that was not attached to.  An agent that is there already is no failure. */
static void add_failure(struct attach_group *group, const struct gg_survey *survey,
                        struct gg_error *why)
{
	bool is_profiled = survey->agent == GG_SURVEY_AGENT_RECORDING;
	char line[GG_ERROR_LINE_MAX];

	group->result_count++;
	group->failed_count += !is_profiled;
	if (group->given->json) {
		gg_json_open(&group->json, NULL, '{');
		gg_json_bool(&group->json, "attached", false);
		gg_json_integer(&group->json, "pid", (uint64_t)survey->facts.pid);
		gg_json_bool(&group->json, "profiled", is_profiled);
		gg_json_text(&group->json, "code",
		             survey->obstacle_count > 0 ? survey->obstacles[0].code : NULL);
		gg_json_text(&group->json, "reason",
		             survey->obstacle_count > 0 ? survey->obstacles[0].reason
		                                        : why->message);
		gg_json_text(&group->json, "advice", why->advice[0] != '\0' ? why->advice : NULL);
		gg_json_close(&group->json);
	} else if (!group->given->quiet || !is_profiled) {
		gg_error_set_place(why, "%d (%s)", (int)survey->facts.pid, survey->facts.name);
		gg_error_format(why, line, sizeof(line));
		fprintf(stderr, "geiger: %s\n", line);
	}
}

static void add_survey(struct attach_group *group, const struct gg_survey *survey)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	group->result_count++;
	group->failed_count += survey->obstacle_count > 0 &&
	                       survey->agent != GG_SURVEY_AGENT_RECORDING;
	if (group->given->json) {
		gg_json_open(&group->json, NULL, '{');
		gg_survey_text_append_json(survey, &group->json);
		gg_json_close(&group->json);
		return;
	}
	gg_survey_text_append(survey, &text);
	printf("%s\n", gg_buf_text(&text));
}

static int attach_surveyed(struct attach_group *group, struct gg_attach_run *run,
                           struct gg_error *why)
{
	int status;

	if (group->given->dry_run) {
		add_survey(group, run->survey);
		return 0;
	}
	status = gg_survey_refuse(run->survey, why);
	if (status == 0)
		status = gg_attach_run_alone(run, why);
	if (status == 0)
		add_success(group, run);
	return status;
}

/* True if the process lives, and is still one of those that the command means. */
static bool is_member(const struct attach_group *group, const struct gg_found_process *found)
{
	return gg_process_alive((uint32_t)found->pid, found->start_ticks) &&
	       (group->given->all == NULL ||
	        gg_process_search_is_named(found->pid, group->given->all));
}

/* Surveys it and attaches.  After -ESRCH the process may execute another program: no result yet. */
static int try_member(struct attach_group *group, pid_t pid, bool is_last, struct gg_error *why)
{
	struct gg_survey survey;
	struct gg_attach_run run = { .survey = &survey,
		                     .given = group->given,
		                     .agent = group->agent };
	int status = gg_survey_read(&survey, pid, why);

	if (status < 0)
		return status;
	status = attach_surveyed(group, &run, why);
	if (status < 0 && status != -ECANCELED && (status != -ESRCH || is_last))
		add_failure(group, &survey, why);
	gg_survey_done(&survey);
	return status;
}

/* Attaches to one of them.  Returns a status that is not 0 only if it ends the work. */
static int attach_member(struct attach_group *group, const struct gg_found_process *found,
                         struct gg_error *error)
{
	struct gg_error why = { 0 };
	int status = -ESRCH;

	for (int i = 1; status == -ESRCH && i <= MEMBER_TRIES && is_member(group, found); i++)
		status = try_member(group, found->pid, i == MEMBER_TRIES, &why);
	if (status != -ECANCELED)
		return 0;
	if (error != NULL)
		*error = why;
	return status;
}

/* True if a signal wants to end the command.  All of them are blocked meanwhile. */
static bool is_interrupted(const sigset_t *ending)
{
	sigset_t pending;

	sigpending(&pending);
	sigandset(&pending, &pending, ending);
	return !sigisemptyset(&pending);
}

/* Ends early, with processes left, if an error ends the work or new processes begin on and on. */
static int attach_members(struct attach_group *group, const sigset_t *ending,
                          struct gg_error *error)
{
	int status = search(group, error);

	for (int i = 0; status == 0 && i < SEARCHES && group->done_count < group->found.list.count;
	     i++) {
		while (status == 0 && group->done_count < group->found.list.count) {
			struct gg_found_process found = group->found.list.items[group->done_count];

			status = is_interrupted(ending) ? gg_error_set(error, -ECANCELED, "attach",
			                                               NULL, "interrupted")
			                                : attach_member(group, &found, error);
			group->done_count += status == 0;
		}
		if (status == 0)
			status = search(group, error);
	}
	return status;
}

/* Judges what could not be found out about the group. */
static int judge_search(const struct attach_group *group, const char *place, struct gg_error *error)
{
	const struct gg_process_search *found = &group->found;
	size_t left_count = found->list.count - group->done_count;

	if (found->hidden_count > 0)
		return gg_error_set(error, -EPERM, place, "Run geiger on the host.",
		                    "%" PRIu32 " processes of it are not visible here",
		                    found->hidden_count);
	if (found->unreadable_count > 0)
		return gg_error_set(error, -EPERM, place,
		                    found->unreadable_errno == EOPNOTSUPP
		                            ? "Name the group above those of threads."
		                            : "Run geiger as root.",
		                    "the processes of %" PRIu32
		                    " control groups cannot be read: %s",
		                    found->unreadable_count, strerror(found->unreadable_errno));
	if (left_count > 0)
		return gg_error_set(error, -EAGAIN, place, "Attach again.",
		                    "%zu processes began meanwhile, and were not tried",
		                    left_count);
	return 0;
}

/* Judges all of it when each process has its result. */
static int judge_group(const struct attach_group *group, struct gg_error *error)
{
	const char *place = group->given->all != NULL ? group->given->all : group->given->group;
	int status = judge_search(group, place, error);

	if (status < 0)
		return status;
	if (group->result_count == 0)
		return gg_error_set(error, -ESRCH, place, NULL, "there is no such process");
	if (group->failed_count > 0)
		return gg_error_set(error, -EPERM, place, NULL,
		                    "%" PRIu32 " of %" PRIu32 " processes cannot be attached to",
		                    group->failed_count, group->result_count);
	return 0;
}

/* Prints the results there are, also after Ctrl-C. */
static int print_json(struct attach_group *group, struct gg_error *error)
{
	const struct gg_process_search *found = &group->found;
	size_t left_count = found->list.count - group->done_count;

	gg_json_close(&group->json);
	gg_json_bool(&group->json, "complete",
	             left_count + found->hidden_count + found->unreadable_count == 0);
	gg_json_integer(&group->json, "not_tried", left_count);
	return gg_attach_result_print(&group->json, error);
}

/* Attaches, judges, and prints. */
static int work(struct attach_group *group, const sigset_t *ending, struct gg_error *error)
{
	int status = attach_members(group, ending, error), printed = 0;

	if (status == 0)
		status = judge_group(group, error);
	if (group->given->json && (status == 0 || group->result_count > 0))
		printed = print_json(group, status == 0 ? error : NULL);
	return status < 0 ? status : printed;
}

int gg_attach_several(const char *agent, const struct gg_attach_options *given,
                      struct gg_error *error)
{
	struct attach_group group = { .given = given, .agent = agent };
	sigset_t ending, before;
	int status;

	sigemptyset(&ending);
	sigaddset(&ending, SIGINT);
	sigaddset(&ending, SIGTERM);
	sigaddset(&ending, SIGHUP);
	sigprocmask(SIG_BLOCK, &ending, &before);
	group.json.out = &group.out;
	gg_attach_result_begin(&group.json);
	gg_json_open(&group.json, "processes", '[');
	status = work(&group, &ending, error);
	gg_process_search_done(&group.found);
	gg_buf_done(&group.out);
	/* A signal that is pending ends the command here, with its results printed. */
	sigprocmask(SIG_SETMASK, &before, NULL);
	return status;
}
