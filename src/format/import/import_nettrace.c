/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import_nettrace - streams of .NET's EventPipe, as dotnet-trace writes them (".nettrace").
 *
 * src/dotnet/ reads them; here the samples get their processes and threads.  Unlike other imported
 * profiles, these have samples, with their times; and if the stream has the events of collections,
 * with their ends.
 *
 * Times   count from the start of each file's own stream.  Files that were recorded at different
 *         times have no common axis.
 * Memory  the whole file, and some 100 bytes a sample.
 */
#include <errno.h>
#include <stdio.h>

#include "base/map.h"
#include "dotnet/dotnet_trace.h"
#include "format/import/import.h"

enum { NETTRACE_MAX = 1 << 30 }; /* bytes */

struct nettrace_import {
	struct gg_import *import;
	const struct gg_dotnet_facts *facts;
	struct gg_map processes; /* pid -> id */
};

static int find_process(void *context, uint64_t pid, uint32_t *ret_process)
{
	struct nettrace_import *job = context;
	struct gg_import *import = job->import;
	uint64_t id = gg_map_get(&job->processes, pid);
	char name[32];
	const char *command = import->result->command;
	int status;

	if (id != GG_MAP_NONE) {
		*ret_process = import->process = (uint32_t)id;
		return 0;
	}
	if (pid != job->facts->head.process) { /* one of several, and only one has a command */
		snprintf(name, sizeof(name), "process %llu", (unsigned long long)pid);
		command = name;
	}
	status = gg_import_next_process(import, (uint32_t)pid, command);
	if (status == 0 && gg_map_put(&job->processes, pid, import->process) < 0)
		return gg_import_no_memory(import);
	*ret_process = import->process;
	return status;
}

static int find_thread(void *context, uint32_t process, uint64_t tid, uint32_t *ret_thread)
{
	const struct nettrace_import *job = context;

	job->import->process = process;
	return gg_import_thread(job->import, (uint32_t)tid, NULL, ret_thread);
}

static void set_result(const struct nettrace_import *job)
{
	struct gg_import_result *result = job->import->result;
	const struct gg_dotnet_facts *facts = job->facts;

	snprintf(result->command, sizeof(result->command), "%.255s",
	         facts->command[0] != '\0' ? facts->command : gg_input_name(job->import->input));
	if (facts->head.start_wall_ns > 0)
		result->start_wall_ns = facts->head.start_wall_ns;
	result->duration_ns = facts->end_ns;
	result->has_history = facts->has_lives;
	result->scheme = GG_SCHEME_BERNOULLI;
	/* Ticks have no sampling interval that means anything. */
	result->interval_bytes = facts->tick_count == 0 ? GG_DOTNET_INTERVAL_BYTES : 0;
	result->row_count = facts->sample_count + facts->tick_count;
}

static int write_trace(struct nettrace_import *job, struct gg_dotnet_trace *trace)
{
	const struct gg_dotnet_sink sink = { .profile = job->import->profile,
		                             .error = job->import->error,
		                             .last_ns = INT64_MAX,
		                             .process = find_process,
		                             .thread = find_thread,
		                             .context = job };
	uint32_t process;
	int status;

	job->facts = gg_dotnet_trace_facts(trace);
	set_result(job);
	status = find_process(job, job->facts->head.process, &process);
	if (status == 0)
		status = gg_dotnet_trace_write(trace, &sink);
	gg_map_done(&job->processes);
	return status;
}

static int read_nettrace(struct gg_import *import)
{
	struct nettrace_import job = { .import = import };
	struct gg_nettrace_fault fault;
	struct gg_dotnet_trace *trace;
	const uint8_t *file;
	size_t length;
	int status = gg_input_all(import->input, NETTRACE_MAX, &file, &length, import->error);

	if (status < 0)
		return status;
	status = gg_dotnet_trace_read(&trace, file, length, import->options->has_collections,
	                              &fault);
	if (status == -EBADMSG)
		return gg_input_wrong(import->input, fault.offset, import->error, "%s",
		                      fault.message);
	if (status < 0)
		return gg_import_no_memory(import);
	status = write_trace(&job, trace);
	gg_dotnet_trace_free(trace);
	return status;
}

const struct gg_importer gg_importer_nettrace = {
	.name = ".NET trace",
	.knows = gg_nettrace_begins,
	.read = read_nettrace,
};
