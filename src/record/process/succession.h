/* SPDX-License-Identifier: Apache-2.0 */
/*
 * succession - which process of a session began after which one had ended.
 *
 * On a busy machine the recorder wakes up some 40 ms after a process has ended.  By then the next process of a
 * shell's loop is at work, and both would seem to live at once.  The kernel knows better: it lists what
 * happens in the session's directories in order (inotify).  A dying process drops its mapping of its region, which
 * closes that file, before its parent can hear of the end.  So a process whose region was made after that close
 * is a successor, and its start is an upper bound of the end, however late the recorder reads the list.
 *
 * Misses    a forked child without a region of its own still maps that of its parent; the order is then
 *           unknown, as it is without inotify and where the kernel dropped some of its list.
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

struct gg_succession {
	int watch_fd; /* of inotify; -1: the order is not known */
	uint64_t event_count;
	GG_ARRAY(struct gg_succession_region) regions; /* as they became known */
	struct gg_map by_name;
};

/* Without inotify the order stays unknown. */
void gg_succession_begin(struct gg_succession *succession,
                         const struct gg_session_directory *directory);
void gg_succession_done(struct gg_succession *succession);

/* Reads the list so far; true: a region was made since the last time. */
bool gg_succession_read(struct gg_succession *succession);

/* The region of that name is one, whose process began then (CLOCK_MONOTONIC); 0: it never became one. */
void gg_succession_took(struct gg_succession *succession, const char *name, uint64_t start_ns);

/*
 * The process of that region has ended, and its region is_dropped: nobody maps it.  *ret_first_ns is the start
 * of its first successor, UINT64_MAX without one.  Where the order is unknown, all that began after alive_ns, when the
 * process was last seen, count as successors.  False: a region that may be a successor's is not read yet.
 */
bool gg_succession_first(const struct gg_succession *succession, const char *name, bool is_dropped,
                         uint64_t alive_ns, uint64_t *ret_first_ns);
