/* SPDX-License-Identifier: Apache-2.0 */
/* notes - what people should know of a recording: in the profile, and in one line at its end. */
#pragma once

#include "record/process/process_set.h"

/* Samples and events that were lost, in a recording, a region, or what was salvaged. */
int gg_notes_add_losses(struct gg_profile_writer *writer);

/* Losses, what agents complained of, and why nothing was sampled. */
int gg_notes_add(struct gg_process_set *set, const char *command);

/* One line on standard error. */
void gg_notes_print_summary(const struct gg_process_set *set, const char *path,
                            const char *command);
