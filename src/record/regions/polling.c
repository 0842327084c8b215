/* SPDX-License-Identifier: Apache-2.0 */
#include "record/regions/polling.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "record/process/target.h"
#include "record/regions/region_profile.h"

enum { FOLD_FROM = 100000, FOLD_EVERY = 64, FOLD_CALLS = 200 };

static const struct gg_compaction_rule fold_rule = {
	.keep_ns = 60 * GG_POLLING_GRID_NS,
	.bucket_ns = GG_POLLING_GRID_NS,
	.age_buckets = 128,
	.row_max = 4 * FOLD_FROM,
	.batch_count = 20000,
};

struct gg_polling {
	struct gg_profile *profile;
	struct gg_profile_writer output;
	struct gg_target_set set;
	struct gg_target *target;
	struct gg_profile_session session;
	struct gg_error error; /* of the first failure; the output's */
	int64_t first_ns;
	uint64_t count;
};

static int64_t to_grid(int64_t time_ns)
{
	return (time_ns + GG_POLLING_GRID_NS - 1) / GG_POLLING_GRID_NS * GG_POLLING_GRID_NS;
}

static int begin(struct gg_polling *looks, const char *path, struct gg_error *error)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), code;
	struct gg_region_header header;

	if (fd < 0)
		return gg_error_set_errno(error, errno, path, NULL);
	code = gg_region_header_read(&header, fd, path, error);
	if (code == 0)
		code = gg_profile_create(&looks->profile, NULL, error);
	if (code == 0)
		code = gg_profile_writer_init(&looks->output, looks->profile,
		                              header.start_monotonic_ns, &looks->error);
	if (code < 0) {
		close(fd);
		return code;
	}
	code = gg_target_open(&looks->target, &looks->set, &looks->output, fd, 0, 0, false, error);
	if (code < 0)
		return code;
	looks->session = (struct gg_profile_session){
		.command = looks->target->record.command,
		.geiger = GG_VERSION,
		.start_wall_ns = header.start_wall_ns,
		.interval_bytes = (double)header.control.interval_bytes,
		.exit_status = -1,
	};
	return gg_load_note_region(&looks->output, looks->target);
}

int gg_polling_open(struct gg_polling **ret_looks, const char *path, struct gg_error *error)
{
	struct gg_polling *looks = calloc(1, sizeof(*looks));
	int code;

	if (looks == NULL)
		return gg_error_memory(error, path);
	code = begin(looks, path, error);
	if (code < 0)
		gg_polling_free(looks);
	else
		*ret_looks = looks;
	return code;
}

void gg_polling_free(struct gg_polling *looks)
{
	if (looks == NULL)
		return;
	gg_target_set_done(&looks->set);
	gg_profile_writer_done(&looks->output);
	gg_profile_close(looks->profile);
	free(looks);
}

/* Keeps the profile small; only where it has grown. */
static void fold(struct gg_polling *looks)
{
	int more = 1;

	if (looks->output.sample_count + looks->output.lost_count < FOLD_FROM ||
	    looks->count % FOLD_EVERY != 0)
		return;
	for (int i = 0; i < FOLD_CALLS && more == 1; i++)
		more = gg_profile_compact(looks->profile, &fold_rule, looks->output.now_ns,
		                          &looks->error);
	gg_profile_writer_keep(&looks->output, more < 0 ? more : 0);
}

int gg_polling_take(struct gg_polling *looks, const struct gg_region_view *view,
                    struct gg_error *error)
{
	struct gg_profile_writer *output = &looks->output;
	struct gg_span span = { 0 };

	output->now_ns = (int64_t)(gg_clock_monotonic_ns() - output->start_ns);
	span.to_ns = looks->session.end_ns = to_grid(output->now_ns);
	if (looks->count > 0) {
		span.from_ns = span.to_ns - GG_POLLING_GRID_NS;
		span.bucket_ns = GG_POLLING_GRID_NS;
	}
	looks->set.round_count++;
	gg_target_look(looks->target, view, &span);
	gg_profile_writer_keep(
		output, gg_profile_set_session(looks->profile, &looks->session, output->error));
	gg_profile_writer_commit(output);
	if (looks->count++ == 0)
		looks->first_ns = span.to_ns;
	if (output->status == 0)
		fold(looks);
	if (output->status < 0 && error != NULL)
		*error = looks->error;
	return output->status;
}

struct gg_profile *gg_polling_profile(const struct gg_polling *looks)
{
	return looks->profile;
}

int64_t gg_polling_first_ns(const struct gg_polling *looks)
{
	return looks->first_ns;
}
