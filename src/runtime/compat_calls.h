/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compat_calls - the functions that libgeiger-compat calls to serve other profilers' interfaces.
 *
 * abi/agent_functions.h lists them for libgeiger-compat.
 *
 * Threads    any; each acts on its own thread.  No call allocates or waits.  errno is kept.
 * Cost       functions that the program does not call cost nothing on the paths of malloc and free.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "abi/agent_functions.h"

/* Writes a line to stderr or GEIGER_LOG. */
void gg_compat_calls_log(const char *line);

/* Switches sampling of the calling thread off (0) or on (1), or leaves it (-1).  Returns its state
 * before the call. */
bool gg_compat_calls_thread_active(int new_state);
/*
 * Sets in the same way whether threads begin with sampling on: those that have not allocated yet.
 */
bool gg_compat_calls_thread_active_init(int new_state);

/* Applies changed settings to the calling thread now; otherwise it does so within 8 MiB. */
void gg_compat_calls_apply_settings(void);

/* Names the calling thread in reports and dumps: the first 15 bytes.  0, or -ENOENT if nothing is
 * recorded. */
int gg_compat_calls_thread_name(const char *name);

/* The bytes that the calling thread has allocated and freed. */
void gg_compat_calls_thread_bytes(struct gg_agent_bytes *ret_bytes);
