/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_functions - what libgeiger asks of whoever writes a region: the agent, where it is preloaded, or else
 * the same code inside libgeiger.
 *
 * The agent exports one symbol, geiger_agent_interface, which points to this table.  libgeiger looks for
 * it by name, so either side is there without the other, or of another version: a table of another
 * version is as if there were no agent.  libgeiger's own table is gg_agent_functions (src/runtime/agent_table.c).
 *
 * Objects    are known by a key: the heap's number in the region above 48 bits of address or id
 *            (gg_agent_key).  Blocks of malloc have heap 0, so no two of them meet.
 * Threads    any, also in signal handlers; a call that interrupts another one of its thread does nothing
 *            and is counted in the region.
 * Never      allocates or locks, but start() and snapshot().  errno is kept.
 * Later      functions are added at the end: who finds a table of fewer bytes does without (the compat library).
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

/* What is recorded now, and how samples are to be drawn. */
struct gg_agent_settings {
	uint32_t change_count; /* of all below; 0: nothing is recorded, now or ever */
	uint32_t generation;   /* processes forked since the first one: samplers start anew */
	bool is_active;
	uint64_t interval_bytes;
	uint64_t seed; /* 0: none was asked for */
	enum gg_scheme scheme;
};

/* What is to be different; zeros and false: nothing. */
struct gg_agent_wish {
	bool set_active, active;
	uint64_t interval_bytes;
	uint64_t seed;         /* at the start alone, like: */
	const char *directory; /* NULL: as the environment says */
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
 * What libgeiger-compat, where it is there, has to say before the agent starts: it exports
 * geiger_compat_begin().  Zeros and false: as the environment says.
 */
struct gg_agent_begin {
	uint32_t bytes; /* of this struct, as the agent knows it */
	bool waits;     /* nothing is recorded until the program asks: start() */
	bool set_active, active;
	uint64_t interval_bytes;
	uint32_t max_frames;                      /* of a stack */
	const struct gg_agent_triggers *triggers; /* NULL: as the environment says */
};

struct gg_agent_functions;
typedef void gg_compat_begin(const struct gg_agent_functions *agent, struct gg_agent_begin *begin);

/* What the calling thread has allocated and freed, by malloc and its relatives. */
struct gg_agent_bytes {
	uint64_t allocated; /* as asked for, exactly */
	uint64_t freed;     /* estimated by its samples */
	/* Both, where the thread keeps them; brought up to date by this call, and at samples. */
	const uint64_t *words;
};

/* How a dump is written. */
enum gg_agent_dump_form {
	GG_AGENT_DUMP_HEAP_V2 = 1,
	GG_AGENT_DUMP_HEAP_V2_LIVE, /* what was allocated is 0: jemalloc's without prof_accum */
	GG_AGENT_DUMP_GPERFTOOLS
};

typedef void gg_agent_visit(uint64_t key, uint64_t id, bool is_old, void *context);

struct gg_agent_functions {
	uint32_t version, bytes; /* GG_AGENT_FUNCTIONS_VERSION, and of this struct */

	/* The filter's first word: is a key perhaps that of a sample (gg_filter_view_maybe())? */
	const uint64_t *filter_view;

	/* Begins to record, if it does not yet.  0, or why it cannot. */
	int (*start)(const struct gg_agent_wish *wish);
	/* Changes settings, as another process would through the region.  -ENOENT: nothing is recorded. */
	int (*change)(const struct gg_agent_wish *wish);
	void (*look)(struct gg_agent_settings *ret_settings);
	/* The calling thread's own interval, for blocks of malloc; 0: that of the process. */
	void (*thread_interval)(uint64_t interval_bytes);

	/* The number of a heap or type of that name (GG_TABLE_HEAPS, GG_TABLE_TYPES); 0: none. */
	uint32_t (*name)(enum gg_region_table_id table, const char *name, size_t bytes);

	/* What stands for a runtime's frame in a stack; 0: it has no place. */
	uint64_t (*frame)(const struct gg_frame_info *info);

	/* The sample's id; 0: dropped, counted.  A live sample of the same key is closed as missed. */
	uint64_t (*record)(const struct gg_agent_sample *sample);
	/* The id of the live sample of that key; 0: there is none. */
	uint64_t (*find)(uint64_t key);
	/* True: it was a sample, and is closed.  id: only that one; 0: whichever. */
	bool (*close)(uint64_t key, uint64_t id);
	/* gg_region_record_move() and _promote(). */
	bool (*move)(uint64_t from, uint64_t to, uint64_t id);
	bool (*promote)(uint64_t key, uint64_t id);
	/* Visits the live samples of a heap, by its number in the region. */
	void (*each)(uint32_t heap, gg_agent_visit *visit, void *context);

	/* Writes a copy of the region.  0, or -Exxx: geiger_snapshot(). */
	int (*snapshot)(const char *path);

	/* --- for libgeiger-compat: runtime/compat_calls.h has what each does --- */
	void (*say)(const char *line);
	bool (*thread_active)(int wish);
	bool (*thread_active_init)(int wish);
	int (*thread_name)(const char *name);
	void (*thread_bytes)(struct gg_agent_bytes *ret_bytes);
	void (*look_now)(void);
	const struct gg_history_calls *history;

	/* Writes a dump, atomically; through flush(); and lets what was until now not count in dumps any
	 * more (src/runtime/dump/dump.h).  0 or -Exxx; -ENOENT: nothing is recorded. */
	int (*dump)(const char *path, enum gg_agent_dump_form form);
	int (*dump_to)(enum gg_agent_dump_form form, gg_dump_flush *flush, void *context);
	int (*dump_reset)(void);

	/* Writes a dump under the next name of a kind: 'i', 'u', 'm' or 'f'.  -EINVAL: there is no prefix. */
	int (*dump_next)(char kind);
	/* When dumps are written without being asked for, and under which names; also before start(). */
	int (*set_triggers)(const struct gg_agent_triggers *triggers);
	int (*look_triggers)(struct gg_agent_triggers *ret_triggers);

	/* --- for libgeiger, hints: an object of that key is about to be recorded; of these, to be found, and
	 * perhaps closed or moved (region/writer/prefetch.h) --- */
	void (*expect_record)(uint64_t key);
	void (*expect_found)(const uint64_t *keys, uint32_t count);

	/* What the calling thread has left before malloc's next mark: geiger_upstream_begin(). */
	int64_t *(*malloc_left_bytes)(void);
};

/* libgeiger's own. */
extern const struct gg_agent_functions gg_agent_functions;

static inline uint64_t gg_agent_key(uint32_t heap, uint64_t object)
{
	return (uint64_t)heap << GG_AGENT_KEY_BITS | object;
}
