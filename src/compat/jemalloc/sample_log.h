/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_log - prof.log_start and prof.log_stop: samples that are freed meanwhile, in a file of JSON like jemalloc's.
 *
 * The agent remembers them (abi/sample_history.h); the file is written when the log stops, or the program ends.
 *
 * Threads  any; one that comes while another one stops the log is refused.
 */
#pragma once

#include <stdbool.h>

/* path NULL: PREFIX.PID.SEQ.json.  False: it runs already, or cannot be. */
bool gg_sample_log_start(const char *path);

/* False: it does not run, or its file cannot be written. */
bool gg_sample_log_stop(void);
