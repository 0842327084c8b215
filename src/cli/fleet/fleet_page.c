/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/fleet/fleet_page.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"

enum { VIEW_OPERANDS_MAX = 3, OWN_OPTIONS_COUNT = 4, VIEW_OPTIONS_MAX = 32 };

/* A view of the page: the command that it shows, and the parameters of its question. */
struct page_view {
	const char *name;
	const struct gg_command *command;
	const char *operands[VIEW_OPERANDS_MAX]; /* in the order of the command line */
	const char *options[VIEW_OPTIONS_MAX];
};

#define SCOPE  "host", "label"
#define TIMES  "at", "since", "until", "slot"
#define STACKS "focus", "ignore"
#define FRAMES "mine", "module", "hide", "all-frames", "native", "only-python", "full-names"

static const struct page_view views[] = {
	{ "services", &gg_command_fleet_services, { NULL }, { "since", "until" } },
	{ "report",
	  &gg_command_fleet_report,
	  { "service" },
	  { "metric", "unit", "by", "by-label", "total", "version", SCOPE, TIMES, STACKS, "limit",
	    FRAMES, "confidence" } },
	{ "tree",
	  &gg_command_fleet_tree,
	  { "service" },
	  { "inverted", "fold", "metric", "unit", "version", SCOPE, TIMES, STACKS, FRAMES,
	    "confidence" } },
	{ "diff",
	  &gg_command_fleet_diff,
	  { "service", "before", "after" },
	  { "before-at", "before-since", "before-until", "metric", "unit", "by", "total", SCOPE,
	    TIMES, STACKS, "all", "rate", "limit", FRAMES, "confidence" } },
	{ "hosts",
	  &gg_command_fleet_hosts,
	  { "service" },
	  { "metric", "unit", "version", SCOPE, TIMES, STACKS, "rate", "confidence" } },
	{ "timeline",
	  &gg_command_fleet_timeline,
	  { "service" },
	  { "version", SCOPE, "since", "until", "slot", "confidence" } },
};

static const struct page_view *find_view(const char *name)
{
	for (size_t i = 0; i < GG_COUNT(views); i++)
		if (strcmp(views[i].name, name) == 0)
			return &views[i];
	return NULL;
}

/* The place of a name in a list that ends in NULL or after `most`; -1: it is not there. */
static int place_in(const char *const *list, size_t most, const char *name)
{
	for (size_t i = 0; i < most && list[i] != NULL; i++)
		if (strcmp(list[i], name) == 0)
			return (int)i;
	return -1;
}

static const struct gg_option *find_option(const struct gg_command *command, const char *name)
{
	struct gg_option_walk walk;

	for (gg_option_walk_begin(&walk, command->options); walk.option != NULL;
	     gg_option_walk_next(&walk))
		if (strcmp(walk.option->name, name) == 0)
			return walk.option;
	return NULL;
}

/* A command line.  The parser of options changes its words, so they are copies. */
struct command_line {
	char *operands[VIEW_OPERANDS_MAX]; /* NULL: not given */
	char **options;
	int option_count;
};

static void line_done(struct command_line *line)
{
	for (int i = 0; i < VIEW_OPERANDS_MAX; i++)
		free(line->operands[i]);
	for (int i = 0; i < line->option_count; i++)
		free(line->options[i]);
	free(line->options);
}

/* Adds "--name=value", or "--name" if the value is NULL.  A value may begin with any character. */
static int add_option(struct command_line *line, const char *name, const char *value,
                      struct gg_error *error)
{
	char *word;

	if (asprintf(&word, "--%s%s%s", name, value != NULL ? "=" : "",
	             value != NULL ? value : "") < 0)
		return gg_error_memory(error, "fleet");
	line->options[line->option_count++] = word;
	return 0;
}

static int refuse(const struct page_view *view, const struct gg_serve_parameter *parameter,
                  const char *advice, const char *why, struct gg_error *error)
{
	gg_error_set(error, -EINVAL, NULL, advice, "%s", why);
	gg_error_set_place(error, "%s: %s", view->name, parameter->name);
	return -EINVAL;
}

static int add_parameter(struct command_line *line, const struct page_view *view,
                         const struct gg_serve_parameter *parameters, size_t index,
                         struct gg_error *error)
{
	const struct gg_serve_parameter *parameter = &parameters[index];
	const struct gg_option *option;
	int operand = place_in(view->operands, VIEW_OPERANDS_MAX, parameter->name);

	if (operand < 0 && place_in(view->options, VIEW_OPTIONS_MAX, parameter->name) < 0)
		return refuse(view, parameter, "docs/reference/HTTP_API.md lists what is known.",
		              "the view has no such parameter", error);
	option = operand < 0 ? find_option(view->command, parameter->name) : NULL;
	gg_assert(operand >= 0 || option != NULL);
	for (size_t i = 0; i < index; i++)
		if (strcmp(parameters[i].name, parameter->name) == 0 &&
		    (option == NULL || option->kind != GG_OPTION_PAIRS))
			return refuse(view, parameter, NULL, "it is given twice", error);
	if (operand >= 0) {
		line->operands[operand] = strdup(parameter->value);
		return line->operands[operand] != NULL ? 0 : gg_error_memory(error, "fleet");
	}
	if (option->kind != GG_OPTION_FLAG)
		return add_option(line, parameter->name, parameter->value, error);
	if (strcmp(parameter->value, "1") != 0)
		return refuse(view, parameter, "Give 1, or leave it out.", "it has no such value",
		              error);
	return add_option(line, parameter->name, NULL, error);
}

/* Counts the operands.  -EINVAL: one is missing before another one. */
static int count_operands(const struct page_view *view, const struct command_line *line,
                          struct gg_error *error)
{
	int count = 0;

	for (int i = 0; i < VIEW_OPERANDS_MAX; i++) {
		if (line->operands[i] == NULL)
			continue;
		if (count++ < i)
			return gg_error_set(error, -EINVAL, view->name, NULL,
			                    "needs the parameter '%s'", view->operands[count - 1]);
	}
	return count;
}

static int answer_line(const struct page_view *view, struct command_line *line, struct gg_buf *out,
                       struct gg_error *error)
{
	const struct gg_command *command = view->command;
	struct gg_common_options common = { 0 };
	struct gg_invocation invocation = { .operands = line->operands,
		                            .options = calloc(1, command->options_size),
		                            .error = error };
	int status = 0;

	if (invocation.options == NULL)
		return gg_error_memory(error, "fleet");
	status = invocation.operand_count = count_operands(view, line, error);
	if (status >= 0)
		status = gg_command_parse(command, line->option_count, line->options,
		                          invocation.options, &common, error);
	if (status >= 0)
		status = command->answer(&invocation, out);
	free(invocation.options);
	return status;
}

/* Adds what the server says, and no request can: the form, the store, and the confidence. */
static int add_own(struct command_line *line, const struct page_view *view,
                   const struct gg_fleet_page *page, const struct gg_serve_parameter *parameters,
                   size_t count, struct gg_error *error)
{
	bool has_confidence = place_in(view->options, VIEW_OPTIONS_MAX, "confidence") < 0;
	char confidence[32];
	int status = add_option(line, "json", NULL, error);

	if (status == 0)
		status = add_option(line, "store", page->place.store, error);
	if (status == 0 && page->place.tenant != NULL)
		status = add_option(line, "tenant", page->place.tenant, error);
	for (size_t i = 0; i < count; i++)
		has_confidence |= strcmp(parameters[i].name, "confidence") == 0;
	if (status < 0 || has_confidence)
		return status;
	snprintf(confidence, sizeof(confidence), "%.17g", page->confidence);
	return add_option(line, "confidence", confidence, error);
}

int gg_cli_fleet_page_answer(const char *name, const struct gg_serve_parameter *parameters,
                             size_t count, void *context, struct gg_buf *out,
                             struct gg_error *error)
{
	const struct gg_fleet_page *page = context;
	const struct page_view *view = find_view(name);
	GG_CLEANUP(line_done) struct command_line line = { 0 };
	int status;

	if (view == NULL)
		return gg_error_set(error, -ENOENT, "fleet",
		                    "docs/reference/HTTP_API.md lists them.",
		                    "there is no view '%s'", name);
	line.options = calloc(count + OWN_OPTIONS_COUNT, sizeof(*line.options));
	if (line.options == NULL)
		return gg_error_memory(error, "fleet");
	status = add_own(&line, view, page, parameters, count, error);
	for (size_t i = 0; i < count && status == 0; i++)
		status = add_parameter(&line, view, parameters, i, error);
	return status < 0 ? status : answer_line(view, &line, out, error);
}
