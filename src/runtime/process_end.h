/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_end - what the agent does when the process ends.
 *
 * exit() and the return from main() call the destructor of start.c.  _exit() calls no destructors,
 * so the agent's hook of it calls gg_end_bounds().  Allocations and frees after that are still
 * recorded.
 */
#pragma once

/*
 * In the destructor: writes the dumps of the end, and notes its time.  May change the exit status.
 */
void gg_process_end_in_order(void);

/* Notes the time of the end in the region, so that a recorder does not have to guess it. */
void gg_end_bounds(void);
