/* SPDX-License-Identifier: Apache-2.0 */
/* profiles - opens and loads profiles, and computes the head of a report in a thread. */
#include "cli/profiles.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scratch.h"
#include "cli/progress_line.h"
#include "format/codec/save_file.h"
#include "query/query.h"
#include "record/regions/find_region.h"
#include "record/regions/region_profile.h"

bool gg_cli_is_pid(const char *operand)
{
	return gg_find_region_is_pid(operand) && access(operand, F_OK) < 0;
}

int gg_cli_open_profile(struct gg_profile **ret_profile, const char *path,
                        const struct gg_progress *progress, struct gg_error *error)
{
	const bool is_pid = gg_cli_is_pid(path);
	char *region = NULL;
	int status = is_pid ? gg_find_region(&region, path, error) : 0;

	if (status == 0)
		status = gg_region_profile_open_complete(ret_profile, is_pid ? region : path,
		                                         progress, error);
	free(region);
	return status;
}

/* Reads an open profile, which the caller closes: the model has copies of everything. */
static int read_opened(struct gg_model **ret_model, struct gg_profile *profile,
                       const struct gg_frame_selection *frames, const struct gg_progress *progress,
                       struct gg_error *error)
{
	struct gg_model_options options = { 0 };

	gg_frame_selection_options(frames, &options);
	options.progress = progress;
	return gg_model_load(ret_model, &profile, 1, &options, error);
}

int gg_cli_read(struct gg_model **ret_model, const char *path,
                const struct gg_frame_selection *frames, struct gg_error *error)
{
	struct gg_progress_line line;
	struct gg_profile *profile;
	int status;

	gg_progress_line_init(&line);
	status = gg_cli_open_profile(&profile, path, &line.progress, error);
	if (status == 0) {
		status = read_opened(ret_model, profile, frames, &line.progress, error);
		gg_profile_close(profile);
	}
	gg_progress_line_end(&line);
	return status;
}

/* Hides the frames that are not selected; frees the model if that fails. */
static int select_frames(struct gg_model **model, const struct gg_frame_selection *frames,
                         struct gg_error *error)
{
	int status = gg_frame_selection_apply(frames, model, 1, error);

	if (status < 0)
		gg_model_free(*model);
	return status;
}

int gg_cli_load_opened(struct gg_model **ret_model, struct gg_profile *profile,
                       const struct gg_frame_selection *frames, const struct gg_progress *progress,
                       struct gg_error *error)
{
	int status = read_opened(ret_model, profile, frames, progress, error);

	return status < 0 ? status : select_frames(ret_model, frames, error);
}

int gg_cli_load(struct gg_model **ret_model, const char *path,
                const struct gg_frame_selection *frames, struct gg_error *error)
{
	int status = gg_cli_read(ret_model, path, frames, error);

	return status < 0 ? status : select_frames(ret_model, frames, error);
}

int gg_cli_check_output(const char *command, const char *profile, const char *output,
                        struct gg_error *error)
{
	struct stat from, to;

	if (output == NULL || stat(output, &to) < 0 || stat(profile, &from) < 0 ||
	    from.st_dev != to.st_dev || from.st_ino != to.st_ino)
		return 0;
	gg_error_set(error, -EINVAL, NULL, "Name another file.", "%.200s is the profile itself",
	             output);
	gg_error_set_place(error, "%s: --output", command);
	return -EINVAL;
}

static void *compute_head(void *context)
{
	struct gg_head *head = context;

	head->status = gg_report_summary_of(&head->summary, head->model, head->query, &head->error);
	return NULL;
}

void gg_cli_begin_head(struct gg_head *head, const struct gg_model *model,
                       const struct gg_query *query)
{
	*head = (struct gg_head){ .model = model, .query = query };
	/* Without a thread, gg_cli_end_head() computes the head itself. */
	head->is_beside = pthread_create(&head->thread, NULL, compute_head, head) == 0;
}

int gg_cli_end_head(struct gg_head *head, int status, struct gg_error *error)
{
	if (head->is_beside)
		pthread_join(head->thread, NULL);
	else
		compute_head(head);
	if (status == 0 && head->status < 0)
		*error = head->error;
	return status == 0 ? head->status : status;
}

int gg_cli_save(const char *output, const struct gg_buf *content, struct gg_error *error)
{
	/* From here on a signal must not leave a temporary file of the output behind. */
	gg_scratch_remove_at_signals();
	return gg_save_file(output != NULL ? output : "-", content->data, content->length, error);
}
