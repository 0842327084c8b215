/* SPDX-License-Identifier: Apache-2.0 */
/*
 * merge_groups - processes with equal labels, which become one process of the merged profile.
 *
 *   struct gg_merge_groups groups = { .out = out, .given = labels, .given_count = 2 };
 *
 *   gg_merge_groups_read(&groups, profile, error);               for each profile
 *   group = gg_merge_group_of(&groups, sample->process);         its group, or NULL
 *   gg_merge_groups_write(&groups, error);
 *   gg_merge_groups_done(&groups);
 *
 * Processes belong to one group if they have the same labels, scheme and sampling interval.  Given
 * labels replace labels of the process that have the same key.
 *
 * Threads  one owner.
 */
#pragma once

#include "base/array.h"
#include "base/buf.h"
#include "base/map.h"
#include "format/import/import.h"
#include "profile/live_at_end.h"
#include "region/layout.h"

struct gg_merge_group {
	uint32_t id; /* of its process in `out` */
	uint32_t
		process_count; /* recorded processes, also those of groups that were merged again */
	bool has_command;      /* a process was seen that is no collector */
	struct gg_profile_process process;
	char *command; /* NULL: the processes have different ones */
	/* The region's counters of lost samples and frees, and of older Java threads. */
	uint64_t losses[GG_COUNTER_COUNT];
	bool is_incomplete; /* sampling was off at times, or sums may be another process's */
	/* Heirs that nobody saw may hold some blocks, or processes whose frees were lost. */
	bool has_heirs;
};

/* A process of the profile that is being added. */
struct gg_merge_process {
	uint32_t group; /* index + 1; 0: no such process */
	uint32_t pid;
	uint32_t collector; /* id in `out` of the process for its collections; 0: none yet */
	size_t command;     /* offset in texts */
	int64_t end_ns;
	bool has_stopped; /* its exact counts knew no frees any more */
};

/* A label of a process of the profile that is being added. */
struct gg_merge_label {
	uint32_t process;
	size_t key, value; /* offsets in texts */
};

struct gg_merge_groups {
	struct gg_profile *out;
	const struct gg_import_label *given; /* labels for every process */
	size_t given_count;
	bool keep_hosts; /* add the recording machine as the label "host" */
	GG_ARRAY(struct gg_merge_group) groups;
	struct gg_map by_labels; /* hash of labels, scheme and interval -> index */

	/* The profile that is being added. */
	struct gg_error *error;
	char *host; /* the label for each of its processes; NULL: no label */
	GG_ARRAY(struct gg_merge_process) processes; /* by id */
	struct gg_live_at_end last;
	GG_ARRAY(struct gg_merge_label) labels;
	struct gg_buf texts; /* of labels and commands */
};

/* Reads the labels and processes of a profile. */
GG_MUST_CHECK int gg_merge_groups_read(struct gg_merge_groups *groups, struct gg_profile *profile,
                                       struct gg_error *error);
/* Returns the group of a process of that profile; NULL: it has no such process. */
struct gg_merge_group *gg_merge_group_of(const struct gg_merge_groups *groups, uint32_t process);
/* True if that process ended before the end of its session. */
bool gg_merge_groups_has_ended(const struct gg_merge_groups *groups, uint32_t process);
/* True if the process may have freed exact blocks that its counts have not as freed. */
bool gg_merge_groups_has_stopped(const struct gg_merge_groups *groups, uint32_t process);

/*
 * Returns a process of `out` for the collections of one process of that profile.  It has the pid,
 * the command and the labels, and no samples: those are in the group, which is its parent.  So a
 * parent without a pid marks it, and a later merge counts it in no group.
 */
GG_MUST_CHECK int gg_merge_groups_collector(struct gg_merge_groups *groups, uint32_t process,
                                            uint32_t *ret_collector);

/* Completes the processes of `out`: their commands, counters and events. */
GG_MUST_CHECK int gg_merge_groups_write(struct gg_merge_groups *groups, struct gg_error *error);
void gg_merge_groups_done(struct gg_merge_groups *groups);

/*
 * Keeps a command as long as all are equal: the first call copies it, and a different one sets
 * *kept to NULL for good.
 */
GG_MUST_CHECK int gg_merge_keep_command(char **kept, bool is_first, const char *command,
                                        struct gg_error *error);
