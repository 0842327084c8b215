/* SPDX-License-Identifier: Apache-2.0 */
/*
 * firefox - state and functions that the parts of the Firefox exporter share (export_firefox.c).
 *
 * The exporter first makes stacks, frames, functions and files for all threads (firefox_stacks.c).
 * Then it writes the head (firefox_head.c), the threads and the counters of processes
 * (firefox_threads.c).  The shared tables come last, because all other parts may add texts to them.
 *
 * If memory runs out, `failed` is set and writing continues; the exporter discards the result at
 * the end.
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
#include "format/export/extract_blocks.h"

enum { GG_FIREFOX_VERSION = 61, GG_FIREFOX_COUNTER_STEPS = 200, GG_FIREFOX_NONE = -1 };

/* Categories of frames and markers, as positions in the head's list. */
enum { GG_FIREFOX_OTHER, GG_FIREFOX_PROGRAM, GG_FIREFOX_LIBRARY };

/* Rows of the shared tables (firefox_stacks.c). */
struct gg_firefox_func;
struct gg_firefox_frame;
struct gg_firefox_stack;

struct gg_firefox {
	const struct gg_export *job;
	const struct gg_extract *extract;
	struct gg_address_space space;
	struct gg_string_table strings, files; /* texts of the file; names of source files */
	GG_ARRAY(struct gg_firefox_func) funcs;
	GG_ARRAY(struct gg_firefox_frame) frames;
	GG_ARRAY(struct gg_firefox_stack) stacks;
	struct gg_map func_of,
		frame_of;  /* from function and file; from unified address to its outermost frame */
	int64_t *stack_of; /* by stack of the model; -2: not made yet */
	struct gg_extract_block *blocks;
	uint64_t *weights; /* by block: whole bytes */
	size_t block_count;
	int64_t *library_of;                     /* by module */
	uint32_t *by_thread;                     /* numbers of blocks, grouped by thread */
	size_t *thread_end;                      /* by thread: the end of its part of by_thread */
	struct gg_plain_tally *live, *allocated; /* by thread */
	int64_t *changes; /* by process: its counter's GG_FIREFOX_COUNTER_STEPS + 1 changes */
	struct gg_json json;
	bool failed;
};

/* Makes the stacks of all blocks and their callers, in ascending order.  0 or -ENOMEM. */
int gg_firefox_make_stacks(struct gg_firefox *writer);

void gg_firefox_write_meta(struct gg_firefox *writer);
void gg_firefox_write_libraries(struct gg_firefox *writer);

/* Writes threads with blocks; `shown` has room for each number in the model.  0 or -ENOMEM. */
int gg_firefox_write_threads(struct gg_firefox *writer, uint32_t *shown, size_t *ret_count);
/* Writes a counter for each process of these threads. */
void gg_firefox_write_counters(struct gg_firefox *writer, const uint32_t *shown, size_t count);

/* Writes the shared tables; must come last, because all other parts may add texts. */
void gg_firefox_write_shared(struct gg_firefox *writer);

/* --- columns: arrays of the open table -------------------------------------------------------- */

void gg_firefox_put(struct gg_firefox *writer, int64_t value);
void gg_firefox_put_null(struct gg_firefox *writer);
/* Writes a column of `count` equal values. */
void gg_firefox_put_column(struct gg_firefox *writer, const char *name, size_t count,
                           int64_t value);
void gg_firefox_put_null_column(struct gg_firefox *writer, const char *name, size_t count);
void gg_firefox_end_table(struct gg_firefox *writer, size_t count);
