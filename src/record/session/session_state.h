/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_state - the state of a recording, shared by the files that begin, run, and end it.
 *
 * session.c calls gg_session_begin() and, when nothing is recorded any more, gg_session_complete()
 * and gg_session_report().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/utsname.h>

#include "base/buf.h"
#include "base/clock.h"
#include "record/dotnet/diagnostic_port.h"
#include "record/process/memory_readings.h"
#include "record/process/process_set.h"
#include "record/session/focus_error.h"
#include "record/session/launch.h"
#include "record/session/profile_writer.h"
#include "record/session/recorder_costs.h"
#include "record/session/recorder_signals.h"

struct gg_session_options;

struct gg_session {
	const struct gg_session_options *options;
	struct gg_error *error;
	struct gg_error packing; /* why an exact profile is not packed; status 0: it is */
	struct gg_recorder_signals signals;
	struct gg_launch launch;
	int root_fd; /* root directory of an attached process; -1: it is the recorder's */
	struct gg_launch_environment environment; /* the settings of the agents */
	struct gg_process_set processes;
	struct gg_diagnostic_port dotnet; /* the runtimes of .NET; none if they are not followed */
	struct gg_profile_writer writer;
	struct gg_profile_session record;
	struct utsname system;
	struct gg_profile *profile;
	struct gg_buf path, command;
	int wait_ms;
	bool command_ended, session_ended;
	bool had_process; /* a region has been found */
	bool stop_asked;  /* a signal arrived after the command had ended */
	int exit_status;
	int64_t next_second_ns, next_scan_ns;
	struct gg_memory_readings memory;
	struct gg_recorder_costs costs;
	struct gg_focus_error focus;
	int64_t copy_rss_bytes;   /* maximum RSS of the command's process before its exec() */
	int64_t embryos_until_ns; /* incomplete regions are checked often until then */
};

/* The time since the start of the session, in ns. */
static inline int64_t gg_session_now(const struct gg_session *s)
{
	return (int64_t)(gg_clock_monotonic_ns() - s->writer.start_ns);
}

/*
 * Prepares everything and starts the command.  The child is forked early and waits, because the
 * name of the profile has its pid.  It executes the command only when nothing can fail any more.
 * *ret_exit_status: if the command cannot be executed, 126 or 127; otherwise untouched.
 */
GG_MUST_CHECK int gg_session_begin(struct gg_session *s, int *ret_exit_status);

/*
 * Passes signals on to the command.  Returns true if one of them asks for an end, of the command or
 * of the recording.
 */
bool gg_session_take_signals(struct gg_session *s);

/* Finishes all processes, looks up names, and closes the profile. */
int gg_session_complete(struct gg_session *s);

/* Prints the last line: where the profile is, or why it is incomplete and which regions remain. */
void gg_session_report(struct gg_session *s);
