/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profiler_state - reads and changes the settings of jemalloc's profiler at run time.
 *
 * Threads  any.  Each setting is one word; one thread at a time writes the prefix.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "compat/compat_settings.h"
#include "compat/jemalloc/ctl_call.h"

/* 0 or ENOENT.  _check_agent() requires an agent; _check_on() also requires prof:true. */
int gg_profiler_check_agent(void);
int gg_profiler_check_on(void);

/* Takes the value of a write-only name that needs the profiler on. */
int gg_profiler_read_command(const struct gg_ctl_call *call, void *value, size_t bytes);

/*
 * Answers a switch.  With prof:false it reads as off, and setting it fails with ENOENT.
 */
int gg_profiler_answer_switch(const struct gg_ctl_call *call, bool (*get)(void),
                              void (*set)(bool on));

/*
 * The binary logarithm of the sampling interval, as the program set it if that interval still
 * holds.
 */
size_t gg_profiler_lg_sample(void);
void gg_profiler_set_lg_sample(size_t lg);
uint64_t gg_profiler_interval_of(uint64_t lg);

/* Later dumps leave out earlier samples. */
void gg_profiler_reset(void);

/* Writes a dump to that path; NULL: to the next name of the prefix.  0 or -Exxx. */
int gg_profiler_dump(const char *path);

/* Sets how many samples the agent remembers; -1: as many as possible.  0 or -ENOMEM. */
int gg_profiler_set_recent(int64_t most);

void gg_profiler_set_active(bool on);

/* Computes the triggers from the options: prefix, intervals, high-water marks, and the end. */
void gg_profiler_triggers(struct gg_agent_triggers *ret_triggers);

/* Reads the prefix of the names of dumps. */
void gg_profiler_prefix(char prefix[GG_AGENT_PREFIX_MAX]);

bool gg_profiler_gdump(void);
void gg_profiler_set_gdump(bool on);

/* False: the prefix is NULL, or another thread keeps changing the triggers. */
bool gg_profiler_set_prefix(const char *prefix);
