/* SPDX-License-Identifier: Apache-2.0 */
/*
 * journal - records every call of the allocator in a mapped file that survives a kill.
 *
 * The twin (twin.h) announces a call before it and completes it after it.  So the journal says of
 * each call whether it was over before the kill.  Only the last call of each thread may be
 * incomplete, and it may have reached the agent or not.  A call is complete in itself: the twin
 * looks up the owner of the freed block before it announces the call.
 *
 * Threads   Each writes its own part.  If a part is full, `overflowed` makes the journal void.
 */
#pragma once

#include <stdint.h>

enum { JOURNAL_THREADS_MAX = 4, JOURNAL_CALLS_MAX = 1 << 16, JOURNAL_NOBODY = UINT32_MAX };

/* A call, by its thread and its number there. */
struct journal_place {
	uint32_t thread, call;
};

struct journal_call {
	uint64_t pc;                /* of the code that allocates; 0: the call only frees */
	uint64_t bytes;             /* the requested size */
	uint64_t address;           /* of the new block, once completed; 0: no block */
	struct journal_place freed; /* the call that allocated the freed block, or JOURNAL_NOBODY */
};

struct journal_thread {
	uint32_t tid, padding;
	uint64_t announced_count, completed_count;
	struct journal_call calls[JOURNAL_CALLS_MAX];
};

struct journal {
	uint64_t code_begin, code_end; /* of the twin itself */
	uint32_t thread_count;         /* in the order of their first calls */
	uint32_t overflowed;
	struct journal_thread threads[JOURNAL_THREADS_MAX];
};

/* The rest is the twin's.  Opens the file GEIGER_JOURNAL, if that is set. */
void journal_open(void);

/* Before the call, and after it.  Returns where it was written; thread JOURNAL_NOBODY: nowhere. */
struct journal_place journal_announce(uint64_t pc, uint64_t bytes, struct journal_place freed);
void journal_complete(struct journal_place place, const void *p);
