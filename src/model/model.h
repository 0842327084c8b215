/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model - a profile, or several, in memory: what every report is computed from.
 *
 *   struct gg_model *model;
 *
 *   if (gg_model_load(&model, &profile, 1, NULL, error) < 0)
 *           return error->code;
 *   gg_query_rows(...)                               query.h: rows with estimates
 *   gg_model_free(model);
 *
 * It is read once and never changes.  Everything has a dense number: samples, processes, threads,
 * modules, stacks, functions, lines.  Number 0 of each is "unknown", so that arrays need no offset.
 * The numbers are the model's own, not the ids of the file: several profiles have one number space.
 *
 * Times     ns since the start of the earliest of the profiles; the others are put beside it by
 *           their wall clocks.
 * Stacks    a tree: a stack is a frame called by a stack of a smaller number.  A frame has one place
 *           for itself and one for each call that was inlined into it.
 * Tops      frames of the allocator and of geiger at the top of a stack are no part of it: reports
 *           begin with who called them.  gg_model_stack_top() says where that is.
 * Blocks    a process that forks hands its samples to the child, where they are samples again.  All
 *           samples of one block have the same `block`, the number of the first of them, and reports
 *           over several processes count a block once, while anybody holds it.
 *
 * Memory    96 bytes a sample, 12 a stack; everything is freed by gg_model_free().
 * Threads   any number of readers.
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
	 * Is this function an entry of the allocator or of geiger, which stacks do without?  function
	 * or module may be NULL.  NULL: nothing is left out.
	 */
	bool (*is_entry)(const char *function, const char *module);
	/*
	 * Lines of frames that have none in the profile, told as gg_profile_each_line() does: all of a frame, one
	 * after the other.  Called once for each profile; its code is the load's.  NULL: there are no others.
	 */
	int (*more_lines)(gg_line_visit *visit, void *visitor, void *context);
	void *context;
};

/*
 * Reads all of the profiles; they may be closed afterwards.  options may be NULL.  -ENOMEM, or what the
 * readers say.
 */
GG_MUST_CHECK int gg_model_load(struct gg_model **ret_model, struct gg_profile *const *profiles,
                                size_t profile_count, const struct gg_model_options *options,
                                struct gg_error *error);
void gg_model_free(struct gg_model *model); /* NULL is fine */

/* --- samples ------------------------------------------------------------------------------- */

struct gg_model_sample {
	int64_t alloc_ns; /* of an inherited one: when its process began to hold it */
	int64_t free_ns; /* GG_TIME_NONE: its process never freed it; see gg_model_sample_until() */
	uint64_t size_bytes;
	struct gg_draw draw;
	double weighted_bytes; /* what it stands for: size / p */
	uint32_t slack_bytes;  /* usable size less size; UINT32_MAX and more is kept as that */
	uint32_t process, thread, stack, kind;
	uint32_t block; /* number of the first sample of its block; its own unless inherited */
	uint32_t flags; /* GG_SAMPLE_... of records.h, GG_MODEL_... */
};

enum {
	GG_MODEL_INHERITED = 1 << 30, /* its process did not allocate it: it was forked */
	GG_MODEL_LEFT = 1 << 29,      /* query.h, of a block: some holder never freed it */
};

/* Number i of the array is sample i; in the order of the file, which is about that of time. */
const struct gg_model_sample *gg_model_samples(const struct gg_model *model, size_t *ret_count);

/* Sums of freed samples (records.h), with the model's numbers in process, thread and stack. */
const struct gg_profile_coarse *gg_model_coarse(const struct gg_model *model, size_t *ret_count);

/* Adds what a coarse row stands for; conservative where third cumulants are missing (tally.h). */
void gg_model_add_coarse(const struct gg_model *model, struct gg_tally *tally,
                         const struct gg_profile_coarse *coarse);

/* --- where -------------------------------------------------------------------------------- */

struct gg_code_location {
	uint32_t function, line; /* numbers of gg_model_function() and gg_model_line() */
};

/* Functions are told apart by full name, module and, where no linker knows them, by file. */
struct gg_model_function {
	/*
	 * For people: short, with as much of the arguments as tells it from others of that short name
	 * (distinct_names.h).  "[unknown]" and "libx.so+0x12" where there is none; never NULL.
	 */
	const char *name;
	const char *short_name;   /* without arguments, whatever else has it; never NULL */
	const char *full_name;    /* with arguments; NULL: it has no name */
	const char *linkage_name; /* NULL: not known, or the full name */
	const char
		*file; /* that tells it from another function of its full name; NULL: none needed */
	uint32_t module;
	bool is_named; /* false: the name was made of an address */
};

struct gg_model_line {
	uint32_t function;
	uint32_t line;    /* 0: not known */
	const char *file; /* NULL: not known */
};

/* How functions are called. */
struct gg_names_query {
	bool full_names; /* as name, too; "helper [a.c]" where that is what tells functions apart */
	/* The models are of different builds: what differs from build to build is no part of a name. */
	bool across_builds;
};

/*
 * Names the functions of all models anew, so that equal names are the same function and others are not.
 * A loaded model is named as by itself, with short names.  Before anybody else reads the models.
 * -ENOMEM.
 */
GG_MUST_CHECK int gg_model_name_functions(struct gg_model *const *models, size_t model_count,
                                          const struct gg_names_query *query,
                                          struct gg_error *error);

size_t gg_model_function_count(const struct gg_model *model);
struct gg_model_function gg_model_function(const struct gg_model *model, uint32_t function);
size_t gg_model_line_count(const struct gg_model *model);
struct gg_model_line gg_model_line(const struct gg_model *model, uint32_t line);

/* A module's path and build-id ("" in hexadecimal if none); number 0 is "[unknown]". */
size_t gg_model_module_count(const struct gg_model *model);
const char *gg_model_module_path(const struct gg_model *model, uint32_t module);
const char *gg_model_module_name(const struct gg_model *model, uint32_t module);   /* no folders */
const char *gg_model_module_status(const struct gg_model *model, uint32_t module); /* or NULL */
const char *gg_model_module_build_id(const struct gg_model *model, uint32_t module);

/* Where processes had modules, with the model's numbers in process and module; in no order. */
const struct gg_profile_mapping *gg_model_mappings(const struct gg_model *model, size_t *ret_count);

size_t gg_model_stack_count(const struct gg_model *model);
uint32_t gg_model_stack_parent(const struct gg_model *model, uint32_t stack); /* 0: outermost */
/* The stack without the frames of the allocator at its top; 0 where nothing else is there. */
uint32_t gg_model_stack_top(const struct gg_model *model, uint32_t stack);
/* The places of a stack's innermost frame, the innermost inlined call first; at least one. */
const struct gg_code_location *gg_model_stack_places(const struct gg_model *model, uint32_t stack,
                                                     size_t *ret_count);

/* Where the code of a stack's innermost frame is: the address of the call, as gg_frame has it. */
struct gg_model_spot {
	uint32_t module; /* 0: in none, the address is absolute */
	uint64_t address;
};
struct gg_model_spot gg_model_stack_spot(const struct gg_model *model, uint32_t stack);

/*
 * All places of a stack from its top on, innermost first, at most `max`.  Returns how many there are
 * in all.
 */
size_t gg_model_path(const struct gg_model *model, uint32_t stack, struct gg_code_location *places,
                     size_t max);

/* "malloc", "mapping", or the name of the heap, and the type where there is one: "pool: Node". */
size_t gg_model_kind_count(const struct gg_model *model);
const char *gg_model_kind_name(const struct gg_model *model, uint32_t kind);

/*
 * The two parts of a kind.  Heaps: "malloc", "mapping", and those that programs have registered; types:
 * number 0 is "[no type]".
 */
struct gg_model_kind {
	uint32_t heap, type;
};
struct gg_model_kind gg_model_kind(const struct gg_model *model, uint32_t kind);
size_t gg_model_heap_count(const struct gg_model *model);
const char *gg_model_heap_name(const struct gg_model *model, uint32_t heap);
size_t gg_model_type_count(const struct gg_model *model);
const char *gg_model_type_name(const struct gg_model *model, uint32_t type);

/* Frames whose function has no name, and the module that has most of those. */
struct gg_model_unresolved {
	uint64_t frame_count, all_frame_count;
	uint32_t worst_module; /* 0: code in no module */
	uint64_t worst_frame_count;
};
struct gg_model_unresolved gg_model_unresolved(const struct gg_model *model);

/* --- who and when -------------------------------------------------------------------------- */

/*
 * Texts live as long as the model.  `id` is the number; processes and threads begin at 1, their
 * number 0 is all-zero.
 */
const struct gg_profile_process *gg_model_processes(const struct gg_model *model,
                                                    size_t *ret_count);
const struct gg_profile_thread *gg_model_threads(const struct gg_model *model, size_t *ret_count);

/*
 * Until when the process held what it never freed: until its end.  GG_TIME_NONE: it was among the last
 * processes of its session, and what it held is live at the end (last_end.h).  Process 0 has no end.
 */
int64_t gg_model_process_until(const struct gg_model *model, uint32_t process);
/* Until when a sample's own process held it: until it freed it, or as above. */
int64_t gg_model_sample_until(const struct gg_model *model, const struct gg_model_sample *sample);
/* False: another process with this pid ended later in its session, such as after it executed a program. */
bool gg_model_ends_last_of_pid(const struct gg_model *model, uint32_t process);
/* When the process ended; the end of everything if it still ran then. */
int64_t gg_model_process_end(const struct gg_model *model, uint32_t process);

size_t gg_model_session_count(const struct gg_model *model);
const struct gg_profile_session *gg_model_session(const struct gg_model *model, size_t index);

/* Sorted by time; process 0 is a whole session. */
const struct gg_profile_memory *gg_model_memory(const struct gg_model *model, size_t *ret_count);

size_t gg_model_note_count(const struct gg_model *model);
const char *gg_model_note(const struct gg_model *model, size_t index);

/* What was counted while recording, such as "drop_live_full", for each process. */
struct gg_model_counter {
	uint32_t process;
	const char *name;
	uint64_t value;
};
const struct gg_model_counter *gg_model_counters(const struct gg_model *model, size_t *ret_count);

/*
 * A time of a process.  Losses: events of its history were lost in it, and at its end its state was
 * compared with what was known.  Pauses: sampling was switched off; to_ns is GG_TIME_NONE where it
 * stayed off.
 */
struct gg_model_span {
	uint32_t process;
	int64_t from_ns, to_ns;
};
const struct gg_model_span *gg_model_losses(const struct gg_model *model, size_t *ret_count);
const struct gg_model_span *gg_model_pauses(const struct gg_model *model, size_t *ret_count);

/* Samples and frees of the process (0: of all) that were not recorded, though they should have been. */
uint64_t gg_model_dropped(const struct gg_model *model, uint32_t process);

/*
 * Is what the process (0: any) allocated from from_ns to to_ns more than its samples tell, since
 * samples were dropped or it was switched off?
 */
bool gg_model_is_incomplete(const struct gg_model *model, uint32_t process, int64_t from_ns,
                            int64_t to_ns);

/* The earliest time at which the sample can have been freed: free_ns, unless that time was lost. */
int64_t gg_model_freed_from(const struct gg_model *model, const struct gg_model_sample *sample);

/*
 * What tells processes apart, such as ("host", "web-3"); texts are interned: equal ones are one pointer.
 * In the order of the processes.
 */
struct gg_model_label {
	uint32_t process;
	const char *key, *value;
};
const struct gg_model_label *gg_model_labels(const struct gg_model *model, size_t *ret_count);
/* The process's value of that key; NULL: it has none. */
const char *gg_model_label(const struct gg_model *model, uint32_t process, const char *key);

/* When the last session ended, or the last thing happened that we know of. */
int64_t gg_model_end_ns(const struct gg_model *model);
/* True if every session has times of its allocations and frees. */
bool gg_model_has_history(const struct gg_model *model);
/* False of imported and merged profiles: when what is live was allocated is not known either. */
bool gg_model_has_times(const struct gg_model *model);
/* Samples and coarse rows' samples: all that was ever sampled. */
uint64_t gg_model_sample_total(const struct gg_model *model);
/* Was no process recorded, and nothing imported?  Then nothing is known, and no bound either. */
bool gg_model_is_unprofiled(const struct gg_model *model);

/*
 * The largest sampling interval in bytes that the process was exposed to (0: any process); 0 where
 * bytes had none (per-allocation).
 */
double gg_model_interval(const struct gg_model *model, uint32_t process);

/* The smallest sampling interval that any process or sample had; gg_model_interval() where there is one alone. */
double gg_model_least_interval(const struct gg_model *model);

/* The longest that any allocation may have been sampled with: `optimal` has longer ones for some. */
double gg_model_exposure(const struct gg_model *model, uint32_t process);
