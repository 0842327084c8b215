/* SPDX-License-Identifier: Apache-2.0 */
/*
 * known_set - a bounded set of 64-bit hashes: the stacks that a receiver has, and the messages.
 *
 *   struct gg_known_set set = { .most = 1 << 20 };
 *
 *   if (!gg_known_set_has(&set, hash)) ...
 *   gg_known_set_add(&set, hash);
 *   gg_known_set_done(&set);
 *
 * The set may forget: when it is full, it becomes empty.  Then the receiver asks for a stack once
 * more, or stores a message once more, and neither changes a row.  So the set needs no file.
 *
 * Memory   8 bytes a slot, at most 2 slots for each of the `most` hashes.
 * Threads  one owner at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gg_known_set {
	size_t most;     /* hashes */
	uint64_t *slots; /* 0: empty */
	size_t slot_count, used_count;
	uint64_t cleared_count;
};

bool gg_known_set_has(const struct gg_known_set *set, uint64_t hash);
/* Adding may fail for lack of memory, which is the same as forgetting. */
void gg_known_set_add(struct gg_known_set *set, uint64_t hash);
void gg_known_set_done(struct gg_known_set *set);
