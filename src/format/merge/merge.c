/* SPDX-License-Identifier: Apache-2.0 */
/* merge - adds up samples and aggregates of profiles by stack, class and group of processes. */
#include "format/merge/merge.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/size.h"
#include "format/merge/merge_groups.h"
#include "format/merge/merge_heirs.h"
#include "format/merge/merge_kinds.h"
#include "format/merge/merge_rows.h"
#include "format/merge/merge_stacks.h"
#include "region/reader/view.h"
#include "stats/estimate/tally.h"
#include "stats/sampling/weight.h"

enum { MERGED_NOTES_MAX = 50 };

static const char no_looks[] =
	"This profile has no look at memory, because it was merged: geiger why and --metric pinned "
	"need the profiles that it was made of.";

/* The row that has a block, as far as its samples have been read. */
struct counted_block {
	bool is_counted; /* false: no row has it */
	struct gg_merge_key key;
};

struct gg_merge {
	struct gg_profile *out;
	struct gg_merge_stacks stacks;
	struct gg_merge_groups groups;
	struct gg_merge_kinds kinds;
	struct gg_merge_rows rows;
	struct gg_merge_heirs heirs; /* of the profile that is being added */
	size_t profile_count, note_count;
	bool had_looks;             /* some profile had looks, or was a sum of such profiles */
	size_t fault_count;         /* memory errors */
	size_t attach_count;        /* processes that were attached, and did not inherit that */
	size_t older_unknown_count; /* those of which nobody knows how much is older */
	double older_bytes;
	char *command; /* command of the first profile; NULL: they differ */
	uint64_t start_wall_ns;
	double interval_bytes;
	enum gg_scheme scheme;

	/* The profile that is being added. */
	struct gg_error *error;
	GG_ARRAY(struct counted_block) blocks; /* by the id of the block's first sample */
};

int gg_merge_new(struct gg_merge **ret_merge, struct gg_profile *out,
                 const struct gg_merge_options *options, struct gg_error *error)
{
	struct gg_merge *merge = calloc(1, sizeof(*merge));

	if (merge == NULL)
		return gg_error_memory(error, "merge");
	merge->out = out;
	merge->stacks.out = out;
	merge->groups.out = out;
	merge->groups.given = options->labels;
	merge->groups.given_count = options->label_count;
	merge->groups.keep_hosts = options->keep_hosts;
	merge->kinds.out = merge->rows.out = out;
	merge->rows.kinds = &merge->kinds;
	merge->start_wall_ns = UINT64_MAX;
	*ret_merge = merge;
	return 0;
}

void gg_merge_free(struct gg_merge *merge)
{
	if (merge == NULL)
		return;
	gg_array_done(&merge->blocks);
	free(merge->command);
	gg_merge_groups_done(&merge->groups);
	gg_merge_rows_done(&merge->rows);
	gg_merge_heirs_done(&merge->heirs);
	gg_merge_kinds_done(&merge->kinds);
	gg_merge_stacks_done(&merge->stacks);
	free(merge);
}

/* Makes the key of a stack and a process of the profile that is being added. */
static struct gg_merge_key key_of(const struct gg_merge *merge, uint32_t process, uint32_t stack,
                                  enum gg_merge_fate fate)
{
	const struct gg_merge_group *group = gg_merge_group_of(&merge->groups, process);

	return (struct gg_merge_key){ .group = group != NULL ? group->id : 0,
		                      .stack = gg_merge_stacks_stack(&merge->stacks, stack),
		                      .fate = fate };
}

static void note_incomplete(const struct gg_merge *merge, uint32_t process)
{
	struct gg_merge_group *group = gg_merge_group_of(&merge->groups, process);

	if (group != NULL)
		group->is_incomplete = true;
}

/* Returns the fate of a block, with the heirs that nobody saw. */
static enum gg_merge_fate fate_with_heirs(const struct gg_merge *merge, enum gg_merge_fate fate,
                                          const struct gg_merge_held *held)
{
	struct gg_merge_group *group = gg_merge_group_of(&merge->groups, held->process);
	struct gg_heir_times times;
	bool is_freed = gg_merge_fate_is_freed(fate);

	if (fate == GG_MERGE_LIVE || group == NULL)
		return fate;
	times = gg_merge_heirs_of(&merge->heirs, held);
	if (times.until_ns == GG_TIME_NONE) {
		group->has_heirs = true;
		return is_freed ? GG_MERGE_FREED_HELD : GG_MERGE_LEFT_HELD;
	}
	return is_freed && times.left_least_ns <= times.left_most_ns ? GG_MERGE_FREED_LEFT : fate;
}

/* --- aggregates ------------------------------------------------------------------------------- */

/* Returns the sure_class of a key (merge_rows.h). */
static uint32_t sure_class(bool is_sure, double interval_bytes, uint32_t size_class)
{
	/* With an interval of 1 or less, every sample is certain, and none stands for more. */
	return is_sure && interval_bytes > 1 && size_class < 64 ? 1 + size_class : 0;
}

/* True if each sample of the aggregate was nearly certain. */
static bool is_surely_sampled(const struct gg_merge *merge,
                              const struct gg_profile_aggregate *aggregate)
{
	struct gg_folded folded = { .scheme = merge->scheme,
		                    .sampling_interval = aggregate->interval_bytes };

	if (aggregate->size_class >= 64 || aggregate->sums.sample_count == 0)
		return false;
	folded.sample_count = aggregate->sums.sample_count;
	folded.seen_bytes = aggregate->sums.size_bytes;
	folded.most_bytes = UINT64_C(1) << aggregate->size_class;
	if (aggregate->size_class > 0)
		folded.least_bytes = folded.most_bytes / 2 + 1;
	return gg_folded_share_of(&folded).is_sure;
}

/* Exact blocks may have been freed, if nobody knows of later frees.  They are left all the same. */
static enum gg_merge_fate fate_of_stopped(const struct gg_merge *merge, uint32_t process)
{
	struct gg_merge_group *group = gg_merge_group_of(&merge->groups, process);

	if (group == NULL || !gg_merge_groups_has_stopped(&merge->groups, process))
		return GG_MERGE_LIVE;
	group->has_heirs = true;
	return GG_MERGE_LEFT_HELD;
}

static int add_aggregate(const struct gg_profile_aggregate *aggregate, void *context)
{
	struct gg_merge *merge = context;
	const struct gg_sums *sums = &aggregate->sums;
	bool is_left = aggregate->is_left ||
	               (aggregate->is_exact &&
	                gg_merge_groups_has_ended(&merge->groups, aggregate->process));
	enum gg_merge_fate freed = aggregate->may_be_left ? GG_MERGE_FREED_LEFT : GG_MERGE_FREED;
	enum gg_merge_fate fate = aggregate->to_ns != GG_TIME_NONE ? freed
	                          : is_left                        ? GG_MERGE_LEFT
	                                                           : GG_MERGE_LIVE;
	struct gg_merge_part part = { .size_class = aggregate->size_class,
		                      .interval_bytes = aggregate->interval_bytes };
	const struct gg_merge_held held = { .process = aggregate->process,
		                            .block = UINT32_MAX,
		                            .from_ns = INT64_MIN,
		                            .until_ns = aggregate->to_ns };
	struct gg_merge_key key;

	if (sums->sample_count == 0 && sums->size_bytes == 0)
		return 0;
	/* An ancestor that allocated the memory may have counted it, so the merge leaves it out. */
	if (aggregate->is_shared) {
		note_incomplete(merge, aggregate->process);
		return 0;
	}
	part.sum = (struct gg_row_sums){ .samples = (double)sums->sample_count,
		                         .size = (double)sums->size_bytes,
		                         .count = gg_fixed_value(sums->count),
		                         .count_variance = gg_fixed_value(sums->count_variance),
		                         .bytes = gg_fixed_value(sums->bytes),
		                         .bytes_variance = gg_fixed_value(sums->bytes_variance),
		                         .count_skew = aggregate->count_skew,
		                         .bytes_skew = aggregate->bytes_skew,
		                         .unknown_errors = aggregate->unknown_errors };
	if (aggregate->lost || aggregate->is_exact || aggregate->bucket_ns > 0)
		fate = fate_with_heirs(merge, fate, &held);
	if (aggregate->is_exact && fate == GG_MERGE_LIVE)
		fate = fate_of_stopped(merge, aggregate->process);
	key = key_of(merge, aggregate->process, aggregate->stack, fate);
	key.is_inherited = aggregate->is_inherited;
	key.sure_class = sure_class(is_surely_sampled(merge, aggregate), aggregate->interval_bytes,
	                            aggregate->size_class);
	if (aggregate->has_kind &&
	    gg_merge_kinds_number(&merge->kinds, aggregate->is_mapping, aggregate->heap,
	                          aggregate->type, &key.kind) < 0)
		return gg_error_memory(merge->error, "merge");
	return gg_merge_rows_add(&merge->rows, &key, &part, merge->error);
}

/* --- samples ---------------------------------------------------------------------------------- */

/*
 * Returns the block whose first sample has that id; NULL: out of memory, or a hostile file has an
 * id that is too large.
 */
static struct counted_block *block_at(struct gg_merge *merge, uint64_t id)
{
	if (id > UINT32_MAX || !gg_array_extend(&merge->blocks, (size_t)id + 1))
		return NULL;
	return &merge->blocks.items[id];
}

/* The id of the first sample of the sample's block. */
static uint64_t block_of(const struct gg_profile_sample *sample)
{
	return sample->origin != 0 ? sample->origin : sample->id;
}

/* is_orphan: no ancestor's sample stands for the block. */
static enum gg_merge_fate fate_of(const struct gg_merge *merge,
                                  const struct gg_profile_sample *sample, bool is_orphan)
{
	const struct gg_merge_held held = {
		.process = sample->process,
		.block = block_of(sample),
		.from_ns = sample->alloc_ns,
		.until_ns = sample->free_ns,
		.is_orphan = is_orphan,
	};
	enum gg_merge_fate fate = sample->free_ns != GG_TIME_NONE ? GG_MERGE_FREED
	                          : gg_merge_groups_has_ended(&merge->groups, sample->process)
	                                  ? GG_MERGE_LEFT
	                                  : GG_MERGE_LIVE;

	return fate_with_heirs(merge, fate, &held);
}

static struct gg_row_sums weigh_sample(const struct gg_profile_sample *sample, bool *ret_is_sure)
{
	struct gg_share share = gg_share_of(&sample->draw, sample->size_bytes);

	*ret_is_sure = share.is_sure;
	return (struct gg_row_sums){
		.samples = 1,
		.size = (double)sample->size_bytes,
		.count = share.value[GG_ALLOCATIONS],
		.count_variance = share.variance[GG_ALLOCATIONS],
		.bytes = share.value[GG_BYTES],
		.bytes_variance = share.variance[GG_BYTES],
		.count_skew = share.skew[GG_ALLOCATIONS],
		.bytes_skew = share.skew[GG_BYTES],
		.unknown_errors = share.unknown > 0 ? 1u << GG_BYTES | 1u << GG_ALLOCATIONS : 0
	};
}

static uint32_t size_class(uint64_t size_bytes)
{
	return size_bytes <= 1 ? 0 : 64 - (uint32_t)__builtin_clzll(size_bytes - 1);
}

/*
 * A fork shares its blocks, and each is one block: allocated once, and live while any process holds
 * it.  A process that inherited the block comes after the one that allocated it, and the block
 * moves to the row of the fate that decides.  The two may know its type from different moments, and
 * be of different groups.
 *
 * If the process that allocated the block freed it, its row keeps the block, and a row of inherited
 * blocks has what another process left or holds.  Nobody counted the allocation of an orphan, so it
 * has such a row alone, and none if it was freed.
 */
static int add_sample(const struct gg_profile_sample *sample, void *context)
{
	struct gg_merge *merge = context;
	struct counted_block *block = block_at(merge, block_of(sample));
	bool is_inherited = sample->origin != 0;
	bool is_later = is_inherited && block != NULL && block->is_counted;
	bool is_orphan = is_inherited && !is_later, is_inherited_row;
	enum gg_merge_fate fate = fate_of(merge, sample, is_orphan);
	bool has_interval = sample->draw.scheme != GG_SCHEME_PER_ALLOCATION, is_sure;
	struct gg_merge_part part = { .sum = weigh_sample(sample, &is_sure),
		                      .size_class = size_class(sample->size_bytes),
		                      .interval_bytes = has_interval
		                                                ? sample->draw.sampling_interval
		                                                : 0 };
	struct gg_merge_key key;

	if (is_orphan && (block == NULL || fate == GG_MERGE_FREED))
		return 0;
	if (is_later) {
		fate = gg_merge_fate_of_both(fate, block->key.fate);
		if (fate == block->key.fate)
			return 0;
		gg_merge_rows_subtract(&merge->rows, &block->key, &part.sum);
	}
	is_inherited_row = is_orphan || (is_later && block->key.is_inherited);
	if (is_later && !is_inherited_row && gg_merge_fate_is_freed(block->key.fate) &&
	    !gg_merge_fate_is_freed(fate)) {
		key = block->key;
		key.fate = GG_MERGE_FREED;
		if (gg_merge_rows_add(&merge->rows, &key, &part, merge->error) < 0)
			return merge->error->status;
		is_inherited_row = true;
	}
	key = key_of(merge, sample->process, sample->stack, fate);
	key.is_inherited = is_inherited_row;
	key.sure_class = sure_class(is_sure, part.interval_bytes, part.size_class);
	if (gg_merge_kinds_number(&merge->kinds, (sample->flags & GG_PROFILE_SAMPLE_MAPPING) != 0,
	                          sample->heap, sample->type, &key.kind) < 0)
		return gg_error_memory(merge->error, "merge");
	if (block != NULL)
		*block = (struct counted_block){ .is_counted = true, .key = key };
	return gg_merge_rows_add(&merge->rows, &key, &part, merge->error);
}

/* --- profiles --------------------------------------------------------------------------------- */

static int take_session(struct gg_merge *merge, struct gg_profile *profile)
{
	struct gg_profile_session session;
	int status = gg_profile_session(profile, &session, merge->error);

	if (status < 0)
		return status;
	if (session.start_wall_ns < merge->start_wall_ns)
		merge->start_wall_ns = session.start_wall_ns;
	merge->interval_bytes = fmax(merge->interval_bytes, session.interval_bytes);
	merge->scheme = session.scheme;
	return gg_merge_keep_command(&merge->command, merge->profile_count == 0, session.command,
	                             merge->error);
}

static int take_note(const char *text, void *context)
{
	struct gg_merge *merge = context;

	if (strcmp(text, no_looks) == 0) {
		merge->had_looks = true;
		return 0;
	}
	if (merge->note_count == MERGED_NOTES_MAX)
		return 0;
	merge->note_count++;
	return gg_profile_add_note(merge->out, text, merge->error);
}

static int take_look(const struct gg_profile_look *look, void *context)
{
	struct gg_merge *merge = context;

	(void)look;
	merge->had_looks = true;
	return 0;
}

static int take_attach(const struct gg_profile_attach *attach, void *context)
{
	struct gg_merge *merge = context;

	if (attach->is_inherited)
		return 0;
	merge->attach_count++;
	if (attach->older_bytes >= 0)
		merge->older_bytes += (double)attach->older_bytes;
	else
		merge->older_unknown_count++;
	return 0;
}

static int take_fault(const struct gg_profile_fault *fault, void *context)
{
	struct gg_merge *merge = context;

	(void)fault;
	merge->fault_count++;
	return 0;
}

static int note_faults(const struct gg_merge *merge, struct gg_error *error)
{
	char text[200];

	if (merge->fault_count == 0)
		return 0;
	snprintf(text, sizeof(text),
	         "%zu memory error%s in these profiles; 'geiger faults' shows them in each, "
	         "and not in this sum.",
	         merge->fault_count, merge->fault_count == 1 ? " was found" : "s were found");
	return gg_profile_add_note(merge->out, text, error);
}

/* Notes what all profiles lack because their recordings began late. */
static int note_attaches(const struct gg_merge *merge, struct gg_error *error)
{
	char size[GG_SIZE_TEXT_MAX], unknown[80] = "", text[300];

	if (merge->attach_count == 0)
		return 0;
	if (merge->older_unknown_count > 0)
		snprintf(unknown, sizeof(unknown), " (of %zu of them it is not known)",
		         merge->older_unknown_count);
	snprintf(text, sizeof(text),
	         "%zu process%s of these profiles ran already when the agent was attached, with "
	         "%s in use%s. Older memory is not in this profile.",
	         merge->attach_count, merge->attach_count == 1 ? "" : "es",
	         gg_size_format(merge->older_bytes, size), unknown);
	return gg_profile_add_note(merge->out, text, error);
}

/* Copies what the garbage collector of one process did, with the times of its own session. */
static int take_collections(struct gg_merge *merge, const struct gg_profile_event *event)
{
	struct gg_profile_event copy = *event;
	int status;

	if (gg_merge_group_of(&merge->groups, event->process) == NULL)
		return 0;
	status = gg_merge_groups_collector(&merge->groups, event->process, &copy.process);
	return status == 0 ? gg_profile_add_event(merge->out, &copy, merge->error) : status;
}

/* Records that sampling was off.  The times are lost, because a sum has no times. */
static int take_event(const struct gg_profile_event *event, void *context)
{
	if (event->kind != NULL && strcmp(event->kind, "off") == 0)
		note_incomplete(context, event->process);
	if (event->kind != NULL && strcmp(event->kind, GG_PROFILE_COLLECTIONS) == 0)
		return take_collections(context, event);
	return 0;
}

/* Threads of Java VMs that ran at an attach: objects of theirs are missing in the sum as well. */
static bool is_of_older_threads(uint32_t counter)
{
	return counter == GG_COUNT_JAVA_THREADS || counter == GG_COUNT_JAVA_THREADS_SAMPLED ||
	       counter == GG_COUNT_JAVA_THREADS_ENDED;
}

/* Adds up the counters of all processes of a group that tell what it lacks. */
static int take_counter(uint32_t process, const char *name, uint64_t value, void *context)
{
	const struct gg_merge *merge = context;
	struct gg_merge_group *group = gg_merge_group_of(&merge->groups, process);
	uint32_t counter = gg_region_counter_of(name);

	if (group != NULL && value > 0 && strcmp(name, GG_PROFILE_LACKING_SENDERS) == 0)
		group->is_incomplete = true;
	if (group != NULL && (gg_region_counter_is_drop(counter) || is_of_older_threads(counter)))
		group->losses[counter] += value;
	return 0;
}

int gg_merge_add(struct gg_merge *merge, struct gg_profile *profile, struct gg_error *error)
{
	int status;

	merge->error = error;
	merge->blocks.count = 0;
	/* A block may move from row to row while its profile is read, so rows are written here. */
	status = merge->rows.rows.count >= GG_MERGE_ROWS_MAX
	                 ? gg_merge_rows_write(&merge->rows, error)
	                 : 0;
	if (status == 0)
		status = take_session(merge, profile);
	if (status == 0)
		status = gg_merge_groups_read(&merge->groups, profile, error);
	if (status == 0)
		status = gg_merge_heirs_read(&merge->heirs, profile, error);
	if (status == 0)
		status = gg_merge_stacks_read(&merge->stacks, profile, error);
	if (status == 0)
		status = gg_merge_kinds_read(&merge->kinds, profile, error);
	if (status == 0)
		status = gg_profile_each_sample(profile, add_sample, merge, error);
	if (status == 0)
		status = gg_profile_each_aggregate(profile, add_aggregate, merge, error);
	if (status == 0)
		status = gg_profile_each_event(profile, take_event, merge, error);
	if (status == 0)
		status = gg_profile_each_counter(profile, take_counter, merge, error);
	if (status == 0)
		status = gg_profile_each_note(profile, take_note, merge, error);
	if (status == 0)
		status = gg_profile_each_look(profile, take_look, merge, error);
	if (status == 0)
		status = gg_profile_each_attach(profile, take_attach, merge, error);
	if (status == 0)
		status = gg_profile_each_fault(profile, take_fault, merge, error);
	merge->profile_count++;
	return status;
}

int gg_merge_finish(struct gg_merge *merge, struct gg_error *error)
{
	/*
	 * There is no end, because the time from the first start to the last end is no duration of
	 * unrelated runs.
	 */
	struct gg_profile_session session = { .start_wall_ns = merge->start_wall_ns,
		                              .interval_bytes = merge->interval_bytes,
		                              .scheme = merge->scheme,
		                              .exit_status = -1 };
	char command[300];
	int status;

	snprintf(command, sizeof(command), "%.200s%s(%zu profile%s)",
	         merge->command != NULL ? merge->command : "", merge->command != NULL ? " " : "",
	         merge->profile_count, merge->profile_count == 1 ? "" : "s");
	session.command = command;
	status = gg_merge_rows_write(&merge->rows, error);
	if (status == 0)
		status = gg_merge_groups_write(&merge->groups, error);
	if (status == 0 && merge->had_looks)
		status = gg_profile_add_note(merge->out, no_looks, error);
	if (status == 0)
		status = note_attaches(merge, error);
	if (status == 0)
		status = note_faults(merge, error);
	return status == 0 ? gg_profile_set_session(merge->out, &session, error) : status;
}
