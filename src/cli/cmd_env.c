/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_env - `geiger env`: prints how to run a program under the agent without a recorder.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "cli/command.h"
#include "cli/sampling.h"
#include "cli/variables.h"
#include "record/session/launch.h"

enum format { SHELL, SYSTEMD, DOCKER };

struct env_options {
	const char *directory;
	struct gg_cli_sampling sampling;
	int format;
};

static const struct env_options defaults = { .sampling = GG_CLI_SAMPLING_DEFAULTS };

static const struct gg_option env_option_table[] = {
	{ "format", 0, GG_OPTION_CHOICE, offsetof(struct env_options, format),
	  "shell|systemd|docker", "what to print it for (default: shell)" },
	{ "dir", 0, GG_OPTION_TEXT, offsetof(struct env_options, directory), "DIR",
	  "where regions are made (docker: /var/tmp)" },
	GG_OPTIONS_SHARED(gg_cli_sampling_options, offsetof(struct env_options, sampling)),
	GG_OPTIONS_END,
};

/* Prints one line of NAME=VALUE words, and the command if there is one. */
static void print_shell(const struct gg_launch_environment *environment, char *const *command)
{
	const char *text = NULL;
	struct gg_buf line = { 0 };

	while ((text = gg_launch_environment_next(environment, text)) != NULL) {
		size_t name_length = strcspn(text, "=") + 1;

		gg_buf_append_text(&line, line.length > 0 ? " " : "");
		gg_buf_append(&line, text, name_length);
		gg_launch_quote(&line, text + name_length);
	}
	for (; *command != NULL; command++) {
		gg_buf_append_text(&line, " ");
		gg_launch_quote(&line, *command);
	}
	puts(gg_buf_text(&line));
	gg_buf_done(&line);
}

/*
 * Prints Environment="NAME=VALUE" lines. systemd would expand a percent sign, and a quote or a
 * backslash has a meaning inside the quotes, so the loop escapes these three characters.
 */
static void print_systemd(const struct gg_launch_environment *environment)
{
	const char *text = NULL;

	puts("[Service]");
	while ((text = gg_launch_environment_next(environment, text)) != NULL) {
		fputs("Environment=\"", stdout);
		for (const char *c = text; *c != '\0'; c++) {
			if (*c == '%')
				putchar('%');
			else if (*c == '"' || *c == '\\')
				putchar('\\');
			putchar(*c);
		}
		puts("\"");
	}
}

/*
 * Prints options for `docker run`, which podman also accepts.  The container needs the agent's
 * files under the same paths, and a writable folder that outlives it for the regions.
 */
static void print_docker(const struct gg_launch_environment *environment,
                         const struct gg_launch_settings *settings)
{
	const char *const files[] = { settings->agent, settings->compat };
	const char *text = NULL;
	struct gg_buf line = { 0 }, word = { 0 };

	while ((text = gg_launch_environment_next(environment, text)) != NULL) {
		gg_buf_append_text(&line, line.length > 0 ? " -e " : "-e ");
		gg_launch_quote(&line, text);
	}
	for (size_t i = 0; i < GG_COUNT(files) && files[i] != NULL; i++) {
		gg_buf_printf(&word, "%s:%s:ro", files[i], files[i]);
		gg_buf_append_text(&line, " -v ");
		gg_launch_quote(&line, gg_buf_text(&word));
		gg_buf_clear(&word);
	}
	gg_buf_printf(&word, "%s:%s", settings->directory, settings->directory);
	gg_buf_append_text(&line, " -v ");
	gg_launch_quote(&line, gg_buf_text(&word));
	puts(gg_buf_text(&line));
	gg_buf_done(&line);
	gg_buf_done(&word);
}

static int run_env(struct gg_invocation *invocation)
{
	struct env_options *given = invocation->options;
	struct gg_cli_sampling *sampling = &given->sampling;
	char agent[GG_LAUNCH_PATH_MAX], compat[GG_LAUNCH_PATH_MAX], preload[GG_LAUNCH_PATH_MAX],
		fitted_compat[GG_LAUNCH_PATH_MAX];
	struct gg_launch_settings settings = {
		.agent = agent,
		.compat = sampling->compat ? compat : NULL,
		.directory = given->directory,
	};
	struct gg_launch_environment environment;
	int status = gg_cli_check_sampling(sampling, "env", false, invocation->error);

	/*
	 * The parser moved the operands to the front of argv, so there is room for the final NULL.
	 */
	invocation->operands[invocation->operand_count] = NULL;
	if (status < 0)
		return status;
	gg_cli_warn_of_variables();
	if (given->directory != NULL && given->directory[0] != '/')
		return gg_error_set(invocation->error, -EINVAL, "env: --dir",
		                    "Programs change their directory: give an absolute path.",
		                    "'%s' is relative", given->directory);
	if (given->format == DOCKER && given->directory == NULL)
		settings.directory = "/var/tmp"; /* shared with the container, and lasting */
	gg_cli_sampling_set_launch(sampling, &settings);
	status = gg_launch_find_agent(agent, invocation->error);
	if (status == 0 && sampling->compat)
		status = gg_launch_find_compat(compat, agent, invocation->error);
	if (status == 0 && given->format == SHELL && invocation->operand_count > 0) {
		gg_launch_fit_command(preload, agent, invocation->operands[0]);
		settings.preload = preload;
	}
	if (settings.preload != NULL && sampling->compat) {
		gg_launch_fit_command(fitted_compat, compat, invocation->operands[0]);
		settings.compat = fitted_compat;
	}
	if (status == 0)
		status = gg_launch_environment(&environment, &settings, invocation->error);
	if (status < 0)
		return status;
	if (given->format == SHELL)
		print_shell(&environment, invocation->operands);
	else if (given->format == SYSTEMD)
		print_systemd(&environment);
	else
		print_docker(&environment, &settings);
	gg_launch_environment_done(&environment);
	return 0;
}

const struct gg_command gg_command_env = {
	.name = "env",
	.summary = "print how to run a program without a recorder",
	.usage = "[OPTION]... [--] [COMMAND [ARGUMENT]...]",
	.details =
		"shell     a line of NAME=VALUE that goes before a command, or before the one\n"
		"          given; 'env $(geiger env) COMMAND' and 'export $(geiger env)' work too\n"
		"systemd   a drop-in for 'systemctl edit UNIT'\n"
		"docker    options of 'docker run' or 'podman run'\n"
		"The state of each process is in a region afterwards, whatever ended it:\n"
		"'geiger ls' lists them, every report reads them, 'geiger salvage' makes\n"
		"profiles of them.\n",
	.options = env_option_table,
	.options_size = sizeof(struct env_options),
	.option_defaults = &defaults,
	.option_mode = GG_OPTIONS_BEFORE_OPERANDS,
	.max_operands = -1,
	.run = run_env,
	.variables = GG_READS_AGENT,
};
