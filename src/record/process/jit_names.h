/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jit_names - names for code that was generated at run time and lies in no module.
 *
 * JIT compilers can write "/tmp/perf-PID.map" for perf.  Some write it as they compile (node
 * --perf-basic-prof), some when the process ends (Java).  A frame outside all modules belongs to
 * that file as if it were a module (symbol/symbol.h), with an unchanged address.  The frame gets
 * the file at once if it exists, otherwise when recording has ended.
 *
 * Shared   such frames differ by their address alone.  A frame that two processes had stays without
 *          a name, because two compilers may have generated different code at that address.
 * Threads  one owner at a time.
 */
#pragma once

#include <stdint.h>

#include "base/array.h"
#include "base/error.h"
#include "base/map.h"
#include "profile/profile.h"

/* The frames of a session whose perf map did not exist yet.  All-zero is valid. */
struct gg_jit_names {
	GG_ARRAY(struct gg_jit_names_frame) frames;
	struct gg_map map; /* from the id of a frame to its index in `frames` */
};

void gg_jit_names_done(struct gg_jit_names *jit);

/* Interns the perf map of the process as a module; 0: the file does not exist yet. */
GG_MUST_CHECK int gg_jit_names_module(struct gg_profile *profile, uint32_t pid,
                                      uint32_t *ret_module, struct gg_error *error);

/* Notes that the process has a frame outside all modules. */
GG_MUST_CHECK int gg_jit_names_add(struct gg_jit_names *jit, uint32_t frame, uint64_t address,
                                   uint32_t process, uint32_t pid);

/* Assigns the noted frames to the perf maps that exist now.  Call it when recording has ended. */
GG_MUST_CHECK int gg_jit_names_finish(struct gg_jit_names *jit, struct gg_profile *profile,
                                      struct gg_error *error);
