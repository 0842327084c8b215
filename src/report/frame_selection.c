/* SPDX-License-Identifier: Apache-2.0 */
#include "report/frame_selection.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query/query.h"
#include "symbol/symbol.h"

/* Folders of libraries that the system installs, and not the user. */
static const char *const system_folders[] = {
	"/lib/",       "/lib32/",      "/lib64/",       "/libx32/",    "/usr/lib/",   "/usr/lib32/",
	"/usr/lib64/", "/usr/libx32/", "/usr/libexec/", "/nix/store/", "/gnu/store/",
};

void gg_frame_selection_options(const struct gg_frame_selection *frames,
                                struct gg_model_options *options)
{
	options->is_entry = gg_symbol_is_allocator_entry;
	options->is_wrapper = frames->all_frames ? NULL : gg_symbol_is_wrapper;
}

int gg_frame_selection_check(const struct gg_frame_selection *frames, struct gg_error *error)
{
	if (!frames->mine || frames->module == NULL)
		return 0;
	return gg_error_set(error, -EINVAL, "--mine", "Choose one of them.",
	                    "excludes --module, because both say whose memory it is");
}

static bool is_in_system_folder(const char *path)
{
	for (size_t i = 0; i < GG_COUNT(system_folders); i++)
		if (strncmp(path, system_folders[i], strlen(system_folders[i])) == 0)
			return true;
	return path[0] == '['; /* such as [vdso] */
}

static bool is_executed(const struct gg_model *model, const char *path)
{
	const struct gg_profile_process *processes = model->processes;

	for (size_t i = 1; i < model->process_count; i++)
		if (processes[i].exe != NULL && strcmp(processes[i].exe, path) == 0)
			return true;
	return false;
}

void gg_frame_selection_own_modules(const struct gg_model *model, uint8_t *is_own)
{
	/* Code in no module was made at run time by the program, or its module is not known. */
	is_own[0] = 1;
	for (size_t i = 1; i < model->module_count; i++) {
		const char *path = model->modules[i].path;

		is_own[i] = !is_in_system_folder(path) || is_executed(model, path);
	}
}

static int choose_modules(const struct gg_frame_selection *frames, const struct gg_model *model,
                          uint8_t *is_own, char name[static 256], struct gg_error *error)
{
	if (frames->mine) {
		snprintf(name, 256, "[no frame of the program]");
		gg_frame_selection_own_modules(model, is_own);
		return 0;
	}
	snprintf(name, 256, "[no frame of %.200s]", frames->module);
	return gg_query_match_modules(model, frames->module, "--module", is_own, error);
}

static int hide(const struct gg_frame_selection *frames, struct gg_model *model,
                struct gg_error *error)
{
	bool has_own = frames->mine || frames->module != NULL;
	uint8_t *is_hidden = calloc(model->function_count, 1);
	uint8_t *is_own = calloc(model->module_count, 1);
	char name[256] = "";
	struct gg_model_hiding what = { .is_hidden = frames->hide != NULL ? is_hidden : NULL,
		                        .is_own_module = has_own ? is_own : NULL,
		                        .no_own_frame = has_own ? name : NULL };
	int status = is_hidden != NULL && is_own != NULL ? 0 : gg_error_memory(error, "report");

	if (status == 0)
		status = gg_query_match_functions(model, frames->hide, "--hide", 1, is_hidden,
		                                  error);
	if (status == 0 && has_own)
		status = choose_modules(frames, model, is_own, name, error);
	if (status == 0)
		status = gg_model_hide_functions(model, &what, error);
	free(is_hidden);
	free(is_own);
	return status;
}

int gg_frame_selection_apply(const struct gg_frame_selection *frames,
                             struct gg_model *const *models, size_t model_count,
                             struct gg_error *error)
{
	int status = gg_frame_selection_check(frames, error);

	if (status == 0 && !frames->all_frames)
		status = gg_model_find_wrappers(models, model_count, error);
	for (size_t i = 0; i < model_count && status == 0; i++)
		status = hide(frames, models[i], error);
	return status;
}
