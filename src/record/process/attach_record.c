/* SPDX-License-Identifier: Apache-2.0 */
/* attach_record - reads the attach in a region's header, which nobody vouches for. */
#include "record/process/attach_record.h"

#include "base/compiler.h"

static const char *source_name(uint32_t source)
{
	static const char *const names[] = {
		[GG_REGION_IN_USE_UNKNOWN] = NULL,
		[GG_REGION_IN_USE_GLIBC] = "glibc",
		[GG_REGION_IN_USE_JEMALLOC] = "jemalloc",
		[GG_REGION_IN_USE_TCMALLOC] = "tcmalloc",
	};

	return source < GG_COUNT(names) ? names[source] : NULL;
}

int gg_attach_record_write(struct gg_profile_writer *writer, uint32_t process,
                           const struct gg_region_header *header)
{
	const struct gg_region_attach *from = &header->attach;
	struct gg_profile_attach attach = {
		.process = process,
		.is_inherited = (from->flags & GG_REGION_ATTACH_INHERITED) != 0,
		.age_ns = from->age_ns > 0 && from->age_ns <= INT64_MAX ? (int64_t)from->age_ns
		                                                        : -1,
		.older_bytes = -1,
		.older_source = source_name(from->older_source),
		.unseen_slot_count = -1,
	};

	if (from->attached_ns == 0)
		return writer->status;
	attach.time_ns = gg_profile_writer_time(writer, from->attached_ns);
	if (attach.older_source != NULL && from->older_bytes >= 0)
		attach.older_bytes = from->older_bytes;
	else
		attach.older_source = NULL;
	if (from->scan_count > 0)
		attach.unseen_slot_count = (int64_t)from->unwritable_count + from->foreign_count;
	return gg_profile_writer_keep(
		writer, gg_profile_put_attach(writer->profile, &attach, writer->error));
}

const char *gg_attach_record_ending(const struct gg_region_header *header)
{
	if (header->end_monotonic_ns == 0)
		return NULL;
	return (header->attach.flags & GG_REGION_DETACHED) != 0 ? "lived on" : "exited";
}
