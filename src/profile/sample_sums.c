/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_sums - adds up ranges of ids, each through its own connection (profile/sample_sums.h).
 */
#include "profile/sample_sums.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "profile/statements.h"
#include "stats/sampling/weight.h"

/* Below this number of ids a second thread does not pay. */
enum { DIVIDED_FROM = 100000 };

enum { ADDED_BETWEEN_REPORTS = 8192 };

/* Samples with ids in [first_id, last_id]. */
struct part {
	const struct gg_sample_sums *sums;
	struct gg_profile *profile;
	int64_t first_id, last_id;
	struct gg_metric_sums *stacks;
	const struct gg_progress *progress; /* the first part stands for both */
	uint64_t id_count, sample_count;
	struct gg_error error;
	int status;
};

bool gg_sample_sums_ends_last(const struct gg_sample_sums *sums, uint32_t process)
{
	return process == 0 ||
	       gg_live_at_end_until(&sums->last, sums->ends[process]) == GG_TIME_NONE;
}

static bool is_among(const struct gg_map *blocks, uint64_t id)
{
	return blocks->used_count > 0 && gg_map_get(blocks, id) != GG_MAP_NONE;
}

static int add_sample(const struct gg_profile_sample *sample, void *context)
{
	struct part *part = context;
	const struct gg_sample_sums *sums = part->sums;
	struct gg_metric_sums *stack = &part->stacks[sample->stack];
	struct gg_weight weight;
	struct gg_metric_sum sum;

	if (part->sample_count++ % ADDED_BETWEEN_REPORTS == 0)
		gg_progress_report(part->progress, sample->id - (uint64_t)part->first_id,
		                   part->id_count, "adding up samples");
	if (sample->origin != 0 && sample->origin != sample->id)
		return 0; /* the block of another process, which counts it */
	weight = gg_weight_of(&sample->draw, sample->size_bytes);
	sum = (struct gg_metric_sum){ 1, weight.bytes, weight.bytes_variance, weight.count,
		                      weight.count_variance };
	if (sample->draw.scheme == GG_SCHEME_BIASED)
		sum.bytes_variance = sum.count_variance = NAN;
	if (sample->origin == 0)
		gg_metric_sum_add(&stack->allocated, &sum);
	if (sample->free_ns == GG_TIME_NONE || is_among(&sums->left_blocks, sample->id))
		gg_metric_sum_add(&stack->left, &sum);
	if ((sample->free_ns == GG_TIME_NONE && gg_sample_sums_ends_last(sums, sample->process)) ||
	    is_among(&sums->live_blocks, sample->id))
		gg_metric_sum_add(&stack->live, &sum);
	return 0;
}

static void *add_part(void *context)
{
	struct part *part = context;

	part->status = gg_profile_each_sample_between(part->profile, part->first_id, part->last_id,
	                                              add_sample, part, &part->error);
	return NULL;
}

/*
 * Opens a second connection to the file.  It does not check the file as gg_profile_open() does:
 * the file is our own, and closing a descriptor that SQLite does not know would give back the locks
 * of the first connection.
 */
static struct gg_profile *open_beside(const struct gg_profile *profile)
{
	struct gg_profile *beside = gg_database_new(NULL);

	if (beside == NULL)
		return NULL;
	beside->path = strdup(profile->path);
	memcpy(beside->counts, profile->counts, sizeof(beside->counts));
	if (beside->path != NULL &&
	    gg_database_open(beside, beside->path, SQLITE_OPEN_READWRITE, NULL) == 0 &&
	    gg_database_execute(beside, "pragma query_only = on", NULL) == 0)
		return beside;
	gg_database_free(beside);
	return NULL;
}

/* Divides the ids in two if that pays and everything is in the file.  Returns the parts. */
static size_t divide(struct part parts[2], size_t stack_count)
{
	const struct gg_profile *profile = parts[0].profile;

	if (parts[0].first_id <= 0 || parts[0].last_id - parts[0].first_id < DIVIDED_FROM ||
	    !profile->is_in_file || profile->has_changes)
		return 1;
	parts[1].stacks = calloc(stack_count, sizeof(*parts[1].stacks));
	parts[1].profile = parts[1].stacks != NULL ? open_beside(profile) : NULL;
	if (parts[1].profile == NULL)
		return 1;
	parts[1].last_id = parts[0].last_id;
	parts[0].last_id -= (parts[0].last_id - parts[0].first_id) / 2;
	parts[1].first_id = parts[0].last_id + 1;
	return 2;
}

/* Adds up the parts; a second thread adds the second one. */
static void add_parts(struct part *parts, size_t part_count)
{
	pthread_t thread;
	bool is_beside = part_count > 1 && pthread_create(&thread, NULL, add_part, &parts[1]) == 0;

	add_part(&parts[0]);
	if (is_beside)
		pthread_join(thread, NULL);
	else if (part_count > 1)
		add_part(&parts[1]);
}

int gg_sample_sums_add(struct gg_profile *profile, const struct gg_sample_sums *sums,
                       struct gg_metric_sums *stacks, struct gg_error *error)
{
	struct part parts[2] = { { .sums = sums, .profile = profile, .stacks = stacks },
		                 { .sums = sums } };
	size_t stack_count = (size_t)profile->counts[GG_DENSE_STACK] + 1, part_count;
	int status = gg_profile_sample_ids(profile, &parts[0].first_id, &parts[0].last_id, error);

	if (status < 0)
		return status;
	part_count = divide(parts, stack_count);
	parts[0].progress = profile->progress;
	parts[0].id_count = (uint64_t)parts[0].last_id - (uint64_t)parts[0].first_id + 1;
	add_parts(parts, part_count);
	for (size_t i = 0; i < part_count && status == 0; i++) {
		status = parts[i].status;
		if (status < 0 && error != NULL)
			*error = parts[i].error;
	}
	for (size_t i = 0; i < stack_count && part_count > 1 && status == 0; i++)
		gg_metric_sums_add(&stacks[i], &parts[1].stacks[i]);
	if (parts[1].profile != NULL) {
		profile->dangling_count += parts[1].profile->dangling_count;
		gg_database_free(parts[1].profile);
	}
	free(parts[1].stacks);
	return status;
}
