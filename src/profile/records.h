/* SPDX-License-Identifier: Apache-2.0 */
/*
 * records - the records of a profile: one struct for each table.
 *
 * Times are nanoseconds since the session's start; GG_TIME_NONE: no such time.  Ids begin at 1; 0
 * means "none".  A text is NULL if it is unknown.
 */
#pragma once

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "region/fixed.h"
#include "stats/sampling/scheme.h"

#define GG_TIME_NONE INT64_MAX /* no end yet; sorts after every moment */

struct gg_profile_session {
	const char *command;                          /* as a shell would read it */
	const char *host, *kernel, *machine, *geiger; /* names and versions */
	uint64_t start_wall_ns;                       /* since 1970 */
	int64_t end_ns;        /* GG_TIME_NONE: the recorder still runs, or was killed */
	double interval_bytes; /* the requested sampling interval */
	enum gg_scheme scheme;
	int exit_status;  /* of the command, in the form of a shell; -1: unknown */
	bool has_history; /* a recorder drained the ring: samples have times and ends */
};

struct gg_profile_process {
	uint32_t id;
	uint32_t parent; /* id; 0: not in the session */
	uint32_t pid;
	int64_t start_ns;
	int64_t end_ns;
	/*
	 * The process may have ended up to this long before end_ns; 0: end_ns is right.  Nobody
	 * notes when a process is killed, so its end_ns is the time at which the recorder noticed.
	 */
	int64_t end_range_ns;
	const char *exe, *command;
	const char
		*ending; /* "exited 0", "killed by signal 9", "exec", "lived on"; NULL: unknown */
	double interval_bytes; /* the largest sampling interval of its life */
	enum gg_scheme scheme;
};

/*
 * How the recording of a process began, if it ran already.  Blocks that it allocated before are not
 * in the profile.
 */
struct gg_profile_attach {
	uint32_t process;
	bool is_inherited; /* an ancestor was attached, and forked the process afterwards */
	int64_t time_ns;   /* of the attach; before the session's start if it is negative */
	int64_t age_ns;    /* the process, or that ancestor, had existed for so long; -1: unknown */
	/*
	 * Bytes that the allocator had in use at the attach, by its own count; -1: unknown.  Some
	 * of an ancestor's may have been freed before the fork.
	 */
	int64_t older_bytes;
	const char *older_source; /* name of that allocator, as in looks; NULL: unknown */
	/*
	 * Number of words through which modules call the allocator and which do not lead to the
	 * agent; -1: unknown.
	 */
	int64_t unseen_slot_count;
};

/* The place of a thread at an access, an allocation, or a free. */
struct gg_profile_fault_place {
	int64_t time_ns; /* GG_TIME_NONE: it did not happen, or is unknown */
	uint32_t tid;    /* 0: unknown */
	uint32_t stack;
};

/* A memory error of the program that a guarded block has shown. */
struct gg_profile_fault {
	uint32_t process;
	const char *kind;   /* "use after free", "buffer overflow", ... */
	const char *access; /* "read", "write", "execution"; NULL: unknown, or a free */
	bool at_free;       /* found when the block was freed, some time after the access */
	uint64_t address;   /* that was accessed or freed; at_free: of the first byte changed */
	uint64_t block;     /* 0: unknown */
	uint64_t size_bytes;
	struct gg_profile_fault_place accessed, allocated,
		freed; /* at_free: accessed is the free */
};

struct gg_profile_thread {
	uint32_t id;
	uint32_t process;
	uint32_t tid;
	int64_t start_ns, end_ns;
	const char *name;
};

struct gg_profile_module {
	uint32_t id;
	const char *path;
	const uint8_t *build_id;
	size_t build_id_bytes;
	const char *status; /* status of its symbols; NULL: nobody has looked yet */
};

/* A mapping of a module into a process. */
struct gg_profile_mapping {
	uint32_t process, module;
	uint64_t start, end; /* addresses */
	uint64_t file_offset;
	uint64_t bias; /* address = bias + address in the file */
	int64_t load_ns, unload_ns;
};

/* A call in the code; the address is that of the call, which is the return address less 1. */
struct gg_profile_frame {
	uint32_t id;
	uint32_t module;  /* 0: no module */
	uint64_t address; /* virtual address in the module's ELF file; without a module absolute */
};

/* A source location of a frame: one for each inlined call, innermost first, and one for itself. */
struct gg_profile_line {
	uint32_t frame;
	uint32_t depth;           /* 0: innermost */
	const char *function;     /* demangled, short form */
	const char *full_name;    /* demangled, with arguments */
	const char *linkage_name; /* as the linker knows it */
	const char *file;
	uint32_t line; /* 0: unknown */
	bool inlined;
};

/* Counters of the session (process 0): what a recorder has used, and a function's error. */
#define GG_PROFILE_COUNTER_RECORDER_NS "ns of the recorder"
#define GG_PROFILE_COUNTER_FOCUS_ASKED "millionths of a function's error asked for"
/* The samples that an idle child held (record/process/idle_children.h). */
#define GG_PROFILE_COUNTER_IDLE "samples held by an idle child"
/* Samples that the process inherited and that compaction removed. */
#define GG_PROFILE_COUNTER_COMPACTED "inherited samples that were compacted"
/* The table of live blocks of exact counts was full from this session time on. */
#define GG_PROFILE_COUNTER_EXACT_STOPPED "ns until frees were no longer known"
#define GG_PROFILE_COUNTER_FOCUS_REACHED "millionths of a function's error reached"

/* A frame called by the stack `parent`, whose id is smaller. */
struct gg_profile_stack {
	uint32_t id, parent, frame;
};

enum gg_name_kind { GG_NAME_HEAP, GG_NAME_TYPE };

enum {
	GG_PROFILE_SAMPLE_MAPPING = 1,   /* a mapping (mmap), not a block of an allocator */
	GG_PROFILE_SAMPLE_LATE_FREE = 2, /* the end was noticed late: free_ns is an upper bound */
	GG_PROFILE_SAMPLE_OLD = 4,       /* in the old generation of its heap at its end */
	/*
	 * Only with GG_PROFILE_SAMPLE_LATE_FREE: the event of the free was lost, and a
	 * reconciliation found the end.  The process's event "lost" before that is a lower bound of
	 * free_ns.
	 */
	GG_PROFILE_SAMPLE_LOST_FREE = 8,
};

struct gg_profile_sample_end {
	int64_t free_ns;
	uint32_t thread; /* the thread that freed it */
	uint32_t stack;  /* the stack that freed it, if recorded */
	bool missed;     /* GG_PROFILE_SAMPLE_LATE_FREE */
	bool is_old;     /* GG_PROFILE_SAMPLE_OLD */
	bool lost;       /* GG_PROFILE_SAMPLE_LOST_FREE */
};

struct gg_profile_sample {
	uint64_t id;
	int64_t alloc_ns, free_ns; /* free_ns: GG_TIME_NONE while it is live */
	uint32_t process, thread, stack, heap, type;
	uint32_t free_thread, free_stack;
	uint64_t size_bytes, usable_bytes, address;
	struct gg_draw draw;
	uint32_t flags; /* GG_PROFILE_SAMPLE_* */
	/*
	 * Not 0: the process inherited the block by fork.  It is the id of the sample that an
	 * ancestor allocated, or of the first sample that represents that one; the sample's own id
	 * if it is the first.  Reports on several processes count such a block once, while any of
	 * them holds it.
	 */
	uint64_t origin;
};

/*
 * An aggregate: sums of samples that the profile does not store one by one.  Aggregates come from
 * lost history, compaction, imports, and merges.  All their samples were allocated and freed in
 * [from_ns, to_ns], or allocated from from_ns on and never freed if to_ns is GG_TIME_NONE.
 *
 * The samples of a compacted aggregate were allocated in [from_ns, from_ns + bucket_ns) and freed
 * in [to_ns - bucket_ns, to_ns).  So they were live at each multiple of bucket_ns from from_ns +
 * bucket_ns to to_ns - bucket_ns, and at no other multiple.
 */
struct gg_profile_aggregate {
	uint32_t process, thread, stack;
	int64_t from_ns, to_ns;
	int64_t bucket_ns;             /* 0: only [from_ns, to_ns] is known */
	uint32_t size_class;           /* the sizes are in (2^(n-1), 2^n]; 255: mixed */
	double interval_bytes;         /* the largest sampling interval of its samples */
	struct gg_sums sums;           /* samples, bytes, estimates and variances */
	double count_skew, bytes_skew; /* third cumulants (stats/estimate/tally.h); 0: unknown */
	double lifetime_ns_sum;        /* unscaled sum over the samples; 0: unknown */
	uint32_t unknown_errors;       /* bits 1 << enum gg_quantity: the variance is unknown */
	bool lost;                     /* true: history was lost; false: compacted */
	/*
	 * The samples were never freed (to_ns is GG_TIME_NONE), but their process ended before the
	 * last process of the session: they were left at its exit, and are not live at the end.
	 */
	bool is_left;
	/*
	 * The process was forked, and blocks that it inherited and freed may be among the samples.
	 * An ancestor that allocated such blocks counts them as well.
	 */
	bool is_shared;
	/*
	 * Every allocation was counted.  The times are those of the ticks at which the recorder saw
	 * the changes, with a bucket of 1 ns.
	 */
	bool is_exact;
	bool is_temporary; /* exact: its thread freed each before it allocated the next one */
	/*
	 * All its samples have this heap and type, as in gg_profile_sample, and are mappings or
	 * not.  If it does not have a kind, nobody knows, and heap and type are 0.
	 */
	bool has_kind, is_mapping;
	uint32_t heap, type;
	/* Freed blocks of a merge: heirs that nobody saw may have left them at their end. */
	bool may_be_left;
	/*
	 * Blocks of a merge whose holder inherited them.  The row of the process that allocated
	 * them, if there is one, counts their allocation, and its free of them.
	 */
	bool is_inherited;
};

struct gg_profile_total {
	uint32_t process, thread, stack;
	struct gg_sums allocated, freed;
	uint32_t lifetimes[32]; /* histogram of freed samples by gg_lifetime_index() */
};

/* Memory of a process at a moment, in bytes; -1: unknown. */
struct gg_profile_memory {
	uint32_t process; /* 0: the whole session (its cgroup) */
	int64_t time_ns;
	int64_t rss_bytes, pss_bytes;
	int64_t anonymous_bytes, file_bytes, shared_bytes, swap_bytes;
	int64_t heap_bytes, stack_bytes; /* [heap] and [stack] of the kernel's map */
	int64_t cgroup_bytes;
	double live_bytes; /* the profile's live estimate at that moment */
	/* The reading took this long from time_ns on.  Readings of one round share time_ns. */
	int64_t span_ns;
	/*
	 * The kernel's maximum up to that moment (VmHWM).  If rss_bytes is unknown, it is ru_maxrss
	 * from wait4() at the process's end: the maximum over all programs that the process
	 * executed and all children that it waited for.
	 */
	int64_t max_rss_bytes;
	/*
	 * Resident pages of geiger itself in the process (region, tables, library), and the part of
	 * them that file_bytes and shared_bytes include.
	 */
	int64_t geiger_bytes, geiger_file_bytes;
	/*
	 * Proportional sizes, like pss_bytes: pages of files and shared pages without geiger's, the
	 * stack, and geiger.  -1: this round did not walk the process's mappings.
	 */
	int64_t pss_file_bytes, pss_stack_bytes, pss_geiger_bytes;
};

/* A reading without any values yet. */
static inline struct gg_profile_memory gg_profile_memory_unknown(uint32_t process, int64_t time_ns)
{
	return (struct gg_profile_memory){ process, time_ns, -1, -1, -1, -1, -1, -1, -1, -1,
		                           -1,      -1,      -1, -1, -1, -1, -1, -1, -1 };
}

/* --- looks ---------------------------------------------------------------------------------- */

/* The use of a mapping of a process's memory.  Each mapping has one kind. */
enum gg_mapping_kind {
	GG_MAPPING_HEAP,    /* [heap]: memory of brk() */
	GG_MAPPING_ARENA,   /* a heap of one of glibc's arenas: it begins at a multiple of 64 MiB */
	GG_MAPPING_MALLOC,  /* other anonymous memory with live samples of malloc, or named by it */
	GG_MAPPING_SAMPLED, /* anonymous memory with a live sample of mmap(), and none of malloc */
	GG_MAPPING_NAMED,   /* anonymous memory that the program named: [anon:NAME] */
	GG_MAPPING_STACK,   /* the main thread's, or memory right above a small guard */
	GG_MAPPING_DATA,    /* written pages of private file mappings, and the bss behind them */
	GG_MAPPING_FILE,    /* pages of files */
	GG_MAPPING_SHARED,  /* shared memory without a file of a disk: tmpfs, memfd, System V */
	GG_MAPPING_GEIGER,  /* region, tables and library of geiger */
	GG_MAPPING_ANONYMOUS, /* the rest, such as heaps of other allocators without samples */
	GG_MAPPING_KIND_COUNT
};

/* The name of a kind in profiles: "heap", "arena" ... */
const char *gg_mapping_kind_name(enum gg_mapping_kind kind);

/* Why a look stays in the profile. */
enum {
	GG_LOOK_LAST = 1, /* the last look at its process */
	GG_LOOK_PEAK = 2, /* the look at its process with the largest RSS */
};

/*
 * A look: the mappings of a process, and the memory around its live samples, at one moment.  Bytes;
 * -1: unknown.  docs/internals/PROFILE.md explains the numbers.
 */
struct gg_profile_look {
	uint32_t id; /* the profile hands it out */
	uint32_t process;
	uint32_t moments;         /* GG_LOOK_*; the profile sets them */
	int64_t time_ns, span_ns; /* it took span_ns from time_ns on */
	int64_t rss_bytes;        /* the sum of rss_bytes of its mappings */
	int64_t pss_bytes, swap_bytes;
	int64_t page_bytes; /* bytes of a page */
	int64_t thread_count;
	/* The control group's, all processes in it together. */
	int64_t cgroup_anonymous_bytes, cgroup_file_bytes, cgroup_kernel_bytes;
	/*
	 * Number of live samples at that moment, of those that the look chose, each with the same
	 * chance, and of chosen ones around which the memory changed meanwhile.
	 */
	int64_t live_count, chosen_count, torn_count;
	const char *allocator; /* "glibc", "jemalloc" ...; NULL: unknown */
	const char *reason;    /* why no memory around samples was seen; NULL: it was */
};

/* The mappings of one kind and name. */
struct gg_profile_look_mapping {
	uint32_t look;
	uint32_t number;  /* from 0 on; the profile sets it */
	uint32_t kind;    /* enum gg_mapping_kind */
	const char *name; /* a file's path, or a name that the program gave; NULL: all others */
	int64_t mapping_count, size_bytes; /* size: address space */
	int64_t rss_bytes, pss_bytes, swap_bytes;
	int64_t lazy_free_bytes; /* resident, but free for the kernel to take (MADV_FREE) */
	int64_t huge_bytes;      /* in transparent huge pages */
};

/* The block of a live sample, as a look saw it. */
struct gg_profile_look_block {
	uint32_t look;
	uint64_t sample;
	int64_t resident_bytes, swapped_bytes; /* of its usable bytes; -1: unknown */
	/*
	 * Free resident bytes on pages that the block holds, in equal shares with the blocks that
	 * hold these pages as well; -1: unknown.
	 */
	double pinned_bytes;
	int64_t returnable_bytes; /* whole free resident pages right behind it; -1: unknown */
};

/* A number that the allocator, or a walk through its whole heap, states about itself. */
struct gg_profile_look_total {
	uint32_t look;
	const char *name; /* docs/internals/PROFILE.md lists the names */
	int64_t bytes;
};

/* A look with everything that it saw; the arrays may be NULL if they are empty. */
struct gg_profile_look_parts {
	const struct gg_profile_look_mapping *mappings;
	const struct gg_profile_look_block *blocks;
	const struct gg_profile_look_total *totals;
	size_t mapping_count, block_count, total_count;
};

/* The kind of an event that says when a full collection of a runtime's heap began. */
#define GG_PROFILE_FULL_COLLECTION "full_collection"

/*
 * The name of a counter in answers of a fleet's store: senders of the process whose sums may lack
 * objects, for another reason than dropped samples.
 */
#define GG_PROFILE_LACKING_SENDERS "senders that lack objects"

/*
 * The kind of an event that says what a garbage collector did since the event before, and its
 * detail, for gg_profile_writer_event() and sscanf().  Unknown bytes are -1.
 */
#define GG_PROFILE_COLLECTIONS "collections"
#define GG_PROFILE_COLLECTIONS_FORMAT                                                              \
	"{\"minor\":%" PRId64 ",\"steps\":%" PRId64 ",\"major\":%" PRId64 ",\"pause_ns\":%" PRId64 \
	",\"longest_ns\":%" PRId64 ",\"heap_bytes\":%" PRId64 ",\"most_bytes\":%" PRId64           \
	",\"arena_bytes\":%" PRId64 ",\"large_bytes\":%" PRId64 "}"

struct gg_profile_event {
	int64_t time_ns;
	uint32_t process;
	const char *kind;   /* "fork", "exec", "exit", "drop", "interval", "on", "off" ... */
	const char *detail; /* for people */
};
