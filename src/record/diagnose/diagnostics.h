/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diagnostics - explains why a profile is empty or has less than the user may expect.
 *
 *   a process    it executed a program that runs without the agent, or most of its memory did not
 *                come from malloc
 *   the command  the loader accepts no agent, or the program has its own allocator (preloadable.h)
 *   the session  sampling was switched off, or nothing was sampled at this sampling interval, which
 *                bounds how much was allocated
 *
 * Explanations about processes become notes of the profile, HINTS_MAX at most.  The closing line
 * repeats the first of them.
 */
#pragma once

#include "record/diagnose/findings.h"
#include "record/process/member.h"

enum { GG_DIAGNOSTIC_MAX = GG_FINDINGS_TEXT_MAX };

/* Checks if the process has executed a program that has no region. */
void gg_diagnostics_watch(struct gg_member *member);

/* Notes that a process without a region has executed that program; once for each program. */
void gg_diagnostics_unseen_process(struct gg_findings *findings, struct gg_profile_writer *writer,
                                   uint32_t pid, const char *exe, const char *why);

/* Adds the explanations about a process.  Call it when the process or its recording has ended. */
void gg_diagnostics_add(struct gg_findings *findings, struct gg_member *member);

/*
 * Explains why the session has no or few samples; false: there is nothing to explain.  `ending` is
 * how the command's process ended.
 */
bool gg_diagnostics_of_session(const struct gg_findings *findings,
                               const struct gg_profile_writer *writer, const char *command,
                               const char *ending, char text[GG_DIAGNOSTIC_MAX]);

/*
 * Writes an advice on the explanation of gg_diagnostics_of_session(), "to see all of NAME: ...".
 * The text is "" if that is not about a program that the profile lacks.
 */
void gg_diagnostics_advice(const struct gg_findings *findings,
                           const struct gg_profile_writer *writer, const char *command,
                           char text[GG_DIAGNOSTIC_MAX]);

/* Explains how much a program may have allocated although nothing was sampled. */
void gg_diagnostics_unseen(const struct gg_profile_writer *writer, char text[GG_DIAGNOSTIC_MAX]);
