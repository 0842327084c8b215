/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jit_names - names for code that was generated at run time and lies in no module.
 *
 * JIT compilers can write "/tmp/perf-PID.map" for perf.  Some write it as they compile (node
 * --perf-basic-prof), some when the process ends (Java).  Others write a jitdump, "jit-PID.dump",
 * which also has lines and times (symbol/resolve/jit_dump.h).  A frame outside all modules belongs
 * to that file as if it were a module (symbol/symbol.h), with an unchanged address.  The frame gets
 * the file at once if it exists, otherwise when recording has ended.
 *
 * Dumps    A compiler maps its dump, so that others find it.  The file counts if the process maps
 *          it, or if it is in /tmp and was written since the session began.  An older file may be
 *          that of another process with the same pid.
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

struct gg_jit_names_frame {
	uint64_t address;
	uint32_t frame, process, pid;
	bool is_shared; /* two processes had it, so its name would be a guess */
	bool is_named;  /* by the runtime itself (record/dotnet/dotnet_samples.h) */
};

/* The frames of a session whose file of names did not exist yet.  All-zero is valid. */
struct gg_jit_names {
	GG_ARRAY(struct gg_jit_names_frame) frames;
	struct gg_map map;      /* from the id of a frame to its index in `frames` */
	uint64_t start_wall_ns; /* of the session, since 1970; dumps in /tmp are not older */
};

void gg_jit_names_done(struct gg_jit_names *jit);

/* Interns the dump or the perf map of the process as a module; 0: no such file exists yet. */
GG_MUST_CHECK int gg_jit_names_module(const struct gg_jit_names *jit, struct gg_profile *profile,
                                      uint32_t pid, uint32_t *ret_module, struct gg_error *error);

/* Notes that the process has a frame outside all modules. */
GG_MUST_CHECK int gg_jit_names_add(struct gg_jit_names *jit, uint32_t frame, uint64_t address,
                                   uint32_t process, uint32_t pid);

/* Assigns the noted frames to the perf maps that exist now.  Call it when recording has ended. */
GG_MUST_CHECK int gg_jit_names_finish(struct gg_jit_names *jit, struct gg_profile *profile,
                                      struct gg_error *error);
