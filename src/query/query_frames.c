/* SPDX-License-Identifier: Apache-2.0 */
/*
 * query_frames - turns tallies of stacks into tallies of functions, lines, or modules.
 *
 * One depth-first walk over the tree of stacks keeps sums for each level of the path.  When the
 * walk leaves a stack, the sums of its level cover everything below it.  They are added to each
 * location of the stack that is not already further out on the path, so that recursion counts once.
 * The work is proportional to the number of stacks, not to stacks times depth.  A stack with one
 * callee and no samples of its own reuses the callee's sums.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "query/query_sums.h"

struct path_step {
	uint32_t stack;
	uint32_t level; /* the level that has its sums */
};

/* The part of the tree with samples, as lists of callees. */
struct stack_walk {
	const struct gg_model *model;
	enum gg_grouping by;
	const struct gg_groups *stacks;
	struct gg_frame_sums *frame_sums;
	uint32_t *child, *sibling;
	uint32_t *on_path;      /* by key: how often it is on the path */
	struct path_step *path; /* from the outermost stack on */
	struct gg_plain_tally *levels;
	size_t depth;
	uint32_t level_count;
	bool failed; /* out of memory */
};

static uint32_t key_of(const struct stack_walk *walk, const struct gg_code_location *location)
{
	if (walk->by == GG_BY_LINE)
		return location->line;
	if (walk->by == GG_BY_FUNCTION)
		return location->function;
	return walk->model->functions[location->function].module;
}

/* The two sums of a key, valid until the next call.  NULL: out of memory. */
static struct gg_plain_tally *sums_of(struct stack_walk *walk, uint32_t key)
{
	struct gg_frame_sums *frame_sums = walk->frame_sums;

	if (frame_sums->slot_of[key] == GG_NO_SLOT) {
		if (!gg_array_extend(&frame_sums->sums, 2 * (frame_sums->keys.count + 1)) ||
		    !gg_array_push(&frame_sums->keys, key)) {
			walk->failed = true;
			return NULL;
		}
		frame_sums->slot_of[key] = (uint32_t)frame_sums->keys.count - 1;
	}
	return &frame_sums->sums.items[(size_t)2 * frame_sums->slot_of[key]];
}

static void enter(struct stack_walk *walk, uint32_t stack)
{
	uint32_t slot = walk->stacks->slot_of[stack], child = walk->child[stack];
	bool is_passed = slot == GG_NO_SLOT && child != 0 && walk->sibling[child] == 0;
	struct gg_plain_tally *level = &walk->levels[walk->level_count], *sums;
	size_t count;
	const struct gg_code_location *locations = gg_model_stack_locations(walk->model, stack,
	                                                                    &count);

	walk->path[walk->depth++] = (struct path_step){ stack, walk->level_count };
	for (size_t i = 0; i < count; i++)
		walk->on_path[key_of(walk, &locations[i])]++;
	if (is_passed)
		return;
	walk->level_count++;
	if (slot == GG_NO_SLOT) {
		memset(level, 0, sizeof(*level));
		return;
	}
	gg_plain_tally_of(level, &walk->stacks->tallies[slot]);
	sums = sums_of(walk, key_of(walk, &locations[0]));
	if (sums != NULL)
		gg_plain_tally_add(&sums[0], level);
}

static void leave(struct stack_walk *walk)
{
	struct path_step step = walk->path[--walk->depth];
	const struct gg_plain_tally *below = &walk->levels[step.level];
	size_t count;
	const struct gg_code_location *locations = gg_model_stack_locations(walk->model, step.stack,
	                                                                    &count);

	for (size_t i = 0; i < count; i++) {
		uint32_t key = key_of(walk, &locations[i]);
		struct gg_plain_tally *sums;

		if (--walk->on_path[key] > 0)
			continue;
		sums = sums_of(walk, key);
		if (sums != NULL)
			gg_plain_tally_add(&sums[1], below);
	}
	gg_assert(step.level <= walk->level_count);
	walk->level_count = step.level;
	if (walk->depth > 0 && walk->path[walk->depth - 1].level != step.level)
		gg_plain_tally_add(&walk->levels[walk->path[walk->depth - 1].level], below);
}

/* Links the stacks with samples in or below them; returns the greatest depth. */
static size_t link_stacks(struct stack_walk *walk, uint32_t *depth_of)
{
	size_t count = walk->model->stack_count, deepest = 0;

	for (size_t i = count; i-- > 1;) {
		uint32_t stack = (uint32_t)i, parent = walk->model->stacks[stack].parent;

		if (walk->child[i] == 0 && walk->stacks->slot_of[i] == GG_NO_SLOT)
			continue;
		walk->sibling[i] = walk->child[parent];
		walk->child[parent] = stack;
	}
	for (size_t i = 1; i < count; i++) {
		depth_of[i] = depth_of[walk->model->stacks[i].parent] + 1;
		deepest = depth_of[i] > deepest ? depth_of[i] : deepest;
	}
	return deepest;
}

static void walk_from(struct stack_walk *walk, uint32_t root)
{
	uint32_t next = root;

	for (;;) {
		while (next != 0) {
			enter(walk, next);
			next = walk->child[next];
		}
		next = walk->sibling[walk->path[walk->depth - 1].stack];
		leave(walk);
		if (walk->depth == 0)
			return;
	}
}

/* Stack 0 is the parent of all, but samples without a stack have no callers. */
static void walk_all(struct stack_walk *walk)
{
	uint32_t root = walk->child[0];

	walk->child[0] = 0;
	if (walk->stacks->slot_of[0] != GG_NO_SLOT) {
		enter(walk, 0);
		leave(walk);
	}
	for (; root != 0; root = walk->sibling[root])
		walk_from(walk, root);
}

int gg_frame_sums_of(struct gg_frame_sums *frame_sums, const struct gg_model *model,
                     enum gg_grouping by, size_t key_count, const struct gg_groups *stacks)
{
	size_t stack_count = model->stack_count, deepest;
	struct stack_walk walk = {
		.model = model, .by = by, .stacks = stacks, .frame_sums = frame_sums
	};
	uint32_t *depth_of = calloc(stack_count, sizeof(*depth_of));

	*frame_sums = (struct gg_frame_sums){ 0 };
	walk.failed = true;
	frame_sums->slot_of = malloc(key_count * sizeof(*frame_sums->slot_of));
	walk.child = calloc(stack_count, sizeof(*walk.child));
	walk.sibling = calloc(stack_count, sizeof(*walk.sibling));
	walk.on_path = calloc(key_count, sizeof(*walk.on_path));
	if (depth_of == NULL || walk.child == NULL || walk.sibling == NULL ||
	    walk.on_path == NULL || frame_sums->slot_of == NULL)
		goto out;
	memset(frame_sums->slot_of, 0xff, key_count * sizeof(*frame_sums->slot_of));
	deepest = link_stacks(&walk, depth_of);
	walk.path = malloc((deepest + 1) * sizeof(*walk.path));
	walk.levels = malloc((deepest + 1) * sizeof(*walk.levels));
	if (walk.path == NULL || walk.levels == NULL)
		goto out;
	walk.failed = false;
	walk_all(&walk);
out:
	free(depth_of);
	free(walk.child);
	free(walk.sibling);
	free(walk.on_path);
	free(walk.path);
	free(walk.levels);
	return walk.failed ? -ENOMEM : 0;
}

void gg_frame_sums_done(struct gg_frame_sums *frame_sums)
{
	free(frame_sums->slot_of);
	gg_array_done(&frame_sums->keys);
	gg_array_done(&frame_sums->sums);
}
