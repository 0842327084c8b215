/* SPDX-License-Identifier: Apache-2.0 */
/*
 * send_state - the directory in which a sender keeps what waits and what was sent.
 *
 *   fd = gg_send_state_open("/var/lib/geiger", &receiver, "4711", most_bytes, &path, error);
 *   if (gg_send_state_recall(fd, &region)) ... its last sender ended before the region was sent ...
 *   gg_send_state_remember(fd, &region);
 *   gg_send_state_clean("/var/lib/geiger", fd, most_bytes);
 *
 * Each receiver and target has a directory of its own below `root`, named by a hash of both:
 *
 *   target          what the target is, so that other senders know whether it exists
 *   limit           how many bytes may wait here, so that other senders keep to it
 *   region          of a process: its region, while its last profile is not in the queue
 *   OWNER.totals    sent_totals.h
 *   NUMBER.*        send_queue.h
 *
 * Names     a path has the same hash whether or not the file exists, so that the next sender finds
 *           what waits of a profile that was removed.
 * Cleaning  each sender removes the directories of targets that are gone, if nothing waits there
 *           and nobody changed them for a day, or if more waits there than their queues may hold.
 *           A directory whose target exists stays: without it, the target would be sent twice.  A
 *           path below a folder that is missing may be on a disk that is not mounted, so it counts
 *           as gone after 30 days.
 * Threads   one owner at a time; a sender holds a lock on its directory (send_queue.h).
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/error.h"
#include "send/receiver.h"

enum { GG_SEND_OWNER_MAX = 48, GG_SEND_ABOUT_MAX = 160 };

/* The region of a process that was not sent whole yet. */
struct gg_send_region {
	char path[PATH_MAX];
	char owner[GG_SEND_OWNER_MAX]; /* names its note */
	char about[GG_SEND_ABOUT_MAX]; /* for messages */
};

/*
 * Makes and opens the directory, and appends its path.  `target` NULL: all regions.  `most_bytes`
 * is the capacity of its queue.
 */
GG_MUST_CHECK int gg_send_state_open(const char *root, const struct gg_receiver *receiver,
                                     const char *target, uint64_t most_bytes,
                                     struct gg_buf *ret_path, struct gg_error *error);

/* Writes the region unless it is there already; an error costs only what recalling is good for. */
void gg_send_state_remember(int fd, const struct gg_send_region *region);
/* Returns false if the directory has no region. */
bool gg_send_state_recall(int fd, struct gg_send_region *ret_region);
void gg_send_state_forget(int fd);

/*
 * Removes directories of other targets below `root` that are of no use; `fd` is of the own one.
 * Bodies of targets that are gone stay, together, up to the largest of the limits that their
 * directories name; `most_bytes` is that of directories without one.  If there are more, the oldest
 * directories go.  Returns how many bytes of waiting bodies went.
 */
uint64_t gg_send_state_clean(const char *root, int fd, uint64_t most_bytes);
