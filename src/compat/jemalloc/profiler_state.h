/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profiler_state - what can be changed of jemalloc's options while the program runs, and what rows ask first.
 *
 * Threads  any.  Each setting is a word of its own; the prefix is written by one thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "compat/compat_settings.h"
#include "compat/jemalloc/ctl_call.h"

/* 0, or ENOENT: there is no profiler (no agent), or it is not on (prof:false). */
int gg_profiler_there(void);
int gg_profiler_on(void);

/* The value of a call that is written alone, and needs the profiler on. */
int gg_profiler_take_command(const struct gg_ctl_call *call, void *value, size_t bytes);

/* The value of a switch that can be read where the profiler is not on, but not written: ENOENT. */
int gg_profiler_take_switch(const struct gg_ctl_call *call, bool *ret_wish);

/* As the last 2^n asked for, if that is still the interval. */
size_t gg_profiler_lg_sample(void);
void gg_profiler_set_lg_sample(size_t lg);
uint64_t gg_profiler_interval_of(uint64_t lg);

/* Dumps count from now on. */
void gg_profiler_reset(void);

/* To that path, or to the next one of the prefix.  0, or -Exxx. */
int gg_profiler_dump(const char *path);

/* How many samples are to be remembered: -1: as many as can be.  0, -ENOMEM. */
int gg_profiler_set_recent(int64_t most);

void gg_profiler_set_active(bool wish);

/* Dumps as the options have them: prefix, intervals, high-water marks, the end. */
void gg_profiler_triggers(struct gg_agent_triggers *ret_triggers);

/* Of the names of dumps. */
void gg_profiler_prefix(char prefix[GG_AGENT_PREFIX_MAX]);

bool gg_profiler_gdump(void);
void gg_profiler_set_gdump(bool wish);

/* False: it cannot be. */
bool gg_profiler_set_prefix(const char *prefix);
