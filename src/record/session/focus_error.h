/* SPDX-License-Identifier: Apache-2.0 */
/*
 * focus_error - chooses the sampling interval at which the live bytes of a function have a wanted
 * error (`geiger record --error 5% --focus function=REGEX`).
 *
 * The recorder decides, because it alone knows functions: agents have addresses.  It names frames
 * while it records (symbols/live_names.h), adds up the live samples whose stack has a matching
 * function, over all processes of the session, and writes the interval into the control words, as
 * `geiger control` does.  The rule is that of an agent's own error
 * (stats/sampling/error_control.h).
 *
 * Unseen     While no sample has the function, the interval stays at that of a plan, or at
 *            GG_FOCUS_ERROR_FIRST_INTERVAL: nobody knows how little of it there is.
 * Others     A process whose settings a user, its environment or the program itself has chosen
 *            keeps them, and a note reports it.
 * Cost       PAUSE_NS apart, and at most a fiftieth of the time: a copy of each region, and a walk
 *            over the stacks of its live samples.
 * Threads    one owner.  It forks workers for symbols.
 */
#pragma once

#include <regex.h>

#include "base/array.h"
#include "record/process/process_set.h"
#include "stats/sampling/error_control.h"

enum { GG_FOCUS_ERROR_FIRST_INTERVAL = 4 << 10 };

struct gg_live_names;

/* All zero: there is no error to hold. */
struct gg_focus_error {
	const char *function; /* the expression; NULL: there is no error to hold */
	regex_t expression;
	struct gg_live_names *names;
	struct gg_error_control control;
	GG_ARRAY(uint64_t) intervals; /* all that this module has set, and the first one */
	bool has_left_alone;          /* a process with settings of others */
	uint64_t next_ns;             /* CLOCK_MONOTONIC */
	/* As the last look found them. */
	double bytes, reached; /* live bytes of the function; their error, NAN without a sample */
	int64_t looked_ns;     /* session time; 0: there was no look */
};

/*
 * `planned_interval`: of a former run; 0: none.  -EINVAL: the function is no regular expression.
 * Call gg_focus_error_done() in any case.
 */
GG_MUST_CHECK int gg_focus_error_begin(struct gg_focus_error *focus, const char *function,
                                       double wanted, uint64_t planned_interval,
                                       struct gg_error *error);
void gg_focus_error_done(struct gg_focus_error *focus);

/* Looks at the live samples if that is due, and sets the intervals.  Failures change nothing. */
void gg_focus_error_watch(struct gg_focus_error *focus, struct gg_process_set *set);

/* Notes in the profile what was reached. */
void gg_focus_error_note(const struct gg_focus_error *focus, struct gg_profile_writer *writer);
