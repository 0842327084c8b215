/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_history - single samples that the agent remembers, for callers in the same process.
 *
 *   recent   the last samples that were allocated, freed or not
 *   log      all samples that were freed since the log began
 *
 * The agent also adds up samples by jemalloc's size classes: 36 of small blocks and 196 of large
 * ones.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
	GG_HISTORY_RECENT_MAX = 1 << 16, /* records at most */
	GG_HISTORY_LOG_MAX = 1 << 20,    /* records at most; later ones are only counted */
	GG_HISTORY_SMALL_CLASSES = 36,
	GG_HISTORY_LARGE_CLASSES = 196,
	GG_HISTORY_CLASSES = GG_HISTORY_SMALL_CLASSES + GG_HISTORY_LARGE_CLASSES
};

struct gg_history_record {
	uint64_t id;
	uint64_t size_bytes, usable_bytes;
	uint64_t alloc_ns, free_ns; /* monotonic clock; free_ns is 0 while the sample is live */
	uint32_t alloc_stack, free_stack;
	uint16_t alloc_thread, free_thread; /* numbers in the region */
};

/* The requested bytes of the samples of a class, not scaled. */
struct gg_history_sum {
	uint64_t size_bytes, count;
};

/* Changes to the set of samples that the agent remembers. */
struct gg_history_request {
	bool set_recent, set_log, set_classes;
	uint32_t recent; /* samples to remember; 0: none */
	bool log;        /* true: the log begins anew; false: it ends */
	bool classes;
};

enum gg_history_kind { GG_HISTORY_RECENT, GG_HISTORY_LOG };

struct gg_history_calls {
	/* 0, or -ENOMEM without a change. */
	int (*set)(const struct gg_history_request *request);

	/*
	 * Reads the first record with that number or a later one, oldest first.  Returns its number
	 * + 1; 0: there are no more records.
	 */
	uint32_t (*next)(enum gg_history_kind kind, uint32_t number,
	                 struct gg_history_record *ret_record);
	/* Records that did not fit into the log. */
	uint64_t (*dropped)(void);

	void (*class_sums)(uint32_t class, struct gg_history_sum *ret_live,
	                   struct gg_history_sum *ret_allocated);

	/* Return addresses, innermost first. */
	uint32_t (*stack)(uint32_t stack, uint64_t *pcs, uint32_t max);
	void (*thread_name)(uint16_t thread, char name[17]);
};

/*
 * The class of a block of that size: one up to 8 bytes and one up to 16, then steps of 16 bytes up
 * to 128; above, each doubling has four classes.
 */
static inline uint32_t gg_history_class(uint64_t bytes)
{
	uint32_t log2;

	if (bytes <= 8)
		return 0;
	if (bytes <= 128)
		return (uint32_t)((bytes + 15) / 16);
	if (bytes > UINT64_C(7) << 60)
		return GG_HISTORY_CLASSES - 1;
	/* The quarter of the doubling that ends at 2^(log2 + 1). */
	log2 = 63 - (uint32_t)__builtin_clzll(bytes - 1);
	return 9 + (log2 - 7) * 4 + (uint32_t)((bytes - 1) >> (log2 - 2) & 3);
}
