/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_end - what the agent does when the process ends.
 *
 * The destructor writes the dump of the end and notes the time in the region.  _exit() calls no
 * destructors, so the agent's hook of it calls gg_process_end().  Allocations and frees after that
 * are still recorded.
 */
#pragma once

/* Notes the time of the end in the region, so that a recorder does not have to guess it. */
void gg_process_end(void);
