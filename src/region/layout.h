/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout - the bytes of a region file; docs/internals/REGION.md describes them field by field.
 *
 * The file has a header and thirteen tables of fixed records, at offsets from its start.  It has
 * no pointers, because every process maps it at another address.  Numbers are little-endian,
 * as on all machines that run geiger.
 *
 *   table     record                    written by                when the table is full
 *   slots     gg_region_redo_slot       the slot's thread         the thread records nothing
 *   threads   gg_region_thread_record   the thread itself         later threads have id 0
 *   modules   gg_region_module          any thread, once          dropped and counted
 *   heaps     gg_region_name            any thread, once          id 0
 *   types     gg_region_name            any thread, once          id 0
 *   strings   bytes                     any thread, once          the empty string
 *   stacks    gg_region_node            any thread, once          GG_STACK_OVERFLOW
 *   live      gg_region_sample          through the redo log      the sample is dropped and counted
 *   rows      gg_region_site_total      through the redo log      threads share totals (record.h)
 *   ring      gg_region_event           the claiming thread       the event is dropped and counted
 *   frames    gg_region_frame           any thread, once          the frame is left out and counted
 *   blocks    gg_region_allocator_block one thread at a time      the look takes fewer samples
 *   faults    gg_region_fault           any thread, once          counted alone
 *
 * The profiled program never takes an index, length, or pointer from the file, because others could
 * have changed it: it has its own copies in private memory.  It reads back only sums, to add to
 * them, and the thread of a site total, to compare it.
 */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "region/fixed.h"

#define GG_REGION_MAGIC UINT64_C(0x4745522d52474747) /* "GGGR-REG" in the file */

enum {
	/*
	 * Version 1 has no frames, version 2 no looks, version 3 no attach, version 4 no age at the
	 * attach, version 5 no exact counts, and version 6 no faults; each has zeros in those parts
	 * of the header.
	 */
	GG_REGION_VERSION = 7,
	GG_REGION_VERSION_LEAST = 1, /* the oldest version that readers understand */
	GG_REGION_PAGE_BYTES = 4096, /* tables start at multiples of it */
	GG_REGION_COMMAND_MAX = 1024,
	GG_REGION_EXE_MAX = 1024,
	GG_REGION_OPTIONS_MAX = 512,
	GG_REGION_RANGES_MAX = 6,    /* a module's record holds this many load ranges */
	GG_REGION_BUILD_ID_MAX = 32, /* SHA-1 has 20 bytes; longer ids are cut */
	GG_REGION_LIFETIME_COUNT = 32,
};

enum gg_region_table_id {
	GG_TABLE_SLOTS,
	GG_TABLE_THREADS,
	GG_TABLE_MODULES,
	GG_TABLE_HEAPS,
	GG_TABLE_TYPES,
	GG_TABLE_STRINGS,
	GG_TABLE_STACKS,
	GG_TABLE_LIVE,
	GG_TABLE_SITE_TOTALS,
	GG_TABLE_RING,
	GG_TABLE_FRAMES,           /* since version 2; its description follows the header's texts */
	GG_TABLE_ALLOCATOR_BLOCKS, /* since version 3 */
	GG_TABLE_FAULTS,           /* since version 7; its description is behind the ring's head */
};

enum {
	GG_TABLE_COUNT = GG_TABLE_FAULTS + 1,
	GG_TABLE_FIRST_COUNT = GG_TABLE_FRAMES, /* tables that version 1 has as well */
	GG_TABLE_MORE_COUNT = GG_TABLE_FAULTS - GG_TABLE_FRAMES
};

/* Counters that only grow.  Any thread adds to them; no equation has them.  Never renumber. */
enum gg_region_counter {
	GG_COUNT_SAMPLES,      /* samples recorded; 0 in the file, a view adds up the site totals */
	GG_COUNT_FREES,        /* frees of samples; 0 in the file as well */
	GG_COUNT_MISSED_FREES, /* samples closed because their address was allocated again */
	GG_COUNT_SAMPLE_PATH_NS, /* time in the sample path; the agent adds to it */
	GG_COUNT_EVENTS,         /* events put into the ring */
	GG_COUNT_ROWS_FOLDED, /* samples and frees counted in another site total of their stack */
	GG_COUNT_DROP_LIVE_FULL,    /* samples dropped: the live table is full */
	GG_COUNT_DROP_SLOTS_FULL,   /* samples and frees dropped: too many threads at once */
	GG_COUNT_DROP_BUSY,         /* samples and frees dropped: the thread interrupted itself */
	GG_COUNT_DROP_ROW_HELD,     /* samples dropped: another thread held the site total */
	GG_COUNT_DROP_SIZE,         /* samples dropped: 2^48 bytes or more, or an invalid draw */
	GG_COUNT_DROP_OFF,          /* the agent: sampling was switched off during a sample */
	GG_COUNT_FREE_DEFERRED,     /* frees: a thread held the site total; now missed frees */
	GG_COUNT_STACKS_OVERFLOWED, /* samples whose stack did not fit */
	GG_COUNT_DROP_EVENTS,       /* events dropped: the ring was full */
	GG_COUNT_DROP_MODULES,      /* modules dropped: the table or the strings were full */
	GG_COUNT_DROP_THREADS,      /* threads without their own record */
	GG_COUNT_DROP_NAMES,        /* heaps, types, and strings dropped */
	GG_COUNT_GROW_FAILED,       /* the file could not grow */
	GG_COUNT_INHERITED,         /* samples that were live when this process was forked */
	GG_COUNT_INHERIT_DROPPED,   /* ... and did not fit here */
	GG_COUNT_DROP_MEMORY,       /* samples: no memory for a thread, or no slot (src/malloc) */
	GG_COUNT_LOST_CHILDREN,     /* the agent: forked children without a region */
	/* While the agent controls the overhead (src/runtime/overhead_budget.h): */
	GG_COUNT_PROGRAM_NS,        /* processor time of the program itself */
	GG_COUNT_SAMPLING_NS,       /* ... of samples, with a recorder's part */
	GG_COUNT_HOOKS_NS,          /* ... of allocations that are no samples */
	GG_COUNT_INTERVAL_CHANGES,  /* changes of the sampling interval */
	GG_COUNT_COARSEST_INTERVAL, /* the largest sampling interval so far, in bytes */
	GG_COUNT_RECORDER_NS,       /* the part of GG_COUNT_SAMPLING_NS that a recorder uses */
	GG_COUNT_ASKED_OVERHEAD,    /* the largest overhead to hold so far, in millionths */
	GG_COUNT_ASKED_ERROR,       /* the largest error to hold so far, in millionths */
	GG_COUNT_BIASED,  /* samples of the scheme GG_SCHEME_BIASED; in a view 0 without any */
	GG_COUNT_FAULTS,  /* memory errors that guarded blocks have shown */
	GG_COUNT_GUARDED, /* blocks that were guarded */
	GG_COUNT_UNNOTED_CHILDREN, /* the agent: forked children that could not note it */
	/*
	 * CLOCK_MONOTONIC of the begin of the last collection that visited all objects of the
	 * runtime's heap, after their deaths were recorded; 0: none.  It has no name, because it is
	 * no count.
	 */
	GG_COUNT_FULL_COLLECTION_NS,
	GG_COUNT_JAVA_STATE, /* enum gg_region_java: the adapter for Java VMs sets it; no name */
	/*
	 * Threads of a Java VM that ran at the attach.  Each may allocate unseen until its next
	 * sample point; the second counter says how many have come to one, and the third how many
	 * ended before it.
	 */
	GG_COUNT_JAVA_THREADS,
	GG_COUNT_JAVA_THREADS_SAMPLED,
	GG_COUNT_JAVA_THREADS_ENDED,
	GG_COUNT_WAS_OFF,     /* 1: sampling was switched off for a while, or is; no name */
	GG_COUNTER_COUNT = 48 /* space for more; the reader prints the named ones */
};

/* Whether the adapter for Java VMs shows objects.  Never renumber. */
enum gg_region_java {
	GG_JAVA_ABSENT, /* no adapter */
	GG_JAVA_JOINING,
	GG_JAVA_JOINED,
	GG_JAVA_REFUSED
};

struct gg_region_table {
	uint64_t offset;       /* bytes from the start of the file */
	uint64_t record_bytes; /* the writer's record size; the reader refuses others */
	uint64_t capacity;     /* records */
	uint64_t used_count;   /* records ever used, never falls; not used by the ring */
};

/* The part that other processes may write.  The agent checks it on cold paths. */
struct gg_region_control {
	uint64_t change_count; /* stored last with release order, after the other members */
	/* 0: unchanged.  While overhead_ppm is not 0, the agent writes the current interval. */
	uint64_t interval_bytes;
	uint32_t active; /* 0: off */
	/*
	 * Changes with each request for a look at the allocator; `change_count` stays, because a
	 * request changes no setting.
	 */
	uint32_t look_count;
	/*
	 * Since version 4.  Not 0: an attached agent is to take its hooks away.  A preloaded agent
	 * ignores it.  Written before `change_count`, as a setting.
	 */
	uint32_t detach_count;
	/*
	 * Not 0: the agent chooses the interval so that sampling costs this share of the program's
	 * own processor time, in millionths.  Agents before 0.1.0 ignore it.
	 */
	uint32_t overhead_ppm;
	/*
	 * Not 0: the agent chooses the interval so that the confidence interval of live bytes is at
	 * most this part of their estimate to each side, in millionths.  Both of these: the coarser
	 * one of the two intervals.
	 */
	uint32_t error_ppm;
	uint32_t reserved;
};

/*
 * Statements of a session's recorder about its own processor time.  Only the recorder writes it;
 * the agent checks it.
 */
struct gg_region_recorder {
	int64_t charged_ns; /* this process's part of what samples do not explain; may fall */
	uint32_t sample_ns; /* what the recorder needs for a sample; 0: unknown */
	uint32_t reserved;
};

/* The functions that can state how many bytes an allocator has in use.  Never renumber. */
enum gg_region_in_use_source {
	GG_REGION_IN_USE_UNKNOWN,
	GG_REGION_IN_USE_GLIBC,    /* mallinfo2(); blocks in thread caches count as in use */
	GG_REGION_IN_USE_JEMALLOC, /* stats.allocated */
	GG_REGION_IN_USE_TCMALLOC, /* generic.current_allocated_bytes */
};

enum {
	GG_REGION_DETACHED = 1, /* the recording ended by a detach; the process went on */
	/* Since version 5: an ancestor was attached, and forked the process afterwards. */
	GG_REGION_ATTACH_INHERITED = 2,
	GG_REGION_OLDER_UNKNOWN_BYTES = -1
};

/*
 * How the recording began, if the agent was attached to a process that ran already.  Only the agent
 * writes it, all but `flags` and the counts before the magic.  A forked child has its parent's, and
 * GG_REGION_ATTACH_INHERITED.
 */
struct gg_region_attach {
	uint64_t attached_ns;      /* CLOCK_MONOTONIC; 0: recorded from the start of the program */
	int64_t older_bytes;       /* in use then, by the allocator's own count; -1: unknown */
	uint32_t older_source;     /* enum gg_region_in_use_source */
	uint32_t flags;            /* GG_REGION_DETACHED, GG_REGION_ATTACH_INHERITED */
	uint32_t slot_count;       /* slots that lead to hooks */
	uint32_t unwritable_count; /* slots that could not be written */
	uint32_t foreign_count;    /* slots that lead to another function of that name */
	uint32_t scan_count;       /* scans of the slots so far */
	/* Since version 5: how long the process had existed, to 10 ms; 0: unknown. */
	uint64_t age_ns;
};

/* The allocators that the agent can ask.  Never renumber. */
enum gg_region_allocator {
	GG_REGION_ALLOCATOR_UNKNOWN, /* glibc, or one without functions that the agent knows */
	GG_REGION_ALLOCATOR_JEMALLOC,
	GG_REGION_ALLOCATOR_TCMALLOC, /* that of gperftools */
	GG_REGION_ALLOCATOR_MIMALLOC,
	GG_REGION_ALLOCATOR_GEIGER, /* libgeiger-malloc */
};

/* Numbers that an allocator states about itself, in bytes.  Never renumber. */
enum gg_region_allocator_total {
	GG_ALLOCATOR_TOTAL_JEMALLOC_ALLOCATED,
	GG_ALLOCATOR_TOTAL_JEMALLOC_ACTIVE,
	GG_ALLOCATOR_TOTAL_JEMALLOC_METADATA,
	GG_ALLOCATOR_TOTAL_JEMALLOC_RESIDENT,
	GG_ALLOCATOR_TOTAL_JEMALLOC_MAPPED,
	GG_ALLOCATOR_TOTAL_JEMALLOC_RETAINED,
	GG_ALLOCATOR_TOTAL_JEMALLOC_CACHED,
	GG_ALLOCATOR_TOTAL_TCMALLOC_IN_USE,
	GG_ALLOCATOR_TOTAL_TCMALLOC_PAGEHEAP_FREE,
	GG_ALLOCATOR_TOTAL_TCMALLOC_UNMAPPED,
	GG_ALLOCATOR_TOTAL_TCMALLOC_CENTRAL_FREE,
	GG_ALLOCATOR_TOTAL_TCMALLOC_TRANSFER_FREE,
	GG_ALLOCATOR_TOTAL_TCMALLOC_THREAD_FREE,
	GG_ALLOCATOR_TOTAL_MIMALLOC_COMMITTED,
	GG_ALLOCATOR_TOTAL_GEIGER_ALLOCATED,
	GG_ALLOCATOR_TOTAL_GEIGER_ACTIVE,
	GG_ALLOCATOR_TOTAL_COUNT,
	GG_ALLOCATOR_TOTAL_CAPACITY = 16,
};

#define GG_ALLOCATOR_TOTAL_UNKNOWN UINT64_MAX

enum {
	/* Two successive calls took more processor time than TOTALS_MOST_NS; no more follow. */
	GG_ALLOCATOR_LOOK_TOTALS_SLOW = 1,
	GG_ALLOCATOR_LOOK_OFF = 2, /* GEIGER_ALLOCATOR_CALLS=0, or a fork interrupted a call */
	GG_ALLOCATOR_LOOK_TOTALS_MOST_NS = 1000000,
};

/*
 * A look of the agent at the slabs of live samples.  Two of them take turns, so the last complete
 * one stays while the next is under way.
 */
struct gg_region_allocator_look {
	uint64_t number; /* from 1 on; the look uses records number % 2, + 2, + 4 ... */
	uint64_t begin_ns;
	uint64_t end_ns;      /* 0: it is not complete; stored last with release order */
	uint64_t block_count; /* records in use */
	uint64_t stride;      /* it took one of so many records of live samples, by chance */
	uint64_t torn_count;  /* samples that were freed meanwhile */
};

/* The state of the looks at the allocator.  Only the agent writes it. */
struct gg_region_allocator_state {
	uint32_t allocator;       /* enum gg_region_allocator */
	uint32_t flags;           /* GG_ALLOCATOR_LOOK_* */
	uint64_t postponed_count; /* samples at which a look was due and its calls were not safe */
	/* Odd while the totals change.  A reader that finds an odd number reads again. */
	uint64_t totals_change_count;
	uint64_t totals_ns;                           /* when they were read; 0: never */
	uint64_t totals_span_ns;                      /* processor time that this took */
	uint64_t totals[GG_ALLOCATOR_TOTAL_CAPACITY]; /* or GG_ALLOCATOR_TOTAL_UNKNOWN */
	struct gg_region_allocator_look looks[2];
};

enum {
	GG_REGION_EXACT = 1, /* every allocation is counted: site totals are exact_total.h's */
	/* Since stopped_ns, allocations are counted, and neither frees nor what is live. */
	GG_REGION_EXACT_STOPPED = 2,
};

/* State of a region in which every allocation is counted.  Only the agent writes it. */
struct gg_region_exact {
	uint32_t flags;       /* GG_REGION_EXACT, GG_REGION_EXACT_STOPPED; 0: samples */
	uint32_t peak_number; /* number of the last noted peak; stored after peak_ns */
	uint64_t peak_ns;     /* when that peak ended */
	uint64_t peak_bytes;  /* the most live bytes at any moment so far */
	uint64_t stopped_ns;
	uint64_t inherited_count, inherited_bytes; /* blocks that were live at the fork */
};

struct gg_region_header {
	uint64_t magic; /* stored last with release order, after all members below */
	uint32_t version;
	uint32_t header_bytes;
	uint64_t file_bytes;
	uint32_t pid, parent_pid;
	uint64_t start_monotonic_ns;  /* CLOCK_MONOTONIC, the clock of all times in the file */
	uint64_t start_wall_ns;       /* the same moment, since 1970 */
	uint64_t process_start_ticks; /* field 22 of /proc/PID/stat; 0: unknown */
	uint64_t inherited_below_id;  /* samples with smaller ids were inherited; 0: no fork */
	uint64_t end_monotonic_ns;    /* 0: the process has not stated its end */
	uint32_t max_frames;          /* deeper stacks lose their outermost frames */
	uint32_t command_bytes;       /* arguments, each followed by a 0 byte */
	uint32_t exe_bytes;
	uint32_t options_bytes;
	struct gg_region_table first_tables[GG_TABLE_FIRST_COUNT]; /* gg_region_table_of() */
	uint64_t counters[GG_COUNTER_COUNT];
	uint64_t unwind_endings
		[16]; /* number of walks by reason of their end (enum gg_unwind_ending) */
	struct gg_region_control control;
	struct gg_region_recorder recorder;
	uint64_t control_padding[1]; /* the ring's head and tail have their own cache lines */
	uint64_t ring_head;          /* events that writers have claimed */
	struct gg_region_table fault_table; /* since version 7; before, it was padding */
	/*
	 * A forked child: CLOCK_MONOTONIC just before the fork, and the region whose samples it
	 * inherited, by pid and start_monotonic_ns.  The parent may have no region yet; then an
	 * older ancestor has it.  0: unknown, as after a bare clone(), or no fork.
	 */
	uint64_t fork_ns;
	uint64_t ancestor_start_ns;
	uint32_t ancestor_pid;
	uint32_t head_padding;
	uint64_t ring_tail; /* events that the reader has returned */
	uint64_t tail_padding[7];
	char command[GG_REGION_COMMAND_MAX];
	char exe[GG_REGION_EXE_MAX];
	char options[GG_REGION_OPTIONS_MAX];
	struct gg_region_table more_tables[GG_TABLE_MORE_COUNT];
	struct gg_region_allocator_state allocator; /* since version 3 */
	struct gg_region_attach attach;             /* since version 4 */
	struct gg_region_exact exact;               /* since version 6 */
};

/* The offset in the header of a table's description. */
static inline size_t gg_region_table_at(int id)
{
	if (id < GG_TABLE_FIRST_COUNT)
		return offsetof(struct gg_region_header, first_tables) +
		       (size_t)id * sizeof(struct gg_region_table);
	if (id < GG_TABLE_FAULTS)
		return offsetof(struct gg_region_header, more_tables) +
		       (size_t)(id - GG_TABLE_FIRST_COUNT) * sizeof(struct gg_region_table);
	return offsetof(struct gg_region_header, fault_table);
}

static inline struct gg_region_table *gg_region_table_of(const struct gg_region_header *header,
                                                         int id)
{
	return (struct gg_region_table *)((uintptr_t)header + gg_region_table_at(id));
}

/* A live sample. */
struct gg_region_sample {
	uint64_t id; /* from 1 on, in the order of recording; 0: the record is free */
	/*
	 * The block's address, not 0.  With a heap: 48 bits of an address or an id, and the heap.
	 */
	uint64_t address;
	uint64_t time_ns;
	double sampling_interval; /* struct gg_draw */
	uint64_t size_bytes : 48;
	uint64_t heap : 16;
	uint64_t offset_bytes : 48;  /* struct gg_draw */
	uint64_t scheme : 8;         /* enum gg_scheme */
	uint64_t flags : 8;          /* GG_REGION_SAMPLE_* */
	uint32_t slack_bytes;        /* usable size - size, 4 GiB - 1 at most */
	uint32_t sample_point_count; /* struct gg_draw */
	uint32_t stack;
	uint16_t thread;
	uint16_t type;
};

enum {
	GG_REGION_SAMPLE_MAPPING = 1, /* a mapping (mmap), not a block of an allocator */
	GG_REGION_SAMPLE_OLD = 2,     /* in the old generation of its heap */
	GG_REGION_SAMPLE_FOREIGN = 4, /* a block of another allocator than malloc()'s */
	GG_SAMPLE_OBJECT_BITS = 48,
	GG_SAMPLE_SIZE_BITS =
		48 /* larger blocks are not recorded; no machine has that much memory */
};

/* Stack ids with special meanings. */
enum {
	GG_STACK_EMPTY,    /* has no frame; the parent of outermost frames */
	GG_STACK_OVERFLOW, /* represents stacks that did not fit */
	GG_STACK_FIRST
};

/*
 * Stacks also hold frames of language runtimes.  Such a frame is a pc that is not canonical, and so
 * no address on any machine.  The low half of the pc is the number of the frame.
 */
#define GG_FRAME_PC      UINT64_C(0x4747000000000000)
#define GG_FRAME_PC_MASK UINT64_C(0xffffffff00000000)

static inline uint64_t gg_frame_pc(uint32_t frame)
{
	return GG_FRAME_PC | frame;
}

static inline bool gg_pc_is_frame(uint64_t pc)
{
	return (pc & GG_FRAME_PC_MASK) == GG_FRAME_PC;
}

/* A frame of a runtime: a function of its language, and the line of the call in it. */
struct gg_region_frame {
	uint64_t ready;                        /* 1: the other members are valid */
	uint32_t function_offset, file_offset; /* in strings */
	uint16_t function_bytes, file_bytes;   /* 0: unknown */
	uint32_t line;                         /* 0: unknown */
	uint64_t reserved;
};

/* A frame that the frame `parent` calls.  A stack's id is the id of its innermost frame. */
struct gg_region_node {
	uint64_t pc;
	uint32_t parent; /* smaller than this node's own id: no cycles */
	uint32_t reserved;
};

/* Site total: what a stack allocated in a thread, and what that thread freed of the stack. */
struct gg_region_site_total {
	uint32_t stack;
	uint32_t thread; /* the first thread that used it; others may add to it */
	uint64_t ready;  /* 1: stack and thread are set */
	struct gg_sums allocated;
	struct gg_sums freed;
	uint32_t lifetimes[GG_REGION_LIFETIME_COUNT]; /* of freed samples, modulo 2^32 */
	/*
	 * 1: `allocated` is what was live at the fork, by the parent's thread, and never changes.
	 * Agents before 0.1.0 count such blocks in other records, where this is 0.
	 */
	uint64_t is_inherited;
	uint64_t reserved;
};

/* The low bits of gg_region_redo_slot.state are the operation; the others count operations. */
enum { GG_REDO_NOTHING, GG_REDO_ALLOC, GG_REDO_FREE, GG_REDO_MASK = 3, GG_REDO_STEP = 4 };

/* A slot of the redo log: everything that the operation changes, as new values. */
struct gg_region_redo_slot {
	uint64_t state;
	uint32_t live_index;            /* of the sample */
	uint32_t site_total;            /* index of the site total */
	uint32_t lifetime;              /* FREE: index into the site total's lifetimes */
	uint32_t lifetime_sum;          /* FREE: its new value */
	struct gg_sums sums;            /* of the site total: ALLOC allocated, FREE freed */
	struct gg_region_sample sample; /* ALLOC: the new one */
	uint64_t reserved[3];
};

struct gg_region_thread_record {
	uint64_t ready; /* 1: the other members are valid */
	uint64_t start_ns;
	uint64_t end_ns; /* 0: the thread runs */
	uint32_t tid;
	uint32_t reserved;
	char name[16]; /* 0-terminated unless full */
	uint64_t reserved2[2];
};

struct gg_region_range {
	uint64_t start, end; /* addresses in the process */
	uint64_t file_offset;
};

struct gg_region_module {
	uint64_t ready; /* 1: the other members are valid */
	uint64_t load_ns;
	uint64_t unload_ns;               /* 0: loaded */
	uint64_t bias;                    /* address = bias + address in the module's file */
	uint32_t generation;              /* generation of the loader's list at that time */
	uint32_t path_offset, path_bytes; /* in strings */
	uint16_t range_count, build_id_bytes;
	uint8_t build_id[GG_REGION_BUILD_ID_MAX];
	struct gg_region_range ranges[GG_REGION_RANGES_MAX];
	uint64_t reserved[4];
};

struct gg_region_name {
	uint64_t ready;         /* 1: the other members are valid */
	uint32_t offset, bytes; /* in strings */
};

enum { GG_EVENT_ALLOC = 1, GG_EVENT_FREE, GG_EVENT_MISSED_FREE };

struct gg_region_event {
	uint64_t sequence; /* 1 + the event's number, stored last with release order */
	uint64_t time_ns;  /* of the event */
	uint32_t kind;
	uint32_t thread;     /* the thread that did it */
	uint32_t free_stack; /* the stack that freed it, if recorded */
	uint32_t reserved;
	struct gg_region_sample sample;
};

/* The slab of a live sample's block, as a look of the agent saw it. */
struct gg_region_allocator_block {
	uint64_t look; /* number of the look, stored last with release order; 0: being written */
	uint64_t sample, address;
	uint64_t time_ns;
	uint64_t slab_bytes;
	uint32_t region_count; /* blocks that fit the slab; 1: the block has pages of its own */
	uint32_t free_count;   /* regions that are free; those in thread caches are not */
	uint64_t slab_address; /* 0: unknown */
	uint64_t reserved;
};

/* Kinds of memory errors (src/malloc/guarded_blocks.h).  Never renumber. */
enum gg_region_fault_kind {
	GG_REGION_FAULT_UNKNOWN,
	GG_REGION_FAULT_USE_AFTER_FREE,
	GG_REGION_FAULT_OVERFLOW,
	GG_REGION_FAULT_UNDERFLOW,
	GG_REGION_FAULT_DOUBLE_FREE,
	GG_REGION_FAULT_INVALID_FREE,
	GG_REGION_FAULT_KIND_COUNT,
};

enum {
	GG_REGION_FAULT_WRITE = 1, /* the access was a write; no access named: nobody knows */
	GG_REGION_FAULT_READ = 2,  /* it was a read */
	GG_REGION_FAULT_AT_FREE =
		4, /* found when the block was freed, some time after the access */
	GG_REGION_FAULT_EXECUTE = 8, /* the processor fetched an instruction */
};

/* The place of a thread at a fault, an allocation, or a free. */
struct gg_region_fault_place {
	uint64_t time_ns; /* 0: it did not happen, or is unknown */
	uint32_t stack;   /* GG_STACK_EMPTY: unknown */
	uint32_t tid;
};

/* A memory error of the program. */
struct gg_region_fault {
	uint64_t ready;   /* 1: the other members are valid */
	uint32_t kind;    /* enum gg_region_fault_kind */
	uint32_t flags;   /* GG_REGION_FAULT_* */
	uint64_t address; /* that was accessed or freed; at a free: of the first byte changed */
	uint64_t block, block_bytes; /* as requested */
	struct gg_region_fault_place access, allocation, free;
	uint64_t reserved[5];
};

/*
 * Buckets of lifetimes are powers of two: bucket 0 is below 1024 ns, bucket i holds
 * [2^(i+9), 2^(i+10)) ns, and the last bucket has no upper bound (from 2^40 ns, 18 minutes, on).
 */
static inline uint32_t gg_lifetime_index(uint64_t lifetime_ns)
{
	uint32_t log2 = lifetime_ns < 1024 ? 9 : 63 - (uint32_t)__builtin_clzll(lifetime_ns);

	return log2 - 9 < GG_REGION_LIFETIME_COUNT ? log2 - 9 : GG_REGION_LIFETIME_COUNT - 1;
}

static inline uint64_t gg_lifetime_from_ns(uint32_t index)
{
	return index == 0 ? 0 : UINT64_C(1) << (index + 9);
}

/* The histogram of lifetimes counts each free once, modulo 2^32. */
static inline bool gg_lifetimes_add_up(const struct gg_region_site_total *total)
{
	uint32_t sum = 0;

	for (int i = 0; i < GG_REGION_LIFETIME_COUNT; i++)
		sum += total->lifetimes[i];
	return sum == (uint32_t)total->freed.sample_count;
}

static inline struct gg_draw gg_region_sample_draw(const struct gg_region_sample *sample)
{
	return (struct gg_draw){ .sampling_interval = sample->sampling_interval,
		                 .offset_bytes = sample->offset_bytes,
		                 .sample_point_count = sample->sample_point_count,
		                 .scheme = (enum gg_scheme)sample->scheme };
}

#define GG_LAYOUT(structure, field, at) \
	static_assert(offsetof(struct structure, field) == (at), #structure "." #field)

static_assert(sizeof(struct gg_sums) == 80, "in slots and site totals");
static_assert(sizeof(struct gg_region_table) == 32, "in the header");
static_assert(sizeof(struct gg_region_control) == 40, "in the header");
static_assert(sizeof(struct gg_region_recorder) == 16, "in the header");
static_assert(offsetof(struct gg_region_header, ring_head) == 984, "where it always was");
static_assert(sizeof(struct gg_region_attach) == 48, "in the header");
GG_LAYOUT(gg_region_header, version, 8);
GG_LAYOUT(gg_region_header, file_bytes, 16);
GG_LAYOUT(gg_region_header, pid, 24);
GG_LAYOUT(gg_region_header, start_monotonic_ns, 32);
GG_LAYOUT(gg_region_header, max_frames, 72);
GG_LAYOUT(gg_region_header, first_tables, 88);
GG_LAYOUT(gg_region_header, counters, 408);
GG_LAYOUT(gg_region_header, unwind_endings, 792);
GG_LAYOUT(gg_region_header, control, 920);
GG_LAYOUT(gg_region_header, ring_head, 984);
GG_LAYOUT(gg_region_header, ring_tail, 1048);
GG_LAYOUT(gg_region_header, command, 1112);
GG_LAYOUT(gg_region_header, exe, 2136);
GG_LAYOUT(gg_region_header, options, 3160);
GG_LAYOUT(gg_region_header, more_tables, 3672);
GG_LAYOUT(gg_region_header, allocator, 3736);
GG_LAYOUT(gg_region_allocator_state, totals, 40);
GG_LAYOUT(gg_region_allocator_state, looks, 168);
static_assert(sizeof(struct gg_region_allocator_look) == 48, "in the header");
GG_LAYOUT(gg_region_header, attach, 4000);
GG_LAYOUT(gg_region_attach, age_ns, 40);
GG_LAYOUT(gg_region_control, detach_count, 24);
GG_LAYOUT(gg_region_header, exact, 4048);
static_assert(sizeof(struct gg_region_exact) == 48, "in the header");
GG_LAYOUT(gg_region_header, fault_table, 992);
GG_LAYOUT(gg_region_header, fork_ns, 1024);
GG_LAYOUT(gg_region_header, ancestor_start_ns, 1032);
GG_LAYOUT(gg_region_header, ancestor_pid, 1040);
static_assert(sizeof(struct gg_region_header) == 4096, "bytes of the header");
static_assert(sizeof(struct gg_region_header) <= GG_REGION_PAGE_BYTES, "one page");
static_assert(sizeof(struct gg_region_sample) == 64, "bytes a live sample");
GG_LAYOUT(gg_region_sample, sampling_interval, 24);
GG_LAYOUT(gg_region_sample, slack_bytes, 48);
GG_LAYOUT(gg_region_sample, stack, 56);
static_assert(sizeof(struct gg_region_node) == 16, "bytes a frame");
static_assert(sizeof(struct gg_region_site_total) == 320, "bytes a stack and thread");
GG_LAYOUT(gg_region_site_total, allocated, 16);
GG_LAYOUT(gg_region_site_total, freed, 96);
GG_LAYOUT(gg_region_site_total, lifetimes, 176);
GG_LAYOUT(gg_region_site_total, is_inherited, 304);
static_assert(sizeof(struct gg_region_redo_slot) == 192, "bytes a thread");
GG_LAYOUT(gg_region_redo_slot, sums, 24);
GG_LAYOUT(gg_region_redo_slot, sample, 104);
static_assert(sizeof(struct gg_region_thread_record) == 64, "bytes a thread");
static_assert(sizeof(struct gg_region_module) == 256, "bytes a module");
GG_LAYOUT(gg_region_module, build_id, 48);
GG_LAYOUT(gg_region_module, ranges, 80);
static_assert(sizeof(struct gg_region_name) == 16, "bytes a name");
static_assert(sizeof(struct gg_region_event) == 96, "bytes an event");
static_assert(sizeof(struct gg_region_frame) == 32, "bytes a frame of a runtime");
GG_LAYOUT(gg_region_event, sample, 32);
static_assert(sizeof(struct gg_region_allocator_block) == 64, "bytes a look at a block");
static_assert(sizeof(struct gg_region_fault) == 128, "bytes a fault");
GG_LAYOUT(gg_region_fault, access, 40);

/* Size of one record of each table. */
static const uint32_t gg_region_record_bytes[GG_TABLE_COUNT] = {
	[GG_TABLE_SLOTS] = sizeof(struct gg_region_redo_slot),
	[GG_TABLE_THREADS] = sizeof(struct gg_region_thread_record),
	[GG_TABLE_MODULES] = sizeof(struct gg_region_module),
	[GG_TABLE_HEAPS] = sizeof(struct gg_region_name),
	[GG_TABLE_TYPES] = sizeof(struct gg_region_name),
	[GG_TABLE_STRINGS] = 1,
	[GG_TABLE_STACKS] = sizeof(struct gg_region_node),
	[GG_TABLE_LIVE] = sizeof(struct gg_region_sample),
	[GG_TABLE_SITE_TOTALS] = sizeof(struct gg_region_site_total),
	[GG_TABLE_RING] = sizeof(struct gg_region_event),
	[GG_TABLE_FRAMES] = sizeof(struct gg_region_frame),
	[GG_TABLE_ALLOCATOR_BLOCKS] = sizeof(struct gg_region_allocator_block),
	[GG_TABLE_FAULTS] = sizeof(struct gg_region_fault),
};
