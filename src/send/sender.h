/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sender - looks at processes now and then, and sends their profiles to a receiver.
 *
 *   struct gg_sender_options options = { .target = "4711", .every_seconds = 60,
 *                                        .facts = { .receiver = &receiver } };
 *   struct gg_sender_result result;
 *
 *   if (gg_sender_run(&options, &result, error) < 0) ...
 *
 * A profile has two kinds of numbers.  Live memory is a state: that of the look.  Allocated memory
 * is a difference: what the process allocated since its last profile (sent_totals.h), and the
 * profile's window says since when.
 *
 * Idle      a process that did nothing since its last profile is not sent for five minutes; the
 *           window of the next profile covers that time.  The comparison reads the region's header
 *           and redo log alone.
 * Quick     a process that has no new stacks is sent by its outline (send_outline.h), which needs
 *           neither symbols nor a model.
 * State     `state` is a directory below which each receiver and target has its own: bodies that
 *           wait (send_queue.h), and what was sent of each process.  A body and the note of what it
 *           has are committed one after the other, in an order that a kill cannot break: the body
 *           is written, then the note with the body's number, and only then the body is sent.
 *           Without `state` both are in memory.  Then a process that ran before the sender began
 *           has its first difference at the second look.
 * Full      while the queue has no room, the sender takes no looks.  Nothing that was allocated is
 *           lost by that, since the next difference has it; states of live memory are missing.
 *           Before the sender ends, it looks again as the queue gets room, and counts profiles that
 *           get none.
 * Targets   a process (its later programs as well), a region, a directory with regions, all
 *           regions of this machine (NULL), or a profile, finished or being recorded.  A process
 *           that has ended is sent once more.  If its region is gone by then, the sender says what
 *           is missing.  If a process ends while no sender runs, the next one with its pid sends
 *           what waits, and its region (send_state.h).
 * End       of the target, of `look_max` looks, SIGTERM, SIGINT or SIGHUP, or the end of the file
 *           `until_fd`.  The sender then takes a last look, and sends for flush_seconds at most.
 * Times     windows of a living process are by the wall clock of the look: that clock may have been
 *           set, and the machine may have slept, since the process began.
 * Memory    the model of one process or of one profile at a time, and outlines of 44 MiB at most.
 * Threads   a process has one sender, since it blocks signals.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "send/send_body.h"
#include "send/send_queue.h"

struct gg_sender_options {
	const char *target; /* NULL: all regions of this machine */
	struct gg_send_facts facts;
	double every_seconds;    /* 0: one look */
	uint32_t slot_seconds;   /* of a fleet alone: the length of its slots */
	uint64_t look_max;       /* 0: no limit */
	const char *state;       /* NULL: in memory */
	uint64_t capacity_bytes; /* of the queue */
	bool drop_in_doubt;
	const char *headers;      /* lines that end in "\r\n"; "" or NULL: none */
	const char *certificates; /* NULL: the system's */
	double timeout_seconds;   /* of a request */
	double flush_seconds;     /* of the end */
	double confidence;
	int until_fd; /* -1: none */
	bool ignores_signals;
	/* Called for what a user should know; or NULL. */
	void (*tell)(const char *text, void *context);
	void *context;
};

struct gg_sender_result {
	struct gg_send_counts counts;
	uint64_t look_count, profile_count; /* profiles that went into the queue */
	uint64_t unchanged_count;           /* looks at processes that were sent whole before */
	uint64_t idle_count;                /* looks at processes that did nothing since the last */
	uint64_t quick_count;               /* of the profiles: those by an outline */
	uint64_t lost_count;                /* processes whose last difference is missing */
	uint64_t unsent_count; /* processes whose last difference is not in the queue */
	bool has_failed;       /* the last look failed, and the sender told why */
};

/* True if the receiver has all profiles. */
bool gg_sender_has_sent_all(const struct gg_sender_result *result);

/*
 * -EINVAL: the request is wrong; -ESRCH or -ENOENT: there is no such target; -EBUSY: another sender
 * has the state.
 */
GG_MUST_CHECK int gg_sender_run(const struct gg_sender_options *options,
                                struct gg_sender_result *ret_result, struct gg_error *error);
