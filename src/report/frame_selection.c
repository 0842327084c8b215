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
	if (frames->native && frames->only_python)
		return gg_error_set(error, -EINVAL, "--native", "Choose one of them.",
		                    "excludes --only-python");
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

/* --- the interpreter ------------------------------------------------------------------------ */

static bool begins_with(const char *text, const char *beginning)
{
	return strncmp(text, beginning, strlen(beginning)) == 0;
}

/* Functions that start a process or a thread, and so call every interpreter. */
static bool is_start(const struct gg_model *model, const struct gg_model_function *function)
{
	static const char *const names[] = { "_start",       "__libc_start_call_main",
		                             "start_thread", "__libc_start_main",
		                             "clone",        "__libc_start_main_impl",
		                             "clone3",       "__clone3" };

	for (size_t i = 0; i < GG_COUNT(names); i++)
		if (strcmp(function->short_name, names[i]) == 0)
			return true;
	return !function->is_named && begins_with(model->modules[function->module].name, "libc.so");
}

/* Marks the modules with CPython's loop, and a small executable around a libpython. */
static bool find_interpreters(const struct gg_model *model, uint8_t *is_interpreter)
{
	bool has_any = false;

	for (size_t i = 1; i < model->function_count; i++) {
		const struct gg_model_function *function = &model->functions[i];

		if (!begins_with(function->short_name, "_PyEval_EvalFrameDefault"))
			continue;
		is_interpreter[function->module] = 1;
		has_any = true;
	}
	for (size_t i = 1; i < model->module_count && has_any; i++)
		is_interpreter[i] |= model->modules[i].build_id[0] != '\0' &&
		                     begins_with(model->modules[i].name, "python3");
	return has_any;
}

/*
 * True if Python's own heaps have stacks with the interpreter's functions: the user recorded them
 * with --native, and wants to see them.
 */
static bool has_native_stacks(const struct gg_model *model, const uint8_t *is_interpreter)
{
	enum { INTERPRETER = 1, RUNTIME = 2, BOTH = INTERPRETER | RUNTIME };
	uint8_t *has = calloc(model->stack_count, 1);
	bool found = false;

	for (size_t i = 1; i < model->stack_count && has != NULL; i++) {
		const struct gg_model_frame *frame = &model->frames[model->stacks[i].frame];

		has[i] = has[model->stacks[i].parent];
		if (gg_model_is_runtime_frame(model, frame))
			has[i] |= RUNTIME;
		else if (is_interpreter[frame->module])
			has[i] |= INTERPRETER;
	}
	for (size_t i = 0; i < model->sample_count && has != NULL && !found; i++)
		found = has[model->samples[i].stack] == BOTH &&
		        begins_with(model->kinds[model->samples[i].kind].name, "python.");
	free(has);
	return found;
}

/* Marks all functions of native code. */
static void mark_native(const struct gg_model *model, uint8_t *is_hidden)
{
	memset(is_hidden, 1, model->function_count);
	for (size_t i = 0; i < model->read_frame_count; i++) {
		const struct gg_model_frame *frame = &model->frames[i];

		for (size_t k = 0; k < frame->location_count; k++)
			if (gg_model_is_runtime_frame(model, frame))
				is_hidden[model->locations[frame->first_location + k].function] = 0;
	}
}

/*
 * Marks the functions to hide from stacks with Python's.  Returns is_hidden, or NULL if there is
 * nothing to hide.  Without memory nothing is hidden.
 */
static const uint8_t *choose_interpreter(const struct gg_frame_selection *frames,
                                         const struct gg_model *model, uint8_t *is_hidden)
{
	uint8_t *is_interpreter = calloc(model->module_count, 1);
	bool hides = is_interpreter != NULL && !frames->native && !frames->all_frames &&
	             find_interpreters(model, is_interpreter) &&
	             (frames->only_python || !has_native_stacks(model, is_interpreter));

	if (hides && frames->only_python)
		mark_native(model, is_hidden);
	for (size_t i = 1; i < model->function_count && hides; i++)
		is_hidden[i] |= is_interpreter[model->functions[i].module] ||
		                is_start(model, &model->functions[i]);
	free(is_interpreter);
	return hides ? is_hidden : NULL;
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
	uint8_t *is_interpreter = calloc(model->function_count, 1);
	char name[256] = "";
	struct gg_model_hiding what = { .is_hidden = frames->hide != NULL ? is_hidden : NULL,
		                        .is_own_module = has_own ? is_own : NULL,
		                        .no_own_frame = has_own ? name : NULL };
	int status = is_hidden != NULL && is_own != NULL && is_interpreter != NULL
	                     ? 0
	                     : gg_error_memory(error, "report");

	if (status == 0)
		status = gg_query_match_functions(model, frames->hide, "--hide", 1, is_hidden,
		                                  error);
	if (status == 0 && has_own)
		status = choose_modules(frames, model, is_own, name, error);
	if (status == 0) {
		what.is_hidden_beside_runtime = choose_interpreter(frames, model, is_interpreter);
		status = gg_model_hide_functions(model, &what, error);
	}
	free(is_hidden);
	free(is_own);
	free(is_interpreter);
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
