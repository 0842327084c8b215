/* SPDX-License-Identifier: Apache-2.0 */
/*
 * managed_looks - the managed memory of a .NET process, as profiles of their own.
 *
 * A sender notes for the next one which totals of a process it has sent, and the region keeps the
 * totals while the process lives.  A runtime counts anew for each session.  So managed memory has
 * an owner of its own for each session, and a label that keeps it apart from malloc's: receivers
 * take means of live memory within a series.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/time_units.h"
#include "record/dotnet/managed_watch.h"
#include "record/dotnet/unrecorded_runtime.h"
#include "record/regions/process_alive.h"
#include "record/session/profile_writer.h"
#include "region/reader/view.h"
#include "send/sender.h"
#include "send/sender_internal.h"

/*
 * The events of a session, which geiger keeps, and reads again for each look.  A sender runs for
 * long: then a new session begins.
 */
#define SESSION_BYTES_MAX (UINT64_C(256) << 20)

enum { SHORT_SESSIONS_MOST = 6 /* the next session waits 2^6 s at most */ };

/* A session of one process with its runtime. */
struct managed_looks {
	char *path; /* of the region of its process */
	pid_t pid;
	struct gg_managed_watch *watch;
	struct gg_profile *profile;
	struct gg_profile_writer writer;
	struct gg_profile_session session;
	struct gg_error error; /* of the writer */
	uint32_t process;
	bool is_known; /* the runtime answers */
	char owner[GG_SEND_OWNER_MAX];
	struct gg_send_facts facts; /* those of the sender, and the label */
	const char *label;
};

/*
 * Adds the label, by a key that the user has not given.  Returns NULL if there is no room: without
 * a label of its own, managed memory would be taken for malloc's.
 */
static const char *add_label(struct gg_send_facts *facts)
{
	static const char *const keys[] = { "heap", "geiger.heap" };

	for (size_t i = 0; i < GG_COUNT(keys) && facts->label_count < GG_SEND_LABELS_MAX; i++) {
		if (gg_send_facts_label(facts, keys[i]) != NULL)
			continue;
		facts->labels[facts->label_count++] = (struct gg_export_attribute){
			.key = keys[i], .value = "managed"
		};
		return keys[i];
	}
	return NULL;
}

/* Says once if managed memory cannot have a label of its own. */
static bool has_room_for_label(struct sender *sender, pid_t pid)
{
	struct gg_send_facts facts = sender->options->facts;

	if (add_label(&facts) != NULL)
		return true;
	if (!sender->lacks_label)
		gg_sender_tell(sender,
		               "process %d runs .NET, and malloc's memory alone is sent: too many "
		               "labels, or heap and geiger.heap, leave none to tell managed memory "
		               "apart",
		               (int)pid);
	sender->lacks_label = true;
	return false;
}

static int write_process(struct managed_looks *managed, const struct gg_region_header *header,
                         struct gg_error *error)
{
	char exe[GG_REGION_EXE_MAX + 1];
	struct gg_profile_process process = {
		.pid = header->pid,
		.end_ns = GG_TIME_NONE,
		.exe = exe,
		.interval_bytes = managed->session.interval_bytes,
		.scheme = managed->session.scheme,
	};

	snprintf(exe, sizeof(exe), "%.*s", (int)header->exe_bytes, header->exe);
	return gg_profile_add_process(managed->profile, &process, &managed->process, error);
}

static int begin(struct sender *sender, const struct gg_region_header *header, pid_t pid)
{
	struct managed_looks *managed = calloc(1, sizeof(*managed));
	uint64_t start_ns = gg_clock_monotonic_ns();
	int status;

	if (managed == NULL)
		return gg_error_memory(sender->error, "send");
	sender->managed = managed;
	managed->pid = pid;
	managed->facts = sender->options->facts;
	managed->label = add_label(&managed->facts);
	managed->session = (struct gg_profile_session){
		.geiger = GG_VERSION,
		.start_wall_ns = gg_clock_wall_ns(),
		.interval_bytes = 102400,
		.exit_status = -1,
		.scheme = GG_SCHEME_BERNOULLI,
	};
	gg_seen_name_owner(managed->owner, header->pid, managed->session.start_wall_ns, start_ns);
	managed->path = strdup(sender->path);
	if (managed->path == NULL)
		return gg_error_memory(sender->error, "send");
	status = gg_managed_watch_new(&managed->watch, pid, SESSION_BYTES_MAX, sender->error);
	if (status == 0)
		status = gg_profile_create(&managed->profile, NULL, sender->error);
	if (status == 0)
		status = gg_profile_writer_init(&managed->writer, managed->profile, start_ns,
		                                &managed->error);
	return status == 0 ? write_process(managed, header, sender->error) : status;
}

/* The entry of an ended session: no look follows that could send what is not in the queue. */
static void close_entry(struct sender *sender, struct seen_process *seen)
{
	if (seen->is_unsent) {
		sender->result->lost_count++;
		gg_sender_tell(sender,
		               "%s: what it allocated in managed memory since the last profile of "
		               "the session with .NET is lost",
		               seen->about);
	}
	seen->is_final = true;
	seen->is_unsent = seen->is_here = false;
}

void gg_managed_looks_end(struct sender *sender)
{
	struct managed_looks *managed = sender->managed;
	struct seen_process *seen;

	if (managed == NULL)
		return;
	seen = gg_seen_find(sender, managed->owner);
	if (seen != NULL)
		close_entry(sender, seen);
	gg_managed_watch_free(managed->watch);
	if (managed->profile != NULL)
		gg_profile_writer_done(&managed->writer);
	gg_profile_close(managed->profile);
	free(managed->path);
	free(managed);
	sender->managed = NULL;
}

static int send_managed(struct sender *sender, bool is_alive)
{
	struct managed_looks *managed = sender->managed;
	struct looked looked = { .begin_wall_ns = managed->session.start_wall_ns,
		                 .now_ns = managed->writer.now_ns,
		                 .has_ended = !is_alive };
	struct gg_extract *extract = NULL;
	struct gg_model *model = NULL;
	int status = gg_sender_load_model(sender, managed->profile, false, &model);

	snprintf(looked.owner, sizeof(looked.owner), "%s", managed->owner);
	if (status == 0)
		status = gg_sender_extract_of(sender, model, &extract);
	sender->facts = &managed->facts;
	if (status == 0 && extract->row_count > 0)
		status = gg_sender_send_process(sender, &looked, extract, 0, extract->row_count);
	sender->facts = &sender->options->facts;
	gg_extract_free(extract);
	gg_model_free(model);
	return status;
}

/* Takes what the runtime has sent, and sends it. */
static int look(struct sender *sender, bool is_alive)
{
	struct managed_looks *managed = sender->managed;
	struct gg_profile_writer *writer = &managed->writer;

	writer->now_ns = (int64_t)(gg_clock_monotonic_ns() - writer->start_ns);
	if (gg_managed_watch_why_ended(managed->watch) == NULL)
		gg_managed_watch_take(managed->watch, writer, managed->process);
	managed->session.end_ns = writer->now_ns;
	gg_profile_writer_keep(
		writer, gg_profile_set_session(managed->profile, &managed->session, writer->error));
	if (gg_profile_writer_commit(writer) < 0) {
		*sender->error = managed->error;
		return writer->status;
	}
	if (!managed->is_known && gg_managed_watch_follows(managed->watch)) {
		managed->is_known = true;
		gg_sender_tell(sender,
		               "process %d runs .NET: its managed memory has the label "
		               "%s=managed, and counts from now on",
		               (int)managed->pid, managed->label);
	}
	return managed->is_known ? send_managed(sender, is_alive) : 0;
}

/*
 * True if the session has ended, although the process lives.  While the queue is full, the session
 * stays, so that a later look sends the rest; what is too large for any queue has no later look.
 */
static bool has_ended(struct sender *sender)
{
	const struct managed_looks *managed = sender->managed;
	const struct seen_process *seen = gg_seen_find(sender, managed->owner);

	return gg_managed_watch_why_ended(managed->watch) != NULL &&
	       gg_process_alive((uint32_t)managed->pid, 0) &&
	       (seen == NULL || !seen->is_unsent || seen->was_told_large);
}

/* geiger asks a runtime that ends each session at once less and less often. */
static void begin_another(struct sender *sender)
{
	const struct managed_looks *managed = sender->managed;

	gg_sender_tell(sender,
	               "process %d: the session with .NET has ended (%s), and another one begins; "
	               "objects from before it are missing in live memory",
	               (int)managed->pid, gg_managed_watch_why_ended(managed->watch));
	if (!gg_managed_watch_was_short(managed->watch))
		sender->short_sessions = 0;
	else if (sender->short_sessions < SHORT_SESSIONS_MOST)
		sender->short_sessions++;
	sender->next_session_ns = gg_clock_monotonic_ns() +
	                          (((uint64_t)GG_NS_PER_S << sender->short_sessions) -
	                           (uint64_t)GG_NS_PER_S);
	gg_managed_looks_end(sender);
}

/* The difference of a look that failed is in no profile. */
static void end_failed(struct sender *sender)
{
	struct seen_process *seen = gg_seen_find(sender, sender->managed->owner);

	if (seen != NULL)
		seen->is_unsent = true;
	gg_managed_looks_end(sender);
}

int gg_managed_looks_look(struct sender *sender, const struct gg_region_header *header, pid_t pid,
                          bool is_alive)
{
	struct managed_looks *managed = sender->managed;
	int status = 0;

	/* A single look has no time in which the runtime could send anything. */
	if (sender->options->every_seconds <= 0 || gg_region_is_exact(header))
		return 0;
	if (managed != NULL && strcmp(managed->path, sender->path) != 0)
		gg_managed_looks_end(sender); /* the process executes another program */
	if (sender->managed == NULL && gg_clock_monotonic_ns() < sender->next_session_ns)
		return 0;
	if (sender->managed == NULL && (!is_alive || pid <= 0 || !gg_unrecorded_runtime_is_in(pid)))
		return 0;
	if (sender->managed == NULL && !has_room_for_label(sender, pid))
		return 0;
	if (sender->managed == NULL)
		status = begin(sender, header, pid);
	if (status == 0)
		status = look(sender, is_alive);
	if (status < 0) {
		end_failed(sender);
	} else if (is_alive && has_ended(sender)) {
		begin_another(sender);
	}
	return status;
}

int gg_managed_looks_last(struct sender *sender)
{
	int status;

	if (sender->managed == NULL)
		return 0;
	*sender->error = (struct gg_error){ 0 };
	status = look(sender, false);
	if (status < 0)
		end_failed(sender);
	return status;
}

bool gg_managed_looks_has(const struct sender *sender, const char *owner)
{
	return sender->managed != NULL && strcmp(sender->managed->owner, owner) == 0;
}
