/* SPDX-License-Identifier: Apache-2.0 */
/* page_owners - numbers processes and threads in the order of the model. */
#include "page/page_owners.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/map.h"
#include "model/model.h"
#include "page/page_names.h"
#include "page/page_run.h"

const char *gg_page_process_name(const struct gg_profile_process *process)
{
	return process->command != NULL ? process->command : process->exe;
}

/*
 * Gives each used process or thread its number, in the order of the model; number 0 is "unknown".
 */
static uint32_t number(uint32_t *number_of, size_t count)
{
	uint32_t next = 1;

	number_of[0] = 0;
	for (size_t i = 1; i < count; i++)
		number_of[i] = number_of[i] != 0 ? next++ : 0;
	return next;
}

static void mark(struct gg_page_owners *owners, const struct gg_page_pick *picks, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		owners->process_of[picks[i].process] = 1;
		owners->thread_of[picks[i].thread] = 1;
	}
}

int gg_page_owners_find(struct gg_page_run *run)
{
	struct gg_page_owners *owners = &run->owners;
	const struct gg_profile_thread *thread = run->model->threads;

	owners->process_of = calloc(run->model->process_count + 1, sizeof(uint32_t));
	owners->thread_of = calloc(run->model->thread_count + 1, sizeof(uint32_t));
	if (owners->process_of == NULL || owners->thread_of == NULL)
		return gg_page_out_of_memory(run);
	mark(owners, run->picks, run->pick_count);
	mark(owners, run->held, run->held_count);
	for (size_t i = 1; i < run->model->thread_count; i++)
		if (owners->thread_of[i] != 0)
			owners->process_of[thread[i].process] = 1;
	owners->process_count = number(owners->process_of, run->model->process_count);
	owners->thread_count = number(owners->thread_of, run->model->thread_count);
	return 0;
}

void gg_page_owners_done(struct gg_page_owners *owners)
{
	free(owners->process_of);
	free(owners->thread_of);
}

uint32_t gg_page_owner_of(const struct gg_page_run *run, const struct gg_page_pick *pick)
{
	const struct gg_page_owners *owners = &run->owners;
	const struct gg_profile_thread *threads = run->model->threads;

	if (run->detail.owners == GG_PAGE_OWNERS_NONE)
		return 0;
	/* The thread of an inherited block may belong to another process. */
	if (run->detail.owners == GG_PAGE_OWNERS_PROCESSES || pick->thread == 0 ||
	    threads[pick->thread].process != pick->process)
		return owners->process_of[pick->process];
	return owners->process_count + owners->thread_of[pick->thread];
}

static void write_processes(struct gg_page_run *run, struct gg_json *json)
{
	const uint32_t *number_of = run->owners.process_of;
	const struct gg_profile_process *processes = run->model->processes;

	gg_json_open(json, "processes", '{');
	gg_json_open(json, "pid", '[');
	for (uint32_t i = 0; i < run->model->process_count; i++)
		if (i == 0 || number_of[i] != 0)
			gg_json_integer(json, NULL, processes[i].pid);
	gg_json_close(json);
	gg_json_open(json, "name", '[');
	for (uint32_t i = 0; i < run->model->process_count; i++)
		if (i == 0 || number_of[i] != 0)
			gg_json_integer(
				json, NULL,
				gg_page_string(&run->names, gg_page_process_name(&processes[i])));
	gg_json_close(json);
	gg_json_open(json, "exposure_bytes", '[');
	for (uint32_t i = 0; i < run->model->process_count; i++)
		if (i == 0 || number_of[i] != 0)
			gg_json_number(json, NULL, gg_model_exposure(run->model, i));
	gg_json_close(json);
	gg_json_open(json, "last", '[');
	for (uint32_t i = 0; i < run->model->process_count; i++)
		if (i == 0 || number_of[i] != 0)
			gg_json_integer(json, NULL, gg_model_ends_last_of_pid(run->model, i));
	gg_json_close(json);
	gg_json_close(json);
}

static void write_threads(struct gg_page_run *run, struct gg_json *json)
{
	const struct gg_page_owners *owners = &run->owners;
	size_t count = run->model->thread_count;
	const struct gg_profile_thread *threads = run->model->threads;

	if (run->detail.owners != GG_PAGE_OWNERS_THREADS)
		count = 1;
	gg_json_open(json, "threads", '{');
	gg_json_open(json, "process", '[');
	for (size_t i = 0; i < count; i++)
		if (i == 0 || owners->thread_of[i] != 0)
			gg_json_integer(json, NULL, owners->process_of[threads[i].process]);
	gg_json_close(json);
	gg_json_open(json, "tid", '[');
	for (size_t i = 0; i < count; i++)
		if (i == 0 || owners->thread_of[i] != 0)
			gg_json_integer(json, NULL, threads[i].tid);
	gg_json_close(json);
	gg_json_open(json, "name", '[');
	for (size_t i = 0; i < count; i++)
		if (i == 0 || owners->thread_of[i] != 0)
			gg_json_integer(json, NULL, gg_page_string(&run->names, threads[i].name));
	gg_json_close(json);
	gg_json_close(json);
}

/* Writes the values of one key: the texts, and each process's index among them. */
static int write_label(struct gg_page_run *run, const char *key, struct gg_json *json)
{
	const uint32_t *number_of = run->owners.process_of;
	struct gg_map values = { 0 }; /* each text is stored as one pointer */
	uint32_t next = 1;
	int status = 0;

	gg_json_open(json, NULL, '{');
	gg_json_text(json, "key", key);
	gg_json_open(json, "values", '[');
	for (uint32_t i = 1; i < run->model->process_count && status == 0; i++) {
		const char *value = gg_model_label(run->model, i, key);

		if (number_of[i] == 0 || value == NULL ||
		    gg_map_get(&values, (uintptr_t)value) != GG_MAP_NONE)
			continue;
		gg_json_text(json, NULL, value);
		status = gg_map_put(&values, (uintptr_t)value, next++);
	}
	gg_json_close(json);
	gg_json_open(json, "value", '[');
	for (uint32_t i = 0; i < run->model->process_count; i++) {
		const char *value = i > 0 ? gg_model_label(run->model, i, key) : NULL;

		if (i == 0 || number_of[i] != 0)
			gg_json_integer(json, NULL,
			                value != NULL ? gg_map_get(&values, (uintptr_t)value) : 0);
	}
	gg_json_close(json);
	gg_json_close(json);
	gg_map_done(&values);
	return status;
}

static bool is_among(const char *key, const char *const *keys, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(keys[i], key) == 0)
			return true;
	return false;
}

size_t gg_page_label_keys(const struct gg_model *model, const char **keys)
{
	size_t count = 0;
	const struct gg_model_label *labels = model->labels;

	for (size_t i = 0; i < model->label_count && count < GG_PAGE_LABELS_MAX; i++)
		if (!is_among(labels[i].key, keys, count))
			keys[count++] = labels[i].key;
	return count;
}

int gg_page_owners_write(struct gg_page_run *run, struct gg_json *json)
{
	const char *keys[GG_PAGE_LABELS_MAX];
	size_t count = gg_page_label_keys(run->model, keys);
	int status = 0;

	if (run->detail.owners == GG_PAGE_OWNERS_NONE)
		return 0;
	write_processes(run, json);
	write_threads(run, json);
	gg_json_open(json, "labels", '[');
	for (size_t i = 0; i < count && status == 0; i++)
		status = write_label(run, keys[i], json);
	gg_json_close(json);
	return status < 0 ? gg_page_out_of_memory(run) : 0;
}
