/* SPDX-License-Identifier: Apache-2.0 */
/* attach_run - turns options into a request to the agent (cli/attach_run.h). */
#include "cli/attach_run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "cli/attach_leave.h"
#include "record/regions/process_root.h"

static bool is_of(const char *text, const char *variable)
{
	size_t length = strlen(variable);

	return strncmp(text, variable, length) == 0 && text[length] == '=';
}

static int add_option(struct gg_attach_request *request, size_t *used, const char *text,
                      struct gg_error *error)
{
	size_t length = strlen(text);

	if (strchr(text, '\n') != NULL || *used + length + 2 > sizeof(request->options))
		return gg_error_set(error, -EINVAL, "attach", NULL,
		                    "a setting is too long, or has two lines");
	memcpy(request->options + *used, text, length);
	*used += length;
	request->options[(*used)++] = '\n';
	return 0;
}

/* The adapter that the user's environment names, which the process does not have. */
static int add_own_python(struct gg_attach_request *request, size_t *used, struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	const char *own = getenv("GEIGER_PYTHON");

	if (own == NULL)
		return 0;
	gg_buf_printf(&text, "GEIGER_PYTHON=%s", own);
	return text.failed ? gg_error_memory(error, "attach")
	                   : add_option(request, used, gg_buf_text(&text), error);
}

int gg_attach_run_fill(struct gg_attach_request *request,
                       const struct gg_launch_environment *settings, bool without_python,
                       struct gg_error *error)
{
	const char *text = NULL;
	size_t used = 0;
	int status = without_python ? 0 : add_own_python(request, &used, error);

	while (status == 0 && (text = gg_launch_environment_next(settings, text)) != NULL) {
		if (is_of(text, "LD_PRELOAD") || (without_python && is_of(text, "GEIGER_PYTHON")))
			continue;
		if (is_of(text, "GEIGER_DIR")) {
			text += strlen("GEIGER_DIR=");
			if (strlen(text) >= sizeof(request->directory))
				return gg_error_set(error, -EINVAL, text, NULL,
				                    "the directory's name is too long");
			memcpy(request->directory, text, strlen(text) + 1);
			continue;
		}
		status = add_option(request, &used, text, error);
	}
	return status;
}

int gg_attach_run_enter(struct gg_attach_run *run, const struct gg_launch_environment *settings,
                        struct gg_error *error)
{
	struct gg_attachment_options options = { .agent = run->agent };
	int status = gg_attach_run_fill(&options.request, settings,
	                                run->given->only == GG_ATTACH_NATIVE, error);

	memcpy(run->directory, options.request.directory, sizeof(run->directory));
	if (status < 0)
		return status;
	status = gg_attachment_run(&run->attachment, run->survey, &options, error);
	if (status < 0 && status != -ESRCH && run->attachment.is_lost)
		gg_attach_leave_late(run->survey->facts.pid, error);
	return status;
}

/*
 * Returns the directory of the region as the process calls it; NULL: the agent chooses.  GEIGER_DIR
 * of the environment is a directory of this machine, which a container does not have.
 */
static const char *choose_directory(const struct gg_attach_run *run)
{
	int root;

	if (run->given->directory != NULL)
		return run->given->directory;
	root = gg_process_root_open(run->survey->facts.pid);
	if (root < 0)
		return getenv("GEIGER_DIR");
	close(root);
	return NULL;
}

int gg_attach_run_alone(struct gg_attach_run *run, struct gg_error *error)
{
	struct gg_launch_settings settings = {
		.agent = run->agent,
		.directory = choose_directory(run),
	};
	struct gg_launch_environment environment;
	int status;

	gg_cli_sampling_set_launch(&run->given->sampling, &settings);
	status = gg_launch_environment(&environment, &settings, error);
	if (status < 0)
		return status;
	status = gg_attach_run_enter(run, &environment, error);
	gg_launch_environment_done(&environment);
	return status;
}
