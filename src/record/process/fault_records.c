/* SPDX-License-Identifier: Apache-2.0 */
/* fault_records - translates stacks, times and kinds. */
#include "record/process/fault_records.h"

#include "base/compiler.h"
#include "region/reader/view.h"

static const char *kind_name(uint32_t kind)
{
	static const char *const names[GG_REGION_FAULT_KIND_COUNT] = {
		[GG_REGION_FAULT_UNKNOWN] = "unknown",
		[GG_REGION_FAULT_USE_AFTER_FREE] = "use after free",
		[GG_REGION_FAULT_OVERFLOW] = "buffer overflow",
		[GG_REGION_FAULT_UNDERFLOW] = "buffer underflow",
		[GG_REGION_FAULT_DOUBLE_FREE] = "double free",
		[GG_REGION_FAULT_INVALID_FREE] = "invalid free",
	};

	return names[kind < GG_COUNT(names) ? kind : GG_REGION_FAULT_UNKNOWN];
}

static struct gg_profile_fault_place place_of(struct gg_target *target,
                                              const struct gg_region_fault_place *from)
{
	struct gg_profile_fault_place place = { .time_ns = GG_TIME_NONE, .tid = from->tid };

	if (from->time_ns == 0)
		return (struct gg_profile_fault_place){ .time_ns = GG_TIME_NONE };
	place.time_ns = gg_profile_writer_time(target->writer, from->time_ns);
	if (from->stack >= GG_STACK_FIRST)
		place.stack = gg_stack_map_stack(&target->stack_map, &target->reader,
		                                 target->writer, from->stack, from->time_ns);
	return place;
}

int gg_fault_records_write(struct gg_target *target, const struct gg_region_view *view)
{
	struct gg_profile_writer *writer = target->writer;

	for (uint32_t i = 0; i < view->fault_count && writer->status == 0; i++) {
		const struct gg_region_fault *from = &view->faults[i];
		struct gg_profile_fault fault = {
			.process = target->id,
			.kind = kind_name(from->kind),
			.access = (from->flags & GG_REGION_FAULT_WRITE) != 0     ? "write"
			          : (from->flags & GG_REGION_FAULT_READ) != 0    ? "read"
			          : (from->flags & GG_REGION_FAULT_EXECUTE) != 0 ? "execution"
			                                                         : NULL,
			.at_free = (from->flags & GG_REGION_FAULT_AT_FREE) != 0,
			.address = from->address,
			.block = from->block,
			.size_bytes = from->block_bytes,
			.accessed = place_of(target, &from->access),
			.allocated = place_of(target, &from->allocation),
			.freed = place_of(target, &from->free),
		};

		if (fault.accessed.time_ns == GG_TIME_NONE)
			fault.accessed.time_ns = writer->now_ns;
		gg_profile_writer_keep(
			writer, gg_profile_add_fault(writer->profile, &fault, writer->error));
	}
	return writer->status;
}
