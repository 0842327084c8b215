/* SPDX-License-Identifier: Apache-2.0 */
/*
 * target_look - puts together live samples, a look and the profile (look/target_look.h).
 */
#include "record/look/target_look.h"

#include <errno.h>

#include "base/clock.h"
#include "record/look/ask_allocator.h"
#include "region/writer/region.h"

enum { GONE_PERCENT = 2 };

size_t gg_target_private_bytes(const struct gg_target *target)
{
	struct gg_region_options options = { 0 };

	for (int i = 0; i < GG_TABLE_COUNT; i++)
		options.capacities[i] =
			(uint32_t)gg_region_table_of(&target->reader.header, i)->capacity;
	return gg_region_private_bytes(&options);
}

static void put(struct gg_target *target, const struct gg_look *look)
{
	struct gg_profile_writer *writer = target->writer;
	const struct gg_profile_look_parts parts = {
		.mappings = look->mappings.list.items,
		.mapping_count = look->mappings.list.count,
		.blocks = look->blocks.blocks.items,
		.block_count = look->blocks.blocks.count,
		.totals = look->blocks.totals.items,
		.total_count = look->blocks.totals.count,
	};

	gg_profile_writer_keep(
		writer, gg_profile_put_look(writer->profile, &look->record, &parts, writer->error));
}

int gg_target_look_take(struct gg_target *target, const struct gg_target_look_options *options,
                        struct gg_target_look_result *ret_result, struct gg_error *error)
{
	struct gg_region_reader *reader = options->reader != NULL ? options->reader
	                                                          : &target->reader;
	struct gg_look_samples samples = { 0 };
	struct gg_look_options look_options = {
		.private_bytes = gg_target_private_bytes(target),
		.samples = &samples,
		.smaps = options->smaps,
		.budget_ns = options->budget_ns,
		.heap_walk_budget_ns = options->heap_walk_budget_ns,
		.heap_walk_ns_per_byte = options->heap_walk_ns_per_byte,
		.reason = options->reason
	};
	pid_t pid = options->pid != 0 ? options->pid : (pid_t)target->pid;
	const struct gg_look_process process = { .fd = reader->fd, .pid = pid };
	struct gg_look look;
	uint64_t request_ns = gg_clock_monotonic_ns();
	int status;

	/* Before the samples are read, so that the answer knows most of them. */
	gg_look_request(reader->fd,
	                options->answer_ms != 0 ? options->answer_ms : GG_LOOK_ANSWER_MS);
	status = gg_look_samples_read(&samples, reader, &target->live_set, error);
	if (samples.is_too_large && look_options.reason == NULL)
		look_options.reason = "the process has too many live samples";
	gg_look_samples_choose(&samples,
	                       options->chosen_max != 0 ? options->chosen_max : GG_LOOK_CHOSEN_MAX,
	                       options->seed);
	if (status == 0)
		status = gg_look_take(&look, pid, &look_options, error);
	if (status < 0) {
		gg_look_samples_done(&samples);
		return status;
	}
	status = gg_look_add_answer(&look, &process, &samples, request_ns);
	/* Without a second reading, no sample is known to have stayed. */
	if (status == 0)
		status = gg_look_samples_check(&samples, reader, error);
	*ret_result = (struct gg_target_look_result){
		.sums = look.sums,
		.walk_ns = look.walk_ns,
		.heap_walk = look.blocks.heap_walk,
		.is_settled = samples.gone_count <= samples.chosen_count * GONE_PERCENT / 100,
	};
	if (status == 0 && look.has_ended && look.record.rss_bytes <= options->ended_bytes)
		status = gg_error_set_errno(error, ESRCH, "a look", NULL);
	if (status == 0) {
		gg_look_leave_out_gone(&look, &samples);
		look.record.process = target->id;
		look.record.time_ns = gg_profile_writer_time(target->writer, look.read_ns);
		put(target, &look);
	}
	gg_look_done(&look);
	gg_look_samples_done(&samples);
	return status;
}
