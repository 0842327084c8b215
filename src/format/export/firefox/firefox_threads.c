/* SPDX-License-Identifier: Apache-2.0 */
/* firefox_threads - writes threads with their allocations, and the counters of their processes. */
#include "format/export/firefox/firefox.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A row of a thread's table of allocations. */
struct event {
	int64_t time_ns;
	uint32_t block; /* the address is this number plus 1 */
	bool is_free;
};
static void put_time(struct gg_firefox *writer, const char *name, int64_t time_ns)
{
	gg_json_decimal(&writer->json, name, time_ns, 6);
}

static int64_t stack_of_event(const struct gg_firefox *writer, const struct event *event)
{
	return writer->stack_of[writer->blocks[event->block].stack];
}

static void put_event_columns(struct gg_firefox *writer, const struct event *events, size_t count,
                              bool has_frees)
{
	gg_json_open(&writer->json, "time", '[');
	for (size_t i = 0; i < count; i++)
		if (has_frees || !events[i].is_free)
			put_time(writer, NULL, events[i].time_ns);
	gg_json_close(&writer->json);
	gg_json_open(&writer->json, "weight", '[');
	for (size_t i = 0; i < count; i++)
		if (has_frees || !events[i].is_free) {
			int64_t weight = (int64_t)writer->weights[events[i].block];

			gg_firefox_put(writer, events[i].is_free ? -weight : weight);
		}
	gg_json_close(&writer->json);
	gg_json_text(&writer->json, "weightType", "bytes");
	gg_json_open(&writer->json, "stack", '[');
	for (size_t i = 0; i < count; i++)
		if (has_frees || !events[i].is_free)
			gg_firefox_put(writer, stack_of_event(writer, &events[i]));
	gg_json_close(&writer->json);
}

static void write_allocations(struct gg_firefox *writer, const struct event *events, size_t count,
                              uint32_t tid)
{
	size_t alloc_count = 0;

	for (size_t i = 0; i < count; i++)
		alloc_count += !events[i].is_free;
	gg_json_open(&writer->json, "samples", '{');
	put_event_columns(writer, events, count, false);
	gg_firefox_end_table(writer, alloc_count);
	gg_json_open(&writer->json, "nativeAllocations", '{');
	put_event_columns(writer, events, count, true);
	gg_json_open(&writer->json, "memoryAddress", '[');
	for (size_t i = 0; i < count; i++)
		gg_firefox_put(writer, (int64_t)events[i].block + 1);
	gg_json_close(&writer->json);
	gg_firefox_put_column(writer, "threadId", count, tid);
	gg_firefox_end_table(writer, count);
}

static void write_marker(struct gg_firefox *writer, const struct gg_tally *tally)
{
	struct gg_interval interval = gg_interval_of(tally, GG_BYTES, writer->extract->confidence,
	                                             false);

	gg_json_open(&writer->json, NULL, '{');
	gg_json_text(&writer->json, "type", "geiger");
	gg_json_number(&writer->json, "estimate", round(gg_tally_estimate(tally, GG_BYTES).value));
	gg_json_number(&writer->json, "low", round(interval.low));
	gg_json_number(&writer->json, "high", round(interval.high));
	gg_json_number(&writer->json, "confidence", writer->extract->confidence);
	gg_json_close(&writer->json);
}

/* Adds up the rows of a thread: live and allocated. */
static void tally_thread(const struct gg_firefox *writer, uint32_t thread,
                         struct gg_tally tallies[2])
{
	gg_plain_tally_tally(&writer->live[thread], &tallies[0]);
	gg_plain_tally_tally(&writer->allocated[thread], &tallies[1]);
	for (size_t i = 0; i < 2; i++)
		gg_extract_expose_sum(writer->extract, i == 1, &tallies[i]);
}

static void write_markers(struct gg_firefox *writer, uint32_t thread)
{
	static const char *const names[2] = { "live at the end", "allocated" };
	struct gg_json *json = &writer->json;
	struct gg_tally tallies[2];

	tally_thread(writer, thread, tallies);
	gg_json_open(json, "markers", '{');
	gg_json_open(json, "data", '[');
	for (size_t i = 0; i < 2; i++)
		write_marker(writer, &tallies[i]);
	gg_json_close(json);
	gg_json_open(json, "name", '[');
	for (size_t i = 0; i < 2; i++)
		gg_firefox_put(writer, gg_string_table_put(&writer->strings, names[i]));
	gg_json_close(json);
	gg_json_open(json, "startTime", '[');
	put_time(writer, NULL, writer->extract->end_ns);
	put_time(writer, NULL, writer->extract->start_ns);
	gg_json_close(json);
	gg_json_open(json, "endTime", '[');
	gg_firefox_put_null(writer);
	put_time(writer, NULL, writer->extract->end_ns);
	gg_json_close(json);
	gg_json_open(json, "phase", '[');
	gg_firefox_put(writer, 0); /* the phase of an instant marker */
	gg_firefox_put(writer, 1); /* the phase of an interval marker */
	gg_json_close(json);
	gg_firefox_put_column(writer, "category", 2, GG_FIREFOX_OTHER);
	gg_firefox_end_table(writer, 2);
}

static void write_thread(struct gg_firefox *writer, uint32_t number, const struct event *events,
                         size_t count)
{
	const struct gg_extract *extract = writer->extract;
	GG_CLEANUP(gg_buf_done) struct gg_buf name = { 0 };
	GG_CLEANUP(gg_buf_done) struct gg_buf program = { 0 };
	struct gg_json *json = &writer->json;
	const struct gg_profile_thread *thread = extract->model->threads + number;
	const struct gg_profile_process *process = extract->model->processes + thread->process;
	char pid[16];

	snprintf(pid, sizeof(pid), "%u", process->pid);
	gg_extract_thread_name(extract, number, &name);
	gg_extract_process_name(extract, thread->process, &program);
	gg_json_open(json, NULL, '{');
	gg_json_text(json, "processType", "default");
	put_time(writer, "processStartupTime", process->start_ns);
	if (process->end_ns == GG_TIME_NONE)
		gg_json_text(json, "processShutdownTime", NULL);
	else
		put_time(writer, "processShutdownTime", process->end_ns);
	put_time(writer, "registerTime", thread->start_ns);
	if (thread->end_ns == GG_TIME_NONE)
		gg_json_text(json, "unregisterTime", NULL);
	else
		put_time(writer, "unregisterTime", thread->end_ns);
	gg_json_open(json, "pausedRanges", '[');
	gg_json_close(json);
	gg_json_text(json, "name", gg_buf_text(&name));
	gg_json_text(json, "processName", gg_buf_text(&program));
	gg_json_bool(json, "isMainThread", thread->tid == process->pid);
	gg_json_text(json, "pid", pid);
	gg_json_integer(json, "tid", thread->tid);
	write_allocations(writer, events, count, thread->tid);
	write_markers(writer, number);
	gg_json_close(json);
}

static int compare_events(const void *a, const void *b)
{
	const struct event *left = a, *right = b;

	if (left->time_ns != right->time_ns)
		return left->time_ns < right->time_ns ? -1 : 1;
	if (left->is_free != right->is_free)
		return left->is_free ? 1 : -1; /* an allocation precedes its free */
	return (left->block > right->block) - (left->block < right->block);
}

/* Returns the thread's rows sorted by time; the caller frees them. */
static struct event *events_of(struct gg_firefox *writer, uint32_t thread, size_t *ret_count)
{
	size_t first = thread > 0 ? writer->thread_end[thread - 1] : 0;
	size_t end = writer->thread_end[thread], count = 0;
	struct event *events = malloc((2 * (end - first) + 1) * sizeof(*events));

	writer->failed |= events == NULL;
	for (size_t i = first; i < end && events != NULL; i++) {
		const struct gg_extract_block *block = &writer->blocks[writer->by_thread[i]];

		events[count++] = (struct event){ block->alloc_ns, writer->by_thread[i], false };
		if (block->free_ns != GG_TIME_NONE)
			events[count++] = (struct event){ block->free_ns, writer->by_thread[i],
				                          true };
	}
	if (count > 0)
		qsort(events, count, sizeof(*events), compare_events);
	*ret_count = count;
	return events;
}

/* Writes the live memory of a process: changes between evenly spaced moments. */
static void write_counter(struct gg_firefox *writer, const char *pid, uint32_t process,
                          size_t thread_index)
{
	const struct gg_extract *extract = writer->extract;
	const int64_t *changes = &writer->changes[(size_t)process * (GG_FIREFOX_COUNTER_STEPS + 1)];
	double length = (double)(extract->end_ns - extract->start_ns);
	struct gg_json *json = &writer->json;

	gg_json_open(json, NULL, '{');
	gg_json_text(json, "name", "malloc");
	gg_json_text(json, "category", "Memory");
	gg_json_text(json, "description", "Live memory, as geiger estimates it");
	gg_json_text(json, "pid", pid);
	gg_json_integer(json, "mainThreadIndex", thread_index);
	gg_json_open(json, "samples", '{');
	gg_json_open(json, "time", '[');
	for (int i = 0; i <= GG_FIREFOX_COUNTER_STEPS; i++)
		put_time(writer, NULL,
		         extract->start_ns + (int64_t)(length * i / GG_FIREFOX_COUNTER_STEPS));
	gg_json_close(json);
	gg_json_open(json, "count", '[');
	for (int i = 0; i <= GG_FIREFOX_COUNTER_STEPS; i++)
		gg_firefox_put(writer, changes[i]);
	gg_json_close(json);
	gg_firefox_end_table(writer, GG_FIREFOX_COUNTER_STEPS + 1);
	gg_json_close(json);
}

/* The threads have the order of the model, which groups them by process. */
int gg_firefox_write_threads(struct gg_firefox *writer, uint32_t *shown, size_t *ret_count)
{
	size_t count = 0;

	gg_json_open(&writer->json, "threads", '[');
	for (uint32_t i = 0; i < writer->extract->model->thread_count && !writer->failed; i++) {
		size_t event_count;
		struct event *events = events_of(writer, i, &event_count);

		gg_progress_report(writer->job->progress, i, writer->extract->model->thread_count,
		                   "exporting");
		if (events != NULL && event_count > 0) {
			write_thread(writer, i, events, event_count);
			shown[count++] = i;
		}
		free(events);
	}
	gg_json_close(&writer->json);
	*ret_count = count;
	return writer->failed ? -ENOMEM : 0;
}

void gg_firefox_write_counters(struct gg_firefox *writer, const uint32_t *shown, size_t count)
{
	const struct gg_model *model = writer->extract->model;
	const struct gg_profile_thread *threads = model->threads;
	const struct gg_profile_process *processes = model->processes;

	gg_json_open(&writer->json, "counters", '[');
	for (size_t i = 0; i < count; i++) {
		uint32_t process = threads[shown[i]].process;
		char pid[16];
		bool is_first = true;

		for (size_t k = 0; k < i; k++)
			is_first &= threads[shown[k]].process != process;
		if (!is_first)
			continue;
		snprintf(pid, sizeof(pid), "%u", processes[process].pid);
		write_counter(writer, pid, process, i);
	}
	gg_json_close(&writer->json);
}
