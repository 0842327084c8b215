/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lab - what the verbs of `geiger lab` share: checks of their options, and where results go.
 *
 * Every verb computes numbers from theory or simulation, prints them as a table or, with --json,
 * as JSON, and with --svg draws them into a file.
 */
#pragma once

#include "base/buf.h"
#include "cli/command.h"

extern const struct gg_command gg_command_lab_compare;
extern const struct gg_command gg_command_lab_coverage;
extern const struct gg_command gg_command_lab_error;
extern const struct gg_command gg_command_lab_optimal; /* with profiles */
extern const struct gg_command gg_command_lab_plan;    /* likewise */
extern const struct gg_command gg_command_lab_table;

/* -EINVAL unless 0 < confidence < 1, and unless 1 <= interval. */
GG_MUST_CHECK int gg_lab_check_confidence(double confidence, const char *command,
                                          struct gg_error *error);
GG_MUST_CHECK int gg_lab_check_interval(uint64_t interval_bytes, const char *command,
                                        struct gg_error *error);

/* Prints a text that was built in memory.  0, or -ENOMEM if that failed. */
GG_MUST_CHECK int gg_lab_print(const struct gg_buf *text, struct gg_error *error);

/* Writes the picture to a new or truncated file; removes a file that it could not finish. */
GG_MUST_CHECK int gg_lab_save(const struct gg_buf *picture, const char *path,
                              struct gg_error *error);
