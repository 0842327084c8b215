/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exact_history - the time axis of a process that counts every allocation.
 *
 * The region of such a process has counters and no events.  At each tick the recorder reads them,
 * and what changed since the last tick happened at that tick.  The changes of a stack become
 * aggregates (profile/records.h), one for each pair of ticks at which blocks came and went.
 *
 * Which of a stack's blocks were freed is not known, only how many and how many bytes.  The history
 * takes the newest ones, and first those of the thread that freed.  That choice changes no sum: at
 * each tick, what each stack holds, has allocated and has freed are exact.
 *
 * Peak      The agent numbers peaks, and tells the state of each record at the last one
 *           (region/exact_total.h).  A peak since the last tick becomes a tick of its own.
 * Cost      A tick reads all records.  The pause after it is at least 20 times as long as the
 *           processor's time that it took.
 * Live      Rows of what ended wait in memory until what is live is written too, once a second at
 *           most.  So a reader of a profile that is being recorded finds each block once.
 * Hostile   Counters that fall, or frees beyond what was allocated, change nothing.
 */
#pragma once

#include "record/process/target.h"

/* A tick, if one is due. */
int gg_exact_history_tick(struct gg_target *target);

/* A tick with the counters of a view, at that time of the session. */
int gg_exact_history_take(struct gg_target *target, const struct gg_region_view *view,
                          int64_t now_ns);

/* Writes rows that wait, and what is live in place of what was written so before. */
int gg_exact_history_put_live(struct gg_target *target);

/* Writes notes and counters on the peak, the fork and the limit, and which threads are inexact. */
int gg_exact_history_note(struct gg_target *target, const struct gg_region_view *view);
