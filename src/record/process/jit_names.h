/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jit_names - names for code that was made at run time, and is in no module.
 *
 * JIT compilers can be told to write "/tmp/perf-PID.map" for perf: some as they compile (node
 * --perf-basic-prof), some at the end (Java).  A frame in no module belongs to that file, as to a module
 * (symbol.h), with its address as it is: at once if the file is there, else when recording has
 * ended.
 *
 * Shared  frames in no module are told apart by their address alone; one that two processes have had
 *         stays without a name, as two compilers may have made something else there.
 * Threads one owner.
 */
#pragma once

#include <stdint.h>

#include "base/array.h"
#include "base/error.h"
#include "base/map.h"
#include "profile/profile.h"

/* Of a session: the frames whose file was not there yet.  All-zero is valid. */
struct gg_jit_names {
	GG_ARRAY(struct gg_jit_names_frame) frames;
	struct gg_map map; /* frame to its place in `frames` */
};

void gg_jit_names_done(struct gg_jit_names *jit);

/* The module of the process's map, 0: there is none yet. */
GG_MUST_CHECK int gg_jit_names_module(struct gg_profile *profile, uint32_t pid,
                                      uint32_t *ret_module, struct gg_error *error);

/* The process has a frame in no module. */
GG_MUST_CHECK int gg_jit_names_add(struct gg_jit_names *jit, uint32_t frame, uint64_t address,
                                   uint32_t process, uint32_t pid);

/* Recording has ended: gives frames to the files that are there now. */
GG_MUST_CHECK int gg_jit_names_finish(struct gg_jit_names *jit, struct gg_profile *profile,
                                      struct gg_error *error);
