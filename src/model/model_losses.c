/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model_losses - tells what a profile does not know: dropped samples, lost times, and spans in
 * which sampling was off.
 *
 * Reports use it so that no number looks more certain than it is (docs/REPORTS.md, "What was
 * lost").
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/binary_search.h"
#include "base/buf.h"
#include "model/model_builder.h"
#include "region/reader/view.h"

uint64_t gg_model_dropped(const struct gg_model *model, uint32_t process)
{
	const struct gg_model_counter *counters = model->counters;
	uint64_t dropped = 0;

	for (size_t i = 0; i < model->counter_count; i++)
		if ((process == 0 || counters[i].process == process) && counters[i].name != NULL &&
		    gg_region_counter_is_drop(gg_region_counter_of(counters[i].name)))
			dropped += counters[i].value;
	return dropped;
}

static uint64_t counter_by_name(const struct gg_model *model, uint32_t process, const char *name)
{
	const struct gg_model_counter *counters = model->counters;
	uint64_t sum = 0;

	for (size_t i = 0; i < model->counter_count; i++)
		if ((process == 0 || counters[i].process == process) && counters[i].name != NULL &&
		    strcmp(counters[i].name, name) == 0)
			sum += counters[i].value;
	return sum;
}

static uint64_t counter_of(const struct gg_model *model, uint32_t process,
                           enum gg_region_counter counter)
{
	return counter_by_name(model, process, gg_region_counter_name(counter));
}

/* True if a Java thread that ran at an attach may still allocate unseen. */
static bool has_unsampled_threads(const struct gg_model *model, uint32_t process)
{
	return counter_of(model, process, GG_COUNT_JAVA_THREADS) >
	       counter_of(model, process, GG_COUNT_JAVA_THREADS_SAMPLED) +
	               counter_of(model, process, GG_COUNT_JAVA_THREADS_ENDED);
}

/*
 * Objects that older threads allocated before they came to a sample point stay missing.  With
 * hundreds of threads they exceed the error of large sums, so no confidence interval may claim to
 * hold the truth.  Biased samples have no interval: their sums are doubted only while threads are
 * unsampled.
 */
bool gg_model_lacks_java_objects(const struct gg_model *model, uint32_t process)
{
	if (counter_of(model, process, GG_COUNT_JAVA_THREADS) == 0)
		return false;
	if (process != 0)
		return counter_of(model, process, GG_COUNT_BIASED) == 0 ||
		       model->processes[process].interval_bytes <= 1 ||
		       has_unsampled_threads(model, process);
	for (size_t i = 1; i < model->process_count; i++)
		if (gg_model_lacks_java_objects(model, (uint32_t)i))
			return true;
	return false;
}

bool gg_model_may_be_java(const struct gg_model *model, uint32_t kind)
{
	return kind >= model->kind_count ||
	       strcmp(model->heaps[model->kinds[kind].heap], "java") == 0;
}

bool gg_model_is_incomplete(const struct gg_model *model, uint32_t process, int64_t from_ns,
                            int64_t to_ns)
{
	const struct gg_model_span *pauses = model->pauses;

	for (size_t i = 0; i < model->pause_count; i++)
		if ((process == 0 || pauses[i].process == process) && pauses[i].from_ns < to_ns &&
		    pauses[i].to_ns > from_ns)
			return true;
	return gg_model_dropped(model, process) > 0 ||
	       counter_by_name(model, process, GG_PROFILE_LACKING_SENDERS) > 0;
}

bool gg_model_lacks_objects(const struct gg_model *model, uint32_t process)
{
	return gg_model_is_incomplete(model, process, INT64_MIN, GG_TIME_NONE) ||
	       gg_model_lacks_java_objects(model, process);
}

int64_t gg_model_freed_from(const struct gg_model *model, const struct gg_model_sample *sample)
{
	const struct gg_model_span *losses = model->losses;
	size_t at;

	if ((sample->flags & GG_PROFILE_SAMPLE_LATE_FREE) == 0 || sample->free_ns == GG_TIME_NONE)
		return sample->free_ns;
	if ((sample->flags & GG_PROFILE_SAMPLE_LOST_FREE) == 0)
		return sample->alloc_ns;
	/* The process's first span that does not end before the free. */
	at = gg_lower_bound(0, model->loss_count, i,
	                    losses[i].process < sample->process ||
	                            (losses[i].process == sample->process &&
	                             losses[i].to_ns < sample->free_ns));
	if (at == model->loss_count || losses[at].process != sample->process ||
	    losses[at].from_ns < sample->alloc_ns)
		return sample->alloc_ns;
	return losses[at].from_ns < sample->free_ns ? losses[at].from_ns : sample->free_ns;
}

enum { TOLD_MAX = 3 }; /* a note lists this many pauses, and counts the others */

static void append_pause(const struct gg_model *model, const struct gg_model_span *pause,
                         struct gg_buf *text)
{
	if (!gg_model_has_times(model)) {
		gg_buf_append_text(text, "for some time");
		return;
	}
	gg_buf_printf(text, "from %.3g s ", (double)pause->from_ns * 1e-9);
	if (pause->to_ns == GG_TIME_NONE)
		gg_buf_append_text(text, "on");
	else
		gg_buf_printf(text, "to %.3g s", (double)pause->to_ns * 1e-9);
}

static bool add_note(struct gg_model_builder *builder, const struct gg_buf *text)
{
	const char **kept = gg_array_add(&builder->notes);
	bool failed = false;

	if (kept == NULL || text->failed)
		return false;
	*kept = gg_model_text(builder, gg_buf_text(text), &failed);
	return !failed;
}

/* Adds the note about the pauses [first, last) of one process. */
static bool note_pauses(struct gg_model_builder *builder, size_t first, size_t last)
{
	const struct gg_model_span *pauses = builder->pauses.items;
	const struct gg_profile_process *process = builder->processes.items + pauses[first].process;
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	if (process->pid != 0)
		gg_buf_printf(&text, "Sampling of process %" PRIu32 " was switched off ",
		              process->pid);
	else
		gg_buf_append_text(&text, "Sampling was switched off ");
	for (size_t i = first; i < last && i - first < TOLD_MAX; i++) {
		if (i > first)
			gg_buf_append_text(&text, i + 1 == last ? " and " : ", ");
		append_pause(&builder->model, &pauses[i], &text);
	}
	if (last - first > TOLD_MAX)
		gg_buf_printf(&text, " and %zu times more", last - first - TOLD_MAX);
	gg_buf_append_text(&text, ": what it allocated then is not in this profile, and figures "
	                          "are lower bounds (\"at least\").");
	return add_note(builder, &text);
}

/* A note about the Java threads that ran at an attach. */
static bool note_older_threads(struct gg_model_builder *builder)
{
	const struct gg_model *model = &builder->model;
	uint64_t thread_count = counter_of(model, 0, GG_COUNT_JAVA_THREADS);
	uint64_t ended_count = counter_of(model, 0, GG_COUNT_JAVA_THREADS_ENDED);
	uint64_t come_count = ended_count + counter_of(model, 0, GG_COUNT_JAVA_THREADS_SAMPLED);
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	if (thread_count == 0)
		return true;
	gg_buf_printf(&text,
	              "%" PRIu64 " Java thread%s ran at the attach.  The VM samples each from a "
	              "later point on: what it allocated until then, at most some megabytes, may "
	              "be missing in this profile.",
	              thread_count, thread_count == 1 ? "" : "s");
	if (ended_count > 0)
		gg_buf_printf(&text, "  %" PRIu64 " of them ended before that point.", ended_count);
	if (come_count < thread_count)
		gg_buf_printf(&text, "  %" PRIu64 " of them %s not come to that point yet.",
		              thread_count - come_count,
		              thread_count - come_count == 1 ? "has" : "have");
	if (gg_model_lacks_java_objects(model, 0))
		gg_buf_append_text(&text, "  So figures of Java objects are lower bounds (\"at "
		                          "least\").");
	return add_note(builder, &text);
}

bool gg_model_note_losses(struct gg_model_builder *builder)
{
	const struct gg_model_span *pauses = builder->pauses.items;
	size_t count = builder->pauses.count, told_count = 0;

	for (size_t i = 0, last; i < count && told_count < TOLD_MAX; i = last, told_count++) {
		for (last = i + 1; last < count && pauses[last].process == pauses[i].process;)
			last++;
		if (!note_pauses(builder, i, last))
			return false;
	}
	return note_older_threads(builder);
}
