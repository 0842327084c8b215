/* SPDX-License-Identifier: Apache-2.0 */
/*
 * target_look - takes a look at a target's process, and stores it in the profile.
 *
 * RSS and live memory in a look are of nearly the same moment: the live samples are read right
 * before the mappings.  They are read again once the memory around them is known, and a sample that
 * is gone then has no part in the look; totals say how much changed (look/live_watch.h).
 */
#pragma once

#include "record/look/look.h"
#include "record/process/target.h"

/* Returns the size of the agent's private tables, by which smaps.h recognizes their mapping. */
size_t gg_target_private_bytes(const struct gg_target *target);

struct gg_target_look_options {
	struct gg_region_reader *reader; /* of the region; NULL: the target's own */
	pid_t pid;                       /* in the caller's namespace; 0: the target's pid */
	const char *smaps;               /* as in struct gg_look_options */
	uint64_t budget_ns;              /* likewise */
	uint64_t heap_walk_budget_ns;    /* likewise */
	double heap_walk_ns_per_byte;    /* likewise */
	const char *reason;              /* likewise */
	/*
	 * If the process ends meanwhile, the look fails with -ESRCH unless RSS is larger than this.
	 * So an earlier look stays, which is complete.
	 */
	int64_t ended_bytes;
	uint64_t seed;         /* for the choice of samples */
	int answer_ms;         /* longest wait for the agent; 0: GG_LOOK_ANSWER_MS */
	uint32_t chosen_max;   /* samples that it may choose; 0: GG_LOOK_CHOSEN_MAX */
	int retry_count;       /* looks to take again if the process freed many chosen samples */
	bool knows_no_samples; /* the live set gets the samples after the look */
};

/* A look that was taken and is not in the profile yet. */
struct gg_target_look {
	struct gg_look look;
	bool has_numbers; /* its blocks have numbers of samples, not ids */
	bool is_settled;  /* the process freed hardly any of the chosen samples meanwhile */
};

/*
 * Takes a look now.  The target should have read all events before.  0, or a negative status if
 * the look was not possible, for example because the process has ended; then `error` says why.
 * The caller calls gg_target_look_put() after success.
 */
GG_MUST_CHECK int gg_target_look_begin(struct gg_target_look *ret, struct gg_target *target,
                                       const struct gg_target_look_options *options,
                                       struct gg_error *error);

/*
 * Stores the look in the profile, and frees it.  The target's live set knows its samples by now.  A
 * failure of the profile is the writer's status.
 */
void gg_target_look_put(struct gg_target_look *taken, struct gg_target *target);

struct gg_target_look_result {
	struct gg_smaps sums;
	uint64_t walk_ns;   /* processor time that reading the mappings took */
	uint64_t search_ns; /* gg_look.search_ns */
	struct gg_heap_walk heap_walk;
	bool is_settled; /* as above */
};

/* Takes a look and stores it; the live set knows its samples.  As gg_target_look_begin(). */
GG_MUST_CHECK int gg_target_look_take(struct gg_target *target,
                                      const struct gg_target_look_options *options,
                                      struct gg_target_look_result *ret_result,
                                      struct gg_error *error);
