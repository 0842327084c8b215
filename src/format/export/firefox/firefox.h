/* SPDX-License-Identifier: Apache-2.0 */
/*
 * firefox - what the parts of a Firefox Profiler file share while one is written (export_firefox.c).
 *
 * Stacks, frames, functions and files are made once for all threads (firefox_stacks.c), then the head is written
 * (firefox_head.c), the threads and the counters of processes (firefox_threads.c), and at last the shared tables,
 * whose texts everything before may add to.
 *
 * Where memory ends, `failed` is set and writing goes on: what came of it is thrown away at the end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/json.h"
#include "base/map.h"
#include "format/codec/string_table.h"
#include "format/export/address_space.h"
#include "format/export/export.h"

enum { GG_FIREFOX_VERSION = 61, GG_FIREFOX_COUNTER_STEPS = 200, GG_FIREFOX_NONE = -1 };

/* Of frames and markers: places in the head's list. */
enum { GG_FIREFOX_OTHER, GG_FIREFOX_PROGRAM, GG_FIREFOX_LIBRARY };

/* Rows of the shared tables (firefox_stacks.c). */
struct gg_firefox_func;
struct gg_firefox_frame;
struct gg_firefox_stack;

struct gg_firefox {
	const struct gg_export *job;
	const struct gg_extract *extract;
	struct gg_address_space space;
	struct gg_string_table strings, files; /* of the file; names of source files */
	GG_ARRAY(struct gg_firefox_func) funcs;
	GG_ARRAY(struct gg_firefox_frame) frames;
	GG_ARRAY(struct gg_firefox_stack) stacks;
	struct gg_map func_of,
		frame_of;  /* function and file; unified address: its outermost frame */
	int64_t *stack_of; /* of each stack of the model; -2: not yet */
	struct gg_extract_block *blocks;
	uint64_t *weights; /* of each block, whole bytes */
	size_t block_count;
	int64_t *library_of;                     /* of each module */
	uint32_t *by_thread;                     /* numbers of blocks, thread by thread */
	size_t *thread_end;                      /* of each thread: where its part of them ends */
	struct gg_plain_tally *live, *allocated; /* of each thread */
	int64_t *changes; /* of each process: of its counter, GG_FIREFOX_COUNTER_STEPS + 1 */
	struct gg_json json;
	bool failed;
};

/* All stacks that blocks have, with their callers, in ascending order.  0 or -ENOMEM. */
int gg_firefox_make_stacks(struct gg_firefox *writing);

void gg_firefox_write_meta(struct gg_firefox *writing);
void gg_firefox_write_libraries(struct gg_firefox *writing);

/* Threads with blocks; `shown` has room for the number of each, in the model.  0 or -ENOMEM. */
int gg_firefox_write_threads(struct gg_firefox *writing, uint32_t *shown, size_t *ret_count);
/* A counter for each process that they are of. */
void gg_firefox_write_counters(struct gg_firefox *writing, const uint32_t *shown, size_t count);

/* The texts come last: everything else may add some. */
void gg_firefox_write_shared(struct gg_firefox *writing);

/* --- columns: arrays of a table, which is open --- */

void gg_firefox_put(struct gg_firefox *writing, int64_t value);
void gg_firefox_put_null(struct gg_firefox *writing);
/* A column of one value, or of none. */
void gg_firefox_put_column(struct gg_firefox *writing, const char *name, size_t count,
                           int64_t value);
void gg_firefox_put_null_column(struct gg_firefox *writing, const char *name, size_t count);
void gg_firefox_end_table(struct gg_firefox *writing, size_t count);
