/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile - one measurement in one SQLite file; docs/internals/PROFILE.md describes its tables.
 *
 *   struct gg_profile *profile;
 *
 *   if (gg_profile_open(&profile, "redis.geiger", error) < 0)
 *           return error->status;
 *   gg_profile_each_sample(profile, add_to_tally, &tally, error);
 *   gg_profile_close(profile);
 *
 * The writer and the reader use the same records (records.h).  The writer hands out ids, which are
 * dense numbers from 1 on; 0 means "none".  All times are nanoseconds since the session's start
 * (session.start_wall_ns).  Samples keep their draws; the file has no scaled numbers of samples.
 *
 * State and history.  If a sample was allocated and freed while nobody drained the ring, only the
 * sums of the region know it.  The profile stores such samples as aggregates (table `coarse`): sums
 * over many freed samples of one stack and thread.  Compaction of long runs also turns old freed
 * samples into aggregates.  Imported and merged profiles have no samples, only aggregates; those of
 * live memory have no end.  These equations always hold:
 *
 *   allocated = samples that are not inherited + aggregates
 *   live      = samples without an end + aggregates without an end
 *
 * Threads   One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/error.h"
#include "base/progress.h"
#include "profile/records.h"

struct gg_profile;

enum {
	GG_PROFILE_APPLICATION_ID = 0x47454947, /* "GEIG": `file` and SQLite show it */
	GG_PROFILE_VERSION = 8,                 /* user_version of the schema */
};

/* True if the head of an open file says that it is a profile, complete or not, of any version. */
bool gg_profile_is_file(int fd);

/*
 * Opens a profile for reading.  -EBADMSG: the file is no profile, its root is damaged, or its
 * version is newer; the message says which, and what to do.  The reader trusts nothing in the file:
 * it reads ids that do not exist as 0, and counts them (gg_profile_dangling_count).
 */
GG_MUST_CHECK int gg_profile_open(struct gg_profile **ret_profile, const char *path,
                                  struct gg_error *error);

/*
 * All reads until gg_profile_end_reading() see one state of the file, although a recorder goes on
 * writing.  Its commits wait until then, and it does not wait for them.  *ret_began is false if
 * nothing was begun, because a transaction is open already: then there is nothing to end.
 */
GG_MUST_CHECK int gg_profile_begin_reading(struct gg_profile *profile, bool *ret_began,
                                           struct gg_error *error);
void gg_profile_end_reading(struct gg_profile *profile);

/*
 * Opens the file of a profile a second time, for another thread that reads.  -ENOENT: the profile
 * is in memory, or open for writing.
 */
GG_MUST_CHECK int gg_profile_again(struct gg_profile **ret_profile,
                                   const struct gg_profile *profile, struct gg_error *error);

/* Makes a copy in memory, for changes that must not reach the file. */
GG_MUST_CHECK int gg_profile_copy(struct gg_profile **ret_profile, const struct gg_profile *profile,
                                  struct gg_error *error);

/* True if a recorder is writing the file at this moment. */
bool gg_profile_is_being_written(const char *path);

/* The latest time in the profile; 0: it has no times. */
GG_MUST_CHECK int gg_profile_last_time(struct gg_profile *profile, int64_t *ret_time_ns,
                                       struct gg_error *error);

/*
 * Opens a complete profile for changes, such as better symbols; gg_profile_finish() completes it
 * again.
 * -EBUSY: a recorder is writing it.
 */
GG_MUST_CHECK int gg_profile_edit(struct gg_profile **ret_profile, const char *path,
                                  struct gg_error *error);

/*
 * Creates an empty profile.  It replaces `path` at the first gg_profile_commit() or when it is
 * closed, whichever comes first.  -EEXIST: an existing file is not a profile, and stays.  -EBUSY:
 * somebody else is writing a profile there.  A NULL path makes a profile in memory, for reports on
 * regions and imported formats.
 */
GG_MUST_CHECK int gg_profile_create(struct gg_profile **ret_profile, const char *path,
                                    struct gg_error *error);

/*
 * Creates a profile of an unknown session that replaces `path` at once.  It takes a fifth of the
 * instructions of gg_profile_create(), which were most of what a short recording cost.
 */
GG_MUST_CHECK int gg_profile_create_at_once(struct gg_profile **ret_profile, const char *path,
                                            struct gg_error *error);

/*
 * Writes a profile that has no file yet beside its place, and removes it again.  So a full disk is
 * an error before the first commit replaces an existing file.  Closed without a commit, the profile
 * leaves no file.
 */
GG_MUST_CHECK int gg_profile_try(struct gg_profile *profile, struct gg_error *error);

/*
 * Creates a profile like gg_profile_create(), except that an existing file stays until
 * gg_profile_finish() replaces it: for work that is useless when it stops half-way.  Closing the
 * profile before that leaves nothing behind.
 */
GG_MUST_CHECK int gg_profile_create_whole(struct gg_profile **ret_profile, const char *path,
                                          struct gg_error *error);

/*
 * Commits and closes.  NULL is allowed.  Errors of this last commit are lost, so call
 * gg_profile_commit() before.
 */
void gg_profile_close(struct gg_profile *profile);

/*
 * Commits all writes, after which a kill does not lose them.  Without any, the call is cheap.
 * While a reader holds the file, the writes stay in memory for the next call.  A profile commits
 * by itself after 500 000 rows.
 */
GG_MUST_CHECK int gg_profile_commit(struct gg_profile *profile, struct gg_error *error);

/*
 * The rule of compaction.  Samples that were freed long ago become aggregates, one for each time
 * bucket, process, thread, stack, and size class.  As aggregates grow older, they are joined into
 * buckets of 2, 4, 8 ... times the length.  Sums over whole buckets stay exact, and so does live
 * memory at multiples of an aggregate's bucket.  If there are still more than row_max aggregates,
 * compaction joins threads, then sizes, then longer times.  Samples that a look refers to stay.
 */
struct gg_compaction_rule {
	int64_t keep_ns;     /* samples stay this long after their free */
	int64_t bucket_ns;   /* the shortest bucket */
	int64_t age_buckets; /* an aggregate is at least this many bucket lengths old */
	int64_t row_max;
	uint32_t batch_count; /* rows that one call processes */
};

/* 1 h, 1 h, 4, 2 M, 20 000: a week of 100 samples a second stays under 500 MB (bench_profile). */
extern const struct gg_compaction_rule gg_compaction_rule_default;

/*
 * Does a part of the work that the rule demands at now_ns; call it regularly.  Returns 1 if more
 * work is due, 0 if not, or -Exxx.  Use the same rule for the whole life of a profile.
 */
GG_MUST_CHECK int gg_profile_compact(struct gg_profile *profile,
                                     const struct gg_compaction_rule *rule, int64_t now_ns,
                                     struct gg_error *error);

/* gg_profile_finish() reports its progress there.  NULL: nowhere.  It must outlive the profile. */
void gg_profile_report_progress(struct gg_profile *profile, const struct gg_progress *progress);

/*
 * Completes a profile: writes the summary that makes views of `geiger sql` fast, returns unused
 * pages, and syncs the file.  Later changes are allowed; call it again after them.
 */
GG_MUST_CHECK int gg_profile_finish(struct gg_profile *profile, struct gg_error *error);

/*
 * Checks the profile for everything that could mislead a reader: damage, ids that do not exist,
 * wrong orders, impossible values, and totals that contradict the samples.  The visit gets one
 * sentence for each problem.  Returns the number of problems, or -Exxx if the file cannot be read
 * at all.
 */
typedef void gg_problem_visit(const char *problem, void *context);
GG_MUST_CHECK int gg_profile_check(struct gg_profile *profile, gg_problem_visit *visit,
                                   void *context, struct gg_error *error);

/* The number of problems that the reader has met so far, for a note in the report. */
uint64_t gg_profile_dangling_count(const struct gg_profile *profile);

/* --- writing ------------------------------------------------------------------------------- */

/* Each function returns 0 or -Exxx.  Functions that add a record set its id; ret_id may be NULL. */
int gg_profile_set_session(struct gg_profile *profile, const struct gg_profile_session *session,
                           struct gg_error *error);
int gg_profile_add_process(struct gg_profile *profile, const struct gg_profile_process *process,
                           uint32_t *ret_id, struct gg_error *error);
int gg_profile_update_process(struct gg_profile *profile, uint32_t id,
                              const struct gg_profile_process *process, struct gg_error *error);
int gg_profile_add_thread(struct gg_profile *profile, const struct gg_profile_thread *thread,
                          uint32_t *ret_id, struct gg_error *error);
int gg_profile_update_thread(struct gg_profile *profile, uint32_t id,
                             const struct gg_profile_thread *thread, struct gg_error *error);

/* Equal path and build-id give the same id, so that processes share modules. */
int gg_profile_intern_module(struct gg_profile *profile, const struct gg_profile_module *module,
                             uint32_t *ret_id, struct gg_error *error);
int gg_profile_add_mapping(struct gg_profile *profile, const struct gg_profile_mapping *mapping,
                           struct gg_error *error);

/* A frame is a module and an address in its file; module 0: an absolute address. */
int gg_profile_intern_frame(struct gg_profile *profile, uint32_t module, uint64_t address,
                            uint32_t *ret_id, struct gg_error *error);

/*
 * Moves a frame without a module into `module`, at `address`, unless the module has a frame there
 * already.  Call this after all frames have been interned, because interning does not see the
 * change.
 */
int gg_profile_set_frame_module(struct gg_profile *profile, uint32_t frame, uint64_t address,
                                uint32_t module, struct gg_error *error);

/* The stack of `frame`, called by the stack `parent` (0: `frame` is outermost). */
int gg_profile_intern_stack(struct gg_profile *profile, uint32_t parent, uint32_t frame,
                            uint32_t *ret_id, struct gg_error *error);
int gg_profile_intern_name(struct gg_profile *profile, enum gg_name_kind kind, const char *name,
                           uint32_t *ret_id, struct gg_error *error);

/* If sample->id is 0, the profile hands out an id; otherwise the caller's ids must ascend. */
int gg_profile_add_sample(struct gg_profile *profile, const struct gg_profile_sample *sample,
                          uint64_t *ret_id, struct gg_error *error);
/* Ends a sample that was added as live. */
int gg_profile_end_sample(struct gg_profile *profile, uint64_t id,
                          const struct gg_profile_sample_end *end, struct gg_error *error);
/*
 * Records the new address of a live sample that its heap's collector has moved, and its type if the
 * heap knew that later.  type 0: the sample keeps its own.
 */
int gg_profile_change_sample(struct gg_profile *profile, uint64_t id, uint64_t address,
                             uint32_t type, bool is_old, struct gg_error *error);
int gg_profile_add_aggregate(struct gg_profile *profile,
                             const struct gg_profile_aggregate *aggregate, struct gg_error *error);
/* Removes the process's aggregates of live blocks, exact or others: newer ones replace them. */
int gg_profile_remove_live_aggregates(struct gg_profile *profile, uint32_t process, bool are_exact,
                                      struct gg_error *error);
/* Stores the region's site total of a stack and thread; replaces an earlier one. */
int gg_profile_put_total(struct gg_profile *profile, const struct gg_profile_total *total,
                         struct gg_error *error);
int gg_profile_add_memory(struct gg_profile *profile, const struct gg_profile_memory *memory,
                          struct gg_error *error);
/*
 * Thins out the readings before limit_ns: of each bucket of bucket_ns it keeps the rounds in which
 * the session's RSS was largest and smallest, and largest among those with proportional sizes.
 * limit_ns should be a multiple of bucket_ns.  *after_id, at first 0, tells the next call where to
 * go on.
 */
GG_MUST_CHECK int gg_profile_thin_memory(struct gg_profile *profile, int64_t limit_ns,
                                         int64_t bucket_ns, int64_t *after_id,
                                         struct gg_error *error);
/*
 * Stores a look.  The profile keeps the last look at each process and the one with the largest RSS,
 * and removes the looks at the process that are neither any more.  Ignores the ids and moments
 * in the records.
 */
int gg_profile_put_look(struct gg_profile *profile, const struct gg_profile_look *look,
                        const struct gg_profile_look_parts *parts, struct gg_error *error);
/* Replaces the attach of its process. */
int gg_profile_put_attach(struct gg_profile *profile, const struct gg_profile_attach *attach,
                          struct gg_error *error);
int gg_profile_add_fault(struct gg_profile *profile, const struct gg_profile_fault *fault,
                         struct gg_error *error);
int gg_profile_add_event(struct gg_profile *profile, const struct gg_profile_event *event,
                         struct gg_error *error);
int gg_profile_put_counter(struct gg_profile *profile, uint32_t process, const char *name,
                           uint64_t value, struct gg_error *error);
/*
 * Sets a label of a process, such as ("host", "web-3") or ("version", "2.1"), by which reports can
 * group. Replaces the value of that key.
 */
int gg_profile_put_label(struct gg_profile *profile, uint32_t process, const char *key,
                         const char *value, struct gg_error *error);
/* Adds a note, which every report shows. */
int gg_profile_add_note(struct gg_profile *profile, const char *text, struct gg_error *error);

enum { GG_PROFILE_NAME_MAX = 16384 }; /* largest length in bytes of a line's names and paths */

/*
 * Replaces the middle of a longer name by a hash of the whole, so that different names stay
 * different: "std::map<...#0123456789abcdef...>::f(int)".  The result is in `room`.  Other names,
 * and NULL, are returned unchanged.  room->failed: out of memory.
 */
const char *gg_profile_bounded_name(const char *name, struct gg_buf *room);

/* Replaces the lines of a frame, innermost first.  Long texts are shortened. */
int gg_profile_put_lines(struct gg_profile *profile, uint32_t frame,
                         const struct gg_profile_line *lines, uint32_t line_count,
                         struct gg_error *error);
/* Records why the module's frames have names or not. */
int gg_profile_set_module_status(struct gg_profile *profile, uint32_t module, const char *status,
                                 struct gg_error *error);

/* --- reading ------------------------------------------------------------------------------- */

/*
 * Each function passes the records to a callback, by ascending id.  Texts and arrays in a record
 * are valid during the call.  The callback returns 0 to continue; any other value ends the walk,
 * which returns it.
 */
int gg_profile_session(struct gg_profile *profile, struct gg_profile_session *ret_session,
                       struct gg_error *error); /* texts live as long as the profile */

typedef int gg_process_visit(const struct gg_profile_process *process, void *context);
typedef int gg_attach_visit(const struct gg_profile_attach *attach, void *context);
typedef int gg_fault_visit(const struct gg_profile_fault *fault, void *context);
typedef int gg_thread_visit(const struct gg_profile_thread *thread, void *context);
typedef int gg_module_visit(const struct gg_profile_module *module, void *context);
typedef int gg_mapping_visit(const struct gg_profile_mapping *mapping, void *context);
typedef int gg_frame_visit(const struct gg_profile_frame *frame, void *context);
typedef int gg_line_visit(const struct gg_profile_line *line, void *context);
typedef int gg_stack_visit(const struct gg_profile_stack *stack, void *context);
typedef int gg_name_visit(uint32_t id, const char *name, void *context);
typedef int gg_sample_visit(const struct gg_profile_sample *sample, void *context);
typedef int gg_aggregate_visit(const struct gg_profile_aggregate *aggregate, void *context);
typedef int gg_total_visit(const struct gg_profile_total *total, void *context);
typedef int gg_memory_visit(const struct gg_profile_memory *memory, void *context);
typedef int gg_look_visit(const struct gg_profile_look *look, void *context);
typedef int gg_look_mapping_visit(const struct gg_profile_look_mapping *mapping, void *context);
typedef int gg_look_block_visit(const struct gg_profile_look_block *block, void *context);
typedef int gg_look_total_visit(const struct gg_profile_look_total *total, void *context);
typedef int gg_event_visit(const struct gg_profile_event *event, void *context);
typedef int gg_counter_visit(uint32_t process, const char *name, uint64_t value, void *context);
typedef int gg_label_visit(uint32_t process, const char *key, const char *value, void *context);
typedef int gg_note_visit(const char *text, void *context);

int gg_profile_each_process(struct gg_profile *, gg_process_visit *, void *, struct gg_error *);
int gg_profile_each_attach(struct gg_profile *, gg_attach_visit *, void *, struct gg_error *);
int gg_profile_each_fault(struct gg_profile *, gg_fault_visit *, void *, struct gg_error *);
int gg_profile_each_thread(struct gg_profile *, gg_thread_visit *, void *, struct gg_error *);
int gg_profile_each_module(struct gg_profile *, gg_module_visit *, void *, struct gg_error *);
int gg_profile_each_mapping(struct gg_profile *, gg_mapping_visit *, void *, struct gg_error *);
int gg_profile_each_frame(struct gg_profile *, gg_frame_visit *, void *, struct gg_error *);
int gg_profile_each_line(struct gg_profile *, gg_line_visit *, void *, struct gg_error *);
int gg_profile_each_stack(struct gg_profile *, gg_stack_visit *, void *, struct gg_error *);
int gg_profile_each_name(struct gg_profile *, enum gg_name_kind, gg_name_visit *, void *,
                         struct gg_error *);
/* Reads at least 1 M samples a second (bench_profile). */
int gg_profile_each_sample(struct gg_profile *, gg_sample_visit *, void *, struct gg_error *);
/*
 * Visits only ids in [first_id, last_id], for threads that share the work (gg_profile_again).  The
 * samples lack their address, and the thread and stack of their free (0).
 */
int gg_profile_each_sample_between(struct gg_profile *, int64_t first_id, int64_t last_id,
                                   gg_sample_visit *, void *, struct gg_error *);
/*
 * Visits the samples that were allocated until alloc_most_ns and held until end_least_ns or longer
 * by a process that freed them or has ended, in any order.  They have an id, a process, the time of
 * the allocation, sizes, an address and an origin alone.
 */
int gg_profile_each_ended_sample(struct gg_profile *, int64_t alloc_most_ns, int64_t end_least_ns,
                                 gg_sample_visit *, void *, struct gg_error *);
/* Removes the samples of a process, which no other samples refer to. */
GG_MUST_CHECK int gg_profile_remove_samples(struct gg_profile *, uint32_t process,
                                            struct gg_error *);
/*
 * Visits the whole samples of a process that were allocated until alloc_most_ns, and held until
 * end_least_ns or longer, in the order of their ids.
 */
int gg_profile_each_sample_of(struct gg_profile *, uint32_t process, int64_t alloc_most_ns,
                              int64_t end_least_ns, gg_sample_visit *, void *, struct gg_error *);
/* The smallest and the largest id; 0 and 0 if there is no sample. */
GG_MUST_CHECK int gg_profile_sample_ids(struct gg_profile *, int64_t *ret_first, int64_t *ret_last,
                                        struct gg_error *);
int gg_profile_each_aggregate(struct gg_profile *, gg_aggregate_visit *, void *, struct gg_error *);
int gg_profile_each_total(struct gg_profile *, gg_total_visit *, void *, struct gg_error *);
int gg_profile_each_memory(struct gg_profile *, gg_memory_visit *, void *, struct gg_error *);
int gg_profile_each_look(struct gg_profile *, gg_look_visit *, void *, struct gg_error *);
/* Each look's rows follow one another, in the order of looks. */
int gg_profile_each_look_mapping(struct gg_profile *, gg_look_mapping_visit *, void *,
                                 struct gg_error *);
int gg_profile_each_look_block(struct gg_profile *, gg_look_block_visit *, void *,
                               struct gg_error *);
int gg_profile_each_look_total(struct gg_profile *, gg_look_total_visit *, void *,
                               struct gg_error *);
int gg_profile_each_event(struct gg_profile *, gg_event_visit *, void *, struct gg_error *);
int gg_profile_each_counter(struct gg_profile *, gg_counter_visit *, void *, struct gg_error *);
int gg_profile_each_label(struct gg_profile *, gg_label_visit *, void *, struct gg_error *);
int gg_profile_each_note(struct gg_profile *, gg_note_visit *, void *, struct gg_error *);
