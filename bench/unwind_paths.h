/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind_paths - calls `leaf` below `depth` frames, through a call path that the number chooses.
 */
#pragma once

#include <stdint.h>

struct path {
	uint64_t state;
	uint64_t sink;
	unsigned left;
	void (*leaf)(void *context);
	void *context;
};

typedef void paths_function(uint64_t number, unsigned depth, void (*leaf)(void *context),
                            void *context);

paths_function paths_omitting_fp, paths_keeping_fp;
