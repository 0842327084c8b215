/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lab - shared parts of the verbs of `geiger lab`: checks of options, and output of results.
 *
 * Every verb computes numbers from theory or by simulation and prints them as a table, or as JSON
 * with --json.  With --svg it also draws them into a file.
 */
#pragma once

#include "base/buf.h"
#include "base/json.h"
#include "cli/command.h"
#include "stats/lab/interval_methods.h"

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

/* The methods of intervals that have a column in the tables.  JSON contains all methods. */
enum { GG_LAB_METHOD_COUNT = 5 };
struct gg_lab_method {
	enum gg_interval_method kind;
	const char *head;
};
extern const struct gg_lab_method gg_lab_methods[GG_LAB_METHOD_COUNT];

/* The names of enum gg_population. */
extern const char *const gg_lab_population_names[];

/* Opens the object of a verb's --json.  gg_lab_json_print() closes and prints it. */
void gg_lab_json_open(struct gg_json *json);
GG_MUST_CHECK int gg_lab_json_print(struct gg_json *json, struct gg_error *error);

/*
 * Writes a positive number into `text` and returns `text`: 0.964, 36.5, 36540.  It has three
 * significant digits below 100, and no exponent.
 */
enum { GG_LAB_NUMBER_MAX = 32 };
const char *gg_lab_number(double value, char text[GG_LAB_NUMBER_MAX]);

/* Prints a text that was built in memory.  Returns 0, or -ENOMEM if memory ran out. */
GG_MUST_CHECK int gg_lab_print(const struct gg_buf *text, struct gg_error *error);

/* Writes the picture to a new or truncated file; removes a file that it could not finish. */
GG_MUST_CHECK int gg_lab_save(const struct gg_buf *picture, const char *path,
                              struct gg_error *error);
