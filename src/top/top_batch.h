/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top_batch - prints frames of a target to a stream, one after the other.
 *
 * A text frame follows the one before it after an empty line; a frame of JSON is one line.  The
 * batch ends after `frame_count` frames, or with the process, whose last frame says so.
 *
 * Threads  One.
 */
#pragma once

#include <stdio.h>

#include "report/style.h"
#include "top/top_command.h"
#include "top/top_source.h"
#include "top/top_state.h"

struct gg_top_batch {
	const char *target; /* NULL: the list of processes */
	struct gg_top_view view;
	struct gg_top_state state; /* its height is not used */
	struct gg_style style;
	double delay_seconds; /* between frames */
	uint64_t frame_count; /* 0: until the process ends */
	size_t rows_max;      /* 0: all */
	bool json;
	FILE *stream;
	/* A recorded command, instead of `target`; or NULL.  The caller frees it. */
	struct gg_top_command *command;
};

/* With a command, it waits for its end, and returns its exit status. */
GG_MUST_CHECK int gg_top_batch_run(const struct gg_top_batch *batch, struct gg_error *error);
