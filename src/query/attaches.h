/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attaches - the processes of a model to which the agent was attached while they ran.
 *
 *   struct gg_attaches attaches;
 *
 *   if (gg_attaches_list(&attaches, model, 0, error) == 0) {
 *           status = gg_attaches_add_held(&attaches, model, 0, 0.95, error);
 *           ... attaches.items[0 .. attaches.count) ...
 *           gg_attaches_done(&attaches);
 *   }
 *
 * Blocks that such a process allocated before are in no report, so reports say how much that was.
 * A process that was forked afterwards has the blocks of its parent and needs no line of its own,
 * unless the model lacks the parent.
 *
 * Units    Bytes, nanoseconds.
 * Threads  Any; the function only reads the model, which the items point into.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/error.h"
#include "model/model.h"

struct gg_attached {
	const struct gg_profile_attach *attach;
	uint32_t pid;
	/* Sampled blocks whose free nobody saw: their addresses were allocated again. */
	uint64_t missed_free_count;
	/*
	 * Older blocks that were resident at the last look, without the allocator's headers; NAN:
	 * unknown, as long as gg_attaches_add_held() was not called.  held_ns: the time of that
	 * look.
	 */
	double held_bytes, held_low, held_high;
	int64_t held_ns;
	int64_t detached_ns; /* -1: none before the end of the recording */
};

struct gg_attaches {
	struct gg_attached *items;
	size_t count;
	size_t forked_count; /* processes that those of `items` forked afterwards */
};

/* pid: of the process; 0: all processes.  -ENOMEM. */
GG_MUST_CHECK int gg_attaches_list(struct gg_attaches *ret_attaches, const struct gg_model *model,
                                   uint32_t pid, struct gg_error *error);

/*
 * Adds what the processes still hold.  That takes the table of all resident memory, and with it a
 * pass over all samples.  Model and pid are those of the list.  0 or -Exxx.
 */
GG_MUST_CHECK int gg_attaches_add_held(struct gg_attaches *attaches, const struct gg_model *model,
                                       uint32_t pid, double confidence, struct gg_error *error);
void gg_attaches_done(struct gg_attaches *attaches);
