/* SPDX-License-Identifier: Apache-2.0 */
/*
 * write - writes records as rows: processes, samples, sums, time series, and notes.
 */
#include <errno.h>
#include <stdio.h>

#include "base/buf.h"
#include "profile/statements.h"
#include "stats/estimate/tally.h"

/*
 * A profile commits by itself after this many rows, which bounds its memory before it has a file.
 */
enum { UNCOMMITTED_MAX = 500000 };

static int commit_now_and_then(struct gg_profile *profile, struct gg_error *error)
{
	return profile->uncommitted_count >= UNCOMMITTED_MAX ? gg_profile_commit(profile, error)
	                                                     : 0;
}

int gg_profile_set_session(struct gg_profile *profile, const struct gg_profile_session *session,
                           struct gg_error *error)
{
	struct gg_statement row;
	int status = gg_statement_begin(&row, profile, GG_SQL_SESSION, error);

	if (status < 0)
		return status;
	gg_statement_text(&row, session->command);
	gg_statement_text(&row, session->host);
	gg_statement_text(&row, session->kernel);
	gg_statement_text(&row, session->machine);
	gg_statement_text(&row, session->geiger);
	gg_statement_integer(&row, (int64_t)session->start_wall_ns);
	gg_statement_time(&row, session->end_ns);
	gg_statement_number(&row, session->interval_bytes);
	gg_statement_integer(&row, session->scheme);
	gg_statement_known(&row, session->exit_status);
	gg_statement_integer(&row, session->has_history);
	return gg_statement_run(&row, error);
}

/* Advances a table's id after its row has been written. */
static int take_id(struct gg_profile *profile, enum gg_dense table, int status, uint32_t *ret_id)
{
	if (status < 0)
		return status;
	profile->counts[table]++;
	if (ret_id != NULL)
		*ret_id = profile->counts[table];
	return 0;
}

/* Writes the earliest possible end.  Tables of older files have no column for it. */
static int put_end_least(struct gg_profile *profile, uint32_t id,
                         const struct gg_profile_process *process, struct gg_error *error)
{
	struct gg_statement row;
	int status;

	if (process->end_ns == GG_TIME_NONE || process->end_range_ns <= 0 ||
	    profile->version < GG_PROFILE_VERSION_END_LEAST)
		return 0;
	status = gg_statement_begin(&row, profile, GG_SQL_PROCESS_END, error);
	if (status < 0)
		return status;
	gg_statement_id(&row, id);
	gg_statement_integer(&row, process->end_ns - process->end_range_ns);
	return gg_statement_run(&row, error);
}

int gg_profile_update_process(struct gg_profile *profile, uint32_t id,
                              const struct gg_profile_process *process, struct gg_error *error)
{
	struct gg_statement row;
	int status = gg_statement_begin(&row, profile, GG_SQL_PROCESS, error);

	if (status < 0)
		return status;
	gg_statement_id(&row, id);
	gg_statement_id(&row, process->parent);
	gg_statement_integer(&row, process->pid);
	gg_statement_time(&row, process->start_ns);
	gg_statement_time(&row, process->end_ns);
	gg_statement_text(&row, process->exe);
	gg_statement_text(&row, process->command);
	gg_statement_text(&row, process->ending);
	gg_statement_number(&row, process->interval_bytes);
	gg_statement_integer(&row, process->scheme);
	status = gg_statement_run(&row, error);
	return status < 0 ? status : put_end_least(profile, id, process, error);
}

int gg_profile_add_process(struct gg_profile *profile, const struct gg_profile_process *process,
                           uint32_t *ret_id, struct gg_error *error)
{
	uint32_t id = profile->counts[GG_DENSE_PROCESS] + 1;

	return take_id(profile, GG_DENSE_PROCESS,
	               gg_profile_update_process(profile, id, process, error), ret_id);
}

int gg_profile_update_thread(struct gg_profile *profile, uint32_t id,
                             const struct gg_profile_thread *thread, struct gg_error *error)
{
	struct gg_statement row;
	int status = gg_statement_begin(&row, profile, GG_SQL_THREAD, error);

	if (status < 0)
		return status;
	gg_statement_id(&row, id);
	gg_statement_id(&row, thread->process);
	gg_statement_integer(&row, thread->tid);
	gg_statement_time(&row, thread->start_ns);
	gg_statement_time(&row, thread->end_ns);
	gg_statement_text(&row, thread->name);
	return gg_statement_run(&row, error);
}

int gg_profile_add_thread(struct gg_profile *profile, const struct gg_profile_thread *thread,
                          uint32_t *ret_id, struct gg_error *error)
{
	uint32_t id = profile->counts[GG_DENSE_THREAD] + 1;

	return take_id(profile, GG_DENSE_THREAD,
	               gg_profile_update_thread(profile, id, thread, error), ret_id);
}

int gg_profile_add_mapping(struct gg_profile *profile, const struct gg_profile_mapping *mapping,
                           struct gg_error *error)
{
	struct gg_statement row;
	int status = gg_statement_begin(&row, profile, GG_SQL_MAPPING, error);

	if (status < 0)
		return status;
	gg_statement_id(&row, mapping->process);
	gg_statement_id(&row, mapping->module);
	gg_statement_integer(&row, (int64_t)mapping->start);
	gg_statement_integer(&row, (int64_t)mapping->end);
	gg_statement_integer(&row, (int64_t)mapping->file_offset);
	gg_statement_integer(&row, (int64_t)mapping->bias);
	gg_statement_time(&row, mapping->load_ns);
	gg_statement_time(&row, mapping->unload_ns);
	return gg_statement_run(&row, error);
}

/* The bytes of an integer in an SQLite row, without its type. */
static uint32_t stored_bytes(int64_t value)
{
	uint64_t magnitude = (uint64_t)(value < 0 ? ~value : value);

	if (value == 0 || value == 1)
		return 0;
	return magnitude < 1U << 7             ? 1
	       : magnitude < 1U << 15          ? 2
	       : magnitude < 1U << 23          ? 3
	       : magnitude < 1U << 31          ? 4
	       : magnitude < UINT64_C(1) << 47 ? 6
	                                       : 8;
}

int gg_profile_add_sample(struct gg_profile *profile, const struct gg_profile_sample *sample,
                          uint64_t *ret_id, struct gg_error *error)
{
	uint64_t id = sample->id != 0 ? sample->id : profile->last_sample + 1;
	struct gg_statement row;
	int status = gg_statement_begin(&row, profile, GG_SQL_SAMPLE, error);

	if (status < 0)
		return status;
	gg_statement_id(&row, id);
	gg_statement_integer(&row, sample->alloc_ns);
	gg_statement_time(&row, sample->free_ns);
	gg_statement_id(&row, sample->process);
	gg_statement_id(&row, sample->thread);
	gg_statement_id(&row, sample->stack);
	gg_statement_id(&row, sample->heap);
	gg_statement_id(&row, sample->type);
	gg_statement_integer(&row, (int64_t)sample->size_bytes);
	gg_statement_integer(&row, (int64_t)sample->usable_bytes);
	gg_statement_integer(&row, (int64_t)sample->address);
	gg_statement_integer(&row, sample->draw.scheme);
	gg_statement_number(&row, sample->draw.sampling_interval);
	gg_statement_integer(&row, (int64_t)sample->draw.offset_bytes);
	gg_statement_integer(&row, sample->draw.sample_point_count);
	gg_statement_id(&row, sample->free_thread);
	gg_statement_id(&row, sample->free_stack);
	gg_statement_integer(&row, sample->flags);
	gg_statement_id(&row, sample->origin);
	if (sample->free_ns == GG_TIME_NONE)
		gg_statement_zeros(&row, profile->free_reserve_bytes);
	else
		gg_statement_null(&row);
	status = gg_statement_run(&row, error);
	if (status < 0)
		return status;
	if (id > profile->last_sample)
		profile->last_sample = id;
	status = commit_now_and_then(profile, error);
	if (status < 0)
		return status;
	if (ret_id != NULL)
		*ret_id = id;
	return 0;
}

int gg_profile_end_sample(struct gg_profile *profile, uint64_t id,
                          const struct gg_profile_sample_end *end, struct gg_error *error)
{
	struct gg_statement row;
	uint32_t stack_bytes = stored_bytes(end->stack);
	int status = gg_statement_begin(&row, profile, GG_SQL_SAMPLE_END, error);

	if (status < 0)
		return status;
	gg_statement_integer(&row, (int64_t)id);
	gg_statement_integer(&row, end->free_ns);
	gg_statement_id(&row, end->thread);
	gg_statement_id(&row, end->stack);
	gg_statement_integer(&row, (end->missed ? GG_PROFILE_SAMPLE_LATE_FREE : 0) |
	                                   (end->lost ? GG_PROFILE_SAMPLE_LOST_FREE : 0) |
	                                   (end->is_old ? GG_PROFILE_SAMPLE_OLD : 0));
	gg_statement_integer(&row,
	                     stored_bytes(end->free_ns) + stored_bytes(end->thread) + stack_bytes);
	/* If frees have stacks, rows of later samples reserve space for one. */
	if (stack_bytes > 0)
		profile->free_reserve_bytes = GG_STORE_END_BYTES + 4;
	return gg_statement_run(&row, error);
}

int gg_profile_move_sample(struct gg_profile *profile, uint64_t id, uint64_t address, bool is_old,
                           struct gg_error *error)
{
	struct gg_statement row;
	int status = gg_statement_begin(&row, profile, GG_SQL_SAMPLE_MOVE, error);

	if (status < 0)
		return status;
	gg_statement_integer(&row, (int64_t)id);
	gg_statement_integer(&row, (int64_t)address);
	gg_statement_integer(&row, is_old ? GG_PROFILE_SAMPLE_OLD : 0);
	return gg_statement_run(&row, error);
}

void gg_statement_sums(struct gg_statement *row, const struct gg_sums *sums)
{
	gg_statement_integer(row, (int64_t)sums->sample_count);
	gg_statement_integer(row, (int64_t)sums->size_bytes);
	gg_statement_number(row, gg_fixed_value(sums->count));
	gg_statement_number(row, gg_fixed_value(sums->count_variance));
	gg_statement_number(row, gg_fixed_value(sums->bytes));
	gg_statement_number(row, gg_fixed_value(sums->bytes_variance));
}

/* The same, with NULL for unknown values. */
static void put_known_sums(struct gg_statement *row, const struct gg_profile_coarse *coarse)
{
	const struct gg_sums *sums = &coarse->sums;

	gg_statement_integer(row, (int64_t)sums->sample_count);
	gg_statement_integer(row, (int64_t)sums->size_bytes);
	gg_statement_number(row, gg_fixed_value(sums->count));
	if ((coarse->unknown_errors & 1u << GG_ALLOCATIONS) == 0)
		gg_statement_number(row, gg_fixed_value(sums->count_variance));
	else
		gg_statement_null(row);
	gg_statement_number(row, gg_fixed_value(sums->bytes));
	if ((coarse->unknown_errors & 1u << GG_BYTES) == 0)
		gg_statement_number(row, gg_fixed_value(sums->bytes_variance));
	else
		gg_statement_null(row);
}

int gg_profile_add_coarse(struct gg_profile *profile, const struct gg_profile_coarse *coarse,
                          struct gg_error *error)
{
	struct gg_statement row;
	int status = gg_statement_begin(&row, profile, GG_SQL_COARSE, error);

	if (status < 0)
		return status;
	gg_statement_id(&row, coarse->process);
	gg_statement_id(&row, coarse->thread);
	gg_statement_id(&row, coarse->stack);
	gg_statement_integer(&row, coarse->from_ns);
	gg_statement_time(&row, coarse->to_ns);
	if (coarse->bucket_ns > 0)
		gg_statement_integer(&row, coarse->bucket_ns);
	else
		gg_statement_null(&row);
	gg_statement_integer(&row, coarse->size_class);
	gg_statement_number(&row, coarse->interval_bytes);
	put_known_sums(&row, coarse);
	gg_statement_number(&row, coarse->count_skew);
	gg_statement_number(&row, coarse->bytes_skew);
	gg_statement_number(&row, coarse->lifetime_ns_sum);
	gg_statement_integer(&row, (coarse->lost ? GG_STORE_COARSE_LOST : 0) |
	                                   (coarse->is_left ? GG_STORE_COARSE_LEFT : 0) |
	                                   (coarse->is_shared ? GG_STORE_COARSE_SHARED : 0));
	status = gg_statement_run(&row, error);
	return status < 0 || profile->final_path == NULL ? status
	                                                 : commit_now_and_then(profile, error);
}

/* Writes "[0,0,12]", without trailing zeros. */
static void print_lifetimes(struct gg_buf *text, const uint32_t *lifetimes, size_t count)
{
	while (count > 0 && lifetimes[count - 1] == 0)
		count--;
	gg_buf_append_text(text, "[");
	for (size_t i = 0; i < count; i++)
		gg_buf_printf(text, "%s%u", i > 0 ? "," : "", lifetimes[i]);
	gg_buf_append_text(text, "]");
}

int gg_profile_put_total(struct gg_profile *profile, const struct gg_profile_total *total,
                         struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf lifetimes = { 0 };
	struct gg_statement row;
	int status = gg_statement_begin(&row, profile, GG_SQL_TOTAL, error);

	if (status < 0)
		return status;
	print_lifetimes(&lifetimes, total->lifetimes, GG_COUNT(total->lifetimes));
	if (lifetimes.failed)
		return gg_error_memory(error, profile->path);
	gg_statement_integer(
		&row,
		total->process); /* 0 instead of NULL, because the columns belong to the key */
	gg_statement_integer(&row, total->thread);
	gg_statement_integer(&row, total->stack);
	gg_statement_sums(&row, &total->allocated);
	gg_statement_sums(&row, &total->freed);
	gg_statement_text(&row, gg_buf_text(&lifetimes));
	return gg_statement_run(&row, error);
}

int gg_profile_add_memory(struct gg_profile *profile, const struct gg_profile_memory *memory,
                          struct gg_error *error)
{
	struct gg_statement row;
	int status = gg_statement_begin(&row, profile, GG_SQL_MEMORY, error);

	if (status < 0)
		return status;
	gg_statement_id(&row, memory->process);
	gg_statement_integer(&row, memory->time_ns);
	gg_statement_known(&row, memory->rss_bytes);
	gg_statement_known(&row, memory->pss_bytes);
	gg_statement_known(&row, memory->anonymous_bytes);
	gg_statement_known(&row, memory->file_bytes);
	gg_statement_known(&row, memory->shared_bytes);
	gg_statement_known(&row, memory->swap_bytes);
	gg_statement_known(&row, memory->heap_bytes);
	gg_statement_known(&row, memory->stack_bytes);
	gg_statement_known(&row, memory->cgroup_bytes);
	if (memory->live_bytes < 0)
		gg_statement_null(&row);
	else
		gg_statement_number(&row, memory->live_bytes);
	gg_statement_known(&row, memory->span_ns);
	gg_statement_known(&row, memory->max_rss_bytes);
	gg_statement_known(&row, memory->geiger_bytes);
	gg_statement_known(&row, memory->geiger_file_bytes);
	gg_statement_known(&row, memory->pss_file_bytes);
	gg_statement_known(&row, memory->pss_stack_bytes);
	gg_statement_known(&row, memory->pss_geiger_bytes);
	return gg_statement_run(&row, error);
}

int gg_profile_add_event(struct gg_profile *profile, const struct gg_profile_event *event,
                         struct gg_error *error)
{
	struct gg_statement row;
	int status = gg_statement_begin(&row, profile, GG_SQL_EVENT, error);

	if (status < 0)
		return status;
	gg_statement_integer(&row, event->time_ns);
	gg_statement_id(&row, event->process);
	gg_statement_text(&row, event->kind);
	gg_statement_text(&row, event->detail);
	return gg_statement_run(&row, error);
}

int gg_profile_put_counter(struct gg_profile *profile, uint32_t process, const char *name,
                           uint64_t value, struct gg_error *error)
{
	struct gg_statement row;
	int status = gg_statement_begin(&row, profile, GG_SQL_COUNTER, error);

	if (status < 0)
		return status;
	gg_statement_integer(&row, process);
	gg_statement_text(&row, name);
	gg_statement_integer(&row, (int64_t)value);
	return gg_statement_run(&row, error);
}

int gg_profile_put_label(struct gg_profile *profile, uint32_t process, const char *key,
                         const char *value, struct gg_error *error)
{
	struct gg_statement row;
	int status = gg_statement_begin(&row, profile, GG_SQL_LABEL, error);

	if (status < 0)
		return status;
	gg_statement_integer(&row, process);
	gg_statement_text(&row, key);
	gg_statement_text(&row, value);
	return gg_statement_run(&row, error);
}

int gg_profile_add_note(struct gg_profile *profile, const char *text, struct gg_error *error)
{
	struct gg_statement row;
	int status = gg_statement_begin(&row, profile, GG_SQL_NOTE, error);

	if (status < 0)
		return status;
	gg_statement_text(&row, text);
	return gg_statement_run(&row, error);
}
