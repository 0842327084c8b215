/* SPDX-License-Identifier: Apache-2.0 */
/* top_list - reads regions and /proc, and estimates live memory. */
#include "top/top_list.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/time_units.h"
#include "record/process/proc_file.h"
#include "record/regions/polling.h"
#include "record/regions/process_alive.h"
#include "record/regions/region_list.h"
#include "record/regions/region_state.h"

/* A look spends this time on the live memory of ended processes. */
#define ENDED_NS (GG_NS_PER_S / 2)

/* Longer commands are cut. */
enum { COMMAND_BYTES = 512 };

/* A region with its figures, which hold until its counters change. */
struct listed {
	char *path;
	uint64_t start_wall_ns, change_count;
	double confidence;
	struct gg_figure live, blocks;
	bool is_seen; /* by the look that runs */
	/* As the last look found it. */
	uint32_t pid;
	bool is_alive;
	const char *state; /* a static word */
	char *command;
	double up_seconds;
};

struct gg_top_list {
	GG_ARRAY(struct listed) regions;
};

/* A look that runs. */
struct list_run {
	struct gg_top_list *list;
	double confidence;
	bool all;
	uint64_t begin_ns;
	GG_ARRAY(struct gg_top_entry) entries;
	GG_ARRAY(struct gg_top_row) rows;
	size_t hidden_count; /* regions of ended processes that are not listed */
	struct gg_error *error;
};

struct gg_top_list *gg_top_list_new(void)
{
	return calloc(1, sizeof(struct gg_top_list));
}

static void listed_done(struct listed *listed)
{
	free(listed->path);
	free(listed->command);
}

void gg_top_list_free(struct gg_top_list *list)
{
	if (list == NULL)
		return;
	for (size_t i = 0; i < list->regions.count; i++)
		listed_done(&list->regions.items[i]);
	gg_array_done(&list->regions);
	free(list);
}

/* --- regions -------------------------------------------------------------------------------- */

/* The sum of all counters, which changes with each sample, free, and loss. */
static uint64_t changes_of(const struct gg_region_view *view)
{
	uint64_t count = view->header.control.active + view->header.control.interval_bytes;

	for (size_t i = 0; i < GG_COUNT(view->header.counters); i++)
		count += view->header.counters[i];
	return count;
}

static int sum_model(struct listed *listed, struct gg_profile *profile)
{
	struct gg_model *model;
	struct gg_query query;
	struct gg_sum_up sum;
	int status = gg_model_load(&model, &profile, 1, NULL, NULL);

	if (status < 0)
		return status;
	gg_query_init(&query);
	status = gg_query_sum(model, &query, &sum, NULL);
	if (status == 0) {
		listed->live = gg_figure_of(&sum.total, GG_BYTES, listed->confidence, false);
		listed->blocks = gg_figure_of(&sum.total, GG_ALLOCATIONS, listed->confidence,
		                              false);
	}
	gg_model_free(model);
	return status;
}

/* Estimates live memory as a watch of the process would. */
static int estimate(struct listed *listed, const struct gg_region_view *view)
{
	struct gg_polling *polling;
	int status = gg_polling_open(&polling, listed->path, NULL);

	if (status < 0)
		return status;
	status = gg_polling_take(polling, view, NULL);
	if (status == 0)
		status = sum_model(listed, gg_polling_profile(polling));
	gg_polling_free(polling);
	return status;
}

static struct listed *find(struct gg_top_list *list, const struct gg_listed_region *file)
{
	for (size_t i = 0; i < list->regions.count; i++) {
		struct listed *listed = &list->regions.items[i];

		if (strcmp(listed->path, file->path) == 0 &&
		    listed->start_wall_ns == file->start_wall_ns)
			return listed;
	}
	return NULL;
}

static struct listed *add_region(struct gg_top_list *list, const struct gg_listed_region *file)
{
	struct listed *listed = gg_array_add(&list->regions);

	if (listed == NULL)
		return NULL;
	listed->path = strdup(file->path);
	listed->start_wall_ns = file->start_wall_ns;
	if (listed->path == NULL) {
		list->regions.count--;
		return NULL;
	}
	return listed;
}

/* Takes what may differ from look to look. */
static int refresh(struct listed *listed, const struct gg_listed_region *file,
                   const struct gg_region_view *view)
{
	uint64_t now_ns = file->is_alive ? gg_clock_wall_ns() : file->last_wall_ns;
	char *command = strndup(file->command, COMMAND_BYTES);

	if (command == NULL)
		return -ENOMEM;
	free(listed->command);
	listed->command = command;
	listed->is_alive = file->is_alive;
	listed->state = gg_region_state(file, GG_REGION_STATE_SAMPLING);
	listed->pid = file->is_alive ? gg_process_alive_pid_here(&view->header, file->fd)
	                             : file->pid;
	listed->up_seconds = now_ns > file->start_wall_ns
	                             ? (double)(now_ns - file->start_wall_ns) * 1e-9
	                             : 0;
	listed->is_seen = true;
	return 0;
}

static int visit(const struct gg_listed_region *file, void *context)
{
	struct list_run *run = context;
	struct listed *listed;
	uint64_t change_count;

	if (file->kind != GG_LISTED_REGION_WHOLE)
		return 0;
	if (!file->is_alive && !run->all) {
		run->hidden_count++;
		return 0;
	}
	listed = find(run->list, file);
	change_count = changes_of(file->view);
	if (listed == NULL)
		listed = add_region(run->list, file);
	if (listed == NULL)
		return -ENOMEM;
	/* A new one has the confidence 0, and differs. */
	if (listed->change_count != change_count || listed->confidence != run->confidence) {
		if (!file->is_alive && gg_clock_monotonic_ns() - run->begin_ns > ENDED_NS)
			return refresh(listed, file, file->view);
		listed->confidence = run->confidence;
		/* A region that cannot be estimated stays unseen, and out of the list. */
		if (estimate(listed, file->view) < 0)
			return 0;
		listed->change_count = change_count;
	}
	return refresh(listed, file, file->view);
}

/*
 * An exec leaves the region of the program before, whose process lives on with another region.
 * Only the latest region of a running process counts.
 */
static bool is_current(const struct gg_top_list *list, const struct listed *listed)
{
	for (size_t i = 0; i < list->regions.count; i++) {
		const struct listed *other = &list->regions.items[i];

		if (other != listed && other->is_seen && other->is_alive && listed->is_alive &&
		    other->pid == listed->pid && other->start_wall_ns > listed->start_wall_ns)
			return false;
	}
	return true;
}

static void forget_unseen(struct gg_top_list *list)
{
	size_t kept = 0;

	for (size_t i = 0; i < list->regions.count; i++) {
		struct listed *listed = &list->regions.items[i];

		if (listed->is_seen)
			list->regions.items[kept++] = *listed;
		else
			listed_done(listed);
	}
	list->regions.count = kept;
}

/* --- rows ----------------------------------------------------------------------------------- */

/* Adds an entry with its row.  It takes `target`, which may be NULL: out of memory. */
static int add_entry(struct list_run *run, struct gg_top_entry entry, struct gg_top_row row,
                     const char *command)
{
	if (asprintf(&row.label, "%" PRIu32 " %s", entry.pid, command) < 0) {
		free(entry.target);
		return -ENOMEM;
	}
	if (entry.target != NULL && gg_array_push(&run->entries, entry)) {
		if (gg_array_push(&run->rows, row))
			return 0;
		run->entries.count--;
	}
	free(row.label);
	free(entry.target);
	return -ENOMEM;
}

static int add_listed(struct list_run *run, const struct listed *listed)
{
	struct gg_top_entry entry = {
		.pid = listed->pid,
		.has_region = true,
		.is_alive = listed->is_alive,
		.has_live = listed->confidence == run->confidence,
		.state = listed->state,
		.rss_bytes = listed->is_alive ? (double)gg_proc_file_rss_bytes(listed->pid) : -1,
	};
	struct gg_top_row row = {
		.self = listed->live,
		.blocks = listed->blocks,
		.p_value = NAN,
		.q_value = NAN,
		.age_ns = listed->up_seconds * (double)GG_NS_PER_S,
	};

	entry.target = strdup(listed->path);
	return add_entry(run, entry, row, listed->command);
}

static int add_regions(struct list_run *run)
{
	struct gg_top_list *list = run->list;
	int status;

	for (size_t i = 0; i < list->regions.count; i++)
		list->regions.items[i].is_seen = false;
	status = gg_region_list_each(NULL, 0, visit, run, run->error);
	forget_unseen(list);
	for (size_t i = 0; status == 0 && i < list->regions.count; i++)
		if (is_current(list, &list->regions.items[i]))
			status = add_listed(run, &list->regions.items[i]);
	return status;
}

/* --- processes without an agent ------------------------------------------------------------- */

static bool is_own(uint32_t pid)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf path = { 0 };
	struct stat owner;

	gg_buf_printf(&path, "/proc/%" PRIu32, pid);
	return !path.failed && stat(path.data, &owner) == 0 &&
	       (geteuid() == 0 || owner.st_uid == geteuid());
}

static bool is_listed(const struct list_run *run, uint32_t pid)
{
	for (size_t i = 0; i < run->entries.count; i++)
		if (run->entries.items[i].is_alive && run->entries.items[i].pid == pid)
			return true;
	return false;
}

/* The seconds since the process began; NAN: unknown. */
static double up_seconds(uint32_t pid)
{
	uint64_t start_ticks = gg_process_alive_start_ticks(pid);

	if (start_ticks == 0)
		return NAN;
	return (double)gg_clock_boot_ns() * 1e-9 -
	       (double)start_ticks / (double)sysconf(_SC_CLK_TCK);
}

static int add_bare(struct list_run *run, uint32_t pid)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf command = { 0 };
	struct gg_top_entry entry = { .pid = pid, .is_alive = true, .state = "no agent" };
	struct gg_top_row row = { .p_value = NAN, .q_value = NAN };

	if (pid == (uint32_t)getpid() || is_listed(run, pid) ||
	    !gg_proc_file_read_command(&command, pid))
		return 0;
	if (command.length > COMMAND_BYTES)
		command.data[COMMAND_BYTES] = '\0';
	entry.rss_bytes = (double)gg_proc_file_rss_bytes(pid);
	row.age_ns = up_seconds(pid) * (double)GG_NS_PER_S;
	if (asprintf(&entry.target, "%" PRIu32, pid) < 0)
		return -ENOMEM;
	return add_entry(run, entry, row, command.data);
}

static int add_others(struct list_run *run)
{
	DIR *listing = opendir("/proc");
	uint32_t pid;
	int status = 0;

	if (listing == NULL)
		return gg_error_set_errno(run->error, errno, "/proc", NULL);
	while (status == 0 && (pid = gg_proc_file_next_number(listing)) != 0)
		if (is_own(pid))
			status = add_bare(run, pid);
	closedir(listing);
	return status;
}

int gg_top_list_look(struct gg_top_list *list, double confidence, bool all,
                     struct gg_top_snapshot **ret_snapshot, struct gg_error *error)
{
	struct gg_top_snapshot *snapshot = calloc(1, sizeof(*snapshot));
	struct list_run run = { .list = list,
		                .confidence = confidence,
		                .all = all,
		                .begin_ns = gg_clock_monotonic_ns(),
		                .error = error };
	int status = snapshot != NULL ? add_regions(&run) : -ENOMEM;

	if (status == 0 && all)
		status = add_others(&run);
	/* An empty list has entries as well: they tell it from a table. */
	if (status == 0 && !gg_array_reserve(&run.entries, 1))
		status = -ENOMEM;
	if (status < 0 && snapshot != NULL) {
		for (size_t i = 0; i < run.rows.count; i++) {
			free(run.rows.items[i].label);
			free(run.entries.items[i].target);
		}
		gg_array_done(&run.rows);
		gg_array_done(&run.entries);
		free(snapshot);
	}
	if (status < 0)
		return status == -ENOMEM ? gg_error_memory(error, "top") : status;
	snapshot->rows = run.rows.items;
	snapshot->row_count = run.rows.count;
	snapshot->entries = run.entries.items;
	snapshot->hidden_count = run.hidden_count;
	snapshot->confidence = confidence;
	snapshot->mark_ns = GG_TIME_NONE;
	snapshot->process.rss_bytes = snapshot->process.peak_bytes = -1;
	*ret_snapshot = snapshot;
	return 0;
}
