/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scratch - files of work in progress, which must not outlive a command that a signal ends.
 *
 *   gg_scratch_remove_at_signals();                once, by the command
 *   int number = gg_scratch_add("x.geiger.42.whole");
 *   ... writes it, renames it or removes it
 *   gg_scratch_forget(number);
 *
 * From gg_scratch_remove_at_signals() on, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU and SIGXFSZ remove the files
 * that are listed, and then end the process as they do by default.  A signal that was ignored stays ignored.
 *
 * Threads  one that adds and forgets; signals may come to any.
 */
#pragma once

void gg_scratch_remove_at_signals(void);

/* The file need not be there.  -1, which may be forgotten, too: the list is full or the name too long. */
int gg_scratch_add(const char *path);
void gg_scratch_forget(int number);
