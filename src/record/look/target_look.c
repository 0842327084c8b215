/* SPDX-License-Identifier: Apache-2.0 */
/*
 * target_look - puts together live samples, a look and the profile (look/target_look.h).
 */
#include "record/look/target_look.h"

#include <errno.h>

#include "base/clock.h"
#include "base/time_units.h"
#include "record/look/ask_allocator.h"
#include "record/look/live_watch.h"
#include "region/reader/view.h"
#include "region/writer/region.h"

enum { GONE_PERCENT = 2, READINGS_MAX = 32 };

/* No look is repeated after so much processor time. */
#define LOOKS_NS GG_NS_PER_S

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

/* Takes a look that watches what changes meanwhile. */
static int look_once(struct gg_look *ret_look, struct gg_target *target,
                     const struct gg_target_look_options *options, struct gg_look_samples *samples,
                     uint64_t request_ns, struct gg_error *error)
{
	struct gg_region_reader *reader = options->reader != NULL ? options->reader
	                                                          : &target->reader;
	struct gg_live_watch watch = {
		.reader = reader,
		.samples = samples,
		.pid = options->pid != 0 ? options->pid : (pid_t)target->pid,
		.live_set = options->knows_no_samples ? NULL : &target->live_set,
		.chosen_max = options->chosen_max != 0 ? options->chosen_max : GG_LOOK_CHOSEN_MAX,
		.seed = options->seed,
		.retry_count = options->retry_count > 0 && options->smaps == NULL ? READINGS_MAX - 1
		                                                                  : 0,
	};
	struct gg_look_options look_options = {
		.private_bytes = gg_target_private_bytes(target),
		.is_exact = gg_region_is_exact(&target->reader.header),
		.samples = samples,
		.smaps = options->smaps,
		.budget_ns = options->budget_ns,
		.heap_walk_budget_ns = options->heap_walk_budget_ns,
		.heap_walk_ns_per_byte = options->heap_walk_ns_per_byte,
		.reason = options->reason,
		.moments = &watch.moments
	};
	const struct gg_look_process process = { .fd = reader->fd, .pid = watch.pid };
	int status;

	status = gg_live_watch_begin(&watch, error);
	if (status == 0)
		status = gg_look_take(ret_look, watch.pid, &look_options, error);
	if (status < 0)
		return status;
	status = gg_look_add_answer(ret_look, &process, samples, request_ns);
	if (status == 0)
		status = gg_live_watch_end(&watch, ret_look, error);
	if (status < 0)
		gg_look_done(ret_look);
	return status;
}

int gg_target_look_begin(struct gg_target_look *ret, struct gg_target *target,
                         const struct gg_target_look_options *options, struct gg_error *error)
{
	const struct gg_region_reader *reader = options->reader != NULL ? options->reader
	                                                                : &target->reader;
	struct gg_target_look taken = { .has_numbers = options->knows_no_samples };
	struct gg_look_samples samples = { 0 };
	uint64_t request_ns = gg_clock_monotonic_ns(), begin_ns = gg_clock_thread_ns();
	int status = 0;

	/* Before the samples are read, so that the answer knows most of them. */
	gg_look_request(reader->fd,
	                options->answer_ms != 0 ? options->answer_ms : GG_LOOK_ANSWER_MS);
	for (int i = 0; i <= options->retry_count && status == 0 && !taken.is_settled; i++) {
		if (i > 0 && gg_clock_thread_ns() - begin_ns > LOOKS_NS)
			break;
		if (i > 0)
			gg_look_done(&taken.look);
		status = look_once(&taken.look, target, options, &samples, request_ns, error);
		taken.is_settled = samples.gone_count <= samples.chosen_count * GONE_PERCENT / 100;
	}
	gg_look_samples_done(&samples);
	if (status == 0 && taken.look.has_ended &&
	    taken.look.record.rss_bytes <= options->ended_bytes) {
		gg_look_done(&taken.look);
		status = gg_error_set_errno(error, ESRCH, "a look", NULL);
	}
	if (status == 0)
		*ret = taken;
	return status;
}

/* Turns numbers of samples into ids.  A sample that the profile does not have leaves the look. */
static void translate(struct gg_look *look, const struct gg_live_set *live_set)
{
	size_t kept = 0;

	for (size_t i = 0; i < look->blocks.blocks.count; i++) {
		struct gg_profile_look_block block = look->blocks.blocks.items[i];
		const struct gg_live_set_sample *known = gg_live_set_find(live_set, block.sample);

		if (known == NULL)
			continue;
		block.sample = known->id;
		look->blocks.blocks.items[kept++] = block;
	}
	gg_look_leave_out(look, (int64_t)(look->blocks.blocks.count - kept));
	look->blocks.blocks.count = kept;
}

void gg_target_look_put(struct gg_target_look *taken, struct gg_target *target)
{
	struct gg_look *look = &taken->look;

	if (taken->has_numbers)
		translate(look, &target->live_set);
	look->record.process = target->id;
	look->record.time_ns = gg_profile_writer_time(target->writer, look->read_ns);
	put(target, look);
	gg_look_done(look);
}

int gg_target_look_take(struct gg_target *target, const struct gg_target_look_options *options,
                        struct gg_target_look_result *ret_result, struct gg_error *error)
{
	struct gg_target_look taken;
	int status = gg_target_look_begin(&taken, target, options, error);

	if (status < 0)
		return status;
	*ret_result = (struct gg_target_look_result){ .sums = taken.look.sums,
		                                      .walk_ns = taken.look.walk_ns,
		                                      .search_ns = taken.look.search_ns,
		                                      .heap_walk = taken.look.blocks.heap_walk,
		                                      .is_settled = taken.is_settled };
	gg_target_look_put(&taken, target);
	return 0;
}
