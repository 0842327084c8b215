/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scratch - removes unfinished files if a signal ends the command.
 *
 *   gg_scratch_remove_at_signals();                once, by the command
 *   int number = gg_scratch_add("x.geiger.42.whole");
 *   ... writes the file, renames it or removes it
 *   gg_scratch_forget(number);
 *
 * After gg_scratch_remove_at_signals(), the signals SIGHUP, SIGINT, SIGQUIT, SIGTERM and SIGXCPU
 * remove the listed files and then end the process, as they do by default.  SIGXFSZ is ignored, so
 * that a file that grows too large is an error of its write.  A signal that was ignored or had a
 * handler keeps its action.
 *
 * Threads  One thread adds and forgets; signals may arrive in any thread.
 */
#pragma once

void gg_scratch_remove_at_signals(void);

/*
 * Lists a file, which need not exist yet.  -1: the list is full or the name is too long.  Callers
 * may pass -1 to gg_scratch_forget().
 */
int gg_scratch_add(const char *path);
void gg_scratch_forget(int number);
