/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sender_internal - the state of a running sender; shared by the files of src/send that look.
 *
 * | file               | what it does                                                     |
 * |--------------------|------------------------------------------------------------------|
 * | sender.c           | the loop: looks, waits, sends, ends                              |
 * | region_looks.c     | finds processes by their regions, and makes a model of each      |
 * | profile_looks.c    | the same by a profile                                            |
 * | managed_looks.c    | the managed memory of a .NET process, beside its region          |
 * | process_profiles.c | makes the difference, queues the body, notes it, and commits     |
 * | seen_processes.c   | the processes so far, and the notes of what was sent of them     |
 * | fleet_looks.c      | looks for a fleet, which gets slots; and delivers these           |
 * | fleet_regions.c    | the same of regions, all together                                |
 *
 * Threads  one owner.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/array.h"
#include "base/map.h"
#include "format/export/extract.h"
#include "profile/profile.h"
#include "record/symbols/known_symbols.h"
#include "record/symbols/live_names.h"
#include "send/fleet_slots.h"
#include "send/http_post.h"
#include "send/send_outline.h"
#include "send/send_queue.h"
#include "send/send_state.h"
#include "send/sent_totals.h"

/* A process that the sender has seen. */
struct seen_process {
	char owner[GG_SEND_OWNER_MAX];
	char about[GG_SEND_ABOUT_MAX];
	struct gg_sent_totals totals; /* without a state directory alone */
	bool has_totals, is_final, is_here;
	bool is_unsent; /* its last look is not in the queue, so its difference is still to come */
	bool was_told_large;
	int64_t shift_ns; /* of the wall clock, since the process began */
	/* The last look whose profile is in the queue; all 0: no profile is. */
	uint64_t look_hash, look_pulse, look_ns;
	struct gg_send_outline *outline; /* for its next profile; NULL: none */
};

struct gg_region_header;
struct managed_looks;
struct gg_sender_options;
struct gg_sender_result;

struct sender {
	const struct gg_sender_options *options;
	const struct gg_send_facts
		*facts;                /* of bodies: those of the options, or of managed memory */
	struct managed_looks *managed; /* NULL: the process has no session with its runtime */
	uint64_t next_session_ns;      /* CLOCK_MONOTONIC: no session begins before */
	int short_sessions;            /* in a row, with the runtime */
	struct gg_sender_result *result;
	struct gg_error *error;
	struct gg_send_queue *queue;
	char address[GG_RECEIVER_HOST_MAX +
	             GG_RECEIVER_PATH_MAX]; /* the receiver's, for messages */
	struct gg_live_names *names;        /* of profiles that are being recorded */
	struct gg_known_symbols *symbols;   /* of the processes so far */
	struct gg_send_workspace *workspace;
	int state_fd;                   /* of the directory; -1: memory */
	int signal_fd;                  /* -1: none */
	struct gg_http_kept connection; /* to the receiver */
	char *path;                     /* of the region of a process, since the last look */
	GG_ARRAY(struct seen_process) seen;
	struct gg_map seen_map; /* indices, by owner */
	uint64_t start_wall_ns;
	uint64_t end_by_ns;     /* of the flush; 0: it has not begun */
	uint64_t look_sends_ns; /* what this look may still take for attempts */
	uint64_t outline_bytes; /* of all outlines */
	bool is_stopped, has_ended, is_full;
	bool lacks_label;       /* managed memory has no label of its own, as a line has said */
	uint64_t skipped_count; /* looks at processes while the queue was full */
	uint64_t refused_count; /* of them, those of the last look */
	/* A fleet's shares of hosts that send stacks, by service; without a share all do. */
	GG_ARRAY(struct gg_slot_share) shares;
};

/* A process at a look. */
struct looked {
	char owner[GG_SEND_OWNER_MAX];
	int64_t begin_ns, now_ns; /* in the session's time */
	uint64_t begin_wall_ns;
	bool has_ended;
};

/* --- sender.c ------------------------------------------------------------------------------- */

void gg_sender_tell(struct sender *sender, const char *format, ...) GG_PRINTF(2, 3);
/* Tells and forgets the error. */
void gg_sender_tell_error(struct sender *sender);
/* True for errors that tell nothing of the process or file: the next look may succeed. */
bool gg_sender_may_pass(int status);

/* True if the sender should begin no attempts within a look. */
bool gg_sender_is_ending(const struct sender *sender);

/* --- region_looks.c and profile_looks.c ----------------------------------------------------- */

int gg_sender_look_at_directory(struct sender *sender);
int gg_sender_look_at_process(struct sender *sender);
int gg_sender_look_at_profile(struct sender *sender);
/* A region that the last sender did not send whole comes before one that gg_find_region() finds. */
int gg_sender_recall(struct sender *sender);

int gg_sender_load_model(struct sender *sender, struct gg_profile *profile, bool has_live_names,
                         struct gg_model **ret_model);
int gg_sender_extract_of(struct sender *sender, const struct gg_model *model,
                         struct gg_extract **ret_extract);

/* --- managed_looks.c ------------------------------------------------------------------------ */

/*
 * Sends the managed memory of the process whose region is at sender->path, if a .NET runtime is in
 * it.  pid: in this pid namespace; 0: unknown.
 */
int gg_managed_looks_look(struct sender *sender, const struct gg_region_header *header, pid_t pid,
                          bool is_alive);
/* The last look of a process whose region is gone. */
int gg_managed_looks_last(struct sender *sender);
/* True for the owner of the session's profiles. */
bool gg_managed_looks_has(const struct sender *sender, const char *owner);
void gg_managed_looks_end(struct sender *sender);

/* --- process_profiles.c --------------------------------------------------------------------- */

/* Sends a process's rows of an extract, [first, end). */
int gg_sender_send_process(struct sender *sender, const struct looked *looked,
                           const struct gg_extract *all, size_t first, size_t end);
/*
 * Sends the numbers of a view by the process's outline.  1: the look is done, even if the queue had
 * no room; 0: it must go the long way.
 */
int gg_sender_send_numbers(struct sender *sender, struct seen_process *seen,
                           const struct gg_send_outline_look *look);
/*
 * Puts a body into the queue, notes what it has, with its number, and lets it go.  The function may
 * take the rows' memory.
 */
int gg_sender_put(struct sender *sender, struct seen_process *seen, const struct gg_send_item *item,
                  struct gg_sent_totals *totals);
/* Call it after a look at which everything had room. */
void gg_sender_end_full(struct sender *sender);

/* --- fleet_looks.c -------------------------------------------------------------------------- */

/* Sends the slots of a session that are over; of a finished one, all. */
int gg_sender_send_session(struct sender *sender, const struct gg_model *model, bool is_finished);
/* fleet_regions.c */
int gg_sender_look_for_fleet_at_regions(struct sender *sender);
/* Sends a slot, and the definitions that its answer asks for. */
void gg_sender_deliver_slot(struct sender *sender, const struct gg_http_post *post,
                            struct gg_send_answer *ret_answer);
/* The time until the next look: soon after the end of a slot, and not of all hosts at once. */
uint64_t gg_sender_fleet_wait_ns(const struct sender *sender);

/* --- seen_processes.c ----------------------------------------------------------------------- */

/* The name of a process's note: its pid alone comes again. */
void gg_seen_name_owner(char owner[GG_SEND_OWNER_MAX], uint32_t pid, uint64_t wall_ns,
                        uint64_t more);
/*
 * Find a process.  The first function adds it if it is new, and returns NULL if memory runs out.
 * The result is valid until the next process is added.
 */
struct seen_process *gg_seen_process_of(struct sender *sender, const char *owner);
struct seen_process *gg_seen_find(struct sender *sender, const char *owner);
/* True if the process was sent whole before, so that nobody needs its model. */
bool gg_seen_is_final(struct sender *sender, const char *owner);
void gg_seen_forget_outline(struct sender *sender, struct seen_process *seen);

/*
 * Reads what was sent.  *ret_is_known is false if nobody can know that: then the difference is
 * unknown, too, and only the next one counts.
 */
int gg_seen_read_totals(struct sender *sender, const struct seen_process *seen, bool began_before,
                        struct gg_sent_totals *totals, bool *ret_is_known);
/* Takes the rows' memory if it keeps them. */
int gg_seen_write_totals(struct sender *sender, struct seen_process *seen,
                         struct gg_sent_totals *totals);
/* A damaged note never gets another difference than the next one, so the body has its own. */
int gg_seen_is_committed(const char *owner, uint64_t number, void *sender);

/* Says which processes left nothing to look at, although they were not sent whole. */
void gg_seen_tell_gone(struct sender *sender);
/* Removes notes of processes that are gone for a day. */
void gg_seen_clean_notes(struct sender *sender);
void gg_seen_done(struct sender *sender);
