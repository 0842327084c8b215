/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_writer - what a session writes into its profile, on the way there.
 *
 * Samples wait here for up to a second, so that one which is freed in that time is written once, with
 * its end.  Their numbers are handed out when they are seen, and ascend in the file.
 *
 * Times     of the region are ns of CLOCK_MONOTONIC; in the profile they begin with the session.  A
 *           time that no clock of this session can have shown is cut to its bounds.
 * Failure   the first one is kept and returned by every later call: the program goes on, the profile
 *           ends there.
 * Threads   one owner at a time.  Memory: PENDING_MAX samples.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "profile/profile.h"
#include "record/process/jit_names.h"
#include "region/layout.h"

enum { GG_PROFILE_WRITER_PENDING_MAX = 32768 };

struct gg_profile_writer {
	struct gg_profile *profile;
	uint64_t start_ns; /* CLOCK_MONOTONIC of the session's start */
	int64_t now_ns;    /* nothing is later; session time */
	int status;        /* of the first failure */
	struct gg_error *error;

	struct gg_profile_sample *pending; /* ids next_id - pending_count and on */
	uint32_t pending_count;
	uint64_t next_id;

	struct gg_jit_names jit;

	/* For the summary. */
	uint64_t sample_count;  /* with rows, not inherited */
	uint64_t orphan_count;  /* of these, inherited blocks that are no ancestor's sample */
	uint64_t coarse_count;  /* samples in coarse rows; the others have rows */
	uint64_t untimed_count; /* of both, without orphans: times of which are not known */
	uint64_t lost_count;    /* what was found without its event, also of inherited samples */
	uint64_t dropped_count, dropped_event_count, damaged_count;
	uint64_t lost_child_count; /* forked ones without a region, as their parents counted */
	uint32_t process_count, off_count; /* all; those that were switched off at their end */
	uint32_t shared_count;             /* forked ones that freed what they may have inherited */
	uint64_t taken_count;              /* samples in all, also those that are in sums alone */
	double interval_most;    /* the largest sampling interval that a process was exposed to */
	bool counts_allocations; /* that it is of allocations, not bytes */

	uint64_t progress_from_ns, progress_last_ns; /* 0: nothing is shown */
	bool progress_shown;
	const char *progress_what; /* NULL: samples */
	uint64_t progress_count;
};

GG_MUST_CHECK int gg_profile_writer_init(struct gg_profile_writer *writer,
                                         struct gg_profile *profile, uint64_t start_ns,
                                         struct gg_error *error);
void gg_profile_writer_done(struct gg_profile_writer *writer);

int64_t gg_profile_writer_time(struct gg_profile_writer *writer, uint64_t monotonic_ns);

/* The origin of a sample that a process inherited from nobody knows whom: it becomes the sample's own id. */
#define GG_PROFILE_WRITER_NO_ORIGIN UINT64_MAX

/* Takes the sample and gives it its id; 0: failed. */
uint64_t gg_profile_writer_sample(struct gg_profile_writer *writer,
                                  const struct gg_profile_sample *sample);
int gg_profile_writer_end(struct gg_profile_writer *writer, uint64_t id,
                          const struct gg_profile_sample_end *end);

/* gg_profile_move_sample() */
int gg_profile_writer_move(struct gg_profile_writer *writer, uint64_t id, uint64_t address,
                           bool is_old);

/* Something happened that people may want to know of; process 0: to the session. */
int gg_profile_writer_event(struct gg_profile_writer *writer, uint32_t process, int64_t time_ns,
                            const char *kind, const char *format, ...) GG_PRINTF(5, 6);
int gg_profile_writer_note(struct gg_profile_writer *writer, const char *format, ...)
	GG_PRINTF(2, 3);

/* A process has ended: what it was exposed to. */
void gg_profile_writer_expose(struct gg_profile_writer *writer,
                              const struct gg_profile_process *process,
                              const struct gg_region_control *control);

/* Writes what waits; what was written so far survives a kill. */
int gg_profile_writer_commit(struct gg_profile_writer *writer);

/* From now on a line on the terminal, once it has taken longer than a second; and it goes again. */
void gg_profile_writer_progress_begin(struct gg_profile_writer *writer, bool is_wanted);
void gg_profile_writer_progress(struct gg_profile_writer *writer); /* wherever much is written */
void gg_profile_writer_progress_end(struct gg_profile_writer *writer);

/* Keeps the first failure; returns it or 0. */
static inline int gg_profile_writer_keep(struct gg_profile_writer *writer, int status)
{
	if (status < 0 && writer->status == 0)
		writer->status = status;
	return writer->status;
}
