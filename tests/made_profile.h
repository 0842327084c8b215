/* SPDX-License-Identifier: Apache-2.0 */
/*
 * made_profile - profiles made by tests: stacks by the names of their functions, samples drawn from
 * programs whose truth is known.
 *
 *   struct made_profile made;
 *
 *   made_begin(&made, NULL, 1000);                         in memory, an interval of 1000 bytes
 *   stack = made_stack(&made, "main>load>[libx.so]parse@x.c:12");
 *   made_sample(&made, stack, 64, 5, GG_TIME_NONE);        a sample, allocated at 5 ns, live
 *   made_allocate(&made, stack, 64, 100000, 0, 10);        100 000 allocations, sampled by chance
 *   gg_profile_close(made.profile);
 *
 * A stack is written from the outermost function on, with '>' between callers and callees and '+'
 * between a function and what was inlined into it.  A function may begin with its module in
 * brackets (otherwise it is "/usr/bin/made") and end with "@file:line".  "0x40" is an address
 * without a name.
 *
 * Any failure ends the program: tests have nothing to go on with.
 */
#pragma once

#include <stdint.h>

#include "profile/profile.h"
#include "stats/sampling/rng.h"

struct made_profile {
	struct gg_profile *profile;
	uint32_t process, thread; /* that samples get; set by made_begin, changed by tests */
	uint32_t heap;            /* as above; 0: malloc's */
	uint32_t type;            /* as above; 0: none */
	double sampling_interval;
	bool has_build_ids; /* modules get one each, made of their path */
	struct gg_rng rng;
};

/* path: as for gg_profile_create().  The seed is that of the draws. */
void made_begin(struct made_profile *made, const char *path, double interval, uint64_t seed);
uint32_t made_process(struct made_profile *made, uint32_t pid, int64_t start_ns, int64_t end_ns);
/* The module's id; its text is a path. */
uint32_t made_module(struct made_profile *made, const char *path);
uint32_t made_stack(struct made_profile *made, const char *text);

/* Returns its id.  Drawn with made->sampling_interval, by poisson. */
uint64_t made_sample(struct made_profile *made, uint32_t stack, uint64_t size_bytes,
                     int64_t alloc_ns, int64_t free_ns);
/* As made_sample(), but inherited from the sample `origin`. */
uint64_t made_inherited(struct made_profile *made, uint32_t stack, uint64_t size_bytes,
                        int64_t alloc_ns, int64_t free_ns, uint64_t origin);

/*
 * `count` allocations of one size at a moment, all freed at another; those that a sampler would
 * have hit become samples.
 */
void made_allocate(struct made_profile *made, uint32_t stack, uint64_t size_bytes, uint64_t count,
                   int64_t alloc_ns, int64_t free_ns);
