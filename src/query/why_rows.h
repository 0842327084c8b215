/* SPDX-License-Identifier: Apache-2.0 */
/*
 * why_rows - the rows of RSS, and what they are made of (query/why.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "profile/records.h"
#include "stats/estimate/tally.h"

enum gg_why_certainty {
	GG_WHY_EXACT,    /* low and high equal bytes */
	GG_WHY_INTERVAL, /* a confidence interval */
	GG_WHY_BOUND,    /* the truth is between low and high; nothing tells where */
	GG_WHY_CERTAINTY_COUNT
};

struct gg_why_row {
	const char *name; /* "live", "pinned" ... (docs/REPORTS.md) */
	double bytes, low, high;
	enum gg_why_certainty certainty;
	char *detail; /* "3 threads", a function, a name of a mapping; NULL: none */
	char *advice; /* a sentence; NULL: none */
	/*
	 * The row would fall by so much at most, or about, if it is an estimate; NAN: unknown, or
	 * none.
	 */
	double advice_bytes;
};

typedef GG_ARRAY(struct gg_why_row) gg_why_row_array;

struct gg_why {
	uint32_t process; /* of the look */
	int64_t time_ns;
	int64_t rss_bytes;
	gg_why_row_array rows;   /* add up to rss_bytes */
	gg_why_row_array beside; /* numbers that are not parts of RSS */
	/*
	 * A chain of quotients, each at least 1: the pages of live blocks over the blocks;
	 * resident bytes of the allocator over these; RSS over resident bytes of the
	 * allocator.  NAN: unknown.
	 */
	double pinned_ratio, kept_ratio, overhead_ratio;
	double block_bytes; /* resident bytes of live blocks, with rounding and headers */
	/*
	 * Resident blocks that are older than the attach, as the row "older" has them.  NAN: there
	 * was no attach.
	 */
	double older_bytes, older_low, older_high;
	char *reason; /* why the heap is not divided further; NULL: it is */
};

/* A live sample of the look's process at the moment of the look. */
struct gg_why_sample {
	struct gg_draw draw;
	uint64_t size_bytes, slack_bytes;
	bool is_mapping;      /* a mapping of the program's own, not a block of an allocator */
	const char *function; /* that asked for it; NULL: unknown */
	bool is_seen;         /* the look has its block, and so the members below */
	int64_t resident_bytes, swapped_bytes, returnable_bytes; /* -1: unknown */
	double pinned_bytes;                                     /* negative: unknown */
};

struct gg_why_input {
	const struct gg_profile_look *look;
	const struct gg_profile_look_mapping *mappings;
	const struct gg_profile_look_total *totals;
	size_t mapping_count, total_count;
	const struct gg_why_sample *samples;
	size_t sample_count;
	struct gg_tally live; /* all live blocks of allocators, exposed to the sampling interval */
	struct gg_tally in_heaps; /* live blocks of heaps that the program registered */
	bool has_agent;           /* false: nothing is known about live memory */
	/*
	 * The agent was attached while the process ran.  older_bytes were in use then, by the
	 * allocator's count; negative: unknown.  Through unseen_slot_count words its modules call
	 * the allocator past the agent; negative: unknown.
	 */
	bool is_attached;
	double older_bytes;
	int64_t unseen_slot_count;
	bool samples_all; /* at a sampling interval of 1 byte: no live block is without a sample */
	bool has_history; /* false: the live blocks are of a moment before the look */
	double confidence;
};
