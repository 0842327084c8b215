/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_names - the names that processes give themselves while they run.
 *
 * A server writes what it does over its arguments (setproctitle), often long after its region was made: a worker of
 * nginx is "nginx: master process" when it begins.  So the recorder reads the command line and the main thread's
 * name again and again while a process lives, and the last ones count.
 *
 * Misses   a title that was set less than a round of the recorder before the end.
 * Cost     eight system calls a process, at 5 ms of age, and then each time when it is half as old again, up to
 *          once a second.
 */
#pragma once

#include "record/process/process_set.h"

/* Reads them where it is time to. */
void gg_process_names_watch(struct gg_process_set *set);
