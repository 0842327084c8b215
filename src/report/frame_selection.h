/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frame_selection - decides which frames of stacks a report shows, and so whose memory is "self".
 *
 *   const struct gg_frame_selection frames = { .mine = true };
 *
 *   gg_frame_selection_options(&frames, &options);
 *   if (gg_model_load(&model, &profile, 1, &options, error) == 0 &&
 *       gg_frame_selection_apply(&frames, &model, 1, error) == 0)
 *           ... rows of model ...
 *
 * The command and the server both load models in this way, so that they show the same rows.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/error.h"
#include "model/model.h"

/* All-zero: the default, without wrappers. */
struct gg_frame_selection {
	bool all_frames;    /* shows wrappers */
	bool mine;          /* self belongs to the program's own code (docs/REPORTS.md) */
	const char *module; /* self belongs to modules that match this expression; NULL: to all */
	const char *hide;   /* functions that match vanish from every stack; NULL: none */
	/*
	 * Stacks with Python's functions lack the interpreter's own, unless this or all_frames
	 * shows them.
	 */
	bool native;
	bool only_python; /* such stacks show Python's functions only */
};

/* Sets the callbacks that recognize the allocator and wrappers; leaves the others. */
void gg_frame_selection_options(const struct gg_frame_selection *frames,
                                struct gg_model_options *options);

/*
 * Sets is_own[m] to 1 for each module m of the program's own code, as .mine selects it, and to 0
 * for other modules.  `is_own` has model->module_count items.
 */
void gg_frame_selection_own_modules(const struct gg_model *model, uint8_t *is_own);

/* -EINVAL if two members exclude each other. */
GG_MUST_CHECK int gg_frame_selection_check(const struct gg_frame_selection *frames,
                                           struct gg_error *error);

/*
 * Hides what is not selected from models that were loaded with these options.  Models that a diff
 * compares need one call for both.  Name their functions before it.  -EINVAL: an invalid
 * expression; -ENOMEM.  After a failure the models may only be freed.
 */
GG_MUST_CHECK int gg_frame_selection_apply(const struct gg_frame_selection *frames,
                                           struct gg_model *const *models, size_t model_count,
                                           struct gg_error *error);
