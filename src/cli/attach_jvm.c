/* SPDX-License-Identifier: Apache-2.0 */
/* attach_jvm - finds the adapter, and writes its options (cli/attach_jvm.h). */
#include "cli/attach_jvm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attach/jvm_socket.h"
#include "base/buf.h"
#include "record/diagnose/agent_presence.h"

enum { OPTIONS_MAX = 1000 }; /* of an agent, by the VM's protocol */

int gg_attach_jvm_check(const struct gg_attach_options *given, struct gg_error *error)
{
	const struct gg_cli_sampling *sampling = &given->sampling;

	if (given->output != NULL || given->from_inside || given->json || given->all != NULL ||
	    given->group != NULL)
		return gg_error_set(error, -EINVAL, "attach: --only jvm",
		                    "Give a pid alone; geiger report and geiger salvage read it.",
		                    "a VM's objects alone are kept in a region, for one process");
	if (sampling->overhead != NULL || sampling->error != NULL || sampling->scheme >= 0 ||
	    sampling->seed != 0 || sampling->exact || sampling->mappings || sampling->free_stacks)
		return gg_error_set(error, -EINVAL, "attach: --only jvm",
		                    "Leave the others out, or attach without --only.",
		                    "only --interval and --dir go with it");
	return 0;
}

/* The path of the adapter for Java VMs, as a preloaded agent would get it. */
static int find_adapter(struct gg_buf *path, const char *agent, struct gg_error *error)
{
	static const char name[] = "GEIGER_JVM=";
	const struct gg_launch_settings settings = { .agent = agent };
	struct gg_launch_environment environment;
	const char *text = NULL, *own = getenv("GEIGER_JVM");
	int status = gg_launch_environment(&environment, &settings, error);

	if (status < 0)
		return status;
	if (own != NULL && own[0] == '/')
		gg_buf_printf(path, "%s", own);
	while ((text = gg_launch_environment_next(&environment, text)) != NULL)
		if (strncmp(text, name, strlen(name)) == 0)
			gg_buf_printf(path, "%s", text + strlen(name));
	gg_launch_environment_done(&environment);
	if (path->failed)
		return gg_error_memory(error, "attach");
	return path->length > 0 ? 0
	                        : gg_error_set(error, -ENOENT, "libgeiger-jvm.so",
	                                       "Install the package libgeiger-jvm.",
	                                       "the adapter for Java VMs is not installed");
}

static int write_options(struct gg_buf *options, const struct gg_attach_options *given,
                         struct gg_error *error)
{
	const char *directory = given->directory != NULL ? given->directory : getenv("GEIGER_DIR");
	uint64_t interval = gg_cli_sampling_interval(&given->sampling);

	if (interval != 0)
		gg_buf_printf(options, "interval=%llu,", (unsigned long long)interval);
	if (directory != NULL)
		gg_buf_printf(options, "dir=%s", directory); /* the last one: it may have commas */
	if (options->failed)
		return gg_error_memory(error, "attach");
	return options->length <= OPTIONS_MAX ? 0
	                                      : gg_error_set(error, -EINVAL, "attach: --dir", NULL,
	                                                     "the directory's name is too long");
}

/*
 * An agent that was detached stays loaded, and the adapter belongs to it.  It records nothing until
 * an agent attaches again, and the VM passes no reason on.
 */
static int explain_detached(pid_t pid, int status, struct gg_error *error)
{
	char place[64];

	if (status != -EIO || !gg_agent_presence_is_mapped((uint32_t)pid, "geiger-agent", false) ||
	    gg_agent_presence_is_mapped((uint32_t)pid, ".region", true))
		return status;
	snprintf(place, sizeof(place), "process %d", (int)pid);
	return gg_error_set(error, status, place,
	                    "Attach without --only jvm: that shows Java objects as well.",
	                    "its agent was detached, and the adapter in its VM cannot record "
	                    "without it");
}

int gg_attach_jvm(pid_t pid, const char *agent, const struct gg_attach_options *given,
                  struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf adapter = { 0 }, options = { 0 };
	struct gg_process_facts facts;
	int status = gg_process_facts_read(&facts, pid, error);

	if (status == 0)
		status = gg_jvm_socket_check(&facts, error);
	if (status < 0)
		return status;
	if (given->dry_run) {
		printf("process %d (%s): its VM loads the adapter by its attach socket\n", (int)pid,
		       facts.name);
		return 0;
	}
	status = find_adapter(&adapter, agent, error);
	if (status == 0)
		status = write_options(&options, given, error);
	if (status < 0)
		return status;
	if (!given->quiet)
		fprintf(stderr,
		        "geiger: a VM from JDK 21 on warns of the agent in lines on the program's "
		        "own stderr, unless it runs with -XX:+EnableDynamicAgentLoading\n");
	status = gg_jvm_socket_load(&facts, gg_buf_text(&adapter), gg_buf_text(&options), error);
	if (status < 0)
		return explain_detached(pid, status, error);
	if (!given->quiet)
		fprintf(stderr,
		        "geiger: process %d (%s) samples its Java objects: 'geiger report %d' shows "
		        "them, 'geiger control %d off' ends it\n",
		        (int)pid, facts.name, (int)pid, (int)pid);
	return status;
}
