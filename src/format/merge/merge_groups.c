/* SPDX-License-Identifier: Apache-2.0 */
/* merge_groups - groups processes by their labels, scheme and sampling interval. */
#include "format/merge/merge_groups.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/hash.h"
#include "region/reader/view.h"

int gg_merge_keep_command(char **kept, bool is_first, const char *command, struct gg_error *error)
{
	gg_assert(!is_first || *kept == NULL);
	if (is_first && command != NULL) {
		*kept = strdup(command);
		if (*kept == NULL)
			return gg_error_memory(error, "merge");
	} else if (*kept != NULL && (command == NULL || strcmp(*kept, command) != 0)) {
		free(*kept);
		*kept = NULL;
	}
	return 0;
}

/* --- labels ----------------------------------------------------------------------------------- */

/* Returns the value that a key has for a process; NULL: it has no such label. */
static const char *value_of(const struct gg_merge_groups *groups, uint32_t process, const char *key)
{
	for (size_t i = 0; i < groups->given_count; i++)
		if (strcmp(groups->given[i].key, key) == 0)
			return groups->given[i].value;
	for (size_t i = 0; i < groups->labels.count; i++) {
		const struct gg_merge_label *label = &groups->labels.items[i];

		if (label->process == process && strcmp(groups->texts.data + label->key, key) == 0)
			return groups->texts.data + label->value;
	}
	return NULL;
}

static int take_label(uint32_t process, const char *key, const char *value, void *context)
{
	struct gg_merge_groups *groups = context;
	struct gg_merge_label label = { process, groups->texts.length, 0 };

	gg_buf_append(&groups->texts, key, strlen(key) + 1);
	label.value = groups->texts.length;
	gg_buf_append(&groups->texts, value, strlen(value) + 1);
	return groups->texts.failed || !gg_array_push(&groups->labels, label)
	               ? gg_error_memory(groups->error, "merge")
	               : 0;
}

typedef int label_visit(struct gg_merge_groups *groups, const char *key, const char *value,
                        void *context);

/* Calls a function for each label of a process.  Given labels override the process's labels. */
static int each_label(struct gg_merge_groups *groups, uint32_t process, label_visit *visit,
                      void *context)
{
	int status = 0;

	for (size_t i = 0; i < groups->labels.count && status == 0; i++) {
		const char *key = groups->texts.data + groups->labels.items[i].key;

		if (groups->labels.items[i].process == process)
			status = visit(groups, key, value_of(groups, process, key), context);
	}
	for (size_t i = 0; i < groups->given_count && status == 0; i++)
		status = visit(groups, groups->given[i].key, groups->given[i].value, context);
	if (status == 0 && groups->host != NULL && value_of(groups, process, "host") == NULL)
		status = visit(groups, "host", groups->host, context);
	return status;
}

/*
 * Adds a label to a hash.  The hash is a sum, so the order of labels does not matter.  A repeated
 * label counts twice, because it is also written twice.
 */
static int hash_label(struct gg_merge_groups *groups, const char *key, const char *value,
                      void *context)
{
	uint64_t *sum = context, seed = gg_map_seed(&groups->by_labels);

	*sum += gg_hash_bytes(key, strlen(key) + 1, gg_hash_bytes(value, strlen(value) + 1, seed));
	return 0;
}

static int put_label(struct gg_merge_groups *groups, const char *key, const char *value,
                     void *context)
{
	const uint32_t *process = context;

	return gg_profile_put_label(groups->out, *process, key, value, groups->error);
}

/* --- processes -------------------------------------------------------------------------------- */

static int new_group(struct gg_merge_groups *groups, const struct gg_profile_process *process)
{
	struct gg_merge_group *group = gg_array_add(&groups->groups);
	int status;

	if (group == NULL)
		return gg_error_memory(groups->error, "merge");
	group->process.scheme = process->scheme;
	group->process.interval_bytes = process->interval_bytes;
	status = gg_profile_add_process(groups->out, &group->process, &group->id, groups->error);
	if (status == 0)
		status = each_label(groups, process->id, put_label, &group->id);
	if (status < 0)
		groups->groups.count--;
	return status;
}

/* Finds the group of a process, and makes a new one for labels that no group has yet. */
static int find_group(struct gg_merge_groups *groups, const struct gg_profile_process *process,
                      uint64_t *ret_index)
{
	uint64_t hash = gg_hash_integer(process->scheme, gg_map_seed(&groups->by_labels));
	int64_t interval = (int64_t)fmin(process->interval_bytes, 0x1p60);
	int status;

	hash = gg_hash_integer((uint64_t)interval, hash); /* keeps different intervals apart */
	status = each_label(groups, process->id, hash_label, &hash);
	if (status < 0)
		return status;
	*ret_index = gg_map_get(&groups->by_labels, hash);
	if (*ret_index != GG_MAP_NONE)
		return 0;
	*ret_index = groups->groups.count;
	status = new_group(groups, process);
	if (status == 0 && gg_map_put(&groups->by_labels, hash, *ret_index) < 0)
		status = gg_error_memory(groups->error, "merge");
	return status;
}

/* True if the process is one of merged collections: the group's process has no pid. */
static bool is_collector(const struct gg_merge_groups *groups,
                         const struct gg_profile_process *process)
{
	return process->parent != 0 && process->parent < groups->processes.count &&
	       groups->processes.items[process->parent].group != 0 &&
	       groups->processes.items[process->parent].pid == 0;
}

/*
 * Returns how many processes a process stands for.  The process of a group has that number behind
 * its command, which becomes shorter by it.
 */
static uint32_t split_count(const struct gg_profile_process *process, char *command)
{
	char *at = command != NULL ? strrchr(command, '(') : NULL;
	uint32_t count;
	int length = 0;

	if (process->pid != 0 || at == NULL ||
	    sscanf(at, "(%" SCNu32 " process%n", &count, &length) != 1 || length == 0 ||
	    count == 0 || (strcmp(at + length, ")") != 0 && strcmp(at + length, "es)") != 0))
		return 1;
	while (at > command && at[-1] == ' ')
		at--;
	*at = '\0';
	return count;
}

/* Adds a process to its group: how many there are, and the command if all have the same one. */
static int count_process(struct gg_merge_groups *groups, struct gg_merge_group *group,
                         const struct gg_profile_process *process, const char *text)
{
	char *command = text != NULL ? strdup(text) : NULL;
	uint32_t count;
	int status;

	if (text != NULL && command == NULL)
		return gg_error_memory(groups->error, "merge");
	count = split_count(process, command);
	/* A group of processes with different commands is without a command. */
	status = gg_merge_keep_command(&group->command, !group->has_command,
	                               command != NULL && command[0] != '\0' ? command : NULL,
	                               groups->error);
	free(command);
	if (status < 0)
		return status;
	group->has_command = true;
	group->process_count += count;
	return 0;
}

static int take_process(const struct gg_profile_process *process, void *context)
{
	struct gg_merge_groups *groups = context;
	struct gg_merge_group *group;
	uint64_t index;
	size_t known_count, command_at = groups->texts.length;
	const char *command = process->command != NULL ? process->command : process->exe;
	int status = find_group(groups, process, &index);

	if (status < 0)
		return status;
	gg_assert(index < groups->groups.count);
	group = &groups->groups.items[index];
	if (!is_collector(groups, process))
		status = count_process(groups, group, process, command);
	if (status < 0)
		return status;
	gg_buf_append(&groups->texts, command != NULL ? command : "",
	              (command != NULL ? strlen(command) : 0) + 1);
	if (groups->texts.failed)
		return gg_error_memory(groups->error, "merge");
	group->process.interval_bytes = fmax(group->process.interval_bytes,
	                                     process->interval_bytes);
	known_count = groups->processes.count;
	if (!gg_array_extend(&groups->processes, (size_t)process->id + 1))
		return gg_error_memory(groups->error, "merge");
	for (; known_count < process->id; known_count++)
		groups->processes.items[known_count].end_ns = GG_TIME_NONE;
	groups->processes.items[process->id] = (struct gg_merge_process){
		.group = (uint32_t)index + 1,
		.pid = process->pid,
		.command = command_at,
		.end_ns = process->end_ns,
	};
	gg_live_at_end_note(&groups->last, process->end_ns);
	return 0;
}

static int read_host(struct gg_merge_groups *groups, struct gg_profile *profile)
{
	struct gg_profile_session session;

	free(groups->host);
	groups->host = NULL;
	if (!groups->keep_hosts || gg_profile_session(profile, &session, groups->error) < 0 ||
	    session.host == NULL)
		return 0;
	groups->host = strdup(session.host);
	return groups->host == NULL ? gg_error_memory(groups->error, "merge") : 0;
}

static int take_counter(uint32_t process, const char *name, uint64_t value, void *context)
{
	struct gg_merge_groups *groups = context;

	(void)value; /* a time */
	if (process < groups->processes.count &&
	    strcmp(name, GG_PROFILE_COUNTER_EXACT_STOPPED) == 0)
		groups->processes.items[process].has_stopped = true;
	return 0;
}

int gg_merge_groups_read(struct gg_merge_groups *groups, struct gg_profile *profile,
                         struct gg_error *error)
{
	int status;

	groups->error = error;
	groups->processes.count = groups->labels.count = 0;
	gg_buf_clear(&groups->texts);
	groups->last = (struct gg_live_at_end){ 0 };
	status = read_host(groups, profile);
	if (status == 0)
		status = gg_profile_each_label(profile, take_label, groups, error);
	if (status == 0)
		status = gg_profile_each_process(profile, take_process, groups, error);
	return status == 0 ? gg_profile_each_counter(profile, take_counter, groups, error) : status;
}

struct gg_merge_group *gg_merge_group_of(const struct gg_merge_groups *groups, uint32_t process)
{
	uint32_t number = process < groups->processes.count ? groups->processes.items[process].group
	                                                    : 0;

	gg_assert(number <= groups->groups.count);
	return number > 0 ? &groups->groups.items[number - 1] : NULL;
}

int gg_merge_groups_collector(struct gg_merge_groups *groups, uint32_t process,
                              uint32_t *ret_collector)
{
	const struct gg_merge_group *group = gg_merge_group_of(groups, process);
	struct gg_merge_process *from = &groups->processes.items[process];
	int status = 0;

	gg_assert(group != NULL);
	if (from->collector == 0) {
		const struct gg_profile_process collector = {
			.parent = group->id,
			.pid = from->pid,
			.command = groups->texts.data + from->command,
			.scheme = group->process.scheme,
			.interval_bytes = group->process.interval_bytes,
		};

		status = gg_profile_add_process(groups->out, &collector, &from->collector,
		                                groups->error);
		if (status == 0)
			status = each_label(groups, process, put_label, &from->collector);
	}
	*ret_collector = from->collector;
	return status;
}

bool gg_merge_groups_has_ended(const struct gg_merge_groups *groups, uint32_t process)
{
	if (process == 0 || process >= groups->processes.count)
		return false;
	return gg_live_at_end_until(&groups->last, groups->processes.items[process].end_ns) !=
	       GG_TIME_NONE;
}

bool gg_merge_groups_has_stopped(const struct gg_merge_groups *groups, uint32_t process)
{
	return process < groups->processes.count && groups->processes.items[process].has_stopped;
}

/* --- writing ---------------------------------------------------------------------------------- */

/* Records the losses that make figures of the sum lower bounds. */
static int write_losses(const struct gg_merge_groups *groups, const struct gg_merge_group *group)
{
	const struct gg_profile_event event = { .process = group->id,
		                                .kind = "off",
		                                .detail = "of some processes not all was sampled" };
	int status = 0;

	if (group->is_incomplete)
		status = gg_profile_add_event(groups->out, &event, groups->error);
	for (uint32_t i = 0; i < GG_COUNTER_COUNT && status == 0; i++)
		if (group->losses[i] > 0)
			status = gg_profile_put_counter(groups->out, group->id,
			                                gg_region_counter_name(i), group->losses[i],
			                                groups->error);
	if (status == 0 && group->has_heirs)
		status = gg_profile_put_counter(groups->out, group->id,
		                                gg_region_counter_name(GG_COUNT_UNNOTED_CHILDREN),
		                                1, groups->error);
	return status;
}

int gg_merge_groups_write(struct gg_merge_groups *groups, struct gg_error *error)
{
	int status = 0;

	groups->error = error;
	for (size_t i = 0; i < groups->groups.count && status == 0; i++) {
		struct gg_merge_group *group = &groups->groups.items[i];
		char command[300];

		snprintf(command, sizeof(command), "%.200s%s(%u process%s)",
		         group->command != NULL ? group->command : "",
		         group->command != NULL ? " " : "", group->process_count,
		         group->process_count == 1 ? "" : "es");
		group->process.command = command;
		status = gg_profile_update_process(groups->out, group->id, &group->process, error);
		group->process.command = NULL;
		if (status == 0)
			status = write_losses(groups, group);
	}
	return status;
}

void gg_merge_groups_done(struct gg_merge_groups *groups)
{
	for (size_t i = 0; i < groups->groups.count; i++)
		free(groups->groups.items[i].command);
	gg_array_done(&groups->groups);
	gg_array_done(&groups->processes);
	gg_array_done(&groups->labels);
	gg_buf_done(&groups->texts);
	gg_map_done(&groups->by_labels);
	free(groups->host);
}
