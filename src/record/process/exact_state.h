/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exact_state - what the recorder remembers of a process with exact counts
 * (record/process/exact_history.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "profile/records.h"
#include "region/exact_total.h"

enum { GG_EXACT_NO_BATCH = 0 };

/* The counts of a record of the region when it was last read. */
struct gg_exact_row {
	struct gg_exact_sums sums;
	/* Frees of this tick whose blocks were allocated at earlier ones. */
	uint64_t owed_count, owed_bytes;
};

/* Blocks of a stack that one thread allocated at a tick, and that are live. */
struct gg_exact_batch {
	uint32_t next; /* the one before; GG_EXACT_NO_BATCH: none */
	uint32_t thread;
	int64_t time_ns;
	uint64_t count, bytes;
};

struct gg_exact_history {
	GG_ARRAY(struct gg_exact_row) rows;      /* by index of the record */
	GG_ARRAY(uint32_t) newest;               /* by node: the newest batch */
	GG_ARRAY(struct gg_exact_batch) batches; /* [0] is not used */
	GG_ARRAY(uint32_t) touched;              /* rows that owe */
	GG_ARRAY(struct gg_exact_total) records;
	GG_ARRAY(struct gg_profile_aggregate) pending; /* rows that are not in the profile yet */
	uint32_t free_batch;
	uint64_t live_bytes;
	int64_t last_ns;      /* of the last tick */
	int64_t next_ns;      /* no tick before; 0: none has been */
	int64_t next_live_ns; /* no rows are written before */
	uint64_t peak_number;
	bool has_live; /* what is live was written */
};

/* Returns NULL without memory. */
struct gg_exact_history *gg_exact_history_new(void);
void gg_exact_history_free(struct gg_exact_history *history);
