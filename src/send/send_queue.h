/* SPDX-License-Identifier: Apache-2.0 */
/*
 * send_queue - bodies that wait until a receiver has them; they survive a kill of the sender.
 *
 *   struct gg_send_queue_options options = { .directory = "/var/lib/geiger", .deliver = post };
 *
 *   gg_send_queue_open(&queue, &options, error);
 *   gg_send_queue_put(queue, &item, &number, error);   the body is safe, but nobody sends it yet
 *   ... the caller notes that `number` has what it sent ...
 *   gg_send_queue_commit(queue, number, false);        from here on it is sent
 *   wait_ns = gg_send_queue_pump(queue, now_ns, until_ns);  sends what is due, the oldest first
 *   gg_send_queue_free(queue);
 *
 * Directory  A body is a file from gg_send_queue_put() on, so that the end of the sender loses
 *            nothing.  The suffix of a file is its state:
 *
 *              NUMBER.new     not committed, or an attempt is about to begin.  After a kill,
 *                             `is_committed` decides whether the caller had noted it; otherwise it
 *                             goes, and the caller makes it anew.
 *              NUMBER.body    waits.
 *              NUMBER.sent    an attempt began, and its result is not known.
 *
 *            Without a directory, bodies are in memory, and the end of the sender loses them.
 * Doubt      After a kill or a cut reply nobody knows whether the receiver has the body.  The queue
 *            sends it again, as OpenTelemetry demands, or drops it (`drop_in_doubt`), and counts
 *            both.  A receiver can recognize a body that it has: its bytes are the same.
 * Full       gg_send_queue_put() refuses a body that does not fit, with -ENOSPC.  Waiting
 *            bodies stay; the caller sends a larger difference later.  A body that is larger
 *            than the whole queue is refused with -EFBIG.
 * Attempts   After a failure the queue waits backoff_least_ns, twice as long after each further
 *            one, backoff_most_ns at most, each with up to a fifth more or less at random.
 *            If a receiver names a time, that counts, backoff_least_ns at least and an hour at
 *            most; zero, or a date that has passed, names none.
 * Hostile    Files of the directory are checked: length, CRC-32, numbers.  A file that fails goes,
 *            and is counted.  A file that cannot be read for now (-EMFILE, -ENOMEM, -EIO) stays.
 * Memory     32 bytes for each body, and the body that is put or being sent.
 * Threads    one owner at a time; one queue for a directory, which a lock ensures (-EBUSY).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/error.h"

/* OTLP's limit for a request, also before compression. */
enum { GG_SEND_BODY_MAX = 64 << 20 };

struct gg_send_queue;

/*
 * A body, and what its request needs.  The texts have no line breaks, except `about`, which gets
 * spaces in their place and ends after 4 kB.
 */
struct gg_send_item {
	const char *target; /* path and query of the request */
	const char *type;   /* of the content */
	const char *about;  /* whose profile it is, for messages */
	const char *owner;  /* names the caller's state, for is_committed() */
	bool is_gzip;
	const void *body;
	size_t length;
};

enum gg_send_verdict {
	GG_SEND_DELIVERED,
	GG_SEND_LATER,    /* the receiver does not have it, and may take it later */
	GG_SEND_IN_DOUBT, /* nobody knows whether the receiver has it */
	GG_SEND_REJECTED, /* the receiver will never take it */
};

struct gg_send_answer {
	enum gg_send_verdict verdict;
	double retry_after_seconds; /* negative: the receiver named no time */
	uint64_t rejected_count;    /* profiles of a delivered body that the receiver rejected */
	char text[160];             /* why; "": nothing to tell */
};

struct gg_send_queue_options {
	const char *directory;   /* exists; NULL: bodies are in memory */
	uint64_t capacity_bytes; /* of the directory or the memory */
	uint64_t backoff_least_ns, backoff_most_ns;
	bool drop_in_doubt;
	uint64_t seed; /* of the random part of waits */
	/* Makes one attempt. */
	void (*deliver)(const struct gg_send_item *item, struct gg_send_answer *ret_answer,
	                void *context);
	/*
	 * 1: the caller has noted this body, 0: it has not, or the error of reading the note, which
	 * ends the opening; NULL: bodies that were not committed go.
	 */
	int (*is_committed)(const char *owner, uint64_t number, void *context);
	const char *receiver; /* its address, for messages; the caller keeps it.  NULL: none */
	/* Called for what a user should know: losses, doubts, the begin and end of an outage. */
	void (*tell)(const char *text, void *context);
	/* True ends gg_send_queue_pump() after the current attempt; NULL: never. */
	bool (*is_stopped)(void *context);
	void *context;
};

struct gg_send_counts {
	uint64_t waiting_count, waiting_bytes;
	uint64_t delivered_count, delivered_bytes;
	uint64_t failed_count;   /* attempts that the queue repeats */
	uint64_t refused_count;  /* bodies for which there was no room */
	uint64_t rejected_count; /* bodies that the receiver will never take */
	uint64_t partly_count;   /* profiles that the receiver rejected of delivered bodies */
	uint64_t doubt_count;    /* bodies in doubt: sent again, or dropped */
	uint64_t damaged_count;  /* files that were no bodies */
};

/* -EBUSY: another sender has the directory.  Otherwise the errors of opening and reading it. */
GG_MUST_CHECK int gg_send_queue_open(struct gg_send_queue **ret_queue,
                                     const struct gg_send_queue_options *options,
                                     struct gg_error *error);
/* Bodies in the directory stay for the next sender.  NULL is fine. */
void gg_send_queue_free(struct gg_send_queue *queue);

/*
 * -ENOSPC: there is no room; -EFBIG: there never is, since the body is larger than the queue or a
 * request.  *ret_number is unique, also among all earlier senders.
 */
GG_MUST_CHECK int gg_send_queue_put(struct gg_send_queue *queue, const struct gg_send_item *item,
                                    uint64_t *ret_number, struct gg_error *error);
/*
 * `sends_now`: if nothing else waits and no pause is due, an attempt follows at once, which spares
 * reading the file and renaming it once.
 */
void gg_send_queue_commit(struct gg_send_queue *queue, uint64_t number, bool sends_now);
void gg_send_queue_cancel(struct gg_send_queue *queue, uint64_t number);

/*
 * Sends what is due.  Returns the nanoseconds until it should be called again; UINT64_MAX: nothing
 * waits.  Both times are of CLOCK_MONOTONIC.  From `until_ns` on no further attempt begins, but one
 * is made in any case, so that a caller without time still sends something.
 */
uint64_t gg_send_queue_pump(struct gg_send_queue *queue, uint64_t now_ns, uint64_t until_ns);

struct gg_send_counts gg_send_queue_counts(const struct gg_send_queue *queue);
