/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile - one measurement in one SQLite file; docs/internals/PROFILE.md tells its tables.
 *
 *   struct gg_profile *profile;
 *
 *   if (gg_profile_open(&profile, "redis.geiger", error) < 0)
 *           return error->code;
 *   gg_profile_each_sample(profile, add_to_tally, &tally, error);
 *   gg_profile_close(profile);
 *
 * Records (record.h below) are the same in both directions: the writer takes them, the reader gives
 * them.  Ids are dense numbers from 1 on that the writer hands out; 0 is "none".  All times are ns
 * since the session's start (session.start_wall_ns says when that was).  Numbers that sampling gave
 * are kept as they were drawn, never scaled.
 *
 * State and history.  A sample that was allocated and freed while nobody drained the ring is in the
 * sums of the region alone.  Such samples are kept as *coarse* rows: sums of many freed samples of a
 * stack and thread.  The retention rule of long runs makes the same kind of row out of old freed
 * samples.  What is imported from other formats, or merged, has no samples, only such sums: those of
 * what is live are coarse rows without an end.  So always:
 *
 *   allocated = samples that are not inherited + coarse rows
 *   live      = samples without an end + coarse rows without an end
 *
 * Threads   one owner at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/error.h"
#include "profile/records.h"

struct gg_profile;

enum {
	GG_PROFILE_APPLICATION_ID = 0x47454947, /* "GEIG": `file` and SQLite show it */
	GG_PROFILE_VERSION = 3,                 /* user_version of the schema */
};

/* Does an open file's head say that it is a profile, whole or not, of whatever version? */
bool gg_profile_is_file(int fd);

/*
 * Opens a profile for reading.  -EBADMSG for what is no profile, is damaged at its root or of a
 * newer version; the message says which and what to do.  Nothing in the file is trusted: ids that
 * point nowhere are read as 0 and counted (gg_profile_dangling_count).
 */
GG_MUST_CHECK int gg_profile_open(struct gg_profile **ret_profile, const char *path,
                                  struct gg_error *error);

/*
 * Opens the file of a profile that is open for reading once more, for another thread.  -ENOENT: it is
 * in memory, or written.
 */
GG_MUST_CHECK int gg_profile_again(struct gg_profile **ret_profile,
                                   const struct gg_profile *profile, struct gg_error *error);

/* A copy in memory, for changes that its file is not to have. */
GG_MUST_CHECK int gg_profile_copy(struct gg_profile **ret_profile, const struct gg_profile *profile,
                                  struct gg_error *error);

/* Does a recorder write the file at this moment? */
bool gg_profile_is_being_written(const char *path);

/* The latest time that stands in it; 0: none does. */
GG_MUST_CHECK int gg_profile_last_time(struct gg_profile *profile, int64_t *ret_time_ns,
                                       struct gg_error *error);

/*
 * Opens a profile that is complete for changes, such as better symbols; gg_profile_finish() completes
 * it again.  -EBUSY while a recorder writes it.
 */
GG_MUST_CHECK int gg_profile_edit(struct gg_profile **ret_profile, const char *path,
                                  struct gg_error *error);

/*
 * Creates an empty profile that replaces `path` when it is closed in order, or at the next
 * gg_profile_commit() at the latest; a file that is there and is no profile is refused (-EEXIST).
 * NULL: in memory, for reports on what has no file (a region, an imported format).  -EBUSY if
 * somebody else writes a profile there.
 */
GG_MUST_CHECK int gg_profile_create(struct gg_profile **ret_profile, const char *path,
                                    struct gg_error *error);

/*
 * The same, but nothing is at `path`, and what is there stays, before gg_profile_finish(): for work that
 * is of no use when it stops half-way.  Closed without that, it leaves nothing behind.
 */
GG_MUST_CHECK int gg_profile_create_whole(struct gg_profile **ret_profile, const char *path,
                                          struct gg_error *error);

/* NULL is fine.  What was written since the last commit is committed; errors of that are lost: commit
 * first. */
void gg_profile_close(struct gg_profile *profile);

/*
 * Writes so far are safe against a kill from here on.  Cheap when there are none.  While a reader
 * holds the file they stay in memory, and are committed by the next call.  A profile commits by
 * itself after 500 000 rows.
 */
GG_MUST_CHECK int gg_profile_commit(struct gg_profile *profile, struct gg_error *error);

/*
 * Retention: samples that were freed long ago become coarse rows, one for each time bucket, process,
 * thread, stack and size class; rows are joined into longer buckets (2, 4, 8 ... times as long) as they
 * grow older.  Sums over whole buckets, and what was live at multiples of a row's bucket, stay what they
 * were.  Where rows are more than row_max nevertheless, threads are joined, then sizes, then longer
 * times.
 */
struct gg_fold_rule {
	int64_t keep_ns;     /* samples stay for so long after they were freed */
	int64_t bucket_ns;   /* the shortest bucket */
	int64_t age_buckets; /* a row is at least this many times as old as its bucket is long */
	int64_t row_max;
	uint32_t batch_count; /* rows that one call looks at */
};

/* 1 h, 1 h, 4, 2 M, 20 000: a week of 100 samples a second stays under 500 MB (bench_profile). */
extern const struct gg_fold_rule gg_fold_rule_default;

/*
 * Does some of the work that the rule asks for at now_ns: call it now and then.  1 if there is more
 * to do at once, 0 if not, -Exxx.  Always the same rule for one profile.
 */
GG_MUST_CHECK int gg_profile_fold(struct gg_profile *profile, const struct gg_fold_rule *rule,
                                  int64_t now_ns, struct gg_error *error);

/*
 * Completes a profile: the summary that the views of `geiger sql` show at once, pages that are not
 * used given back, everything on the disk.  Later changes are allowed; finish again.
 */
GG_MUST_CHECK int gg_profile_finish(struct gg_profile *profile, struct gg_error *error);

/*
 * Looks for all that a reader could stumble over: damage, ids that point nowhere, orders, values that
 * cannot be, and totals that contradict the samples.  Each problem is told as one sentence; returns
 * their number, or -Exxx if the file cannot even be looked at.
 */
typedef void gg_problem_visit(const char *problem, void *context);
GG_MUST_CHECK int gg_profile_check(struct gg_profile *profile, gg_problem_visit *visit,
                                   void *context, struct gg_error *error);

/* Problems that the reader met so far, for a note in the report. */
uint64_t gg_profile_dangling_count(const struct gg_profile *profile);

/* --- writing ------------------------------------------------------------------------------- */

/* Each returns 0 or -Exxx and, where a record is added, sets its id (ret_id may be NULL). */
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

/* The same path and build-id give the same id, so that processes share modules. */
int gg_profile_intern_module(struct gg_profile *profile, const struct gg_profile_module *module,
                             uint32_t *ret_id, struct gg_error *error);
int gg_profile_add_mapping(struct gg_profile *profile, const struct gg_profile_mapping *mapping,
                           struct gg_error *error);

/* A frame is a module and an address in its file (0: no module, an absolute address). */
int gg_profile_intern_frame(struct gg_profile *profile, uint32_t module, uint64_t address,
                            uint32_t *ret_id, struct gg_error *error);

/*
 * A frame of no module turns out to be one of this module, at its address; not if the module has one there
 * already.  When all frames are there: later interning does not know of it.
 */
int gg_profile_set_frame_module(struct gg_profile *profile, uint32_t frame, uint64_t address,
                                uint32_t module, struct gg_error *error);

/* The stack that has `frame` called by the stack `parent` (0: outermost). */
int gg_profile_intern_stack(struct gg_profile *profile, uint32_t parent, uint32_t frame,
                            uint32_t *ret_id, struct gg_error *error);
int gg_profile_intern_name(struct gg_profile *profile, enum gg_name_kind kind, const char *name,
                           uint32_t *ret_id, struct gg_error *error);

/* sample->id is set by the caller when it is not 0 (ids ascend), else handed out. */
int gg_profile_add_sample(struct gg_profile *profile, const struct gg_profile_sample *sample,
                          uint64_t *ret_id, struct gg_error *error);
/* The end of a sample that was added as live. */
int gg_profile_end_sample(struct gg_profile *profile, uint64_t id,
                          const struct gg_profile_sample_end *end, struct gg_error *error);
/* A live one of a heap whose collector moves objects: where it is now. */
int gg_profile_move_sample(struct gg_profile *profile, uint64_t id, uint64_t address, bool is_old,
                           struct gg_error *error);
int gg_profile_add_coarse(struct gg_profile *profile, const struct gg_profile_coarse *coarse,
                          struct gg_error *error);
/* Sums of a stack in a thread as the region counts them; replaces the row of that pair. */
int gg_profile_put_total(struct gg_profile *profile, const struct gg_profile_total *total,
                         struct gg_error *error);
int gg_profile_add_memory(struct gg_profile *profile, const struct gg_profile_memory *memory,
                          struct gg_error *error);
int gg_profile_add_event(struct gg_profile *profile, const struct gg_profile_event *event,
                         struct gg_error *error);
int gg_profile_put_counter(struct gg_profile *profile, uint32_t process, const char *name,
                           uint64_t value, struct gg_error *error);
/*
 * What tells a process from others of its kind, and reports may group by: ("host", "web-3"), ("version",
 * "2.1").  Replaces the value of that key.
 */
int gg_profile_put_label(struct gg_profile *profile, uint32_t process, const char *key,
                         const char *value, struct gg_error *error);
/* What people should know of this profile: shown by every report. */
int gg_profile_add_note(struct gg_profile *profile, const char *text, struct gg_error *error);

enum { GG_PROFILE_NAME_MAX = 16384 }; /* bytes of a name or path of a line; longer ones are cut */

/*
 * A longer name without its middle, in `room`: "std::map<...#0123456789abcdef...>::f(int)".  The number is
 * a hash of the whole, so that different names stay different.  Any other name as it is, NULL too.
 * room->failed: out of memory.
 */
const char *gg_profile_bounded_name(const char *name, struct gg_buf *room);

/* Replaces what is known of a frame.  Lines are innermost (inlined) first; their texts are bounded. */
int gg_profile_put_lines(struct gg_profile *profile, uint32_t frame,
                         const struct gg_profile_line *lines, uint32_t line_count,
                         struct gg_error *error);
/* Why a module's frames have names or none. */
int gg_profile_set_module_status(struct gg_profile *profile, uint32_t module, const char *status,
                                 struct gg_error *error);

/* --- reading ------------------------------------------------------------------------------- */

/*
 * A callback gets each record in turn (of ascending id); texts and arrays in it are valid during the
 * call.  It returns 0 to go on; any other value stops the walk and is returned by it.
 */
int gg_profile_session(struct gg_profile *profile, struct gg_profile_session *ret_session,
                       struct gg_error *error); /* texts live as long as the profile */

typedef int gg_process_visit(const struct gg_profile_process *process, void *context);
typedef int gg_thread_visit(const struct gg_profile_thread *thread, void *context);
typedef int gg_module_visit(const struct gg_profile_module *module, void *context);
typedef int gg_mapping_visit(const struct gg_profile_mapping *mapping, void *context);
typedef int gg_frame_visit(const struct gg_profile_frame *frame, void *context);
typedef int gg_line_visit(const struct gg_profile_line *line, void *context);
typedef int gg_stack_visit(const struct gg_profile_stack *stack, void *context);
typedef int gg_name_visit(uint32_t id, const char *name, void *context);
typedef int gg_sample_visit(const struct gg_profile_sample *sample, void *context);
typedef int gg_coarse_visit(const struct gg_profile_coarse *coarse, void *context);
typedef int gg_total_visit(const struct gg_profile_total *total, void *context);
typedef int gg_memory_visit(const struct gg_profile_memory *memory, void *context);
typedef int gg_event_visit(const struct gg_profile_event *event, void *context);
typedef int gg_counter_visit(uint32_t process, const char *name, uint64_t value, void *context);
typedef int gg_label_visit(uint32_t process, const char *key, const char *value, void *context);
typedef int gg_note_visit(const char *text, void *context);

int gg_profile_each_process(struct gg_profile *, gg_process_visit *, void *, struct gg_error *);
int gg_profile_each_thread(struct gg_profile *, gg_thread_visit *, void *, struct gg_error *);
int gg_profile_each_module(struct gg_profile *, gg_module_visit *, void *, struct gg_error *);
int gg_profile_each_mapping(struct gg_profile *, gg_mapping_visit *, void *, struct gg_error *);
int gg_profile_each_frame(struct gg_profile *, gg_frame_visit *, void *, struct gg_error *);
int gg_profile_each_line(struct gg_profile *, gg_line_visit *, void *, struct gg_error *);
int gg_profile_each_stack(struct gg_profile *, gg_stack_visit *, void *, struct gg_error *);
int gg_profile_each_name(struct gg_profile *, enum gg_name_kind, gg_name_visit *, void *,
                         struct gg_error *);
/* 1 M samples a second at least (bench_profile). */
int gg_profile_each_sample(struct gg_profile *, gg_sample_visit *, void *, struct gg_error *);
/* Only those with ids in [first_id, last_id]: for threads that share the work (gg_profile_again). */
int gg_profile_each_sample_between(struct gg_profile *, int64_t first_id, int64_t last_id,
                                   gg_sample_visit *, void *, struct gg_error *);
/* The smallest and the largest id; 0 and 0 if there is no sample. */
GG_MUST_CHECK int gg_profile_sample_ids(struct gg_profile *, int64_t *ret_first, int64_t *ret_last,
                                        struct gg_error *);
int gg_profile_each_coarse(struct gg_profile *, gg_coarse_visit *, void *, struct gg_error *);
int gg_profile_each_total(struct gg_profile *, gg_total_visit *, void *, struct gg_error *);
int gg_profile_each_memory(struct gg_profile *, gg_memory_visit *, void *, struct gg_error *);
int gg_profile_each_event(struct gg_profile *, gg_event_visit *, void *, struct gg_error *);
int gg_profile_each_counter(struct gg_profile *, gg_counter_visit *, void *, struct gg_error *);
int gg_profile_each_label(struct gg_profile *, gg_label_visit *, void *, struct gg_error *);
int gg_profile_each_note(struct gg_profile *, gg_note_visit *, void *, struct gg_error *);
