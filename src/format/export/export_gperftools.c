/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export_gperftools - the heap profile of gperftools, for google-pprof, pprof and jeprof.
 *
 * The type is "heapprofile", because readers do not scale its numbers.  Each stack has one line,
 * which adds up its threads, kinds and processes.
 */
#include <stdlib.h>

#include "format/export/export.h"
#include "format/export/text_dump.h"

static int write_records(const struct gg_export *job, const struct gg_address_space *space,
                         struct gg_dump *dump, struct gg_dump_sums *stacks)
{
	const struct gg_model *model = job->extract->model;
	size_t stack_count = model->stack_count;
	struct gg_text_dump_addresses addresses = { 0 };
	bool failed = false;

	for (size_t i = 0; i < stack_count && !failed; i++) {
		gg_export_progress(job, i, stack_count);
		if (!(stacks[i].live.count + stacks[i].allocated.count > 0))
			continue;
		failed = !gg_text_dump_walk(space, model, (uint32_t)i, &addresses);
		if (!failed)
			gg_dump_record(dump, &stacks[i], addresses.items, addresses.count);
	}
	gg_array_done(&addresses);
	return failed ? gg_export_out_of_memory(job) : 0;
}

static int write_gperftools(const struct gg_export *job)
{
	const struct gg_extract *extract = job->extract;
	struct gg_dump_sums total = { 0 },
			    *stacks = calloc(extract->model->stack_count, sizeof(*stacks));
	char buffer[8192];
	struct gg_dump dump = { buffer, sizeof(buffer), .flush = gg_text_dump_append,
		                .context = job->out };
	struct gg_address_space space;
	int status;

	if (stacks == NULL)
		return gg_export_out_of_memory(job);
	status = gg_address_space_make(&space, extract, job->error);
	if (status < 0) {
		free(stacks);
		return status;
	}
	for (size_t i = 0; i < extract->row_count; i++) {
		gg_text_dump_add(&total, &extract->rows[i]);
		gg_text_dump_add(&stacks[extract->rows[i].stack], &extract->rows[i]);
	}
	gg_dump_gperftools(&dump, &total);
	status = write_records(job, &space, &dump, stacks);
	gg_text_dump_mappings(&space, extract->model, &dump);
	if (status == 0)
		status = gg_dump_end(&dump);
	gg_address_space_done(&space);
	free(stacks);
	return status;
}

const struct gg_export_format gg_export_gperftools = {
	.name = "gperftools",
	.suffix = ".gperf",
	.has_both = true,
	.write = write_gperftools,
};
