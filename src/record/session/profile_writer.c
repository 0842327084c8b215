/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_writer - a buffer of recent samples in front of the profile (session/profile_writer.h).
 *
 * The ids of the buffered samples are consecutive and end at next_id - 1.  So an id tells where its
 * sample is: in the buffer from next_id - pending_count on, and in the profile's file before that.
 */
#include "record/session/profile_writer.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/clock.h"

#define TIME_MOST INT64_C(1000000000000000000) /* 31 years in ns, before the first round */

int gg_profile_writer_init(struct gg_profile_writer *writer, struct gg_profile *profile,
                           uint64_t start_ns, struct gg_error *error)
{
	*writer = (struct gg_profile_writer){ .profile = profile,
		                              .start_ns = start_ns,
		                              .now_ns = TIME_MOST,
		                              .error = error,
		                              .next_id = 1 };
	writer->jit.start_wall_ns = gg_clock_wall_ns() - (gg_clock_monotonic_ns() - start_ns);
	writer->pending = malloc(GG_PROFILE_WRITER_PENDING_MAX * sizeof(*writer->pending));
	if (writer->pending == NULL)
		return gg_error_memory(error, "recording");
	return 0;
}

void gg_profile_writer_done(struct gg_profile_writer *writer)
{
	free(writer->pending);
	writer->pending = NULL;
	gg_jit_names_done(&writer->jit);
}

int64_t gg_profile_writer_time(struct gg_profile_writer *writer, uint64_t monotonic_ns)
{
	int64_t time_ns = (int64_t)(monotonic_ns - writer->start_ns);

	/*
	 * An event that this round reads may be later than the start of the round, so read the
	 * clock before clamping the time.
	 */
	if (time_ns > writer->now_ns)
		writer->now_ns = (int64_t)(gg_clock_monotonic_ns() - writer->start_ns);
	/*
	 * The region is hostile: no time may be in the future, or so far in the past that it wraps.
	 */
	if (time_ns > writer->now_ns)
		return writer->now_ns;
	return time_ns > -TIME_MOST ? time_ns : -TIME_MOST;
}

void gg_profile_writer_progress(struct gg_profile_writer *writer)
{
	gg_progress_report(writer->progress, writer->counts.sample_count, 0, "writing samples");
}

/* They are written in the order of their ids. */
int gg_profile_writer_flush(struct gg_profile_writer *writer)
{
	uint32_t count = writer->pending_count;

	gg_profile_writer_progress(writer);
	gg_assert(count <= GG_PROFILE_WRITER_PENDING_MAX && count < writer->next_id);
	/*
	 * After a failure the samples are lost, as every later one: the profile ends at the
	 * failure.
	 */
	writer->pending_count = 0;
	for (uint32_t i = 0; i < count && writer->status == 0; i++)
		gg_profile_writer_keep(writer,
		                       gg_profile_add_sample(writer->profile, &writer->pending[i],
		                                             NULL, writer->error));
	return writer->status;
}

uint64_t gg_profile_writer_sample(struct gg_profile_writer *writer,
                                  const struct gg_profile_sample *sample)
{
	struct gg_profile_sample *added;

	if (writer->pending_count == GG_PROFILE_WRITER_PENDING_MAX &&
	    gg_profile_writer_flush(writer) < 0)
		return 0;
	if (writer->status < 0)
		return 0;
	gg_assert(writer->pending_count < GG_PROFILE_WRITER_PENDING_MAX && sample->process != 0);
	added = &writer->pending[writer->pending_count++];
	*added = *sample;
	added->id = writer->next_id++;
	if (sample->origin == GG_PROFILE_WRITER_NO_ORIGIN)
		added->origin = added->id;
	/* An inherited sample counts as its ancestor's, as in reports. */
	writer->counts.biased_count += sample->draw.scheme == GG_SCHEME_BIASED;
	writer->counts.sample_count += sample->origin == 0 ||
	                               sample->origin == GG_PROFILE_WRITER_NO_ORIGIN;
	writer->counts.orphan_count += sample->origin == GG_PROFILE_WRITER_NO_ORIGIN;
	return added->id;
}

/* Returns a sample that is still in the buffer; NULL: it is in the profile's file. */
static struct gg_profile_sample *find_pending(struct gg_profile_writer *writer, uint64_t id)
{
	uint64_t first = writer->next_id - writer->pending_count;

	gg_assert(id != 0 && id < writer->next_id);
	gg_assert(id < first || writer->pending[id - first].id == id);
	return id < first ? NULL : &writer->pending[id - first];
}

int gg_profile_writer_end(struct gg_profile_writer *writer, uint64_t id,
                          const struct gg_profile_sample_end *end)
{
	struct gg_profile_sample *sample;

	if (writer->status < 0)
		return writer->status;
	sample = find_pending(writer, id);
	if (sample == NULL)
		return gg_profile_writer_keep(
			writer, gg_profile_end_sample(writer->profile, id, end, writer->error));
	sample->free_ns = end->free_ns > sample->alloc_ns ? end->free_ns : sample->alloc_ns;
	sample->free_thread = end->thread;
	sample->free_stack = end->stack;
	sample->flags |= (end->missed ? GG_PROFILE_SAMPLE_LATE_FREE : 0) |
	                 (end->lost ? GG_PROFILE_SAMPLE_LOST_FREE : 0) |
	                 (end->is_old ? GG_PROFILE_SAMPLE_OLD : 0);
	return 0;
}

int gg_profile_writer_change(struct gg_profile_writer *writer, uint64_t id, uint64_t address,
                             uint32_t type, bool is_old)
{
	struct gg_profile_sample *sample;

	if (writer->status < 0)
		return writer->status;
	sample = find_pending(writer, id);
	if (sample == NULL)
		return gg_profile_writer_keep(
			writer, gg_profile_change_sample(writer->profile, id, address, type, is_old,
		                                         writer->error));
	sample->address = address;
	sample->type = type != 0 ? type : sample->type;
	sample->flags |= is_old ? GG_PROFILE_SAMPLE_OLD : 0;
	return 0;
}

int gg_profile_writer_event(struct gg_profile_writer *writer, uint32_t process, int64_t time_ns,
                            const char *kind, const char *format, ...)
{
	struct gg_profile_event event = { .time_ns = time_ns, .process = process, .kind = kind };
	char detail[512]; /* a longer text is cut off */
	va_list values;

	va_start(values, format);
	vsnprintf(detail, sizeof(detail), format, values);
	va_end(values);
	event.detail = detail;
	if (writer->status < 0)
		return writer->status;
	return gg_profile_writer_keep(writer,
	                              gg_profile_add_event(writer->profile, &event, writer->error));
}

int gg_profile_writer_note(struct gg_profile_writer *writer, const char *format, ...)
{
	char text[1024];
	va_list values;

	va_start(values, format);
	vsnprintf(text, sizeof(text), format, values);
	va_end(values);
	if (writer->status < 0)
		return writer->status;
	return gg_profile_writer_keep(writer,
	                              gg_profile_add_note(writer->profile, text, writer->error));
}

/* The control has the last interval, and the record the largest one that was noted before. */
void gg_profile_writer_expose(struct gg_profile_writer *writer,
                              const struct gg_profile_process *process,
                              const struct gg_region_control *control)
{
	double last = (double)control->interval_bytes;
	double most = last > process->interval_bytes ? last : process->interval_bytes;

	writer->counts.off_count += control->active == 0;
	writer->counts.counts_allocations |= process->scheme == GG_SCHEME_PER_ALLOCATION;
	if (most > writer->counts.interval_most)
		writer->counts.interval_most = most;
}

int gg_profile_writer_commit(struct gg_profile_writer *writer)
{
	if (gg_profile_writer_flush(writer) < 0)
		return writer->status;
	return gg_profile_writer_keep(writer, gg_profile_commit(writer->profile, writer->error));
}
