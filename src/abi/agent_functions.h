/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_functions - the functions that libgeiger calls on the recording side of this process.
 *
 * The agent exports one symbol, geiger_agent_interface, which points to its table of these
 * functions.  Without the agent, libgeiger uses a table of its own, gg_agent_functions
 * (src/runtime/agent_table.c). libgeiger finds the agent by that name, so either library works
 * without the other.  If the agent's table has another version, libgeiger behaves as if there were
 * no agent.
 *
 * Objects    have a key: the number of their heap in the region, above 48 bits of address or id
 *            (gg_agent_key).  Blocks of malloc have heap 0, so no two objects share a key.
 * Threads    any, also in signal handlers.  A call that interrupts another one on its thread does
 *            nothing, and the region counts it.
 * Never      allocates or locks, except for start() and snapshot().  errno is kept.
 * Later      New functions are added at the end.  A caller that finds a shorter table does without
 *            them, as libgeiger-compat does.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/dump_triggers.h"
#include "abi/sample_history.h"
#include "dump/heap_text.h"
#include "region/writer/region.h"
#include "stats/sampling/scheme.h"

enum {
	GG_AGENT_FUNCTIONS_VERSION = 1,
	GG_AGENT_KEY_BITS = 48 /* of an object in its heap */
};

/* The current settings, from which libgeiger draws its samples. */
struct gg_agent_settings {
	/* Changes with each member below.  0: nothing is recorded, now or ever. */
	uint32_t change_count;
	/* The generation of the process.  A forked child has another one, and new samplers. */
	uint32_t generation;
	bool is_active;
	uint64_t interval_bytes;
	uint64_t seed; /* 0: the system chooses one */
	enum gg_scheme scheme;
};

/* Settings to change; members that are zero or false change nothing. */
struct gg_agent_request {
	bool set_active, active;
	uint64_t interval_bytes;
	uint64_t seed;         /* only at the start, as is `directory` */
	const char *directory; /* NULL: the environment decides */
};

struct gg_agent_sample {
	uint64_t key;
	uint64_t size_bytes;
	struct gg_draw draw;
	const uint64_t *pcs; /* innermost first; frames of runtimes by frame() */
	uint32_t pc_count;
	uint16_t heap, type; /* by name() */
	uint8_t flags;       /* GG_SAMPLE_... */
};

/*
 * The requests of libgeiger-compat before the agent starts, from its function
 * geiger_compat_begin().  Members that are zero or false leave the decision to the environment.
 */
struct gg_agent_begin {
	uint32_t bytes; /* size of this struct, as the agent knows it */
	bool waits;     /* records nothing until the program calls start() */
	bool set_active, active;
	uint64_t interval_bytes;
	uint32_t max_frames;                      /* of a stack */
	const struct gg_agent_triggers *triggers; /* NULL: as the environment says */
};

struct gg_agent_functions;
typedef void gg_compat_begin(const struct gg_agent_functions *agent, struct gg_agent_begin *begin);

/* The bytes that the calling thread has allocated and freed, by malloc and its relatives. */
struct gg_agent_bytes {
	uint64_t allocated; /* exact, by requested sizes */
	uint64_t freed;     /* estimated by its samples */
	/* The thread's own two words; this call and samples update them. */
	const uint64_t *byte_counts;
};

/* How a dump is written. */
enum gg_agent_dump_form {
	GG_AGENT_DUMP_HEAP_V2 = 1,
	GG_AGENT_DUMP_HEAP_V2_LIVE, /* allocations are 0, as in jemalloc without prof_accum */
	GG_AGENT_DUMP_GPERFTOOLS
};

/* A frame of a language runtime.  The texts are never NULL. */
struct gg_agent_frame {
	const char *function, *file;
	uint32_t line;      /* 0: not known */
	const void *native; /* in the native frame that runs it; NULL: not known */
};

/* The code of a runtime's loop that runs one frame a call; all-zero: not known. */
struct gg_runtime_loop {
	uint64_t begin, end;
};

/* The frames of a language runtime, for the stacks of malloc's samples. */
struct gg_agent_frame_source {
	/*
	 * Reads the calling thread's frames, innermost first, and returns their number (at most
	 * `max`).  The agent calls it inside an allocation, on the sample path, so it must not
	 * allocate, lock, or wait.  Texts live until the agent has copied them; the source may put
	 * them into `texts`.
	 */
	size_t (*read)(struct gg_agent_frame *frames, size_t max, char *texts, size_t text_bytes);
	struct gg_runtime_loop loop; /* for frames without an address on the native stack */
};

/* A function that resizes a block of the program; `context` is the allocator's own. */
typedef void *gg_agent_resize(void *context, void *p, size_t bytes);

/*
 * The functions by which an adapter counts blocks that do not come from malloc, such as pieces of
 * an arena, in a process with exact counts (runtime/exact_mode.h).  The allocator may take a block
 * from malloc, whose hook counts it then; these functions notice that, and do not count it again.
 */
struct gg_exact_calls {
	bool (*is_on)(void);
	/* The number of blocks that the calling thread has counted. */
	uint64_t (*begin)(void);
	/* After the allocation; `begun` is from before it.  p may be NULL. */
	void (*allocated)(uint64_t begun, void *p, size_t bytes);
	/* Before the block is freed. */
	void (*freed)(void *p);
	/* Calls `resize`, which has the result of realloc(). */
	void *(*resize)(gg_agent_resize *resize, void *context, void *p, size_t bytes);
};

typedef void gg_agent_visit(uint64_t key, uint64_t id, bool is_old, void *context);

struct gg_agent_functions {
	uint32_t version, bytes; /* GG_AGENT_FUNCTIONS_VERSION, and of this struct */

	/*
	 * The first word of the filter: gg_filter_view_maybe() tells whether a key may be a sample.
	 */
	const uint64_t *filter_view;

	/* Starts recording, if it has not started yet.  0 or -Exxx. */
	int (*start)(const struct gg_agent_request *request);
	/*
	 * Changes settings, as another process would through the region.  -ENOENT: nothing is
	 * recorded.
	 */
	int (*change)(const struct gg_agent_request *request);
	void (*read_settings)(struct gg_agent_settings *ret_settings);
	/* The calling thread's own interval, for blocks of malloc; 0: that of the process. */
	void (*thread_interval)(uint64_t interval_bytes);

	/* The number of a heap or type of that name (GG_TABLE_HEAPS, GG_TABLE_TYPES); 0: none. */
	uint32_t (*name)(enum gg_region_table_id table, const char *name, size_t bytes);

	/* The address that stands for a runtime's frame in stacks; 0: the table is full. */
	uint64_t (*frame)(const struct gg_frame_info *info);

	/*
	 * The sample's id; 0: dropped, counted.  A live sample of the same key is closed as missed.
	 */
	uint64_t (*record)(const struct gg_agent_sample *sample);
	/* The id of the live sample of that key; 0: no live sample has that key. */
	uint64_t (*find)(uint64_t key);
	/*
	 * True: it was a sample, and is closed now.  id: closes only the sample of that id; 0: any.
	 */
	bool (*close)(uint64_t key, uint64_t id);
	/* gg_region_record_move() and _promote(). */
	bool (*move)(uint64_t from, uint64_t to, uint64_t id);
	bool (*promote)(uint64_t key, uint64_t id);
	/* Visits the live samples of a heap, by its number in the region. */
	void (*each)(uint32_t heap, gg_agent_visit *visit, void *context);

	/* Writes a copy of the region.  0, or -Exxx: geiger_snapshot(). */
	int (*snapshot)(const char *path);

	/* --- for libgeiger-compat: runtime/compat_calls.h has what each does --- */
	void (*log)(const char *line);
	bool (*thread_active)(int new_state);
	bool (*thread_active_init)(int new_state);
	int (*thread_name)(const char *name);
	void (*thread_bytes)(struct gg_agent_bytes *ret_bytes);
	void (*apply_settings)(void);
	const struct gg_history_calls *history;

	/*
	 * dump() replaces a file atomically, dump_to() calls flush(), and dump_reset() makes later
	 * dumps leave out earlier samples (src/runtime/dump/dump.h). 0 or -Exxx; -ENOENT: nothing
	 * is recorded.
	 */
	int (*dump)(const char *path, enum gg_agent_dump_form form);
	int (*dump_to)(enum gg_agent_dump_form form, gg_dump_flush *flush, void *context);
	int (*dump_reset)(void);

	/*
	 * Writes a dump under the next name of a kind: 'i', 'u', 'm' or 'f'.  -EINVAL: there is no
	 * prefix.
	 */
	int (*dump_next)(char kind);
	/* The triggers of automatic dumps and the names of those; also before start(). */
	int (*set_triggers)(const struct gg_agent_triggers *triggers);
	int (*get_triggers)(struct gg_agent_triggers *ret_triggers);

	/*
	 * --- hints of libgeiger: it is about to record an object of that key, or to find objects
	 * of these keys and perhaps close or move them (region/writer/prefetch.h) ---
	 */
	void (*prefetch_record)(uint64_t key);
	void (*prefetch_objects)(const uint64_t *keys, uint32_t count);

	/*
	 * The bytes that the calling thread has left before malloc's next sample point:
	 * geiger_upstream_begin().
	 */
	int64_t *(*malloc_left_bytes)(void);

	/* gg_region_record_type(), with the number of a name in GG_TABLE_TYPES. */
	bool (*set_type)(uint64_t key, uint64_t id, uint16_t type);

	/*
	 * Stacks of malloc's samples get the frames of this source from now on.  It is valid until
	 * the process ends.
	 */
	void (*set_frame_source)(const struct gg_agent_frame_source *source);

	/* They count blocks of an adapter.  NULL: this library cannot count every allocation. */
	const struct gg_exact_calls *exact;

	/*
	 * The interval follows an overhead or an error, in millionths, from now on.  0: any; NULL:
	 * as before.  0, -EINVAL: out of range, or a scheme that cannot follow it; -ENOENT: nothing
	 * is recorded.
	 */
	int (*hold)(const uint32_t *overhead_ppm, const uint32_t *error_ppm);

	/*
	 * record(), which also says what the sample costs, for an overhead that the interval
	 * follows.  begin_ns: when the caller began to work for it (CLOCK_MONOTONIC), so that its
	 * stack and its names count; 0: unknown.  has_hooks: each allocation of the heap passes
	 * through a hook; false: the runtime samples by itself.
	 */
	uint64_t (*record_timed)(const struct gg_agent_sample *sample, uint64_t begin_ns,
	                         bool has_hooks);

	/*
	 * True if the process is about to forbid itself system calls, or has done so: then only
	 * those of malloc() are safe (runtime/platform/seccomp.h).
	 */
	bool (*is_sandboxed)(void);

	/*
	 * A full collection that began at begin_ns (CLOCK_MONOTONIC) has ended, and deaths that it
	 * found are recorded.
	 */
	void (*collected)(uint64_t begin_ns);

	/* Tells whether objects of a Java VM are shown. */
	void (*set_java_state)(enum gg_region_java state);

	/* Objects are exposed to this sampling interval from now on, not to that of the process. */
	void (*expose)(uint64_t interval_bytes);

	/*
	 * Says how many Java threads ran at the attach, how many of these have come to a sample
	 * point since, and how many ended before it.  Calls may come in any order: the largest
	 * counts stay.  False: the counts are not kept, and another call may succeed.
	 */
	bool (*count_java_threads)(uint32_t thread_count, uint32_t sampled_count,
	                           uint32_t ended_count);

	/* The most frames of a stack, so that an adapter asks its runtime for no more. */
	uint32_t (*max_frames)(void);
};

/* The table of the runtime that this library links. */
extern const struct gg_agent_functions gg_agent_functions;

static inline uint64_t gg_agent_key(uint32_t heap, uint64_t object)
{
	return (uint64_t)heap << GG_AGENT_KEY_BITS | object;
}
