/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_writer - writes what a session records into its profile.
 *
 * Samples wait in memory for up to a second, so that a sample that is freed within that time is
 * written once, with its end.  They get their ids when they arrive, so ids ascend in the file.
 *
 * Times     times of the region are ns of CLOCK_MONOTONIC; in the profile they begin with the
 *           session.  The writer clamps a time that no clock of this session can have shown.
 * Failure   the writer keeps the first failure and returns it from every later call.  The program
 *           goes on; the profile ends there.
 * Threads   one owner at a time.
 * Memory    GG_PROFILE_WRITER_PENDING_MAX samples.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/progress.h"
#include "profile/profile.h"
#include "record/process/jit_names.h"
#include "record/session/session_counts.h"
#include "region/layout.h"

enum { GG_PROFILE_WRITER_PENDING_MAX = 32768 };

struct gg_profile_writer {
	struct gg_profile *profile;
	uint64_t start_ns; /* CLOCK_MONOTONIC of the session's start */
	int64_t now_ns;    /* session time; no time of the profile is later */
	int status;        /* 0 or the first failure */
	struct gg_error *error;

	struct gg_profile_sample *pending; /* their ids begin at next_id - pending_count */
	uint32_t pending_count;
	uint64_t next_id;

	struct gg_jit_names jit;

	struct gg_session_counts counts;
	double extra_pause; /* work that does not follow samples is rarer by this; 0: as usual */
	const struct gg_progress *progress; /* NULL: nobody, as while the session runs */
};

GG_MUST_CHECK int gg_profile_writer_init(struct gg_profile_writer *writer,
                                         struct gg_profile *profile, uint64_t start_ns,
                                         struct gg_error *error);
void gg_profile_writer_done(struct gg_profile_writer *writer);

/* Converts a CLOCK_MONOTONIC time to session time, clamped to the times of this session. */
int64_t gg_profile_writer_time(struct gg_profile_writer *writer, uint64_t monotonic_ns);

/* The origin of an inherited sample without a known ancestor; it becomes the sample's own id. */
#define GG_PROFILE_WRITER_NO_ORIGIN UINT64_MAX

/* Adds a sample and returns its id; 0: failed. */
uint64_t gg_profile_writer_sample(struct gg_profile_writer *writer,
                                  const struct gg_profile_sample *sample);
int gg_profile_writer_end(struct gg_profile_writer *writer, uint64_t id,
                          const struct gg_profile_sample_end *end);

/* As gg_profile_change_sample(), also for samples that still wait. */
int gg_profile_writer_change(struct gg_profile_writer *writer, uint64_t id, uint64_t address,
                             uint32_t type, bool is_old);

/* Adds an event of a process; process 0: of the session. */
int gg_profile_writer_event(struct gg_profile_writer *writer, uint32_t process, int64_t time_ns,
                            const char *kind, const char *format, ...) GG_PRINTF(5, 6);
int gg_profile_writer_note(struct gg_profile_writer *writer, const char *format, ...)
	GG_PRINTF(2, 3);

/* Notes the sampling settings of a process that has ended, for the closing line. */
void gg_profile_writer_expose(struct gg_profile_writer *writer,
                              const struct gg_profile_process *process,
                              const struct gg_region_control *control);

/* Writes the waiting samples, so that readers of the profile see them. */
int gg_profile_writer_flush(struct gg_profile_writer *writer);

/* Writes the waiting samples and commits: what is committed survives a kill of the recorder. */
int gg_profile_writer_commit(struct gg_profile_writer *writer);

/* Reports the progress; call it in long loops. */
void gg_profile_writer_progress(struct gg_profile_writer *writer);

/* Keeps `status` if it is the first failure.  Returns the first failure, or 0. */
static inline int gg_profile_writer_keep(struct gg_profile_writer *writer, int status)
{
	if (status < 0 && writer->status == 0)
		writer->status = status;
	return writer->status;
}
