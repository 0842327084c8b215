/* SPDX-License-Identifier: Apache-2.0 */
/*
 * end_time - bounds the end of a process by all that is known of it (process/end_time.h).
 */
#include "record/process/end_time.h"

#include "base/assert.h"
#include "base/clock.h"
#include "base/time_units.h"
#include "record/process/ingest.h"
#include "region/region_file.h"

/* How long a member waits for the region of a possible successor; that may never be complete. */
#define SUCCESSOR_NS GG_NS_PER_S

static uint64_t earlier(uint64_t left, uint64_t right)
{
	return left < right ? left : right;
}

static uint64_t later(uint64_t left, uint64_t right)
{
	return left > right ? left : right;
}

/*
 * Finds when the first successor of the member began; UINT64_MAX: the member has no successor.
 * False: one may still be found.
 */
static bool find_successor(const struct gg_succession *succession, const struct gg_member *member,
                           uint64_t *ret_first_ns)
{
	const struct gg_target *target = member->target;

	return gg_succession_first(
		succession, member->name, !gg_region_file_is_used(target->reader.fd),
		later(member->alive_ns, target->reader.header.start_monotonic_ns), ret_first_ns);
}

uint64_t gg_end_time_noted(struct gg_member *member)
{
	struct gg_region_reader *reader = &member->target->reader;

	if (gg_region_reader_refresh(reader, NULL) < 0 || reader->header.end_monotonic_ns == 0)
		return 0;
	return later(reader->header.end_monotonic_ns, member->alive_ns);
}

struct gg_end_bounds gg_end_time_find(struct gg_succession *succession, struct gg_member *member,
                                      uint64_t before_ns)
{
	struct gg_target *target = member->target;
	bool is_replaced = before_ns != UINT64_MAX || member->unseen_exe[0] != '\0';
	bool is_used = gg_region_file_is_used(target->reader.fd);
	uint64_t latest_ns = earlier(member->noticed_ns, before_ns),
		 noted_ns = gg_end_time_noted(member);
	uint64_t proof_ns, least_ns, end_ns, successor_ns, last_ns = 0, next_ns = UINT64_MAX;

	gg_assert(member->noticed_ns != 0);
	gg_ingest_drain(target, true);
	find_successor(succession, member, &successor_ns);
	latest_ns = earlier(latest_ns, successor_ns);
	if (member->waited_by_ns != 0)
		latest_ns = earlier(latest_ns, member->waited_by_ns - 1);
	if (!is_used)
		gg_succession_order(succession, member->name, &last_ns, &next_ns);
	if (noted_ns != 0) {
		least_ns = end_ns = earlier(noted_ns, latest_ns);
	} else {
		end_ns = later(earlier(latest_ns, next_ns - 1), earlier(last_ns + 1, latest_ns));
		least_ns = is_replaced ? 0 : earlier(member->alive_ns, end_ns);
	}
	/* A block lives at the instant of its allocation, hence the 1. */
	proof_ns = later(target->last_event_ns + 1, target->reader.header.start_monotonic_ns);
	end_ns = later(end_ns, proof_ns);
	least_ns = later(least_ns, proof_ns);
	gg_assert(least_ns <= end_ns);
	if (!is_used)
		gg_succession_ended(succession, member->name, end_ns);
	return (struct gg_end_bounds){
		.least_ns = gg_profile_writer_time(target->writer, least_ns),
		.end_ns = gg_profile_writer_time(target->writer, end_ns),
	};
}

bool gg_end_time_is_known(const struct gg_succession *succession, const struct gg_member *member)
{
	uint64_t successor_ns;

	return find_successor(succession, member, &successor_ns) ||
	       gg_clock_monotonic_ns() - member->noticed_ns > SUCCESSOR_NS;
}
