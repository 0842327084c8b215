/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model - one profile or several, read-only in memory; every report is computed from it.
 *
 *   struct gg_model *model;
 *
 *   if (gg_model_load(&model, &profile, 1, NULL, error) < 0)
 *           return error->status;
 *   for (size_t i = 0; i < model->sample_count; i++)
 *           bytes += model->samples[i].weighted_bytes;
 *   gg_model_free(model);
 *
 * gg_model_load() reads the profiles once and publishes their data as arrays.  The arrays never
 * change after that, except for the names of functions (gg_model_name_functions()).  Samples,
 * processes, threads, modules, stacks, frames, functions, and lines are numbered by their index in
 * the arrays.  Number 0 means "unknown" in all of these arrays except `samples`, so users need no
 * test for it.  The numbers belong to the model, not to a file, because several profiles share one
 * number space.
 *
 * Times     Nanoseconds since the start of the earliest profile.  Wall clocks place the starts of
 *           the other profiles on this axis.
 * Texts     Interned: equal texts of one model are one pointer, which lives as long as the model.
 * Stacks    A tree: a stack is a frame and a caller, which is a stack with a smaller number.  A
 *           frame has one location for itself and one for each call that was inlined into it.
 * Tops      Reports leave out the frames of the allocator and of geiger at the top of a stack, and
 *           begin with their caller, the stack's `top`.  They also leave out functions that only
 *           allocate for others, such as xmalloc() (gg_model_hide_functions()).
 * Blocks    A process that forks passes its samples to the child, which has them as samples again.
 *           All samples of one block have the same `block`, the number of the first of them.
 *           Reports over several processes count a block once, for as long as any process holds it.
 * Hostile   A profile may hold anything.  The loader checks every number against the array that it
 *           points into, so users need not (gg_model_validate()).
 *
 * Memory    96 bytes a sample and 12 bytes a stack, until gg_model_free().
 * Threads   Any number of threads may read a model.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/error.h"
#include "base/progress.h"
#include "profile/profile.h"
#include "stats/estimate/tally.h"

/* --- parts of a model ----------------------------------------------------------------------- */

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

/* One function and line of a frame. */
struct gg_code_location {
	uint32_t function, line;
};

/*
 * A function.  Its full name and its module identify it.  A function without linkage needs its file
 * as well.
 */
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
	bool is_named;         /* false: the name was made of an address */
	bool is_entry;         /* an entry of the allocator or of geiger, which reports leave out */
	bool is_wrapper;       /* allocates on behalf of its callers */
	bool is_found_wrapper; /* the stacks show that it is a wrapper; its name did not */
	bool is_inside_wrapper; /* found, nameless, and called by a wrapper, which rows name */
};

struct gg_model_line {
	uint32_t function;
	uint32_t line;    /* 0: not known */
	const char *file; /* NULL: not known */
};

/* Module 0 is "[unknown]": code in no module. */
struct gg_model_module {
	const char *path, *name; /* `name` has no folders */
	const char *status;      /* why there are no names, as the profile has it; or NULL */
	const char *build_id;    /* in hexadecimal; "": none */
};

/*
 * A module and the address of a call, as struct gg_profile_frame has it, with the locations of the
 * code there: locations[first_location ... + location_count), the innermost inlined call first.
 */
struct gg_model_frame {
	uint64_t address; /* absolute if in no module */
	uint32_t module;
	uint32_t first_location;
	uint32_t location_count; /* at least 1 */
};

struct gg_model_stack {
	uint32_t parent; /* the caller's stack: a smaller number; 0 for the outermost frame */
	uint32_t frame;  /* the innermost one */
	uint32_t top;    /* the stack without the allocator's frames; 0 if it has no other frames.
	                  * Another node of the tree if a part of a frame is hidden. */
};

/*
 * An allocation class.  Heaps are "malloc", "mapping", and those that programs have registered.
 * Type 0 is "[no type]".
 */
struct gg_model_kind {
	const char *name; /* "malloc", "mapping", "pool", or with a type "pool: Node" */
	uint32_t heap, type;
};

/* A counter of the recording, such as "samples dropped: live full", for one process. */
struct gg_model_counter {
	uint32_t process;
	const char *name;
	uint64_t value;
};

/* A change of a process's sampling interval. */
struct gg_model_interval_change {
	uint32_t process;
	int64_t time_ns;
	double from_bytes, to_bytes;
};

/* A full collection of a runtime's heap, by its begin. */
struct gg_model_full_collection {
	uint32_t process;
	int64_t time_ns;
};

/* The work of a garbage collector since the entry before of its process.  Bytes: -1 is unknown. */
struct gg_model_collections {
	uint32_t process;
	int64_t time_ns;
	int64_t minor_count, step_count, major_count; /* a major collection consists of steps */
	int64_t pause_ns, longest_ns;
	int64_t heap_bytes, most_bytes; /* at time_ns, and the largest since the one before */
	int64_t arena_bytes, large_bytes;
};

/* A label of a process, such as ("host", "web-3"). */
struct gg_model_label {
	uint32_t process;
	const char *key, *value;
};

/*
 * A span of a process's time.  Losses: the recorder lost events of this span, and compared its live
 * set with the region at the end of the span.  Pauses: sampling was off; to_ns is GG_TIME_NONE if
 * it stayed off.
 */
struct gg_model_span {
	uint32_t process;
	int64_t from_ns, to_ns;
};

/*
 * The peak of the whole model, which several queries need and which takes a pass over all samples.
 * The mutex guards the other members.  A query holds it while it computes the peak, so that another
 * query waits and does not compute it as well (query_time.c).
 */
struct gg_model_memo {
	pthread_mutex_t mutex;
	bool has_peak;
	int64_t peak_ns, most_ns;
	double peak_bytes, most_bytes;
};

/* The sample of a look's block that the profile does not have (any more). */
#define GG_MODEL_NO_SAMPLE UINT64_MAX

/* --- the model ------------------------------------------------------------------------------ */

struct gg_model {
	/* In the order of the files, nearly that of time.  Number 0 is an ordinary sample. */
	const struct gg_model_sample *samples;
	size_t sample_count;

	/* Aggregates of freed samples (records.h), with the model's numbers and times. */
	const struct gg_profile_aggregate *aggregates;
	/*
	 * By aggregate: the tally of its samples, for models whose source knows each sample.  NULL:
	 * the sums in the aggregates are all that is known, and intervals allow for that.
	 */
	const struct gg_tally *aggregate_tallies;
	const uint32_t *aggregate_kinds; /* by aggregate; see gg_model_aggregate_kind() */
	size_t aggregate_count;

	/*
	 * `id` is the number in the model.  Number 0 is all-zero.
	 *
	 * process_until_ns: by process, the time until which it held the blocks that it never
	 * freed: its end.  GG_TIME_NONE: the process was among the last of its session, so its
	 * blocks are live at the end (live_at_end.h).  Process 0 has no end.
	 */
	const struct gg_profile_process *processes;
	const uint32_t *process_sessions; /* by process: the index of its session */
	const int64_t *process_until_ns;
	size_t process_count;

	/* `id` is the number in the model.  Number 0 is all-zero. */
	const struct gg_profile_thread *threads;
	size_t thread_count;

	/* One for each profile. */
	const struct gg_profile_session *sessions;
	size_t session_count;

	/*
	 * stack_vias: by stack that is a top, the outermost of the hidden functions through which
	 * it allocated, or 0.  NULL: no function was hidden.
	 */
	const struct gg_model_stack *stacks;
	const uint32_t *stack_vias;
	size_t stack_count;
	/* Frames from read_frame_count on are parts of the frames before; hiding made them. */
	const struct gg_model_frame *frames;
	size_t frame_count, read_frame_count;
	const struct gg_code_location *locations; /* frame by frame */
	size_t location_count;
	const struct gg_model_function *functions;
	size_t function_count;
	const struct gg_model_line *lines;
	size_t line_count;
	const struct gg_model_module *modules;
	size_t module_count;

	/* Mappings of modules into processes, with the model's numbers, in no particular order. */
	const struct gg_profile_mapping *mappings;
	size_t mapping_count;

	/* Allocation classes, and the names of their two parts. */
	const struct gg_model_kind *kinds;
	size_t kind_count;
	const char *const *heaps, *const *types;
	size_t heap_count, type_count;

	/* Readings of resident memory, sorted by time.  Process 0 stands for a whole session. */
	const struct gg_profile_memory *memory;
	size_t memory_count;

	const struct gg_model_counter *counters;
	size_t counter_count;
	/* In the order of the profile's events, so of one process sorted by time. */
	const struct gg_model_interval_change *interval_changes;
	size_t interval_change_count;
	const struct gg_model_full_collection *full_collections; /* likewise */
	size_t full_collection_count;
	const struct gg_model_collections *collections; /* likewise */
	size_t collections_count;
	const struct gg_model_label *labels; /* sorted by process */
	size_t label_count;
	const char *const *notes;
	size_t note_count;

	/* Memory errors, in the order in which the profiles have them. */
	const struct gg_profile_fault *faults;
	size_t fault_count;

	/* Processes to which the agent was attached, sorted by process, once each. */
	const struct gg_profile_attach *attaches;
	size_t attach_count;

	/* Sorted by process, then by end. */
	const struct gg_model_span *losses, *pauses;
	size_t loss_count, pause_count;

	/*
	 * Looks (records.h), with the model's numbers and times; `id` is the number, from 0 on.
	 * Mappings, blocks, and totals are sorted by look; gg_model_look_blocks() and its neighbors
	 * find those of one look.  The `sample` of a block is a number, or GG_MODEL_NO_SAMPLE.
	 */
	const struct gg_profile_look *looks;
	size_t look_count;
	const struct gg_profile_look_mapping *look_mappings;
	size_t look_mapping_count;
	const struct gg_profile_look_block *look_blocks;
	size_t look_block_count;
	const uint64_t *look_block_ids; /* by block: the id of its sample in its file */
	const struct gg_profile_look_total *look_totals;
	size_t look_total_count;

	uint64_t sample_total; /* all samples ever taken, those in aggregates included */
	int64_t end_ns;        /* the end of the last session, or the last event if that is later */
	bool has_inherited;    /* some sample is inherited */
	double least_interval_bytes; /* of samples that schemes chose by bytes; 0: none */

	struct gg_model_memo *memo; /* the only part that changes; NULL: queries remember nothing */
};

struct gg_model_options {
	/*
	 * True if the function is an entry of the allocator or of geiger, which reports leave out
	 * of stacks.  `function` or `module` may be NULL.  A NULL callback leaves nothing out.
	 */
	bool (*is_entry)(const char *function, const char *module);
	/*
	 * True if the function allocates on behalf of its callers.  gg_model_hide_functions() then
	 * gives them its memory.  `function` is never NULL.  A NULL callback: no function does.
	 */
	bool (*is_wrapper)(const char *function);
	/*
	 * Supplies lines for frames that lack them in the profile, in the order of
	 * gg_profile_each_line(): all lines of one frame, followed by those of the next.  The load
	 * calls it once for each profile, and fails with its status.  May be NULL.
	 */
	int (*more_lines)(gg_line_visit *visit, void *visitor, void *context);
	void *context;
	const struct gg_progress *progress; /* gets samples of each profile; NULL: nobody */
};

/*
 * Reads all profiles.  The caller may close them afterwards.  `options` may be NULL.
 * -ENOMEM, or the error of the profile's reader.
 */
GG_MUST_CHECK int gg_model_load(struct gg_model **ret_model, struct gg_profile *const *profiles,
                                size_t profile_count, const struct gg_model_options *options,
                                struct gg_error *error);
void gg_model_free(struct gg_model *model); /* NULL is fine */

/*
 * Checks that every number lies within the array that it points into, that arrays are sorted as
 * they should be, and that sums agree.  0, or -EBADMSG with an error that names the array and the
 * index.  Any profile, even a damaged one, loads into a valid model.
 */
GG_MUST_CHECK int gg_model_validate(const struct gg_model *model, struct gg_error *error);

/*
 * Gives the aggregates their tallies, which it copies, in the order in which the profile has them.
 * `count` is the number of aggregates.  -ENOMEM.
 */
GG_MUST_CHECK int gg_model_set_aggregate_tallies(struct gg_model *model,
                                                 const struct gg_tally *tallies, size_t count);

/*
 * Returns the number of the aggregate's allocation class, or kind_count if the profile did not keep
 * it.
 */
uint32_t gg_model_aggregate_kind(const struct gg_model *model,
                                 const struct gg_profile_aggregate *aggregate);

/*
 * Adds an aggregate of the model to the tally; conservative where third cumulants are missing
 * (tally.h).
 */
void gg_model_add_aggregate(const struct gg_model *model, struct gg_tally *tally,
                            const struct gg_profile_aggregate *aggregate);

/* --- names and stacks ----------------------------------------------------------------------- */

/* How gg_model_name_functions() names functions. */
struct gg_model_name_options {
	/* Screens show full names, and "helper [a.c]" where files distinguish functions. */
	bool full_names;
	/* The models come from different builds, so names leave out what differs between builds. */
	bool across_builds;
};

/*
 * Names the functions of all models together, so that equal names mean the same function.  A
 * freshly loaded model has short names that are distinct within that model.  Call this before other
 * threads read the models.  -ENOMEM.
 */
GG_MUST_CHECK int gg_model_name_functions(struct gg_model *const *models, size_t model_count,
                                          const struct gg_model_name_options *options,
                                          struct gg_error *error);

/*
 * Finds functions that allocate on behalf of their callers by how stacks look, and sets is_wrapper
 * and is_found_wrapper.  docs/REPORTS.md, "Wrappers of the program's own", has the rule.  A
 * wrapper of one model is a wrapper of all models, so that a diff hides the same functions on both
 * sides.  Call this before gg_model_hide_functions().  -ENOMEM.
 */
GG_MUST_CHECK int gg_model_find_wrappers(struct gg_model *const *models, size_t model_count,
                                         struct gg_error *error);

/* The functions that gg_model_hide_functions() hides besides wrappers. */
struct gg_model_hiding {
	const uint8_t *is_hidden; /* by function: vanishes everywhere; NULL: none */
	/* By function: vanishes from stacks with a frame of a language runtime.  NULL: none. */
	const uint8_t *is_hidden_beside_runtime;
	/*
	 * By module: the program's own code.  Functions of other modules vanish where they are the
	 * innermost functions.  NULL: all modules are the program's own.
	 */
	const uint8_t *is_own_module;
	/* Names the only frame of stacks without a function of own modules.  NULL without these. */
	const char *no_own_frame;
};

/*
 * Hides functions, so that reports name the code that uses them.  Wrappers of the allocator
 * (is_wrapper) vanish where they are the innermost functions of a sample's stack.  A stack of
 * hidden functions alone keeps them.  Nothing but this call hides functions; a second call starts
 * anew.  Call it after gg_model_name_functions(), and before other threads read the model.
 * -ENOMEM; the model may then only be freed.
 */
GG_MUST_CHECK int gg_model_hide_functions(struct gg_model *model,
                                          const struct gg_model_hiding *what,
                                          struct gg_error *error);

/*
 * True for a frame of a language runtime (docs/EMBEDDING.md): its module is its source file, so the
 * frame has no address in native code.
 */
bool gg_model_is_runtime_frame(const struct gg_model *model, const struct gg_model_frame *frame);

/* The innermost frame of a stack. */
static inline const struct gg_model_frame *gg_model_stack_frame(const struct gg_model *model,
                                                                uint32_t stack)
{
	return &model->frames[model->stacks[stack].frame];
}

/* The locations of a stack's innermost frame, innermost inlined call first; at least one. */
static inline const struct gg_code_location *gg_model_stack_locations(const struct gg_model *model,
                                                                      uint32_t stack,
                                                                      size_t *ret_count)
{
	const struct gg_model_frame *frame = gg_model_stack_frame(model, stack);

	*ret_count = frame->location_count;
	return &model->locations[frame->first_location];
}

/*
 * Writes the locations of a stack from its top on, innermost first, `max` at most.  Returns the
 * number of locations that the stack has.
 */
size_t gg_model_path(const struct gg_model *model, uint32_t stack,
                     struct gg_code_location *locations, size_t max);

/* Counts the frames whose function has no name, and finds the module with most of them. */
struct gg_model_unresolved {
	uint64_t frame_count, all_frame_count;
	uint32_t worst_module; /* 0: code in no module */
	uint64_t worst_frame_count;
};
struct gg_model_unresolved gg_model_unresolved(const struct gg_model *model);

/* --- processes and times -------------------------------------------------------------------- */

/*
 * Computes process_until_ns as if only the processes with is_in (NULL: all) existed.
 * ret_until_ns[0..process_count).  -ENOMEM.
 */
GG_MUST_CHECK int gg_model_find_until_ns(const struct gg_model *model, const uint8_t *is_in,
                                         int64_t *ret_until_ns);
/*
 * The earliest time at which the process may have ended, if it ended at until_ns at the latest;
 * GG_TIME_NONE stays as it is.  The two differ where nobody noted the end (struct
 * gg_profile_process).
 */
int64_t gg_model_until_least(const struct gg_model *model, uint32_t process, int64_t until_ns);
/* The time until which a sample's own process held it: its free, or process_until_ns. */
int64_t gg_model_sample_until(const struct gg_model *model, const struct gg_model_sample *sample);
/*
 * The time until which a process held exact blocks: their free, or process_until_ns.  Other
 * aggregates that were never freed are live at the end, unless they are left (records.h).
 */
int64_t gg_model_exact_until(const struct gg_model *model,
                             const struct gg_profile_aggregate *aggregate);
/*
 * The time from which a process held exact blocks until until_ns.  Changes have the times of ticks;
 * a process held at its end what came in its last tick, which may have the time of the end.
 */
int64_t gg_model_exact_from(const struct gg_profile_aggregate *aggregate, int64_t from_ns,
                            int64_t until_ns);
/* False if a process with the same pid ended later in the session, for example after exec(). */
bool gg_model_ends_last_of_pid(const struct gg_model *model, uint32_t process);
/* The end of the process, or of the model if the process still ran then. */
int64_t gg_model_process_end(const struct gg_model *model, uint32_t process);

/* How many samples and frees of the process (0: all processes) the agent dropped. */
uint64_t gg_model_dropped(const struct gg_model *model, uint32_t process);

/*
 * True if the process (0: any process) allocated more in the window than its samples tell, because
 * the agent dropped samples or sampling was off.
 */
bool gg_model_is_incomplete(const struct gg_model *model, uint32_t process, int64_t from_ns,
                            int64_t to_ns);

/*
 * True if Java objects of the process (0: any process) are missing, because threads of its VM ran
 * when the agent was attached.  Other heaps miss nothing for that reason.
 */
bool gg_model_lacks_java_objects(const struct gg_model *model, uint32_t process);

/* True if one of the two above is true of some time: sums of the process may lack objects. */
bool gg_model_lacks_objects(const struct gg_model *model, uint32_t process);

/* True if blocks of that allocation class are Java objects.  kind_count: the class is not known. */
bool gg_model_may_be_java(const struct gg_model *model, uint32_t kind);

/* The earliest time at which the block can have been freed: free_ns, unless that time was lost. */
int64_t gg_model_freed_from(const struct gg_model *model, const struct gg_model_sample *sample);

/* --- looks ---------------------------------------------------------------------------------- */

/*
 * Return the first mapping, block, or total of a look, and how many follow each other there, or
 * NULL if there are no such records.
 */
const struct gg_profile_look_mapping *gg_model_look_mappings(const struct gg_model *model,
                                                             uint32_t look, size_t *ret_count);
const struct gg_profile_look_block *gg_model_look_blocks(const struct gg_model *model,
                                                         uint32_t look, size_t *ret_count);
const struct gg_profile_look_total *gg_model_look_totals(const struct gg_model *model,
                                                         uint32_t look, size_t *ret_count);

/* The bytes of the look's total with that name; -1: unknown. */
int64_t gg_model_look_total(const struct gg_model *model, uint32_t look, const char *name);

/*
 * The total of an allocator with slabs, jemalloc or geiger-malloc; "allocated" means
 * "jemalloc.allocated" or "geiger-malloc.allocated".  -1: unknown.
 */
int64_t gg_model_look_slab_total(const struct gg_model *model, uint32_t look, const char *name);

/* True if a total of that name is what gg_model_look_slab_total() looks for. */
bool gg_model_is_slab_total(const char *total, const char *name);

/*
 * The process's look that stays for that moment (GG_LOOK_LAST or GG_LOOK_PEAK), or NULL.
 */
const struct gg_profile_look *gg_model_find_look(const struct gg_model *model, uint32_t process,
                                                 uint32_t moment);

/*
 * The chance that a sample which was live at the look was chosen: chosen_count / live_count.  0:
 * unknown.
 */
double gg_model_look_chance(const struct gg_profile_look *look);

/* --- labels, history, and intervals --------------------------------------------------------- */

/*
 * True for a process of a merged profile that has only what its garbage collector reported.  Its
 * samples are those of its parent, a group of processes, and so it does not count as one more.
 */
bool gg_model_is_collector(const struct gg_model *model, uint32_t process);

/* The attach of a process; NULL: it was recorded from its start. */
const struct gg_profile_attach *gg_model_attach(const struct gg_model *model, uint32_t process);
/* The value of the process's label with that key; NULL: no such label. */
const char *gg_model_label(const struct gg_model *model, uint32_t process, const char *key);

/* True if every session recorded the times of its allocations and frees. */
bool gg_model_has_history(const struct gg_model *model);
/* False for imported and merged profiles, which do not know the times of live samples. */
bool gg_model_has_times(const struct gg_model *model);
/*
 * The spacing of a profile that was made of snapshots: at its multiples, and only there, it says
 * what was live.  0: it was not.
 */
int64_t gg_model_spacing_ns(const struct gg_model *model);
/* True if every allocation of every process was counted, so that no figure is an estimate. */
bool gg_model_is_exact(const struct gg_model *model);
/* True if no process was recorded and nothing imported, so that no bound is known. */
bool gg_model_is_unprofiled(const struct gg_model *model);

/*
 * The largest sampling interval in bytes to which the process (0: any process) was exposed; 0 if
 * the scheme does not sample by bytes (per-allocation).
 */
double gg_model_interval(const struct gg_model *model, uint32_t process);

/* The smallest sampling interval in bytes of any process or sample. */
double gg_model_least_interval(const struct gg_model *model);

/* The largest sampling interval of any size, in bytes; `optimal` has several. */
double gg_model_exposure(const struct gg_model *model, uint32_t process);
