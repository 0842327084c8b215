/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorder on hostile regions (spoilt.h): opened, drained, spoilt further, drained again,
 * settled and finished, into a profile in memory.  No crash, no endless loop, and a profile that is
 * whole: ids ascend, what they point to is there, and no time goes backwards.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "record/process/final_state.h"
#include "record/process/ingest.h"
#include "record/process/inherited.h"
#include "record/process/reconcile.h"
#include "spoilt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
	if (!condition)
		abort();
}

static int check_sample(const struct gg_profile_sample *sample, void *context)
{
	uint64_t *last = context;

	require(sample->id > *last && sample->free_ns >= sample->alloc_ns);
	require(sample->process == 1 && gg_draw_is_valid(&sample->draw));
	*last = sample->id;
	return 0;
}

static int check_aggregate(const struct gg_profile_aggregate *aggregate, void *context)
{
	(void)context;
	require(aggregate->process == 1 && aggregate->sums.sample_count > 0);
	return 0;
}

static void check(struct gg_profile *profile)
{
	uint64_t last = 0;

	require(gg_profile_each_sample(profile, check_sample, &last, NULL) == 0);
	require(gg_profile_each_aggregate(profile, check_aggregate, NULL, NULL) == 0);
	require(gg_profile_dangling_count(profile) == 0);
}

static void record(struct gg_profile_writer *writer, int fd, const uint8_t *rest, size_t rest_size)
{
	struct gg_target_set set = { 0 };
	struct gg_target *target;
	int again = dup(fd);

	require(again >= 0);
	if (gg_target_open(&target, &set, writer, again, 0, 0, true, NULL) == 0 &&
	    gg_inherited_take(target, NULL) == 0) {
		writer->now_ns = 10000;
		gg_ingest_drain(target, false);
		spoilt_more(rest, rest_size);
		gg_ingest_drain(target, false);
		gg_reconcile_if_lossy(target);
		gg_live_set_validate(&target->live_set);
		writer->now_ns = 20000;
		gg_final_state_write(target,
		                     (struct gg_end_bounds){ writer->now_ns, writer->now_ns },
		                     "exited 0");
	}
	gg_target_set_done(&set);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gg_profile *profile;
	struct gg_profile_writer writer;
	struct gg_error error = { 0 };

	require(gg_profile_create(&profile, NULL, &error) == 0);
	require(gg_profile_writer_init(&writer, profile, 0, &error) == 0);
	record(&writer, spoilt_region(data, size / 2), data + size / 2, size - size / 2);
	require(gg_profile_writer_commit(&writer) == 0);
	check(profile);
	gg_profile_writer_done(&writer);
	gg_profile_close(profile);
	return 0;
}
