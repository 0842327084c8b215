/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profiles - opens and loads the profiles of a command, and computes the head of its report.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "model/model.h"
#include "query/query.h"
#include "report/frame_selection.h"
#include "report/report_summary.h"

/* Whether an operand is a number and no file, so that it can only be the pid of a process. */
bool gg_cli_is_pid(const char *operand);

/*
 * Opens the PROFILE operand of a command: a profile, a region, or the region of a process by its
 * pid.  Only this function knows which kinds of files are valid.
 */
GG_MUST_CHECK int gg_cli_open_profile(struct gg_profile **ret_profile, const char *path,
                                      const struct gg_progress *progress, struct gg_error *error);

/*
 * Opens and reads a profile.  gg_cli_load() also hides the frames that are not selected.  After
 * gg_cli_read() the caller names functions and calls gg_frame_selection_apply().
 */
GG_MUST_CHECK int gg_cli_read(struct gg_model **ret_model, const char *path,
                              const struct gg_frame_selection *frames, struct gg_error *error);
GG_MUST_CHECK int gg_cli_load(struct gg_model **ret_model, const char *path,
                              const struct gg_frame_selection *frames, struct gg_error *error);

/* Loads a profile that is open; the caller closes it. */
GG_MUST_CHECK int gg_cli_load_opened(struct gg_model **ret_model, struct gg_profile *profile,
                                     const struct gg_frame_selection *frames,
                                     const struct gg_progress *progress, struct gg_error *error);

/*
 * Fails with -EINVAL if `output` is the profile itself, because the command would overwrite its
 * input.  The error names --output of the command. output may be NULL.
 */
GG_MUST_CHECK int gg_cli_check_output(const char *command, const char *profile, const char *output,
                                      struct gg_error *error);

/* Writes what a command made to the file of --output; NULL or "-" is standard output. */
GG_MUST_CHECK int gg_cli_save(const char *output, const struct gg_buf *content,
                              struct gg_error *error);

/*
 * Computes the numbers of a report's head in another thread, because they need passes of their own
 * over the samples.  Meanwhile the caller computes the rows. gg_cli_end_head() waits for the
 * thread.  It gets the status of the caller's work, and returns it if it is an error, otherwise
 * the status of the head.
 */
struct gg_head {
	const struct gg_model *model;
	const struct gg_query *query;
	struct gg_report_summary summary;
	struct gg_error error;
	int status;
	bool is_beside;
	pthread_t thread;
};
void gg_cli_begin_head(struct gg_head *head, const struct gg_model *model,
                       const struct gg_query *query);
GG_MUST_CHECK int gg_cli_end_head(struct gg_head *head, int status, struct gg_error *error);
