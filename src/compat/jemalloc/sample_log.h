/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_log - prof.log_start and prof.log_stop: freed samples in a JSON file like jemalloc's.
 *
 * The agent remembers the samples (abi/sample_history.h).  The file is written when the log stops
 * or the program ends.
 *
 * Threads  any; a call that comes while another thread stops the log is refused
 */
#pragma once

#include <stdbool.h>

/*
 * path NULL: PREFIX.PID.SEQ.json.  False: the log runs already, the path is too long, or there is
 * no memory.
 */
bool gg_sample_log_start(const char *path);

/* False: the log does not run, or its file cannot be written. */
bool gg_sample_log_stop(void);
