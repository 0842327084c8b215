/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sender - the loop of looks, and the order in which a profile becomes safe.
 *
 * look_at_*()      find processes and make a model of each.
 * send_process()   makes the difference, puts the body into the queue, notes it, and commits.
 * wait_until()     sends what waits, until the next look is due or the end comes.
 */
#include "send/sender.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/time_units.h"
#include "format/codec/stable_hash.h"
#include "record/regions/find_region.h"
#include "record/regions/polling.h"
#include "record/regions/process_alive.h"
#include "record/regions/region_list.h"
#include "record/regions/region_profile.h"
#include "record/symbols/live_names.h"
#include "record/symbols/symbolize.h"
#include "region/reader/view.h"
#include "report/frame_selection.h"
#include "send/http_post.h"
#include "send/send_reply.h"
#include "send/send_state.h"
#include "send/sent_totals.h"

enum {
	OWNER_MAX = GG_SEND_OWNER_MAX,
	ABOUT_MAX = GG_SEND_ABOUT_MAX,
	SYMBOL_SECONDS = 20, /* for a module */
	BACKOFF_LEAST_MS = 1000,
	BACKOFF_MOST_MS = 60000,
	FORGET_SECONDS = 24 * 60 * 60, /* notes of processes that are gone */
	CLEAN_EVERY = 1440,            /* looks */
	CLOCK_STEP_MS = 1000,
	REPEAT_SECONDS = 300, /* a profile of a process that does nothing */
};
#define FLUSH_MAX_SECONDS 1e9

/* A process that the sender has seen. */
struct seen_process {
	char owner[OWNER_MAX];
	char about[ABOUT_MAX];
	struct gg_sent_totals totals; /* without a state directory alone */
	bool has_totals, is_final, is_here;
	bool is_unsent; /* its last look is not in the queue, so its difference is still to come */
	bool was_told_large;
	int64_t shift_ns; /* of the wall clock, since the process began */
	/* The last look whose profile is in the queue; 0: no profile is. */
	uint64_t look_hash, look_ns;
};

struct sender {
	const struct gg_sender_options *options;
	struct gg_sender_result *result;
	struct gg_error *error;
	struct gg_send_queue *queue;
	struct gg_live_names *names;
	int state_fd;  /* of the directory; -1: memory */
	int signal_fd; /* -1: none */
	char *path;    /* of the region of a process, since the last look */
	GG_ARRAY(struct seen_process) seen;
	uint64_t start_wall_ns;
	uint64_t end_by_ns; /* of the flush; 0: it has not begun */
	bool is_stopped, has_ended, is_full;
	uint64_t skipped_count; /* looks at processes while the queue was full */
	uint64_t refused_count; /* of them, those of the last look */
};

static void tell(struct sender *sender, const char *format, ...) GG_PRINTF(2, 3);

static void tell(struct sender *sender, const char *format, ...)
{
	char text[600];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	if (sender->options->tell != NULL)
		sender->options->tell(text, sender->options->context);
}

/* Tells and forgets the error. */
static void tell_error(struct sender *sender)
{
	const struct gg_error *error = sender->error;

	tell(sender, "%.200s%s%.300s", error->place, error->place[0] != '\0' ? ": " : "",
	     error->message);
	*sender->error = (struct gg_error){ 0 };
}

/* True for errors that tell nothing of the process or file: the next look may succeed. */
static bool may_pass(int status)
{
	return status == -EMFILE || status == -ENFILE || status == -ENOMEM || status == -EAGAIN ||
	       status == -EINTR || status == -EIO || status == -ENOSPC || status == -EDQUOT;
}

/* --- the end -------------------------------------------------------------------------------- */

/* Waits for at most `wait_ns`, less if a signal or the end of `until_fd` ends the sender. */
static void wait_a_while(struct sender *sender, uint64_t wait_ns)
{
	struct pollfd fds[2] = { { .fd = sender->signal_fd, .events = POLLIN },
		                 { .fd = sender->options->until_fd, .events = POLLIN } };
	struct signalfd_siginfo signal;
	char byte;

	if (poll(fds, 2, (int)((wait_ns + GG_NS_PER_MS - 1) / GG_NS_PER_MS)) <= 0)
		return;
	if (fds[0].revents != 0 && read(sender->signal_fd, &signal, sizeof(signal)) > 0)
		sender->is_stopped = true;
	if (fds[1].revents != 0 && read(sender->options->until_fd, &byte, 1) <= 0)
		sender->is_stopped = true;
}

static bool is_stopped(void *context)
{
	struct sender *sender = context;

	if (sender->end_by_ns != 0)
		return gg_clock_monotonic_ns() >= sender->end_by_ns;
	wait_a_while(sender, 0);
	return sender->is_stopped;
}

/* --- the queue ------------------------------------------------------------------------------ */

static void deliver(const struct gg_send_item *item, struct gg_send_answer *ret_answer,
                    void *context)
{
	const struct gg_sender_options *options = ((struct sender *)context)->options;
	const struct gg_receiver *receiver = options->facts.receiver;
	struct gg_http_post post = {
		.is_secure = receiver->is_secure,
		.host = receiver->host,
		.port = receiver->port,
		.target = item->target,
		.type = item->type,
		.headers = options->headers != NULL ? options->headers : "",
		.certificates = options->certificates,
		.is_gzip = item->is_gzip,
		.body = item->body,
		.length = item->length,
		.timeout_seconds = options->timeout_seconds,
	};
	struct gg_http_reply reply;
	char why[GG_HTTP_WHY_MAX];
	enum gg_http_result result = gg_http_post(&post, &reply, why);

	if (result == GG_HTTP_REPLIED) {
		gg_send_reply_read(&reply, receiver->form == GG_RECEIVER_OTLP, ret_answer);
		return;
	}
	*ret_answer = (struct gg_send_answer){ .verdict = result == GG_HTTP_NOT_SENT
		                                                  ? GG_SEND_LATER
		                                                  : GG_SEND_IN_DOUBT,
		                               .retry_after_seconds = -1 };
	snprintf(ret_answer->text, sizeof(ret_answer->text), "%s", why);
}

static void name_totals(const char *owner, char name[OWNER_MAX + 8])
{
	snprintf(name, OWNER_MAX + 8, "%s.totals", owner);
}

/* A damaged note never gets another difference than the next one, so the body has its own. */
static int is_committed(const char *owner, uint64_t number, void *context)
{
	const struct sender *sender = context;
	struct gg_sent_totals totals;
	char name[OWNER_MAX + 8];
	int status;

	if (strchr(owner, '/') != NULL)
		return 0;
	name_totals(owner, name);
	status = gg_sent_totals_read(&totals, sender->state_fd, name, NULL);
	if (status < 0)
		return status == -ENOENT ? 0 : status == -EBADMSG ? 1 : status;
	status = totals.number == number;
	gg_sent_totals_done(&totals);
	return status;
}

static void tell_for_queue(const char *text, void *context)
{
	tell(context, "%s", text);
}

/* --- what was sent of a process ------------------------------------------------------------- */

/* Finds or adds a process; NULL: memory ran out. */
static struct seen_process *see(struct sender *sender, const char *owner)
{
	struct seen_process *seen;

	for (size_t i = 0; i < sender->seen.count; i++)
		if (strcmp(sender->seen.items[i].owner, owner) == 0)
			return &sender->seen.items[i];
	seen = gg_array_add(&sender->seen);
	if (seen != NULL)
		snprintf(seen->owner, sizeof(seen->owner), "%s", owner);
	return seen;
}

/*
 * Reads what was sent.  *ret_is_known is false if nobody can know that: then the difference is
 * unknown, too, and only the next one counts.
 */
static int read_totals(struct sender *sender, const struct seen_process *seen, bool began_before,
                       struct gg_sent_totals *totals, bool *ret_is_known)
{
	struct gg_error error = { 0 };
	char name[OWNER_MAX + 8];
	int status;

	*totals = (struct gg_sent_totals){ 0 };
	*ret_is_known = true;
	if (sender->state_fd < 0) {
		*ret_is_known = seen->has_totals || !began_before;
		*totals = seen->totals;
		totals->rows.items = NULL; /* a copy: these totals count until the next ones do */
		totals->rows.count = totals->rows.capacity = 0;
		if (!gg_array_reserve(&totals->rows, seen->totals.rows.count + 1))
			return gg_error_memory(sender->error, "send");
		for (size_t i = 0; i < seen->totals.rows.count; i++)
			totals->rows.items[totals->rows.count++] = seen->totals.rows.items[i];
		return 0;
	}
	name_totals(seen->owner, name);
	status = gg_sent_totals_read(totals, sender->state_fd, name, &error);
	if (status == -ENOENT)
		return 0;
	if (status == -EBADMSG) {
		*ret_is_known = false;
		tell(sender,
		     "%s: the note of what was sent is damaged; what it allocated up to "
		     "now is not sent",
		     seen->about);
		return 0;
	}
	return status < 0 ? gg_error_set_errno(sender->error, -status, name, NULL) : 0;
}

static int write_totals(struct sender *sender, struct seen_process *seen,
                        struct gg_sent_totals *totals)
{
	char name[OWNER_MAX + 8];
	bool is_final = totals->is_final;
	int status;

	if (sender->state_fd < 0) {
		gg_sent_totals_done(&seen->totals);
		seen->is_final = is_final;
		seen->totals = *totals;
		seen->has_totals = true;
		*totals = (struct gg_sent_totals){ 0 };
		return 0;
	}
	name_totals(seen->owner, name);
	status = gg_sent_totals_write(totals, sender->state_fd, name, sender->error);
	if (status == 0) /* otherwise the next look makes the difference again */
		seen->is_final = is_final;
	return status;
}

/* --- one process ---------------------------------------------------------------------------- */

/* A process at a look. */
struct looked {
	char owner[OWNER_MAX];
	int64_t begin_ns, now_ns; /* in the session's time */
	uint64_t begin_wall_ns;
	bool has_ended;
};

/* Keeps the rows that say something. */
static void drop_empty_rows(struct gg_extract *extract)
{
	struct gg_plain_tally difference = { 0 };
	size_t count = 0;

	if (extract->row_count > 0) /* the first row has the tally of all (sent_totals.h) */
		difference = extract->rows[0].allocated.tally;
	for (size_t i = 0; i < extract->row_count; i++) {
		const struct gg_extract_row *row = &extract->rows[i];

		if (row->live.bytes == 0 && row->live.count == 0 && row->allocated.bytes == 0 &&
		    row->allocated.count == 0)
			continue;
		extract->rows[count++] = *row;
	}
	if (count > 0)
		extract->rows[0].allocated.tally = difference;
	extract->row_count = count;
}

static void forget_allocated(struct gg_extract *extract)
{
	for (size_t i = 0; i < extract->row_count; i++) {
		struct gg_extract_sum *sum = &extract->rows[i].allocated;

		sum->bytes = sum->count = 0;
		sum->tally = (struct gg_plain_tally){ 0 };
	}
	extract->allocated_bytes = extract->allocated_count = 0;
	extract->allocated = (struct gg_tally){ 0 };
	gg_extract_expose(extract, false, &extract->allocated);
}

/* Puts a body into the queue, notes what it has, and lets it go. */
static int put(struct sender *sender, struct seen_process *seen, struct gg_extract *extract,
               struct gg_sent_totals *totals)
{
	struct gg_send_body body = { 0 };
	struct gg_send_item item;
	uint64_t number = 0;
	int status = gg_send_body_make(&body, &sender->options->facts, extract,
	                               gg_hash_random_seed() | 1, sender->error);

	item = gg_send_body_item(&body, seen->owner);
	if (status == 0)
		status = gg_send_queue_put(sender->queue, &item, &number, sender->error);
	if (status == 0) {
		totals->number = number;
		status = write_totals(sender, seen, totals);
		if (status < 0)
			gg_send_queue_cancel(sender->queue, number);
		else
			gg_send_queue_commit(sender->queue, number);
	}
	if (status == 0)
		sender->result->profile_count++;
	gg_send_body_done(&body);
	return status;
}

/* The queue has no room, so the next look sends this process's difference. */
static void skip(struct sender *sender)
{
	sender->skipped_count++;
	sender->refused_count++;
	if (!sender->is_full)
		tell(sender, "the queue is full: looks wait until there is room; what is allocated "
		             "meanwhile is sent then");
	sender->is_full = true;
}

/* The queue never has room for the process, so waiting does not help. */
static void tell_large(struct sender *sender, struct seen_process *seen)
{
	if (!seen->was_told_large)
		tell(sender, "%s is not sent: %.200s", seen->about, sender->error->message);
	seen->was_told_large = true;
}

/* After a look at which everything had room. */
static void end_full(struct sender *sender)
{
	if (sender->is_full)
		tell(sender,
		     "the queue has room again: %" PRIu64 " states of live memory are "
		     "missing, and nothing that was allocated",
		     sender->skipped_count);
	sender->is_full = false;
	sender->skipped_count = 0;
}

/* `extract` has the rows of that process alone. */
static int send_rows(struct sender *sender, struct seen_process *seen, const struct looked *looked,
                     struct gg_extract *extract)
{
	struct gg_sent_totals totals;
	bool is_known;
	bool began_before = sender->options->every_seconds > 0 &&
	                    looked->begin_wall_ns < sender->start_wall_ns;
	int status = read_totals(sender, seen, began_before, &totals, &is_known);

	if (status == 0 && totals.is_final) {
		sender->result->unchanged_count++;
		seen->is_final = true;
		seen->is_unsent = false;
		gg_sent_totals_done(&totals);
		return 0;
	}
	extract->start_ns = totals.until_ns > looked->begin_ns ? totals.until_ns : looked->begin_ns;
	extract->end_ns = looked->now_ns > extract->start_ns ? looked->now_ns : extract->start_ns;
	if (status == 0)
		status = gg_sent_totals_subtract(&totals, extract, sender->error);
	if (status == 0) {
		totals.until_ns = extract->end_ns;
		totals.is_final = looked->has_ended;
		if (!is_known)
			forget_allocated(extract);
		gg_extract_hide_entries(extract);
		drop_empty_rows(extract);
		status = extract->row_count > 0 ? put(sender, seen, extract, &totals)
		                                : write_totals(sender, seen, &totals);
	}
	gg_sent_totals_done(&totals);
	seen->is_unsent = status < 0;
	if (status != -ENOSPC && status != -EDQUOT && status != -EFBIG)
		return status;
	if (status == -EFBIG)
		tell_large(sender, seen);
	else
		skip(sender);
	*sender->error = (struct gg_error){ 0 };
	return 0;
}

/* Sends a process's rows of an extract, [first, end). */
static int send_process(struct sender *sender, const struct looked *looked,
                        const struct gg_extract *all, size_t first, size_t end)
{
	struct gg_extract part = *all;
	struct gg_plain_tally live = { 0 };
	struct seen_process *seen = see(sender, looked->owner);
	const struct gg_profile_process *process = &all->model->processes[all->rows[first].process];
	int status;

	part.row_count = end - first;
	part.rows = malloc(part.row_count * sizeof(*part.rows));
	if (seen == NULL || part.rows == NULL) {
		free(part.rows);
		return gg_error_memory(sender->error, "send");
	}
	memcpy(part.rows, all->rows + first, part.row_count * sizeof(*part.rows));
	part.live_bytes = part.live_count = 0;
	for (size_t i = 0; i < part.row_count; i++) {
		part.live_bytes += part.rows[i].live.bytes;
		part.live_count += part.rows[i].live.count;
		gg_plain_tally_add(&live, &part.rows[i].live.tally);
	}
	gg_plain_tally_tally(&live, &part.live);
	part.interval_bytes = gg_model_interval(all->model, all->rows[first].process);
	gg_extract_expose(&part, false, &part.live);
	seen->is_here = true;
	snprintf(seen->about, sizeof(seen->about), "%.120s (%u)",
	         process->exe != NULL ? gg_path_base(process->exe) : "a process", process->pid);
	status = send_rows(sender, seen, looked, &part);
	free(part.rows);
	return status;
}

/* --- regions -------------------------------------------------------------------------------- */

/* The name of a process's note: its pid alone comes again. */
static void name_owner(char owner[OWNER_MAX], uint32_t pid, uint64_t wall_ns, uint64_t more)
{
	char text[40];

	snprintf(text, sizeof(text), "%" PRIx64 " %" PRIx64, wall_ns, more);
	snprintf(owner, OWNER_MAX, "%u-%016" PRIx64, pid,
	         gg_stable_hash_text(GG_STABLE_HASH_START, text));
}

static void name_region_owner(char owner[OWNER_MAX], const struct gg_region_header *header)
{
	name_owner(owner, header->pid, header->start_wall_ns, header->start_monotonic_ns);
}

static int load_model(struct sender *sender, struct gg_profile *profile, bool has_live_names,
                      struct gg_model **ret_model)
{
	const struct gg_frame_selection frames = { .all_frames = true };
	struct gg_model_options options = { 0 };
	int status;

	if (has_live_names && gg_live_names_learn(sender->names, profile, NULL) == 0) {
		options.more_lines = gg_live_names_tell;
		options.context = sender->names;
	}
	gg_frame_selection_options(&frames, &options);
	status = gg_model_load(ret_model, &profile, 1, &options, sender->error);
	if (status == 0) {
		status = gg_frame_selection_apply(&frames, ret_model, 1, sender->error);
		if (status < 0)
			gg_model_free(*ret_model);
	}
	return status;
}

static int extract_of(struct sender *sender, const struct gg_model *model,
                      struct gg_extract **ret_extract)
{
	struct gg_query query;

	gg_query_init(&query);
	return gg_extract_make_by_stack(ret_extract, model, &query, sender->options->confidence,
	                                sender->error);
}

/* True if the process was sent whole before, so that nobody needs its model. */
static bool is_final(struct sender *sender, const char *owner)
{
	struct seen_process *seen = see(sender, owner);
	struct gg_sent_totals totals;
	char name[OWNER_MAX + 8];

	if (seen == NULL)
		return false;
	seen->is_here = true;
	if (seen->is_final || sender->state_fd < 0)
		return seen->is_final;
	name_totals(owner, name);
	if (gg_sent_totals_read(&totals, sender->state_fd, name, NULL) == 0) {
		seen->is_final = totals.is_final;
		gg_sent_totals_done(&totals);
	}
	return seen->is_final;
}

/* Nothing was sampled yet, so there is nothing to send, or to lose. */
static void note_empty(struct sender *sender, const struct looked *looked, uint32_t pid)
{
	struct seen_process *seen = see(sender, looked->owner);

	if (seen == NULL)
		return;
	snprintf(seen->about, sizeof(seen->about), "process %u", pid);
	seen->is_here = true;
	seen->is_unsent = false;
	seen->is_final = looked->has_ended;
}

/*
 * Returns the wall time of the session's zero by the clock of now: the wall clock may have been set
 * since, and the session's clock stands still while the machine sleeps.  Windows would be off by
 * that.  An ended process keeps the shift of its last look: its region may be from an earlier boot.
 */
static uint64_t start_wall_of(struct sender *sender, const char *owner,
                              const struct gg_region_header *header, bool is_alive)
{
	struct seen_process *seen = see(sender, owner);
	struct gg_clock_moment now = gg_clock_moment();
	int64_t shift_ns = (int64_t)(now.wall_ns - (now.monotonic_ns - header->start_monotonic_ns) -
	                             header->start_wall_ns);

	if (seen == NULL)
		return header->start_wall_ns;
	if (is_alive)
		seen->shift_ns = llabs(shift_ns) > CLOCK_STEP_MS * GG_NS_PER_MS ? shift_ns : 0;
	return header->start_wall_ns + (uint64_t)seen->shift_ns;
}

/* Returns a hash of all of a view that a body depends on; 0: the view is not of one instant. */
static uint64_t hash_of(const struct gg_region_view *view)
{
	const struct {
		const void *bytes;
		size_t length;
	} parts[] = {
		{ view->live, view->live_count * sizeof(*view->live) },
		{ view->site_totals, view->site_total_count * sizeof(*view->site_totals) },
		{ view->exact_totals, view->exact_totals != NULL
		                              ? view->site_total_count * sizeof(*view->exact_totals)
		                              : 0 },
	};
	uint64_t hash = 1;

	if (view->torn)
		return 0;
	for (size_t i = 0; i < GG_COUNT(parts); i++)
		hash = gg_hash_bytes(parts[i].bytes, parts[i].length, hash);
	return hash | 1;
}

/*
 * True if the process did nothing since its last profile, so that a profile would say the same.
 * The next one has a window that covers the looks between.  Receivers see that it lives all the
 * same, since an unchanged profile is repeated after REPEAT_SECONDS.
 */
static bool is_idle(const struct seen_process *seen, uint64_t hash)
{
	return hash != 0 && hash == seen->look_hash && !seen->is_unsent &&
	       gg_clock_monotonic_ns() - seen->look_ns < REPEAT_SECONDS * GG_NS_PER_S;
}

static int send_view(struct sender *sender, const char *path, const struct gg_region_view *view,
                     bool is_alive)
{
	const struct gg_symbol_options symbols = {
		.start_monotonic_ns = view->header.start_monotonic_ns,
		.offline = true,
		.limit_seconds = SYMBOL_SECONDS
	};
	struct looked looked = { .has_ended = !is_alive };
	struct gg_symbolize_result named;
	struct gg_polling *polling;
	struct gg_model *model = NULL;
	struct gg_extract *extract = NULL;
	uint64_t hash = is_alive && sender->options->every_seconds > 0 ? hash_of(view) : 0;
	struct seen_process *seen;
	int status;

	name_region_owner(looked.owner, &view->header);
	seen = see(sender, looked.owner);
	if (is_final(sender, looked.owner)) {
		sender->result->unchanged_count++;
		return 0;
	}
	if (seen != NULL && is_idle(seen, hash)) {
		sender->result->idle_count++;
		return 0;
	}
	status = gg_polling_open(&polling, path, sender->error);
	if (status < 0)
		return status;
	looked.begin_wall_ns = start_wall_of(sender, looked.owner, &view->header, is_alive);
	gg_polling_set_start_wall(polling, looked.begin_wall_ns);
	status = gg_polling_take(polling, view, sender->error);
	looked.now_ns = gg_polling_view_ns(polling);
	if (status == 0)
		status = gg_symbolize(gg_polling_profile(polling), &symbols, &named, sender->error);
	if (status == 0)
		status = load_model(sender, gg_polling_profile(polling), false, &model);
	if (status == 0)
		status = extract_of(sender, model, &extract);
	if (status == 0 && extract->row_count > 0)
		status = send_process(sender, &looked, extract, 0, extract->row_count);
	else if (status == 0)
		note_empty(sender, &looked, view->header.pid);
	seen = see(sender, looked.owner);
	if (status == 0 && seen != NULL) {
		seen->look_hash = hash;
		seen->look_ns = gg_clock_monotonic_ns();
	}
	gg_extract_free(extract);
	gg_model_free(model);
	gg_polling_free(polling);
	return status;
}

/* Looks at a region.  *ret_is_alive: its process lives; it stays as it is if nobody knows. */
static int look_at_region(struct sender *sender, const char *path, bool *ret_is_alive)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), status;
	struct gg_region_view view;

	if (fd < 0)
		return gg_error_set_errno(sender->error, errno, path, NULL);
	/* The process may write until it ends, so the question whether it lives comes first. */
	status = gg_region_view_read(&view, fd, path, sender->error);
	if (status == 0) {
		*ret_is_alive = gg_process_alive_region(&view.header, fd);
		if (!*ret_is_alive) {
			gg_region_view_done(&view);
			status = gg_region_view_read(&view, fd, path, sender->error);
		}
	}
	close(fd);
	if (status < 0)
		return status;
	status = send_view(sender, path, &view, *ret_is_alive);
	gg_region_view_done(&view);
	return status;
}

static int visit_region(const struct gg_listed_region *file, void *context)
{
	struct sender *sender = context;
	struct seen_process *seen;
	char owner[OWNER_MAX];
	bool is_alive;
	int status;

	if (file->kind != GG_LISTED_REGION_WHOLE)
		return 0;
	name_region_owner(owner, &file->view->header);
	if (is_final(sender, owner)) {
		sender->result->unchanged_count++;
		return 0;
	}
	/* A process that ended after the view was read may have written in between. */
	status = file->is_alive ? send_view(sender, file->path, file->view, true)
	                        : look_at_region(sender, file->path, &is_alive);
	if (status < 0) { /* one region must not end the look at the others */
		tell_error(sender);
		seen = see(sender, owner);
		if (seen != NULL)
			seen->is_unsent = true;
	}
	return 0;
}

/* Says which processes left nothing to look at, although they were not sent whole. */
static void tell_gone(struct sender *sender)
{
	size_t kept = 0;

	for (size_t i = 0; i < sender->seen.count; i++) {
		struct seen_process *seen = &sender->seen.items[i];

		if (!seen->is_here && !seen->is_final) {
			sender->result->lost_count++;
			tell(sender,
			     "the region of %s is gone: what it allocated since its last "
			     "profile is lost",
			     seen->about);
		}
		if (!seen->is_here) {
			gg_sent_totals_done(&seen->totals);
			continue;
		}
		seen->is_here = false;
		sender->seen.items[kept++] = *seen;
	}
	sender->seen.count = kept;
}

static int look_at_directory(struct sender *sender)
{
	char *directory = (char *)sender->options->target;
	int status = gg_region_list_each(&directory, directory != NULL, visit_region, sender,
	                                 sender->error);

	if (status == 0)
		tell_gone(sender);
	return status;
}

/* Looks at a region that may have gone since the last look. */
static int look_at_last(struct sender *sender, bool *ret_is_alive)
{
	int status;

	for (size_t i = 0; i < sender->seen.count; i++)
		sender->seen.items[i].is_here = false;
	status = look_at_region(sender, sender->path, ret_is_alive);

	if (status != -ENOENT)
		return status;
	*ret_is_alive = false;
	tell_gone(sender);
	return 0;
}

/* The next sender of this pid finds the region, even if the process has ended. */
static void remember(struct sender *sender)
{
	struct gg_send_region region;

	if (sender->state_fd < 0 || !gg_find_region_is_pid(sender->options->target) ||
	    realpath(sender->path, region.path) == NULL)
		return;
	for (size_t i = 0; i < sender->seen.count; i++) {
		const struct seen_process *seen = &sender->seen.items[i];

		if (!seen->is_here || seen->about[0] == '\0')
			continue;
		snprintf(region.owner, sizeof(region.owner), "%s", seen->owner);
		snprintf(region.about, sizeof(region.about), "%s", seen->about);
		gg_send_state_remember(sender->state_fd, &region);
	}
}

/* A region that the last sender did not send whole comes before one that gg_find_region() finds. */
static int recall(struct sender *sender)
{
	struct gg_send_region region;
	struct seen_process *seen;

	if (sender->state_fd < 0 || sender->options->target == NULL ||
	    !gg_find_region_is_pid(sender->options->target) ||
	    !gg_send_state_recall(sender->state_fd, &region))
		return 0;
	seen = see(sender, region.owner);
	sender->path = strdup(region.path);
	if (seen == NULL || sender->path == NULL)
		return gg_error_memory(sender->error, "send");
	snprintf(seen->about, sizeof(seen->about), "%s", region.about);
	is_final(sender, region.owner);
	return 0;
}

/* True if the first look found no process, and no sender left anything. */
static bool has_nothing(const struct sender *sender)
{
	return sender->result->look_count == 1 && sender->result->profile_count == 0 &&
	       sender->result->lost_count == 0 && sender->refused_count == 0 &&
	       gg_send_queue_counts(sender->queue).waiting_count == 0;
}

/*
 * The process has ended, or has a region no more: `found` and `why` say so.  `last` is the result
 * of the last look at its region.
 */
static int end_process(struct sender *sender, int found, const struct gg_error *why, int last,
                       bool is_alive)
{
	if (last < 0 && may_pass(last))
		return last;
	if (last == 0 && found == -ESRCH && is_alive)
		return 0; /* a child that it forked writes the region */
	sender->has_ended = true;
	if (last < 0 || !has_nothing(sender))
		return last;
	*sender->error = *why;
	return found;
}

/* A process that executes another program has another region: the earlier one has ended. */
static int look_at_process(struct sender *sender)
{
	bool is_alive = true, is_pid = gg_find_region_is_pid(sender->options->target);
	struct gg_error why;
	char *path = NULL;
	int found = gg_find_region(&path, sender->options->target, sender->error), status = 0;

	if (found < 0 && (sender->path == NULL || may_pass(found)))
		return found;
	why = *sender->error;
	*sender->error = (struct gg_error){ 0 };
	if (sender->path != NULL && (path == NULL || strcmp(path, sender->path) != 0))
		status = look_at_last(sender, &is_alive);
	if (path == NULL)
		return end_process(sender, found, &why, status, is_alive);
	/* The next region would replace the only path to what the earlier one still has. */
	if ((status < 0 && may_pass(status)) || sender->refused_count > 0) {
		free(path);
		return status;
	}
	if (status < 0)
		tell_error(sender);
	free(sender->path);
	sender->path = path;
	is_alive = true;
	status = look_at_last(sender, &is_alive);
	if (status == 0)
		sender->has_ended = !is_alive;
	else if (!may_pass(status))
		sender->has_ended = !is_pid;
	if (status == 0 && is_alive)
		remember(sender);
	return status;
}

/* --- profiles ------------------------------------------------------------------------------- */

/*
 * The recorder may write samples before it knows their process.  It would have another owner later,
 * which would send the samples again.
 */
static int wait_for_pid(struct sender *sender, const char *owner)
{
	struct seen_process *seen = see(sender, owner);

	if (seen == NULL)
		return gg_error_memory(sender->error, "send");
	seen->is_here = seen->is_unsent = true;
	return 0;
}

static int send_model(struct sender *sender, const struct gg_model *model, bool is_finished)
{
	const struct gg_profile_session *session = &model->sessions[0];
	struct gg_extract *extract = NULL;
	int status = extract_of(sender, model, &extract);

	for (size_t first = 0, end; status == 0 && first < extract->row_count; first = end) {
		uint32_t number = extract->rows[first].process;
		const struct gg_profile_process *process = &model->processes[number];
		struct looked looked = { .begin_ns = process->start_ns > 0 ? process->start_ns : 0,
			                 .now_ns = extract->end_ns,
			                 .has_ended = is_finished ||
			                              process->end_ns != GG_TIME_NONE };

		looked.begin_wall_ns = session->start_wall_ns + (uint64_t)looked.begin_ns;
		for (end = first + 1;
		     end < extract->row_count && extract->rows[end].process == number;)
			end++;
		name_owner(looked.owner, process->pid, session->start_wall_ns,
		           (uint64_t)process->start_ns ^ (uint64_t)process->id << 40);
		status = process->pid == 0 && !is_finished
		                 ? wait_for_pid(sender, looked.owner)
		                 : send_process(sender, &looked, extract, first, end);
	}
	gg_extract_free(extract);
	return status;
}

static int look_at_profile(struct sender *sender)
{
	struct gg_profile_session session;
	struct gg_profile *profile;
	struct gg_model *model;
	int status = gg_region_profile_open_complete(&profile, sender->options->target, NULL,
	                                             sender->error);

	if (status < 0)
		return status;
	status = gg_profile_session(profile, &session, sender->error);
	if (status == 0)
		status = load_model(sender, profile, session.end_ns == GG_TIME_NONE, &model);
	gg_profile_close(profile);
	if (status < 0)
		return status;
	for (size_t i = 0; i < sender->seen.count; i++)
		sender->seen.items[i].is_unsent = false; /* the profile has all that is missing */
	if (model->session_count > 0)
		status = send_model(sender, model, session.end_ns != GG_TIME_NONE);
	gg_model_free(model);
	if (status == 0) /* otherwise the next look tries again */
		sender->has_ended = session.end_ns != GG_TIME_NONE;
	return status;
}

/* --- looks ---------------------------------------------------------------------------------- */

static bool is_region(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	uint64_t magic = 0;
	bool result = fd >= 0 && pread(fd, &magic, sizeof(magic), 0) == sizeof(magic) &&
	              magic == GG_REGION_MAGIC;

	if (fd >= 0)
		close(fd);
	return result;
}

static int look(struct sender *sender)
{
	const char *target = sender->options->target;

	sender->result->look_count++;
	sender->refused_count = 0;
	if (target == NULL ||
	    (!gg_find_region_is_pid(target) && gg_region_list_is_directory(target)))
		return look_at_directory(sender);
	if (gg_find_region_is_pid(target) || sender->path != NULL || is_region(target))
		return look_at_process(sender);
	return look_at_profile(sender);
}

/* The first look must succeed.  If a later look fails, the sender reports it and goes on. */
static int look_or_tell(struct sender *sender)
{
	int status = look(sender);

	sender->result->has_failed = status < 0;
	if (status == 0 && sender->refused_count == 0)
		end_full(sender);
	if (status < 0 && sender->result->look_count > 1) {
		tell_error(sender);
		return 0;
	}
	return status;
}

/* Sends what waits, until a time.  If looks take all time, each is followed by an attempt. */
static void wait_until(struct sender *sender, uint64_t time_ns)
{
	uint64_t now_ns = gg_clock_monotonic_ns();

	do {
		uint64_t wait_ns = gg_send_queue_pump(sender->queue, now_ns, time_ns);

		now_ns = gg_clock_monotonic_ns();
		if (now_ns < time_ns && !sender->is_stopped)
			wait_a_while(sender,
			             wait_ns < time_ns - now_ns ? wait_ns : time_ns - now_ns);
		now_ns = gg_clock_monotonic_ns();
	} while (!sender->is_stopped && now_ns < time_ns);
}

/* Sends what waits, until the end of the flush. */
static void flush(struct sender *sender)
{
	uint64_t now_ns = gg_clock_monotonic_ns(), wait_ns;

	while (now_ns < sender->end_by_ns) {
		struct pollfd none = { .fd = -1 };

		wait_ns = gg_send_queue_pump(sender->queue, now_ns, sender->end_by_ns);
		now_ns = gg_clock_monotonic_ns();
		if (wait_ns == UINT64_MAX || now_ns >= sender->end_by_ns ||
		    wait_ns >= sender->end_by_ns - now_ns)
			return;
		poll(&none, 1, (int)(wait_ns / GG_NS_PER_MS) + 1);
		now_ns = gg_clock_monotonic_ns();
	}
}

/* Ends the sending: what the last look could not put into the queue follows as it gets room. */
static void finish(struct sender *sender)
{
	uint64_t before_bytes;
	double seconds = sender->options->flush_seconds;

	sender->end_by_ns = gg_clock_monotonic_ns() + 1 +
	                    (uint64_t)((seconds < FLUSH_MAX_SECONDS ? seconds : FLUSH_MAX_SECONDS) *
	                               (double)GG_NS_PER_S);
	for (;;) {
		before_bytes = gg_send_queue_counts(sender->queue).waiting_bytes;
		flush(sender);
		if (sender->refused_count == 0 ||
		    gg_send_queue_counts(sender->queue).waiting_bytes >= before_bytes ||
		    gg_clock_monotonic_ns() >= sender->end_by_ns)
			break;
		(void)look_or_tell(sender);
	}
}

/* Without a target there is nothing to look at, but what waits of it is still sent. */
static int send_rest(struct sender *sender, int status)
{
	struct gg_error why = *sender->error;

	if (gg_send_queue_counts(sender->queue).waiting_count == 0)
		return status;
	tell_error(sender);
	sender->refused_count = 0;
	finish(sender);
	sender->result->has_failed = status != -ESRCH && status != -ENOENT;
	if (!sender->result->has_failed)
		return 0;
	*sender->error = why;
	return status;
}

/* Removes notes of processes that are gone for a day. */
static void clean_notes(struct sender *sender)
{
	int again = sender->state_fd >= 0
	                    ? openat(sender->state_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
	                    : -1;
	DIR *listing = again >= 0 ? fdopendir(again) : NULL;
	int64_t now_s = (int64_t)(gg_clock_wall_ns() / GG_NS_PER_S);
	const struct dirent *entry;
	struct stat file;

	while (listing != NULL && (entry = readdir(listing)) != NULL) {
		const char *suffix = strstr(entry->d_name, ".totals");
		char owner[OWNER_MAX];
		bool is_seen = false;

		if (suffix == NULL || suffix - entry->d_name >= OWNER_MAX ||
		    fstatat(sender->state_fd, entry->d_name, &file, AT_SYMLINK_NOFOLLOW) < 0 ||
		    now_s - (int64_t)file.st_mtim.tv_sec < FORGET_SECONDS)
			continue;
		snprintf(owner, sizeof(owner), "%.*s", (int)(suffix - entry->d_name),
		         entry->d_name);
		for (size_t i = 0; i < sender->seen.count; i++)
			is_seen |= strcmp(sender->seen.items[i].owner, owner) == 0;
		if (!is_seen)
			unlinkat(sender->state_fd, entry->d_name, 0);
	}
	if (listing != NULL)
		closedir(listing);
	else if (again >= 0)
		close(again);
}

static int loop(struct sender *sender)
{
	const struct gg_sender_options *options = sender->options;
	uint64_t every_ns = (uint64_t)(options->every_seconds * (double)GG_NS_PER_S);
	uint64_t next_ns = gg_clock_monotonic_ns();
	int status = look_or_tell(sender);

	if (status < 0)
		return send_rest(sender, status);
	while (every_ns > 0 && !sender->is_stopped && !sender->has_ended &&
	       (options->look_max == 0 || sender->result->look_count < options->look_max)) {
		next_ns += every_ns;
		if (next_ns < gg_clock_monotonic_ns()) /* the machine slept, or looks take long */
			next_ns = gg_clock_monotonic_ns();
		wait_until(sender, next_ns);
		(void)look_or_tell(sender);
		if (sender->result->look_count % CLEAN_EVERY == 0)
			clean_notes(sender);
	}
	finish(sender);
	return 0;
}

/* --- begin and end -------------------------------------------------------------------------- */

static int open_queue(struct sender *sender)
{
	const struct gg_sender_options *options = sender->options;
	struct gg_send_queue_options queue = {
		.capacity_bytes = options->capacity_bytes,
		.backoff_least_ns = BACKOFF_LEAST_MS * GG_NS_PER_MS,
		.backoff_most_ns = BACKOFF_MOST_MS * GG_NS_PER_MS,
		.drop_in_doubt = options->drop_in_doubt,
		.seed = gg_hash_random_seed(),
		.deliver = deliver,
		.is_committed = is_committed,
		.tell = tell_for_queue,
		.is_stopped = is_stopped,
		.context = sender,
	};
	GG_CLEANUP(gg_buf_done) struct gg_buf path = { 0 };
	int status;

	if (options->state != NULL) {
		status = gg_send_state_open(options->state, options->facts.receiver,
		                            options->target, &path, sender->error);
		if (status < 0)
			return status;
		sender->state_fd = status;
		queue.directory = path.data;
	}
	return gg_send_queue_open(&sender->queue, &queue, sender->error);
}

static void catch_signals(struct sender *sender)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	if (!sender->options->ignores_signals)
		sender->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Counts what is not in the queue, and removes notes that nobody needs. */
static void tidy(struct sender *sender)
{
	for (size_t i = 0; i < sender->seen.count; i++)
		sender->result->unsent_count += sender->seen.items[i].is_unsent;
	if (sender->state_fd < 0)
		return;
	if (sender->has_ended && sender->result->unsent_count == 0 && !sender->result->has_failed)
		gg_send_state_forget(sender->state_fd);
	clean_notes(sender);
	gg_send_state_clean(sender->options->state, sender->state_fd);
}

int gg_sender_run(const struct gg_sender_options *options, struct gg_sender_result *ret_result,
                  struct gg_error *error)
{
	struct sender sender = { .options = options,
		                 .result = ret_result,
		                 .error = error,
		                 .state_fd = -1,
		                 .signal_fd = -1,
		                 .start_wall_ns = gg_clock_wall_ns() };
	int status;

	*ret_result = (struct gg_sender_result){ 0 };
	if (options->facts.receiver->is_secure && gg_http_post_lacks_https() != NULL)
		return gg_error_set(error, -ENOTSUP, "send",
		                    "Send to a collector on this machine by http.", "%s",
		                    gg_http_post_lacks_https());
	catch_signals(&sender);
	status = open_queue(&sender);
	if (status == 0)
		status = gg_live_names_new(&sender.names, error);
	if (status == 0)
		status = recall(&sender);
	if (status == 0)
		status = loop(&sender);
	if (status == 0)
		tidy(&sender);
	if (sender.queue != NULL)
		ret_result->counts = gg_send_queue_counts(sender.queue);
	for (size_t i = 0; i < sender.seen.count; i++)
		gg_sent_totals_done(&sender.seen.items[i].totals);
	gg_array_done(&sender.seen);
	free(sender.path);
	gg_live_names_free(sender.names);
	gg_send_queue_free(sender.queue);
	if (sender.state_fd >= 0)
		close(sender.state_fd);
	if (sender.signal_fd >= 0)
		close(sender.signal_fd);
	return status;
}
