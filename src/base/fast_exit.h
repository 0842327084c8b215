/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fast_exit - ends a process that holds a library whose destructors must not run.
 *
 *   gg_fast_exit_enable();         after the library is loaded
 *   return gg_fast_exit(status);     at the end of main(): it does not return then
 *
 * A library may have threads that nobody can end.  They crash at random while exit() runs the
 * destructors of the library, and the process ends by a signal although all is done.  Handlers of
 * atexit() are no remedy: the library registers destructors as long as it runs, and those that come
 * later run first.
 *
 * Threads  any
 */
#pragma once

void gg_fast_exit_enable(void);

/* Returns the status, or flushes all streams and ends the process with it. */
int gg_fast_exit(int status);
