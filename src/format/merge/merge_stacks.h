/* SPDX-License-Identifier: Apache-2.0 */
/*
 * merge_stacks - maps stacks of one profile to those of another; the first step of gg_merge_add().
 *
 *   struct gg_merge_stacks stacks = { .out = out };        reused for all profiles
 *
 *   gg_merge_stacks_read(&stacks, profile, error);
 *   stack = gg_merge_stacks_stack(&stacks, id);
 *   gg_merge_stacks_done(&stacks);
 */
#pragma once

#include "base/array.h"
#include "base/buf.h"
#include "profile/profile.h"

struct gg_merge_module {
	uint32_t out; /* id in the other profile */
	bool has_build_id;
};

struct gg_merge_frame {
	uint32_t module, out; /* out 0: not made yet */
	uint64_t address;
};

struct gg_merge_stacks {
	struct gg_profile *out;
	struct gg_error *error;
	/* The profile that is being read; all by id. */
	GG_ARRAY(struct gg_merge_module) modules;
	GG_ARRAY(struct gg_merge_frame) frames;
	GG_ARRAY(uint32_t) stacks;
	/* The lines of the frame that is being read. */
	uint32_t frame;
	struct gg_buf texts, lines; /* struct merge_line of merge_stacks.c */
	/* For frames of `out`, by id: whether the frame has lines. */
	GG_ARRAY(uint8_t) is_named;
};

GG_MUST_CHECK int gg_merge_stacks_read(struct gg_merge_stacks *stacks, struct gg_profile *profile,
                                       struct gg_error *error);
/* Returns 0 for stack 0 and for stacks that the profile lacks. */
static inline uint32_t gg_merge_stacks_stack(const struct gg_merge_stacks *stacks, uint32_t stack)
{
	return stack < stacks->stacks.count ? stacks->stacks.items[stack] : 0;
}
void gg_merge_stacks_done(struct gg_merge_stacks *stacks);
