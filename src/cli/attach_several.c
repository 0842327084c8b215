/* SPDX-License-Identifier: Apache-2.0 */
/* attach_several - searches, attaches, and collects the results (cli/attach_several.h). */
#include "cli/attach_several.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "attach/process_search.h"
#include "cli/attach_result.h"
#include "cli/survey_text.h"

/* Searches after the first one find processes that began meanwhile. */
enum { SEARCHES = 4 };

/* The processes of a name or of a control group, one after the other. */
struct attach_group {
	const struct gg_attach_options *given;
	const char *agent;
	struct gg_process_search found;
	struct gg_json json;
	struct gg_buf out;
	uint32_t tried_count, failed_count;
};

static int search(struct attach_group *group, struct gg_error *error)
{
	const struct gg_attach_options *given = group->given;

	group->found.hidden_count = 0;
	return given->all != NULL ? gg_process_search_name(&group->found, given->all, error)
	                          : gg_process_search_group(&group->found, given->group, error);
}

/* Adds a process that was attached to. */
static void add_success(struct attach_group *group, const struct gg_attach_run *run)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf line = { 0 };

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

static int attach_living(struct attach_group *group, struct gg_attach_run *run,
                         struct gg_error *why)
{
	int status;

	group->tried_count++;
	if (group->given->dry_run) {
		add_survey(group, run->survey);
		return 0;
	}
	status = gg_survey_refuse(run->survey, why);
	if (status == 0)
		status = gg_attach_run_alone(run, why);
	if (status == 0)
		add_success(group, run);
	else if (status == -ESRCH)
		group->tried_count--; /* it has ended meanwhile */
	else
		add_failure(group, run->survey, why);
	return status;
}

/* Attaches to one of them.  Returns 0 also if that fails; a status that is not 0 ends the work. */
static int attach_member(struct attach_group *group, pid_t pid, struct gg_error *error)
{
	struct gg_survey survey;
	struct gg_attach_run run = { .survey = &survey,
		                     .given = group->given,
		                     .agent = group->agent };
	struct gg_error why = { 0 };
	int status = gg_survey_read(&survey, pid, &why);

	if (status < 0)
		return 0; /* it has ended */
	if (survey.facts.state != 'Z' && survey.facts.state != 'X')
		status = attach_living(group, &run, &why);
	gg_survey_done(&survey);
	if (status != -ECANCELED)
		return 0;
	if (error != NULL)
		*error = why;
	return status;
}

static int attach_members(struct attach_group *group, struct gg_error *error)
{
	size_t done = 0;
	int status = search(group, error);

	for (int i = 0; status == 0 && i < SEARCHES && done < group->found.pids.count; i++) {
		while (status == 0 && done < group->found.pids.count)
			status = attach_member(group, group->found.pids.items[done++], error);
		if (status == 0)
			status = search(group, error);
	}
	return status;
}

/* Judges all of it when each process has its result. */
static int judge_group(const struct attach_group *group, struct gg_error *error)
{
	const char *place = group->given->all != NULL ? group->given->all : group->given->group;

	if (group->found.hidden_count > 0)
		return gg_error_set(error, -EPERM, place, "Run geiger on the host.",
		                    "%" PRIu32 " processes of it are not visible here",
		                    group->found.hidden_count);
	if (group->tried_count == 0)
		return gg_error_set(error, -ESRCH, place, NULL, "there is no such process");
	if (group->failed_count > 0)
		return gg_error_set(error, -EPERM, place, NULL,
		                    "%" PRIu32 " of %" PRIu32 " processes cannot be attached to",
		                    group->failed_count, group->tried_count);
	return 0;
}

int gg_attach_several(const char *agent, const struct gg_attach_options *given,
                      struct gg_error *error)
{
	struct attach_group group = { .given = given, .agent = agent };
	int status;

	group.json.out = &group.out;
	gg_attach_result_begin(&group.json);
	gg_json_open(&group.json, "processes", '[');
	status = attach_members(&group, error);
	gg_json_close(&group.json);
	if (status == 0 && given->json)
		status = gg_attach_result_print(&group.json, error);
	if (status == 0)
		status = judge_group(&group, error);
	gg_process_search_done(&group.found);
	gg_buf_done(&group.out);
	return status;
}
