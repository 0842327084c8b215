/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_names - the names that processes give themselves while they run.
 *
 * A server writes its role over its arguments (setproctitle), often long after its region was
 * created: a worker of nginx is called "nginx: master process" at first.  So the recorder reads the
 * command line and the main thread's name repeatedly while a process lives, and the last values
 * count.
 *
 * Misses   a title that was set less than a round of the recorder before the end.
 * Cost     eight system calls a process: when it is 5 ms old, then whenever its age has grown by
 *          half, but at least once a second.
 */
#pragma once

#include "record/process/process_set.h"

/* Reads the names of the processes whose next reading is due. */
void gg_process_names_watch(struct gg_process_set *set);
