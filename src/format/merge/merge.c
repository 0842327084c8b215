/* SPDX-License-Identifier: Apache-2.0 */
/* merge - groups processes by their labels and adds up their samples and aggregates. */
#include "format/merge/merge.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "format/merge/merge_stacks.h"
#include "profile/last_end.h"
#include "region/reader/view.h"
#include "stats/estimate/tally.h"
#include "stats/sampling/weight.h"

enum {
	ROWS_MAX = 1 << 20,
	NOTES_MAX = 50,
	MIXED_SIZES = 255,
};

/* The fate of a block.  If several processes share a block, the largest value decides. */
enum fate {
	FATE_FREED,
	FATE_LEFT, /* not freed, and its process ended before the end of its session */
	FATE_LIVE, /* live at the end of its session (profile/last_end.h) */
};

/* A sum by stack and fate over the processes of a group. */
struct row {
	uint32_t stack, group; /* ids of `out` */
	uint32_t size_class;
	enum fate fate;
	double interval;
	struct gg_row_sums sum;
};

/* Processes with the same labels and sampling interval, which become one process of `out`. */
struct group {
	uint32_t id;
	uint32_t process_count;
	struct gg_profile_process process;
	char *command;
	uint64_t dropped[GG_COUNTER_COUNT]; /* the region's counters of lost samples and frees */
	bool is_incomplete; /* sampling was off at times, or sums may be another process's */
};

/* A process of the profile that is being added. */
struct process {
	uint32_t group; /* index + 1; 0: no such process */
	int64_t end_ns;
};

struct gg_merge {
	struct gg_profile *out;
	struct gg_merge_options options;
	struct gg_merge_stacks places;
	GG_ARRAY(struct row) rows;
	struct gg_map row_map; /* key_of() -> index */
	GG_ARRAY(struct group) groups;
	struct gg_map group_map; /* hash of labels, scheme and interval -> index */
	size_t profile_count, note_count;
	char *command; /* command of the first process; NULL: they differ */
	uint64_t start_wall_ns;
	double interval;
	enum gg_scheme scheme;

	/* The profile that is being added. */
	struct gg_profile *profile;
	struct gg_error *error;
	GG_ARRAY(struct process) processes; /* by id */
	struct gg_last_end last;
	struct gg_buf labels;    /* struct label of the current process */
	struct gg_buf texts;     /* the texts of labels */
	GG_ARRAY(uint8_t) fates; /* by sample id: the fate that its block counts with so far */
};

struct label {
	uint32_t process;
	size_t key, value; /* offsets in texts */
};

int gg_merge_new(struct gg_merge **ret_merge, struct gg_profile *out,
                 const struct gg_merge_options *options, struct gg_error *error)
{
	struct gg_merge *merge = calloc(1, sizeof(*merge));

	if (merge == NULL)
		return gg_error_memory(error, "merge");
	merge->out = out;
	merge->options = *options;
	merge->places.out = out;
	merge->start_wall_ns = UINT64_MAX;
	*ret_merge = merge;
	return 0;
}

void gg_merge_free(struct gg_merge *merge)
{
	if (merge == NULL)
		return;
	for (size_t i = 0; i < merge->groups.count; i++)
		free(merge->groups.items[i].command);
	gg_array_done(&merge->groups);
	gg_array_done(&merge->rows);
	gg_array_done(&merge->processes);
	gg_array_done(&merge->fates);
	free(merge->command);
	gg_map_done(&merge->row_map);
	gg_map_done(&merge->group_map);
	gg_buf_done(&merge->labels);
	gg_buf_done(&merge->texts);
	gg_merge_stacks_done(&merge->places);
	free(merge);
}

/* --- rows ------------------------------------------------------------------------------------- */

static int write_row(struct gg_merge *merge, const struct row *row)
{
	struct gg_profile_coarse coarse = { .process = row->group,
		                            .stack = row->stack,
		                            .to_ns = row->fate != FATE_FREED ? GG_TIME_NONE : 0,
		                            .is_left = row->fate == FATE_LEFT,
		                            .size_class = row->size_class,
		                            .interval_bytes = row->interval,
		                            .sums = gg_row_sums_sums(&row->sum),
		                            .count_skew = row->sum.count_skew,
		                            .bytes_skew = row->sum.bytes_skew,
		                            .unknown_errors = row->sum.unknown_errors };

	return gg_profile_add_coarse(merge->out, &coarse, merge->error);
}

static int write_rows(struct gg_merge *merge)
{
	int status = 0;

	for (size_t i = 0; i < merge->rows.count && status == 0; i++)
		if (merge->rows.items[i].sum.samples > 0)
			status = write_row(merge, &merge->rows.items[i]);
	merge->rows.count = 0;
	gg_map_done(&merge->row_map);
	return status;
}

/* Returns index + 1 of the group of a process that is being added; 0: it has no group. */
static uint32_t group_of(const struct gg_merge *merge, uint32_t process)
{
	return process < merge->processes.count ? merge->processes.items[process].group : 0;
}

/* Returns the row of this key, a new one if necessary; NULL: out of memory. */
static struct row *find_row(struct gg_merge *merge, uint32_t group, uint32_t stack, enum fate fate)
{
	/* A stack takes 32 bits and a group 30 bits, more than there are processes. */
	uint64_t key = (uint64_t)stack << 32 | (uint64_t)group << 2 | (uint64_t)fate;
	uint64_t index = gg_map_get(&merge->row_map, key);
	struct row *row;

	if (index != GG_MAP_NONE)
		return &merge->rows.items[index];
	if (gg_map_put(&merge->row_map, key, merge->rows.count) < 0)
		return NULL;
	row = gg_array_add(&merge->rows);
	if (row == NULL)
		return NULL;
	row->stack = stack;
	row->group = group;
	row->fate = fate;
	return row;
}

static int add_to_row(struct gg_merge *merge, uint32_t process, uint32_t stack, enum fate fate,
                      uint32_t size_class, double interval, const struct gg_row_sums *what)
{
	uint32_t group = group_of(merge, process);
	struct row *row;

	if (merge->rows.count >= ROWS_MAX && write_rows(merge) < 0)
		return merge->error != NULL ? merge->error->code : -EIO;
	row = find_row(merge, group > 0 ? merge->groups.items[group - 1].id : 0,
	               gg_merge_stacks_stack(&merge->places, stack), fate);
	if (row == NULL)
		return gg_error_memory(merge->error, "merge");
	if (row->sum.samples == 0)
		row->size_class = size_class;
	else if (row->size_class != size_class)
		row->size_class = MIXED_SIZES;
	row->interval = fmax(row->interval, interval);
	gg_row_sums_add(&row->sum, what);
	return 0;
}

static void note_incomplete(struct gg_merge *merge, uint32_t process)
{
	uint32_t group = group_of(merge, process);

	if (group > 0)
		merge->groups.items[group - 1].is_incomplete = true;
}

static int add_coarse(const struct gg_profile_coarse *coarse, void *context)
{
	struct gg_merge *merge = context;
	const struct gg_sums *sums = &coarse->sums;
	enum fate fate = coarse->is_left ? FATE_LEFT : FATE_LIVE;
	struct gg_row_sums what = { .samples = (double)sums->sample_count,
		                    .size = (double)sums->size_bytes,
		                    .count = gg_fixed_value(sums->count),
		                    .count_variance = gg_fixed_value(sums->count_variance),
		                    .bytes = gg_fixed_value(sums->bytes),
		                    .bytes_variance = gg_fixed_value(sums->bytes_variance),
		                    .count_skew = coarse->count_skew,
		                    .bytes_skew = coarse->bytes_skew,
		                    .unknown_errors = coarse->unknown_errors };

	if (sums->sample_count == 0)
		return 0;
	/* An ancestor that allocated the memory may have counted it, so the merge leaves it out. */
	if (coarse->is_shared) {
		note_incomplete(merge, coarse->process);
		return 0;
	}
	return add_to_row(merge, coarse->process, coarse->stack,
	                  coarse->to_ns == GG_TIME_NONE ? fate : FATE_FREED, coarse->size_class,
	                  coarse->interval_bytes, &what);
}

/* --- samples ---------------------------------------------------------------------------------- */

/*
 * Returns the fate of a sample; NULL: out of memory, or a hostile file has an id that is too large.
 */
static uint8_t *fate_at(struct gg_merge *merge, uint64_t id)
{
	if (id > UINT32_MAX || !gg_array_extend(&merge->fates, (size_t)id + 1))
		return NULL;
	return &merge->fates.items[id];
}

static enum fate fate_of(const struct gg_merge *merge, const struct gg_profile_sample *sample)
{
	if (sample->free_ns != GG_TIME_NONE)
		return FATE_FREED;
	if (sample->process == 0 || sample->process >= merge->processes.count)
		return FATE_LIVE;
	return gg_last_end_until(&merge->last, merge->processes.items[sample->process].end_ns) ==
	                       GG_TIME_NONE
	               ? FATE_LIVE
	               : FATE_LEFT;
}

static struct gg_row_sums weigh_sample(const struct gg_profile_sample *sample)
{
	struct gg_share share = gg_share_of(&sample->draw, sample->size_bytes);

	return (struct gg_row_sums){ .samples = 1,
		                     .size = (double)sample->size_bytes,
		                     .count = share.value[GG_ALLOCATIONS],
		                     .count_variance = share.variance[GG_ALLOCATIONS],
		                     .bytes = share.value[GG_BYTES],
		                     .bytes_variance = share.variance[GG_BYTES],
		                     .count_skew = share.skew[GG_ALLOCATIONS],
		                     .bytes_skew = share.skew[GG_BYTES] };
}

static uint32_t size_class(uint64_t size_bytes)
{
	return size_bytes <= 1 ? 0 : 64 - (uint32_t)__builtin_clzll(size_bytes - 1);
}

/* Removes a block from the row in which it counted so far, unless that row is already written. */
static void take_back(struct gg_merge *merge, const struct gg_profile_sample *sample,
                      enum fate fate, const struct gg_row_sums *what)
{
	uint32_t group = group_of(merge, sample->process);
	struct row *row = find_row(merge, group > 0 ? merge->groups.items[group - 1].id : 0,
	                           gg_merge_stacks_stack(&merge->places, sample->stack), fate);

	if (row == NULL || row->sum.samples < 1)
		return;
	row->sum.samples -= 1;
	row->sum.size -= what->size;
	row->sum.count -= what->count;
	row->sum.count_variance -= what->count_variance;
	row->sum.bytes -= what->bytes;
	row->sum.bytes_variance -= what->bytes_variance;
	row->sum.count_skew = fmax(row->sum.count_skew - what->count_skew, 0);
	row->sum.bytes_skew = fmax(row->sum.bytes_skew - what->bytes_skew, 0);
	if (row->sum.samples < 1)
		row->sum = (struct gg_row_sums){ 0 };
}

/*
 * A fork shares its blocks, and each is one block: allocated once, and live while any process holds
 * it.  A process that inherited the block comes after the one that allocated it, and the block
 * moves to the row of the fate that decides.
 */
static int add_sample(const struct gg_profile_sample *sample, void *context)
{
	struct gg_merge *merge = context;
	enum fate fate = fate_of(merge, sample);
	bool is_inherited = sample->origin != 0 && sample->origin != sample->id;
	uint8_t *counted = fate_at(merge, is_inherited ? sample->origin : sample->id);
	struct gg_row_sums what = weigh_sample(sample);
	double interval = sample->draw.scheme == GG_SCHEME_PER_ALLOCATION ? 0
	                                                                  : sample->draw.interval;

	if (is_inherited) {
		if (counted == NULL || fate <= *counted)
			return 0;
		take_back(merge, sample, (enum fate) * counted, &what);
	}
	if (counted != NULL)
		*counted = (uint8_t)fate;
	return add_to_row(merge, sample->process, sample->stack, fate,
	                  size_class(sample->size_bytes), interval, &what);
}

/* --- processes -------------------------------------------------------------------------------- */

static const char *value_of(const struct gg_merge *merge, uint32_t process, const char *key)
{
	const struct label *labels = (const struct label *)(const void *)merge->labels.data;

	for (size_t i = 0; i < merge->options.label_count; i++)
		if (strcmp(merge->options.labels[i].key, key) == 0)
			return merge->options.labels[i].value;
	for (size_t i = 0; i < merge->labels.length / sizeof(*labels); i++)
		if (labels[i].process == process &&
		    strcmp(merge->texts.data + labels[i].key, key) == 0)
			return merge->texts.data + labels[i].value;
	return NULL;
}

static int take_label(uint32_t process, const char *key, const char *value, void *context)
{
	struct gg_merge *merge = context;
	struct label label = { process, merge->texts.length, 0 };

	gg_buf_append(&merge->texts, key, strlen(key) + 1);
	label.value = merge->texts.length;
	gg_buf_append(&merge->texts, value, strlen(value) + 1);
	gg_buf_append(&merge->labels, &label, sizeof(label));
	return merge->texts.failed || merge->labels.failed ? gg_error_memory(merge->error, "merge")
	                                                   : 0;
}

typedef int label_visit(struct gg_merge *merge, const char *key, const char *value, void *context);

/*
 * Calls a function for each label of a process, each key once.  Options override the process's
 * labels.
 */
static int each_label(struct gg_merge *merge, uint32_t process, const char *host,
                      label_visit *visit, void *context)
{
	const struct label *labels = (const struct label *)(const void *)merge->labels.data;
	int status = 0;

	for (size_t i = 0; i < merge->labels.length / sizeof(*labels) && status == 0; i++) {
		const char *key = merge->texts.data + labels[i].key;

		if (labels[i].process == process)
			status = visit(merge, key, value_of(merge, process, key), context);
	}
	for (size_t i = 0; i < merge->options.label_count && status == 0; i++)
		status = visit(merge, merge->options.labels[i].key, merge->options.labels[i].value,
		               context);
	if (status == 0 && host != NULL && value_of(merge, process, "host") == NULL)
		status = visit(merge, "host", host, context);
	return status;
}

/*
 * Adds a label to a hash.  The hash is a sum, so the order of labels does not matter.  A repeated
 * label counts twice, because it is also written twice.
 */
static int hash_label(struct gg_merge *merge, const char *key, const char *value, void *context)
{
	uint64_t *sum = context, seed = gg_map_seed(&merge->group_map);

	*sum += gg_hash_bytes(key, strlen(key) + 1, gg_hash_bytes(value, strlen(value) + 1, seed));
	return 0;
}

static int put_label(struct gg_merge *merge, const char *key, const char *value, void *context)
{
	const struct group *group = context;

	return gg_profile_put_label(merge->out, group->id, key, value, merge->error);
}

/* Adds a process to its group.  If commands differ, the group has no command. */
static int note_process(struct gg_merge *merge, struct group *group,
                        const struct gg_profile_process *process)
{
	const char *command = process->command != NULL ? process->command : process->exe;

	if (group->process_count++ == 0 && command != NULL) {
		group->command = strdup(command);
		if (group->command == NULL)
			return gg_error_memory(merge->error, "merge");
	} else if (group->command != NULL &&
	           (command == NULL || strcmp(group->command, command) != 0)) {
		free(group->command);
		group->command = NULL;
	}
	group->process.interval_bytes = fmax(group->process.interval_bytes,
	                                     process->interval_bytes);
	return 0;
}

static int new_group(struct gg_merge *merge, const struct gg_profile_process *process,
                     const char *host)
{
	struct group *group;
	int status;

	group = gg_array_add(&merge->groups);
	if (group == NULL)
		return gg_error_memory(merge->error, "merge");
	group->process.scheme = process->scheme;
	group->process.interval_bytes = process->interval_bytes;
	status = gg_profile_add_process(merge->out, &group->process, &group->id, merge->error);
	if (status == 0)
		status = each_label(merge, process->id, host, put_label, group);
	if (status < 0)
		merge->groups.count--;
	return status;
}

static int take_process(const struct gg_profile_process *process, void *context)
{
	struct gg_merge *merge = context;
	uint64_t hash = gg_hash_integer(process->scheme, gg_map_seed(&merge->group_map)), index;
	int64_t interval = (int64_t)fmin(process->interval_bytes, 0x1p60);
	struct gg_profile_session session;
	const char *host = NULL;
	size_t known_count;
	int status = 0;

	if (merge->options.keep_hosts &&
	    gg_profile_session(merge->profile, &session, merge->error) == 0)
		host = session.host;
	hash = gg_hash_integer((uint64_t)interval, hash); /* keeps different intervals apart */
	status = each_label(merge, process->id, host, hash_label, &hash);
	index = gg_map_get(&merge->group_map, hash);
	if (status == 0 && index == GG_MAP_NONE) {
		index = merge->groups.count;
		status = new_group(merge, process, host);
		if (status == 0 && gg_map_put(&merge->group_map, hash, index) < 0)
			status = gg_error_memory(merge->error, "merge");
	}
	if (status == 0)
		status = note_process(merge, &merge->groups.items[index], process);
	if (status < 0)
		return status;
	known_count = merge->processes.count;
	if (!gg_array_extend(&merge->processes, (size_t)process->id + 1))
		return gg_error_memory(merge->error, "merge");
	for (; known_count < process->id; known_count++)
		merge->processes.items[known_count].end_ns = GG_TIME_NONE;
	merge->processes.items[process->id] = (struct process){ (uint32_t)index + 1,
		                                                process->end_ns };
	gg_last_end_note(&merge->last, process->end_ns);
	return 0;
}

/* --- profiles --------------------------------------------------------------------------------- */

static int take_session(struct gg_merge *merge)
{
	struct gg_profile_session session;
	int status = gg_profile_session(merge->profile, &session, merge->error);

	if (status < 0)
		return status;
	if (merge->profile_count == 0 && session.command != NULL) {
		merge->command = strdup(session.command);
		if (merge->command == NULL)
			return gg_error_memory(merge->error, "merge");
	} else if (merge->command != NULL &&
	           (session.command == NULL || strcmp(session.command, merge->command) != 0)) {
		free(merge->command);
		merge->command = NULL;
	}
	if (session.start_wall_ns < merge->start_wall_ns)
		merge->start_wall_ns = session.start_wall_ns;
	merge->interval = fmax(merge->interval, session.interval_bytes);
	merge->scheme = session.scheme;
	return 0;
}

static int take_note(const char *text, void *context)
{
	struct gg_merge *merge = context;

	if (merge->note_count == NOTES_MAX)
		return 0;
	merge->note_count++;
	return gg_profile_add_note(merge->out, text, merge->error);
}

/* Records that sampling was off.  The times are lost, because a sum has no times. */
static int take_event(const struct gg_profile_event *event, void *context)
{
	if (event->kind != NULL && strcmp(event->kind, "off") == 0)
		note_incomplete(context, event->process);
	return 0;
}

/* Adds up the counters of all processes of a group. */
static int take_counter(uint32_t process, const char *name, uint64_t value, void *context)
{
	struct gg_merge *merge = context;
	uint32_t group = group_of(merge, process);
	uint32_t number = gg_region_counter_of(name);

	if (group > 0 && gg_region_counter_is_drop(number))
		merge->groups.items[group - 1].dropped[number] += value;
	return 0;
}

int gg_merge_add(struct gg_merge *merge, struct gg_profile *profile, struct gg_error *error)
{
	int status;

	merge->profile = profile;
	merge->error = error;
	merge->processes.count = 0;
	gg_buf_clear(&merge->labels);
	gg_buf_clear(&merge->texts);
	merge->last = (struct gg_last_end){ 0 };
	merge->fates.count = 0;
	status = take_session(merge);
	if (status == 0)
		status = gg_profile_each_label(profile, take_label, merge, error);
	if (status == 0)
		status = gg_profile_each_process(profile, take_process, merge, error);
	if (status == 0)
		status = gg_merge_stacks_read(&merge->places, profile, error);
	if (status == 0)
		status = gg_profile_each_sample(profile, add_sample, merge, error);
	if (status == 0)
		status = gg_profile_each_coarse(profile, add_coarse, merge, error);
	if (status == 0)
		status = gg_profile_each_event(profile, take_event, merge, error);
	if (status == 0)
		status = gg_profile_each_counter(profile, take_counter, merge, error);
	if (status == 0)
		status = gg_profile_each_note(profile, take_note, merge, error);
	merge->profile_count++;
	return status;
}

/* Records the losses that make figures of the sum lower bounds. */
static int put_losses(struct gg_merge *merge, const struct group *group)
{
	const struct gg_profile_event event = { .process = group->id,
		                                .kind = "off",
		                                .detail = "of some processes not all was sampled" };
	int status = 0;

	if (group->is_incomplete)
		status = gg_profile_add_event(merge->out, &event, merge->error);
	for (uint32_t i = 0; i < GG_COUNTER_COUNT && status == 0; i++)
		if (group->dropped[i] > 0)
			status = gg_profile_put_counter(merge->out, group->id,
			                                gg_region_counter_name(i),
			                                group->dropped[i], merge->error);
	return status;
}

static int finish_groups(struct gg_merge *merge)
{
	int status = 0;

	for (size_t i = 0; i < merge->groups.count && status == 0; i++) {
		struct group *group = &merge->groups.items[i];
		char command[300];

		snprintf(command, sizeof(command), "%.200s%s(%u process%s)",
		         group->command != NULL ? group->command : "",
		         group->command != NULL ? " " : "", group->process_count,
		         group->process_count == 1 ? "" : "es");
		group->process.command = command;
		status = gg_profile_update_process(merge->out, group->id, &group->process,
		                                   merge->error);
		if (status == 0)
			status = put_losses(merge, group);
	}
	return status;
}

int gg_merge_finish(struct gg_merge *merge, struct gg_error *error)
{
	/*
	 * There is no end, because the time from the first start to the last end is no duration of
	 * unrelated runs.
	 */
	struct gg_profile_session session = { .start_wall_ns = merge->start_wall_ns,
		                              .interval_bytes = merge->interval,
		                              .scheme = merge->scheme,
		                              .exit_status = -1 };
	char command[300];
	int status;

	merge->error = error;
	snprintf(command, sizeof(command), "%.200s%s(%zu profile%s)",
	         merge->command != NULL ? merge->command : "", merge->command != NULL ? " " : "",
	         merge->profile_count, merge->profile_count == 1 ? "" : "s");
	session.command = command;
	status = write_rows(merge);
	if (status == 0)
		status = finish_groups(merge);
	return status == 0 ? gg_profile_set_session(merge->out, &session, error) : status;
}
