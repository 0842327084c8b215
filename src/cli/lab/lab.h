/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lab - shared parts of the verbs of `geiger lab`: checks of options, and output of results.
 *
 * Every verb computes numbers from theory or by simulation and prints them as a table, or as JSON
 * with --json.  With --svg it also draws them into a file.
 */
#pragma once

#include "base/buf.h"
#include "cli/command.h"

extern const struct gg_command gg_command_lab_compare;
extern const struct gg_command gg_command_lab_coverage;
extern const struct gg_command gg_command_lab_error;
extern const struct gg_command gg_command_lab_optimal; /* only in builds with profiles */
extern const struct gg_command gg_command_lab_plan;    /* only in builds with profiles */
extern const struct gg_command gg_command_lab_table;

/* Return -EINVAL unless 0 < confidence < 1, or unless 1 <= interval. */
GG_MUST_CHECK int gg_lab_check_confidence(double confidence, const char *command,
                                          struct gg_error *error);
GG_MUST_CHECK int gg_lab_check_interval(uint64_t interval_bytes, const char *command,
                                        struct gg_error *error);

/* Prints a text that was built in memory.  Returns 0, or -ENOMEM if memory ran out. */
GG_MUST_CHECK int gg_lab_print(const struct gg_buf *text, struct gg_error *error);

/* Writes the picture to a new or truncated file; removes a file that it could not finish. */
GG_MUST_CHECK int gg_lab_save(const struct gg_buf *picture, const char *path,
                              struct gg_error *error);
