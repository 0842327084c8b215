/* SPDX-License-Identifier: Apache-2.0 */
/* late - finds the entries of the agent by dlopen() and dlsym(). */
#include "agent/late.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *function_of_agent(const char *name)
{
	static void *agent;
	void *function;

	if (agent == NULL)
		agent = dlopen(getenv("GEIGER_AGENT"), RTLD_NOW | RTLD_LOCAL);
	function = agent != NULL ? dlsym(agent, name) : NULL;
	if (function == NULL) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	return function;
}

struct gg_attach_request late_request(const char *options)
{
	struct gg_attach_request request = { .version = GG_ATTACH_VERSION,
		                             .bytes = sizeof(request) };
	const char *directory = getenv("GEIGER_DIR");

	snprintf(request.options, sizeof(request.options), "%s", options);
	if (directory != NULL)
		snprintf(request.directory, sizeof(request.directory), "%s", directory);
	return request;
}

int late_attach(const struct gg_attach_request *request, struct gg_attach_result *ret_result)
{
	return ((gg_attach_entry *)function_of_agent(GG_ATTACH_ENTRY))(request, ret_result);
}

int late_detach(struct gg_attach_result *ret_result)
{
	return ((gg_detach_entry *)function_of_agent(GG_DETACH_ENTRY))(ret_result);
}

void late_attach_by_environment(void)
{
	static char options[GG_ATTACH_OPTIONS_MAX];
	struct gg_attach_request request;
	struct gg_attach_result result;
	size_t used = 0;

	for (char **variable = environ; *variable != NULL; variable++)
		if (strncmp(*variable, "GEIGER_", 7) == 0)
			used += (size_t)snprintf(options + used, sizeof(options) - used, "%s\n",
			                         *variable);
	request = late_request(options);
	if (late_attach(&request, &result) == 0)
		return;
	fprintf(stderr, "the agent is not attached: %s\n", result.reason);
	exit(1);
}
