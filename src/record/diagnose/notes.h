/* SPDX-License-Identifier: Apache-2.0 */
/*
 * notes - writes the notes of a recording into the profile, and its closing line on standard error.
 */
#pragma once

#include "record/process/process_set.h"

/* Adds notes about lost samples and events, for recordings, regions and salvaged profiles. */
int gg_notes_add_losses(struct gg_profile_writer *writer);

/* Adds notes about losses, the agents' complaints, and why nothing was sampled. */
int gg_notes_add(struct gg_process_set *set, const char *command);

/* Prints the closing line on standard error. */
void gg_notes_print_summary(const struct gg_process_set *set, const char *path,
                            const char *command);
