/* SPDX-License-Identifier: Apache-2.0 */
/*
 * region - the state of a profile inside a mapped file, as the profiled program writes it.
 *
 *   static struct gg_region region = GG_REGION_INIT;
 *   static __thread struct gg_region_thread thread;
 *
 *   gg_region_options_default(&options);
 *   bytes = gg_region_options_file_bytes(&options);
 *   if (gg_region_file_create(&map, NULL, name, bytes) == 0 &&
 *       gg_region_init(&region, &map, &options) == 0) {
 *           gg_region_thread_begin(&region, &thread, gettid(), "main", now);
 *           ...
 *           stack = gg_region_intern(&region, &thread, pcs, count);      stack_table.h
 *           gg_region_record_alloc(&region, &thread, &sample);           record.h
 *           if (gg_live_maybe(&region, p))
 *                   gg_region_record_free(&region, &thread, p, 0, now, 0);
 *   }
 *
 * Whatever ends the process, a reader (view.h) finds the state up to the last record, consistent:
 * totals allocated minus totals freed are exactly the live samples (docs/internals/REGION.md).
 *
 * Mirror    The samples, the address index and the filter are in private memory; the file is
 *           their published mirror.  So a forked child has an exact snapshot by copy-on-write, and
 *           nothing that another process writes into the file can mislead this one.
 * Never     allocates, locks, or waits for another thread.  Whatever does not succeed in a bounded
 *           number of tries is dropped and counted.  Only a table that needs more space makes a
 *           system call (fallocate), a handful in the life of a small program.  errno is kept.
 * Threads   any; also in signal handlers: a call that interrupts another one of its own thread is
 *           dropped and counted.
 * Memory    A live sample takes 64 bytes in the file.  In private memory it takes 64 bytes for its
 *           record, 4 for its home in the filter, and what index.h and filter.h state
 *           (bench_region.c, docs/internals/REGION.md).  Address space is reserved for the
 *           capacities.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "region/hash_index.h"
#include "region/layout.h"
#include "region/region_file.h"
#include "region/writer/filter.h"

struct gg_region_options {
	uint32_t capacities[GG_TABLE_COUNT]; /* records; of the ring a power of two */
	uint32_t max_frames;                 /* of a stack */
	uint32_t pid, parent_pid;
	uint64_t process_start_ticks;
	uint64_t fork_ns;        /* of the header */
	uint64_t interval_bytes; /* of the control word */
	uint32_t overhead_ppm;   /* of the control word */
	uint32_t error_ppm;      /* likewise */
	bool active;
	bool exact;                     /* every allocation is counted (exact.h) */
	uint64_t hash_seed;             /* 0: random */
	struct gg_region_attach attach; /* of the header */
	/* Texts for the header, which cuts them to its capacity; each with its length. */
	const char *command, *exe, *options;
	uint32_t command_bytes, exe_bytes, options_bytes;
};

/* A table as this process knows it. */
struct gg_region_space {
	uint8_t *base; /* in the mapping */
	uint64_t offset;
	uint32_t record_bytes, capacity;
	uint32_t used_count;     /* records taken */
	uint32_t growing;        /* 1: a thread allocates space ahead of the need */
	uint32_t failure_count;  /* how often the file system refused */
	uint32_t asked_in_vain;  /* requests since the first refusal */
	uint64_t reserved_bytes; /* may be written: they have disk blocks */
	uint64_t *mirror;        /* used_count in the header */
};

enum {
	GG_REGION_LAST_FRAMES = 128,
	GG_REGION_RECENT_STACKS = 64,
	GG_REGION_OWNERS = 1024,
	GG_REGION_TEXTS = 256
};

/* A stack that a thread has interned: the hash of all its pcs, and its id. */
struct gg_region_recent_stack {
	uint64_t hash;
	uint32_t id; /* 0: none */
	uint32_t padding;
};

/* The state of one thread, which no other thread touches.  All-zero: it has not begun. */
struct gg_region_thread {
	uint32_t slot_plus_1; /* 0: none */
	uint16_t thread;      /* its id, 0: it has no record of its own */
	uint8_t busy;         /* in a call */
	uint8_t begun;
	uint64_t operations; /* published so far, times GG_REDO_STEP */
	/* The live record of its last free, + 1, kept for its next sample; 0: none. */
	uint32_t spare_plus_1;
	uint32_t padding;

	/* The last stack that was interned, from its outermost frame on: pcs, hashes, ids. */
	uint32_t last_count;
	uint64_t last_pcs[GG_REGION_LAST_FRAMES];
	uint64_t last_hashes[GG_REGION_LAST_FRAMES];
	uint32_t last_ids[GG_REGION_LAST_FRAMES]; /* 0: not known */

	/* The last sample that was weighed, and what it adds to its site total. */
	struct gg_draw last_draw;
	uint64_t last_size_bytes;
	struct gg_sums last_sums;
	struct gg_weight_cache weights;

	/* With exact counts: stacks by their hash, in front of the index. */
	struct gg_region_recent_stack recent_stacks[GG_REGION_RECENT_STACKS];
};

enum {
	/* A stack's word: the lower bits are its first site total + 1; the others come from its
	 * hash. */
	GG_REGION_STACK_TOTAL_BITS = 25,
	GG_REGION_STACK_TOTAL_MASK = (1 << GG_REGION_STACK_TOTAL_BITS) - 1
};

/*
 * The private copy of a site total's key: set before it can be found, and never changed.  Those of
 * inherited blocks have a bit above the thread, since threads of the child may be number 0 as well.
 */
struct gg_region_site_key {
	uint32_t stack, thread;
};

enum { GG_REGION_KEY_INHERITED = 1 << 16 };

/* The parent's region, which a forked child keeps while it makes its own. */
struct gg_region_inherited {
	struct gg_region_space tables[GG_TABLE_COUNT];
	struct gg_region_file map;
	uint32_t is_set; /* the adoption has begun, and is not over */
};

struct gg_region {
	struct gg_filter filter; /* first: gg_live_maybe() reads its first word */
	struct gg_region_header *header;
	struct gg_region_space tables[GG_TABLE_COUNT];
	struct gg_region_file map;
	uint64_t hash_seed;
	uint64_t next_id; /* of a sample */
	uint32_t max_frames;
	uint32_t is_open;           /* gg_region_open() has been */
	uint32_t has_recent_stacks; /* threads keep theirs; samples are too rare for that */
	/* Estimated live bytes; kept up to date after gg_region_meter(). */
	uint32_t is_metered;
	uint64_t live_bytes;

	/* Private memory, one mapping. */
	uint8_t *memory;
	size_t memory_bytes;
	/* The live table.  id 0: the record is free, and time_ns is the next free one + 1. */
	struct gg_region_sample *records;
	uint32_t *homes;                      /* of the filter */
	uint64_t *stack_words;                /* one a stack: GG_REGION_STACK_TOTAL_BITS */
	struct gg_region_site_key *site_keys; /* one a site total */
	/* 0, or 1 + the slot that is changing a site total.  Site totals share these words by their
	 * number, so that the words stay in the cache; a thread owns one at a time. */
	uint32_t site_owners[GG_REGION_OWNERS];
	uint32_t *slot_owners; /* 1: taken by a thread */
	uint64_t *frame_words; /* one a frame of a runtime: of its hash */
	uint64_t free_head;    /* record + 1, and a count of changes above: no ABA */
	struct gg_hash_index address_index, stack_index, site_index, frame_index;
	uint64_t recent_texts[GG_REGION_TEXTS]; /* offset and bytes of texts of frames */

	struct gg_region_inherited inherited;
};

/* Makes gg_live_maybe() say no before gg_region_init(). */
#define GG_REGION_INIT_VIEW(region) gg_store_relaxed(&(region)->filter.view, GG_FILTER_EMPTY_VIEW)

void gg_region_options_default(struct gg_region_options *options);

/* Halves the capacities until file and private memory together need at most `bytes` of address
 * space.  The minimum is some 2 MiB. */
void gg_region_options_fit(struct gg_region_options *options, uint64_t bytes);

/* The size of the file.  0: a capacity is out of range. */
uint64_t gg_region_options_file_bytes(const struct gg_region_options *options);

/* The size of the private mapping beside the file (private_memory.h), for these capacities. */
size_t gg_region_private_bytes(const struct gg_region_options *options);

/*
 * Makes the region in the mapped file.  Takes the map over; on failure it stays the caller's.
 * 0, -EINVAL (capacities, or the map is too small), -ENOSPC, -ENOMEM.
 */
GG_MUST_CHECK int gg_region_init(struct gg_region *region, const struct gg_region_file *map,
                                 const struct gg_region_options *options);

/*
 * Writes the header of a new file, without its magic, and maps the tables.  gg_region_init() and
 * gg_region_adopt() call it.
 */
GG_MUST_CHECK int gg_region_init_shared(struct gg_region *region, const struct gg_region_file *map,
                                        const struct gg_region_options *options);

/* Writes the time of an orderly end.  The mapping stays, because other threads may still use it. */
void gg_region_end(struct gg_region *region, uint64_t now_ns);

/* Frees the region, for tests and embedders.  No thread may use it any more. */
void gg_region_done(struct gg_region *region, bool remove_file);

/*
 * Ends the region of a process that goes on: the file stays, and no longer belongs to the process.
 * No thread is in a call on the region; other threads may still ask gg_live_maybe(), which answers
 * "no".  gg_region_init() may make the next region.
 */
void gg_region_retire(struct gg_region *region);

/* Begin, rename and end a thread.  name: NULL, or up to 16 bytes or a 0 byte. */
void gg_region_thread_begin(struct gg_region *region, struct gg_region_thread *thread, uint32_t tid,
                            const char *name, uint64_t now_ns);
/* Begins a thread that has ended and yet goes on; id: its earlier `thread->thread`. */
void gg_region_thread_resume(struct gg_region *region, struct gg_region_thread *thread,
                             uint16_t id);
void gg_region_thread_rename(struct gg_region *region, struct gg_region_thread *thread,
                             const char *name);
void gg_region_thread_end(struct gg_region *region, struct gg_region_thread *thread,
                          uint64_t now_ns);

/* Adds a name of a heap (GG_TABLE_HEAPS) or type (GG_TABLE_TYPES).  Its id; 0: full, or "". */
uint32_t gg_region_add_name(struct gg_region *region, enum gg_region_table_id table,
                            const char *name, size_t bytes);

/* A module; the texts are copied. */
struct gg_module_info {
	const char *path;
	size_t path_bytes;
	const uint8_t *build_id;
	size_t build_id_bytes;
	uint64_t bias, load_ns;
	uint32_t generation;
	uint32_t range_count;
	const struct gg_region_range *ranges;
};

/* A frame of a runtime; texts may be empty.  They are copied, cut to 1023 bytes. */
struct gg_frame_info {
	const char *function, *file;
	size_t function_bytes, file_bytes;
	uint32_t line;
};

/* The pc that stands for the frame in stacks (gg_frame_pc()), equal for equal frames; 0: full,
 * counted. */
uint64_t gg_region_intern_frame(struct gg_region *region, const struct gg_frame_info *info);

/* Adds a module; its index, or GG_INDEX_NONE: full, counted. */
uint32_t gg_region_add_module(struct gg_region *region, const struct gg_module_info *info);
/* Adds a memory error of the program, and counts it.  False: the table is full. */
bool gg_region_add_fault(struct gg_region *region, const struct gg_region_fault *fault);

void gg_region_unload_module(struct gg_region *region, uint32_t module, uint64_t now_ns);

/* The settings that another process asks for. */
struct gg_region_request {
	uint64_t change_count; /* has changed since the last call: the rest is new */
	uint64_t interval_bytes;
	uint32_t overhead_ppm, error_ppm;
	bool active;
	bool detach;
};
struct gg_region_request gg_region_control(const struct gg_region *region);

static inline void gg_region_count(struct gg_region *region, enum gg_region_counter counter,
                                   uint64_t amount)
{
	gg_add_relaxed(&region->header->counters[counter], amount);
}

/* True: the pointer may be a sampled block.  False: it is not.  Cost: filter.h. */
static inline bool gg_live_maybe(const struct gg_region *region, const void *pointer)
{
	return gg_filter_maybe(&region->filter, pointer);
}

/* A record of a table.  The index comes from this process, never from the file. */
static inline void *gg_region_at(const struct gg_region *region, enum gg_region_table_id id,
                                 uint32_t index)
{
	const struct gg_region_space *table = &region->tables[id];

	return table->base + (size_t)index * table->record_bytes;
}
