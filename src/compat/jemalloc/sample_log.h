/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_log - writes freed samples to a JSON file like jemalloc's prof.log_start and _stop.
 *
 * The agent remembers the samples (abi/sample_history.h).  The file is written when the log stops
 * or the program ends.
 *
 * Threads  any.  A call fails if another thread starts or stops the log at that moment.
 */
#pragma once

#include <stdbool.h>

/*
 * Starts the log.  path NULL: the file is PREFIX.PID.SEQ.json.  False: the log runs already, the
 * path is too long, or memory ran out.
 */
bool gg_sample_log_start(const char *path);

/* Stops the log and writes its file.  False: the log does not run, or writing failed. */
bool gg_sample_log_stop(void);
