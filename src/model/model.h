/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model - one profile or several, read-only in memory; every report is computed from it.
 *
 *   struct gg_model *model;
 *
 *   if (gg_model_load(&model, &profile, 1, NULL, error) < 0)
 *           return error->code;
 *   gg_query_rows(...)                               query.h: rows with estimates
 *   gg_model_free(model);
 *
 * gg_model_load() reads the profiles once; the model never changes after that.  Samples, processes,
 * threads, modules, stacks, functions, and lines have dense numbers.  Number 0 of each means
 * "unknown", so that arrays need no offset.  The numbers belong to the model, not to a file,
 * because several profiles share one number space.
 *
 * Times     Nanoseconds since the start of the earliest profile.  Wall clocks place the starts of the
 *           other profiles on this axis.
 * Stacks    A tree: a stack is a frame and a caller, which is a stack with a smaller number.  A frame
 *           has one location for itself and one for each call that was inlined into it.
 * Tops      Reports leave out the frames of the allocator and of geiger at the top of a stack, and
 *           begin with their caller.  gg_model_stack_top() finds it.
 * Blocks    A process that forks passes its samples to the child, which has them as samples again.
 *           All samples of one block have the same `block`, the number of the first of them.  Reports
 *           over several processes count a block once, for as long as any process holds it.
 *
 * Memory    96 bytes a sample and 12 bytes a stack, until gg_model_free().
 * Threads   Any number of threads may read a model.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/error.h"
#include "profile/profile.h"
#include "stats/estimate/tally.h"

struct gg_model;

struct gg_model_options {
	/*
	 * True if the function is an entry of the allocator or of geiger, which reports leave out
	 * of stacks.  `function` or `module` may be NULL.  A NULL callback leaves nothing out.
	 */
	bool (*is_entry)(const char *function, const char *module);
	/*
	 * Supplies lines for frames that have none in the profile, in the order of
	 * gg_profile_each_line(): all lines of one frame, then those of the next.  The load calls
	 * it once for each profile, and fails with its status.  NULL: there are no further lines.
	 */
	int (*more_lines)(gg_line_visit *visit, void *visitor, void *context);
	void *context;
};

/*
 * Reads all profiles.  The caller may close them afterwards.  `options` may be NULL.
 * -ENOMEM, or the error of the profile's reader.
 */
GG_MUST_CHECK int gg_model_load(struct gg_model **ret_model, struct gg_profile *const *profiles,
                                size_t profile_count, const struct gg_model_options *options,
                                struct gg_error *error);
void gg_model_free(struct gg_model *model); /* NULL is fine */

/* --- samples ------------------------------------------------------------------------------- */

struct gg_model_sample {
	int64_t alloc_ns; /* inherited samples: when this process began to hold the block */
	int64_t free_ns; /* GG_TIME_NONE: its process never freed it; see gg_model_sample_until() */
	uint64_t size_bytes;
	struct gg_draw draw;
	double weighted_bytes; /* the bytes that the sample stands for: size / p */
	uint32_t slack_bytes;  /* usable size less requested size, UINT32_MAX at most */
	uint32_t process, thread, stack, kind;
	uint32_t block; /* number of the first sample of its block; its own unless inherited */
	uint32_t flags; /* GG_PROFILE_SAMPLE_* of records.h, GG_MODEL_* */
};

enum {
	GG_MODEL_INHERITED =
		1 << 30, /* its process did not allocate the block, but was forked with it */
	GG_MODEL_LEFT = 1 << 29, /* in queries: some process that held the block never freed it */
};

/* All samples, by number.  The order is that of the file, which is nearly that of time. */
const struct gg_model_sample *gg_model_samples(const struct gg_model *model, size_t *ret_count);

/* Aggregates of freed samples (records.h); process, thread, and stack have the model's numbers. */
const struct gg_profile_coarse *gg_model_coarse(const struct gg_model *model, size_t *ret_count);

/* Adds an aggregate to the tally; conservative where third cumulants are missing (tally.h). */
void gg_model_add_coarse(const struct gg_model *model, struct gg_tally *tally,
                         const struct gg_profile_coarse *coarse);

/* --- functions, lines, stacks --------------------------------------------------------------- */

struct gg_code_location {
	uint32_t function, line; /* numbers of gg_model_function() and gg_model_line() */
};

/* Full name and module identify a function; for functions without linkage the file does, too. */
struct gg_model_function {
	/*
	 * The name on screens: short, with as many arguments as are needed to distinguish functions
	 * of one short name (distinct_names.h).  "[unknown]" or "libx.so+0x12" where no name is
	 * known; never NULL.
	 */
	const char *name;
	const char *short_name;   /* without arguments, even if ambiguous; never NULL */
	const char *full_name;    /* with arguments; NULL: no name is known */
	const char *linkage_name; /* NULL: unknown, or equal to the full name */
	const char *file;         /* distinguishes functions of one full name; NULL: not needed */
	uint32_t module;
	bool is_named; /* false: the name was made of an address */
};

struct gg_model_line {
	uint32_t function;
	uint32_t line;    /* 0: not known */
	const char *file; /* NULL: not known */
};

/* How gg_model_name_functions() names functions. */
struct gg_names_query {
	bool full_names; /* full names on screens, too; "helper [a.c]" where files distinguish functions */
	/* The models come from different builds, so names leave out what differs between builds. */
	bool across_builds;
};

/*
 * Names the functions of all models together, so that equal names mean the same function.  A
 * freshly loaded model has short names that are distinct within that model.  Call this before other
 * threads read the models.  -ENOMEM.
 */
GG_MUST_CHECK int gg_model_name_functions(struct gg_model *const *models, size_t model_count,
                                          const struct gg_names_query *query,
                                          struct gg_error *error);

size_t gg_model_function_count(const struct gg_model *model);
struct gg_model_function gg_model_function(const struct gg_model *model, uint32_t function);
size_t gg_model_line_count(const struct gg_model *model);
struct gg_model_line gg_model_line(const struct gg_model *model, uint32_t line);

/* A module's path, and its build-id in hexadecimal ("": none).  Module 0 is "[unknown]". */
size_t gg_model_module_count(const struct gg_model *model);
const char *gg_model_module_path(const struct gg_model *model, uint32_t module);
const char *gg_model_module_name(const struct gg_model *model, uint32_t module);   /* no folders */
const char *gg_model_module_status(const struct gg_model *model, uint32_t module); /* or NULL */
const char *gg_model_module_build_id(const struct gg_model *model, uint32_t module);

/* Mappings of modules into processes, with the model's numbers, in no particular order. */
const struct gg_profile_mapping *gg_model_mappings(const struct gg_model *model, size_t *ret_count);

size_t gg_model_stack_count(const struct gg_model *model);
uint32_t gg_model_stack_parent(const struct gg_model *model, uint32_t stack); /* 0: outermost */
/* The stack without the allocator's frames at its top; 0 if it has no other frames. */
uint32_t gg_model_stack_top(const struct gg_model *model, uint32_t stack);
/* The locations of a stack's innermost frame, innermost inlined call first; at least one. */
const struct gg_code_location *gg_model_stack_places(const struct gg_model *model, uint32_t stack,
                                                     size_t *ret_count);

/* The address of the call in a stack's innermost frame, as struct gg_profile_frame has it. */
struct gg_model_spot {
	uint32_t module; /* 0: in no module; the address is absolute */
	uint64_t address;
};
struct gg_model_spot gg_model_stack_spot(const struct gg_model *model, uint32_t stack);

/*
 * Writes the locations of a stack from its top on, innermost first, `max` at most.  Returns the
 * number of locations that the stack has.
 */
size_t gg_model_path(const struct gg_model *model, uint32_t stack, struct gg_code_location *places,
                     size_t max);

/* The name of an allocation class: "malloc", "mapping", "pool", or with a type "pool: Node". */
size_t gg_model_kind_count(const struct gg_model *model);
const char *gg_model_kind_name(const struct gg_model *model, uint32_t kind);

/*
 * The two parts of an allocation class.  Heaps are "malloc", "mapping", and those that programs
 * have registered.  Type 0 is "[no type]".
 */
struct gg_model_kind {
	uint32_t heap, type;
};
struct gg_model_kind gg_model_kind(const struct gg_model *model, uint32_t kind);
size_t gg_model_heap_count(const struct gg_model *model);
const char *gg_model_heap_name(const struct gg_model *model, uint32_t heap);
size_t gg_model_type_count(const struct gg_model *model);
const char *gg_model_type_name(const struct gg_model *model, uint32_t type);

/* Counts the frames whose function has no name, and finds the module with most of them. */
struct gg_model_unresolved {
	uint64_t frame_count, all_frame_count;
	uint32_t worst_module; /* 0: code in no module */
	uint64_t worst_frame_count;
};
struct gg_model_unresolved gg_model_unresolved(const struct gg_model *model);

/* --- processes and times -------------------------------------------------------------------- */

/*
 * The texts live as long as the model.  `id` is the number in the model.  Processes and threads
 * begin at number 1; number 0 is all-zero.
 */
const struct gg_profile_process *gg_model_processes(const struct gg_model *model,
                                                    size_t *ret_count);
const struct gg_profile_thread *gg_model_threads(const struct gg_model *model, size_t *ret_count);

/*
 * The time until which the process held the blocks that it never freed: its end.  GG_TIME_NONE: the
 * process was among the last of its session, so its blocks are live at the end (last_end.h).
 * Process 0 has no end.
 */
int64_t gg_model_process_until(const struct gg_model *model, uint32_t process);
/* The time until which a sample's own process held it: its free, or the time above. */
int64_t gg_model_sample_until(const struct gg_model *model, const struct gg_model_sample *sample);
/* False if a process with the same pid ended later in the session, for example after exec(). */
bool gg_model_ends_last_of_pid(const struct gg_model *model, uint32_t process);
/* The end of the process, or of the model if the process still ran then. */
int64_t gg_model_process_end(const struct gg_model *model, uint32_t process);

size_t gg_model_session_count(const struct gg_model *model);
const struct gg_profile_session *gg_model_session(const struct gg_model *model, size_t index);

/* Sorted by time.  Process 0 stands for a whole session. */
const struct gg_profile_memory *gg_model_memory(const struct gg_model *model, size_t *ret_count);

size_t gg_model_note_count(const struct gg_model *model);
const char *gg_model_note(const struct gg_model *model, size_t index);

/* A counter of the recording, such as "drop_live_full", for one process. */
struct gg_model_counter {
	uint32_t process;
	const char *name;
	uint64_t value;
};
const struct gg_model_counter *gg_model_counters(const struct gg_model *model, size_t *ret_count);

/*
 * A span of a process's time.  Losses: the recorder lost events of this span, and compared its live
 * set with the region at the end of the span.  Pauses: sampling was off; to_ns is GG_TIME_NONE if
 * it stayed off.
 */
struct gg_model_span {
	uint32_t process;
	int64_t from_ns, to_ns;
};
const struct gg_model_span *gg_model_losses(const struct gg_model *model, size_t *ret_count);
const struct gg_model_span *gg_model_pauses(const struct gg_model *model, size_t *ret_count);

/* How many samples and frees of the process (0: all processes) the agent dropped. */
uint64_t gg_model_dropped(const struct gg_model *model, uint32_t process);

/*
 * True if the process (0: any process) allocated more in the window than its samples tell, because
 * the agent dropped samples or sampling was off.
 */
bool gg_model_is_incomplete(const struct gg_model *model, uint32_t process, int64_t from_ns,
                            int64_t to_ns);

/* The earliest time at which the block can have been freed: free_ns, unless that time was lost. */
int64_t gg_model_freed_from(const struct gg_model *model, const struct gg_model_sample *sample);

/*
 * A label of a process, such as ("host", "web-3").  Texts are interned: equal texts are one
 * pointer. The array is sorted by process.
 */
struct gg_model_label {
	uint32_t process;
	const char *key, *value;
};
const struct gg_model_label *gg_model_labels(const struct gg_model *model, size_t *ret_count);
/* The value of the process's label with that key; NULL: no such label. */
const char *gg_model_label(const struct gg_model *model, uint32_t process, const char *key);

/* The end of the last session, or the time of the last event if that is later. */
int64_t gg_model_end_ns(const struct gg_model *model);
/* True if every session recorded the times of its allocations and frees. */
bool gg_model_has_history(const struct gg_model *model);
/* False for imported and merged profiles, which do not know the times of live samples either. */
bool gg_model_has_times(const struct gg_model *model);
/* The number of all samples ever taken, those in aggregates included. */
uint64_t gg_model_sample_total(const struct gg_model *model);
/* True if no process was recorded and nothing imported, so that no bound is known either. */
bool gg_model_is_unprofiled(const struct gg_model *model);

/*
 * The largest sampling interval in bytes to which the process (0: any process) was exposed; 0 if
 * the scheme does not sample by bytes (per-allocation).
 */
double gg_model_interval(const struct gg_model *model, uint32_t process);

/* The smallest sampling interval in bytes of any process or sample. */
double gg_model_least_interval(const struct gg_model *model);

/* The largest sampling interval of any size in bytes; `optimal` samples some sizes more coarsely. */
double gg_model_exposure(const struct gg_model *model, uint32_t process);
