/* SPDX-License-Identifier: Apache-2.0 */
/*
 * merge_stacks - the stacks of one profile as those of another: what gg_merge_add() does first.
 *
 *   struct gg_merge_stacks places = { .out = out };        kept from one profile to the next
 *
 *   gg_merge_stacks_read(&places, profile, error);
 *   stack = gg_merge_stacks_stack(&places, id);
 *   gg_merge_stacks_done(&places);
 */
#pragma once

#include "base/array.h"
#include "base/buf.h"
#include "profile/profile.h"

struct gg_merge_module {
	uint32_t out; /* id there */
	bool has_build_id;
};

struct gg_merge_frame {
	uint32_t module, out; /* out 0: not asked for yet */
	uint64_t address;
};

struct gg_merge_stacks {
	struct gg_profile *out;
	struct gg_error *error;
	/* Of the profile that is read; by id. */
	GG_ARRAY(struct gg_merge_module) modules;
	GG_ARRAY(struct gg_merge_frame) frames;
	GG_ARRAY(uint32_t) stacks;
	/* Lines of the frame that is read. */
	uint32_t frame;
	struct gg_buf texts, lines; /* struct line of merge_stacks.c */
	/* Of `out`; by id: does the frame have lines? */
	GG_ARRAY(uint8_t) is_named;
};

GG_MUST_CHECK int gg_merge_stacks_read(struct gg_merge_stacks *places, struct gg_profile *profile,
                                       struct gg_error *error);
/* 0 for 0 and for what the profile does not have. */
static inline uint32_t gg_merge_stacks_stack(const struct gg_merge_stacks *places, uint32_t stack)
{
	return stack < places->stacks.count ? places->stacks.items[stack] : 0;
}
void gg_merge_stacks_done(struct gg_merge_stacks *places);
