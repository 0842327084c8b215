/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hints - why a profile is empty, or has less than people may expect.
 *
 *   of a process     it executed a program that runs without the agent; most of its memory came from
 *                    elsewhere than malloc
 *   of the command   the loader takes no agent, or the program has an allocator of its own (reach.h)
 *   of the session   it was switched off; nothing was sampled yet at this sampling interval, which
 *                    bounds what was allocated
 *
 * What is said of processes becomes notes of the profile, at most HINTS_MAX; the first of them stands in
 * the last line as well.
 */
#pragma once

#include "record/process/process_set.h"

enum { GG_HINT_MAX = 400 };

/* Looks whether the process has become a program that has no region. */
void gg_hints_watch(struct gg_follower *follower);

/* A process that no region tells of has executed that program: told once a program. */
void gg_hints_unseen_process(struct gg_follow *follow, uint32_t pid, const char *exe,
                             const char *why);

/* The process has ended, or its recording has: what is to be said of it. */
void gg_hints_add(struct gg_follow *follow, struct gg_follower *follower);

/* Why this session has nothing, or less than it could; false: there is nothing to say. */
bool gg_hints_of_session(const struct gg_follow *follow, const char *command,
                         char text[GG_HINT_MAX]);

/* Nothing was sampled: what can have been allocated all the same. */
void gg_hints_unseen(const struct gg_output *output, char text[GG_HINT_MAX]);
