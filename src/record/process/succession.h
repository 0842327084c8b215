/* SPDX-License-Identifier: Apache-2.0 */
/*
 * succession - which process of a session began after another one had ended.
 *
 * On a busy machine the recorder wakes up some 40 ms after a process has ended.  By then a shell's
 * loop has started the next process, and both would seem to live at the same time.  The kernel
 * knows better: inotify lists the events in the session's directories in order.  A dying process
 * drops its mapping of its region, which closes that file, before its parent can hear of the end.
 * So a process whose region was created after that close is a successor.  Its start is an upper
 * bound of the end, no matter how late the recorder reads the list.
 *
 * The order of two closes also orders two ends.  If a parent waits for a child that was killed, and
 * then exits, the recorder may learn of both ends at once.  The parent's agent noted when it
 * exited, and nobody noted the child's end; but the child's region was closed first, so the child
 * ended first.
 *
 * Misses    a forked child without a region of its own still maps its parent's region; then the
 *           order is unknown.  It is also unknown without inotify, and where the kernel dropped
 *           events.
 * Memory    64 bytes and a map entry for each process of the session.
 * Threads   one owner at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/compiler.h"
#include "base/map.h"

struct gg_session_directory;
struct gg_succession_region;

enum { GG_SUCCESSION_ENDS = 64 }; /* the latest ends whose order is remembered */

struct gg_succession_end {
	uint64_t dropped; /* number of the event that closed the region */
	uint64_t end_ns;  /* CLOCK_MONOTONIC: the end of its process */
};

struct gg_succession {
	int watch_fd; /* of inotify; -1: the order is unknown */
	struct gg_succession_end ends[GG_SUCCESSION_ENDS]; /* a ring */
	uint32_t end_count;
	uint64_t event_count;
	GG_ARRAY(struct gg_succession_region) regions; /* in the order in which they became known */
	struct gg_map by_name;
};

/* Begins to watch the session's directories.  Without inotify the order stays unknown. */
void gg_succession_begin(struct gg_succession *succession,
                         const struct gg_session_directory *directory);
void gg_succession_done(struct gg_succession *succession);

/* Reads the pending events.  True: a region was created since the last call. */
bool gg_succession_read(struct gg_succession *succession);

/*
 * Notes that the recorder has read the region of that name, whose process began at start_ns
 * (CLOCK_MONOTONIC).  0: the file never became a valid region.
 */
void gg_succession_took(struct gg_succession *succession, const char *name, uint64_t start_ns);

/*
 * Finds the start of the first successor of an ended process; *ret_first_ns is UINT64_MAX without
 * one.  `is_dropped`: no process maps the region any more, so the order of events is meaningful.
 * Otherwise all processes that began after alive_ns, when the process was last seen alive, count as
 * successors.  False: the recorder has not read some region that may belong to a successor.
 */
bool gg_succession_first(const struct gg_succession *succession, const char *name, bool is_dropped,
                         uint64_t alive_ns, uint64_t *ret_first_ns);

/*
 * Notes that the process of that region ended at end_ns (CLOCK_MONOTONIC), and that no process maps
 * the region any more.  A second call for a region corrects the first.
 */
void gg_succession_ended(struct gg_succession *succession, const char *name, uint64_t end_ns);

/*
 * Finds between which known ends the process of that region ended, whose region no process maps any
 * more: *ret_after_ns is the latest end before it, or 0, and *ret_before_ns the earliest end after
 * it, or UINT64_MAX.
 */
void gg_succession_order(const struct gg_succession *succession, const char *name,
                         uint64_t *ret_after_ns, uint64_t *ret_before_ns);
