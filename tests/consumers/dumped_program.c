/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dumped_program DIRECTORY - allocates in two threads, then dumps itself and copies its region.
 *
 * Three functions allocate.  The dumps in each form and the copy show one moment, because the
 * program allocates nothing between them.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "abi/agent_functions.h"

static void *kept[4000];

__attribute__((noinline)) static void *small(size_t i)
{
	return malloc(20 + i % 3);
}

__attribute__((noinline)) static void *large(void)
{
	return malloc(100000);
}

__attribute__((noinline)) static void *mixed(size_t i)
{
	return malloc((size_t)1 << i % 16);
}

static void *work(void *nothing)
{
	for (size_t i = 0; i < 300; i++) {
		kept[3000 + i] = large();
		free(large());
	}
	return nothing;
}

int main(int argc, char **argv)
{
	const struct gg_agent_functions *const *found = dlsym(RTLD_DEFAULT,
	                                                      "geiger_agent_interface");
	const struct gg_agent_functions *agent = found != NULL ? *found : NULL;
	struct gg_agent_triggers triggers = { .final = true, .allocated_bytes = 10000000 };
	static char heap[500], live[500], gperf[500], region[500];
	pthread_t thread;
	int status;

	if (argc != 2 || agent == NULL)
		return 2;
	snprintf(heap, sizeof(heap), "%s/now.heap", argv[1]);
	snprintf(live, sizeof(live), "%s/live.heap", argv[1]);
	snprintf(gperf, sizeof(gperf), "%s/now.gperf", argv[1]);
	snprintf(region, sizeof(region), "%s/now.region", argv[1]);
	snprintf(triggers.prefix, sizeof(triggers.prefix), "%s/d", argv[1]);
	if (agent->set_triggers(&triggers) != 0)
		return 3;
	for (size_t i = 0; i < 1500; i++)
		kept[i] = small(i);
	for (size_t i = 0; i < 1500; i++)
		kept[1500 + i] = mixed(i);
	for (size_t i = 0; i < 3000; i += 3)
		free(kept[i]);
	pthread_create(&thread, NULL, work, NULL);
	pthread_join(thread, NULL);
	status = agent->dump(heap, GG_AGENT_DUMP_HEAP_V2);
	if (status == 0)
		status = agent->dump(live, GG_AGENT_DUMP_HEAP_V2_LIVE);
	if (status == 0)
		status = agent->dump(gperf, GG_AGENT_DUMP_GPERFTOOLS);
	if (status == 0)
		status = agent->snapshot(region);
	if (status != 0)
		fprintf(stderr, "%d\n", status);
	return status != 0;
}
