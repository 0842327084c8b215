/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diagnostics - why a profile is empty, or has less than people may expect.
 *
 *   of a process     it executed a program that runs without the agent; most of its memory came from
 *                    elsewhere than malloc
 *   of the command   the loader takes no agent, or the program has an allocator of its own (preloadable.h)
 *   of the session   it was switched off; nothing was sampled yet at this sampling interval, which
 *                    bounds what was allocated
 *
 * What is said of processes becomes notes of the profile, at most HINTS_MAX; the first of them stands in
 * the last line as well.
 */
#pragma once

#include "record/process/process_set.h"

enum { GG_DIAGNOSTIC_MAX = 400 };

/* Looks whether the process has become a program that has no region. */
void gg_diagnostics_watch(struct gg_process_set_member *member);

/* A process that no region tells of has executed that program: told once a program. */
void gg_diagnostics_unseen_process(struct gg_process_set *set, uint32_t pid, const char *exe,
                                   const char *why);

/* The process has ended, or its recording has: what is to be said of it. */
void gg_diagnostics_add(struct gg_process_set *set, struct gg_process_set_member *member);

/* Why this session has nothing, or less than it could; false: there is nothing to say. */
bool gg_diagnostics_of_session(const struct gg_process_set *set, const char *command,
                               char text[GG_DIAGNOSTIC_MAX]);

/* Nothing was sampled: what can have been allocated all the same. */
void gg_diagnostics_unseen(const struct gg_profile_writer *writer, char text[GG_DIAGNOSTIC_MAX]);
