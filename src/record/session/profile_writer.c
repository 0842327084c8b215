/* SPDX-License-Identifier: Apache-2.0 */
#include "record/session/profile_writer.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/time_units.h"

#define PROGRESS_AFTER_NS GG_NS_PER_S
#define PROGRESS_EVERY_NS UINT64_C(200000000)
#define TIME_MOST         INT64_C(1000000000000000000) /* 31 years: a bound where there is no better one */

int gg_profile_writer_init(struct gg_profile_writer *output, struct gg_profile *profile,
                           uint64_t start_ns, struct gg_error *error)
{
	*output = (struct gg_profile_writer){ .profile = profile,
		                              .start_ns = start_ns,
		                              .now_ns = TIME_MOST,
		                              .error = error,
		                              .next_id = 1 };
	output->pending = malloc(GG_PROFILE_WRITER_PENDING_MAX * sizeof(*output->pending));
	if (output->pending == NULL)
		return gg_error_memory(error, "recording");
	return 0;
}

void gg_profile_writer_done(struct gg_profile_writer *output)
{
	free(output->pending);
	output->pending = NULL;
	gg_jit_names_done(&output->jit);
}

int64_t gg_profile_writer_time(struct gg_profile_writer *output, uint64_t monotonic_ns)
{
	int64_t time_ns = (int64_t)(monotonic_ns - output->start_ns);

	/* What is read in a round may have happened after the round began. */
	if (time_ns > output->now_ns)
		output->now_ns = (int64_t)(gg_clock_monotonic_ns() - output->start_ns);
	if (time_ns > output->now_ns)
		return output->now_ns;
	return time_ns > -TIME_MOST ? time_ns : -TIME_MOST;
}

void gg_profile_writer_progress_begin(struct gg_profile_writer *output, bool is_wanted)
{
	output->progress_from_ns = is_wanted ? gg_clock_monotonic_ns() : 0;
}

void gg_profile_writer_progress(struct gg_profile_writer *output)
{
	uint64_t now_ns;

	if (output->progress_from_ns == 0)
		return;
	now_ns = gg_clock_monotonic_ns();
	if (now_ns - output->progress_from_ns < PROGRESS_AFTER_NS ||
	    now_ns - output->progress_last_ns < PROGRESS_EVERY_NS)
		return;
	output->progress_last_ns = now_ns;
	output->progress_shown = true;
	fprintf(stderr, "\rgeiger: finishing, %llu %s ... %.0f s\033[K",
	        (unsigned long long)(output->progress_what != NULL ? output->progress_count
	                                                           : output->sample_count),
	        output->progress_what != NULL ? output->progress_what : "samples",
	        (double)(now_ns - output->progress_from_ns) * 1e-9);
	fflush(stderr);
}

void gg_profile_writer_progress_end(struct gg_profile_writer *output)
{
	if (output->progress_shown)
		fputs("\r\033[K", stderr);
	output->progress_from_ns = 0;
	output->progress_shown = false;
}

static int flush(struct gg_profile_writer *output)
{
	uint32_t count = output->pending_count;

	gg_profile_writer_progress(output);
	output->pending_count = 0;
	for (uint32_t i = 0; i < count && output->status == 0; i++)
		gg_profile_writer_keep(output,
		                       gg_profile_add_sample(output->profile, &output->pending[i],
		                                             NULL, output->error));
	return output->status;
}

uint64_t gg_profile_writer_sample(struct gg_profile_writer *output,
                                  const struct gg_profile_sample *sample)
{
	struct gg_profile_sample *place;

	if (output->pending_count == GG_PROFILE_WRITER_PENDING_MAX && flush(output) < 0)
		return 0;
	if (output->status < 0)
		return 0;
	place = &output->pending[output->pending_count++];
	*place = *sample;
	place->id = output->next_id++;
	if (sample->origin == GG_PROFILE_WRITER_NO_ORIGIN)
		place->origin = place->id;
	/* What a child inherited is its ancestor's sample, here as in reports. */
	output->sample_count += sample->origin == 0 ||
	                        sample->origin == GG_PROFILE_WRITER_NO_ORIGIN;
	output->orphan_count += sample->origin == GG_PROFILE_WRITER_NO_ORIGIN;
	return place->id;
}

int gg_profile_writer_end(struct gg_profile_writer *output, uint64_t id,
                          const struct gg_profile_sample_end *end)
{
	uint64_t first = output->next_id - output->pending_count;
	struct gg_profile_sample *sample;

	if (output->status < 0)
		return output->status;
	if (id < first)
		return gg_profile_writer_keep(
			output, gg_profile_end_sample(output->profile, id, end, output->error));
	sample = &output->pending[id - first];
	sample->free_ns = end->free_ns > sample->alloc_ns ? end->free_ns : sample->alloc_ns;
	sample->free_thread = end->thread;
	sample->free_stack = end->stack;
	sample->flags |= (end->missed ? GG_PROFILE_SAMPLE_LATE_FREE : 0) |
	                 (end->lost ? GG_PROFILE_SAMPLE_LOST_FREE : 0) |
	                 (end->is_old ? GG_PROFILE_SAMPLE_OLD : 0);
	return 0;
}

int gg_profile_writer_move(struct gg_profile_writer *output, uint64_t id, uint64_t address,
                           bool is_old)
{
	uint64_t first = output->next_id - output->pending_count;
	struct gg_profile_sample *sample;

	if (output->status < 0)
		return output->status;
	if (id < first)
		return gg_profile_writer_keep(output,
		                              gg_profile_move_sample(output->profile, id, address,
		                                                     is_old, output->error));
	sample = &output->pending[id - first];
	sample->address = address;
	sample->flags |= is_old ? GG_PROFILE_SAMPLE_OLD : 0;
	return 0;
}

int gg_profile_writer_event(struct gg_profile_writer *output, uint32_t process, int64_t time_ns,
                            const char *kind, const char *format, ...)
{
	struct gg_profile_event event = { .time_ns = time_ns, .process = process, .kind = kind };
	char detail[512];
	va_list values;

	va_start(values, format);
	vsnprintf(detail, sizeof(detail), format, values);
	va_end(values);
	event.detail = detail;
	if (output->status < 0)
		return output->status;
	return gg_profile_writer_keep(output,
	                              gg_profile_add_event(output->profile, &event, output->error));
}

int gg_profile_writer_note(struct gg_profile_writer *output, const char *format, ...)
{
	char text[1024];
	va_list values;

	va_start(values, format);
	vsnprintf(text, sizeof(text), format, values);
	va_end(values);
	if (output->status < 0)
		return output->status;
	return gg_profile_writer_keep(output,
	                              gg_profile_add_note(output->profile, text, output->error));
}

void gg_profile_writer_expose(struct gg_profile_writer *output,
                              const struct gg_profile_process *process,
                              const struct gg_region_control *control)
{
	double last = (double)control->interval_bytes;
	double most = last > process->interval_bytes ? last : process->interval_bytes;

	output->off_count += control->active == 0;
	output->counts_allocations |= process->scheme == GG_SCHEME_PER_ALLOCATION;
	if (most > output->interval_most)
		output->interval_most = most;
}

int gg_profile_writer_commit(struct gg_profile_writer *output)
{
	if (flush(output) < 0)
		return output->status;
	return gg_profile_writer_keep(output, gg_profile_commit(output->profile, output->error));
}
