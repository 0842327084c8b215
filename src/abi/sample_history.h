/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_history - samples as the agent remembers them one by one, for who asks from within the process.
 *
 *   recent   the last so many that were allocated, whether they have been freed or not
 *   log      all that were freed since it began
 *
 * And the size classes of jemalloc's by which it adds up samples: 36 of small blocks, 196 of large ones.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
	GG_HISTORY_RECENT_MAX = 1 << 16, /* more are not kept */
	GG_HISTORY_LOG_MAX = 1 << 20,    /* later ones are counted alone */
	GG_HISTORY_SMALL_CLASSES = 36,
	GG_HISTORY_LARGE_CLASSES = 196,
	GG_HISTORY_CLASSES = GG_HISTORY_SMALL_CLASSES + GG_HISTORY_LARGE_CLASSES
};

struct gg_history_record {
	uint64_t id;
	uint64_t size_bytes, usable_bytes;
	uint64_t alloc_ns, free_ns; /* of the monotonic clock; free_ns 0: it is live */
	uint32_t alloc_stack, free_stack;
	uint16_t alloc_thread, free_thread; /* numbers in the region */
};

/* What samples of a class were asked for, not scaled. */
struct gg_history_sum {
	uint64_t size_bytes, count;
};

/* What is remembered, from now on. */
struct gg_history_wish {
	bool set_recent, set_log, set_classes;
	uint32_t recent; /* how many; 0: none */
	bool log;        /* beginning anew, or ending */
	bool classes;
};

enum gg_history_kind { GG_HISTORY_RECENT, GG_HISTORY_LOG };

struct gg_history_calls {
	/* 0, -ENOMEM: it is as before. */
	int (*set)(const struct gg_history_wish *wish);

	/* The first record of that number or a later one; its number + 1; 0: there is none.  Oldest first. */
	uint32_t (*next)(enum gg_history_kind kind, uint32_t number,
	                 struct gg_history_record *ret_record);
	/* Of the log, which found no place. */
	uint64_t (*dropped)(void);

	void (*class_sums)(uint32_t class, struct gg_history_sum *ret_live,
	                   struct gg_history_sum *ret_allocated);

	/* Return addresses, innermost first. */
	uint32_t (*stack)(uint32_t stack, uint64_t *pcs, uint32_t max);
	void (*thread_name)(uint16_t thread, char name[17]);
};

/*
 * The class of a block of so many bytes.  Up to 8 and 16 bytes one each, then steps of 16 up to 128; above, each
 * doubling has four.
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
	/* Of the doubling that ends at 2^(log2 + 1): its quarter. */
	log2 = 63 - (uint32_t)__builtin_clzll(bytes - 1);
	return 9 + (log2 - 7) * 4 + (uint32_t)((bytes - 1) >> (log2 - 2) & 3);
}
