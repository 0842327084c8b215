/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory - what the kernel says that processes use, beside what the profile estimates.
 *
 * At each snapshot (after 20 ms, then less and less often, down to each second): resident pages by kind from /proc/PID/status, which costs the process nothing.  The
 * proportional size (smaps_rollup) and the heap and stack parts (smaps) are walks through its page
 * tables under a lock that its mmap() waits for; so they are taken at most so often that they cost
 * PART of the time, the parts not more often than every ten seconds.
 */
#pragma once

#include "record/follow.h"

/* Adds a record for each process, and one for the session. */
int gg_memory_snapshot(struct gg_follow *follow);
