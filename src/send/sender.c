/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sender - the loop of looks, and what it does between them.
 *
 * look()           has the target's processes looked at (region_looks.c, profile_looks.c), which
 *                  puts their profiles into the queue (process_profiles.c).
 * wait_until()     sends what waits, until the next look is due or the end comes.
 */
#include "send/sender.h"

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
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/time_units.h"
#include "record/regions/find_region.h"
#include "record/regions/region_list.h"
#include "region/layout.h"
#include "send/http_post.h"
#include "send/send_reply.h"
#include "send/send_state.h"
#include "send/sender_internal.h"

enum {
	BACKOFF_LEAST_MS = 1000,
	BACKOFF_MOST_MS = 60000,
	CLEAN_EVERY = 1440, /* looks */
	SENDS_SHARE = 10,   /* of the time between looks for attempts within a look: its tenth */
	SENDS_MOST_MS = 1000,
};
#define FLUSH_MAX_SECONDS 1e9

void gg_sender_tell(struct sender *sender, const char *format, ...)
{
	char text[600];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	if (sender->options->tell != NULL)
		sender->options->tell(text, sender->options->context);
}

void gg_sender_tell_error(struct sender *sender)
{
	const struct gg_error *error = sender->error;

	gg_sender_tell(sender, "%.200s%s%.300s", error->place, error->place[0] != '\0' ? ": " : "",
	               error->message);
	*sender->error = (struct gg_error){ 0 };
}

bool gg_sender_may_pass(int status)
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

/*
 * A signal stays unread, since a sender that is stopped within a look still takes a last one.  If
 * each attempt takes long, so would the rest of the look.
 */
bool gg_sender_is_ending(const struct sender *sender)
{
	struct pollfd fds[2] = { { .fd = sender->signal_fd, .events = POLLIN },
		                 { .fd = sender->options->until_fd, .events = POLLIN } };

	if (sender->end_by_ns != 0)
		return gg_clock_monotonic_ns() >= sender->end_by_ns;
	return poll(fds, 2, 0) > 0;
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
	struct sender *sender = context;
	const struct gg_sender_options *options = sender->options;
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
		/* If doubts lose bodies, each one has a connection of its own. */
		.kept = options->drop_in_doubt ? NULL : &sender->connection,
	};
	struct gg_http_reply reply;
	char why[GG_HTTP_WHY_MAX];
	enum gg_http_result result;

	if (receiver->form == GG_RECEIVER_FLEET) {
		gg_sender_deliver_slot(context, &post, ret_answer);
		return;
	}
	result = gg_http_post(&post, &reply, why);
	if (result == GG_HTTP_REPLIED) {
		gg_send_reply_read(&reply, receiver->form == GG_RECEIVER_OTLP, ret_answer);
		if (receiver->form != GG_RECEIVER_PPROF) /* whatever takes a file may answer so */
			gg_send_reply_refuse_page(&reply, ret_answer);
		return;
	}
	*ret_answer = (struct gg_send_answer){ .verdict = result == GG_HTTP_NOT_SENT
		                                                  ? GG_SEND_LATER
		                                                  : GG_SEND_IN_DOUBT,
		                               .retry_after_seconds = -1 };
	snprintf(ret_answer->text, sizeof(ret_answer->text), "%s", why);
}

static void tell_for_queue(const char *text, void *context)
{
	gg_sender_tell(context, "%s", text);
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

static bool is_fleet(const struct sender *sender)
{
	return sender->options->facts.receiver->form == GG_RECEIVER_FLEET;
}

/* A single look may take its time. */
static uint64_t look_sends_ns(const struct sender *sender)
{
	double share_ns = sender->options->every_seconds * (double)GG_NS_PER_S / SENDS_SHARE;
	const uint64_t most_ns = SENDS_MOST_MS * GG_NS_PER_MS;

	if (!(share_ns > 0))
		return UINT64_MAX;
	return share_ns < (double)most_ns ? (uint64_t)share_ns : most_ns;
}

static int look(struct sender *sender)
{
	const char *target = sender->options->target;

	sender->result->look_count++;
	sender->refused_count = 0;
	sender->look_sends_ns = look_sends_ns(sender);
	if (is_fleet(sender) && (target == NULL || gg_find_region_is_pid(target) ||
	                         gg_region_list_is_directory(target) || is_region(target)))
		return gg_sender_look_for_fleet_at_regions(sender);
	if (target == NULL ||
	    (!gg_find_region_is_pid(target) && gg_region_list_is_directory(target)))
		return gg_sender_look_at_directory(sender);
	if (gg_find_region_is_pid(target) || sender->path != NULL || is_region(target))
		return gg_sender_look_at_process(sender);
	return gg_sender_look_at_profile(sender);
}

/* The first look must succeed.  If a later look fails, the sender reports it and goes on. */
static int look_or_tell(struct sender *sender)
{
	int status = look(sender);

	sender->result->has_failed = status < 0;
	if (status == 0 && sender->refused_count == 0)
		gg_sender_end_full(sender);
	if (status < 0 && sender->result->look_count > 1) {
		gg_sender_tell_error(sender);
		return 0;
	}
	return status;
}

/* Sends what is due.  No connection stays open afterwards, since a pause or a look follows. */
static uint64_t pump(struct sender *sender, uint64_t now_ns, uint64_t until_ns)
{
	uint64_t wait_ns = gg_send_queue_pump(sender->queue, now_ns, until_ns);

	gg_http_kept_close(&sender->connection);
	return wait_ns;
}

/* Sends what waits, until a time.  If looks take all time, each is followed by an attempt. */
static void wait_until(struct sender *sender, uint64_t time_ns)
{
	uint64_t now_ns = gg_clock_monotonic_ns();

	do {
		uint64_t wait_ns = pump(sender, now_ns, time_ns);

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

		wait_ns = pump(sender, now_ns, sender->end_by_ns);
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
	gg_sender_tell_error(sender);
	sender->refused_count = 0;
	finish(sender);
	sender->result->has_failed = status != -ESRCH && status != -ENOENT;
	if (!sender->result->has_failed)
		return 0;
	*sender->error = why;
	return status;
}

/* Removes what nobody needs: notes of processes, and what waits for targets that are gone. */
static void clean(struct sender *sender)
{
	uint64_t removed_bytes;

	if (sender->state_fd < 0)
		return;
	gg_seen_clean_notes(sender);
	removed_bytes = gg_send_state_clean(sender->options->state, sender->state_fd,
	                                    sender->options->capacity_bytes);
	if (removed_bytes > 0)
		gg_sender_tell(sender,
		               "dropped %" PRIu64
		               " bytes that waited for targets which are gone: more than --queue "
		               "waited",
		               removed_bytes);
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
		if (is_fleet(sender))
			next_ns = gg_clock_monotonic_ns() + gg_sender_fleet_wait_ns(sender);
		if (next_ns < gg_clock_monotonic_ns()) /* the machine slept, or looks take long */
			next_ns = gg_clock_monotonic_ns();
		wait_until(sender, next_ns);
		(void)look_or_tell(sender);
		if (sender->result->look_count % CLEAN_EVERY == 0)
			clean(sender);
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
		.is_committed = gg_seen_is_committed,
		.tell = tell_for_queue,
		.is_stopped = is_stopped,
		.context = sender,
	};
	GG_CLEANUP(gg_buf_done) struct gg_buf path = { 0 };
	int status;

	gg_receiver_address(options->facts.receiver, sender->address, sizeof(sender->address));
	queue.receiver = sender->address;
	if (options->state != NULL) {
		status = gg_send_state_open(options->state, options->facts.receiver,
		                            options->target, options->capacity_bytes, &path,
		                            sender->error);
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
	clean(sender);
}

bool gg_sender_has_sent_all(const struct gg_sender_result *result)
{
	const struct gg_send_counts *counts = &result->counts;

	return counts->waiting_count == 0 && counts->rejected_count == 0 &&
	       counts->partly_count == 0 && counts->damaged_count == 0 && result->lost_count == 0 &&
	       result->unsent_count == 0 && !result->has_failed;
}

int gg_sender_run(const struct gg_sender_options *options, struct gg_sender_result *ret_result,
                  struct gg_error *error)
{
	struct sender sender = { .options = options,
		                 .facts = &options->facts,
		                 .result = ret_result,
		                 .error = error,
		                 .state_fd = -1,
		                 .signal_fd = -1,
		                 .connection = GG_HTTP_KEPT_NONE,
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
		status = gg_known_symbols_new(&sender.symbols, error);
	sender.workspace = gg_send_workspace_new();
	if (status == 0 && sender.workspace == NULL)
		status = gg_error_memory(error, "send");
	if (status == 0)
		status = gg_sender_recall(&sender);
	if (status == 0)
		status = loop(&sender);
	gg_managed_looks_end(&sender);
	if (status == 0)
		tidy(&sender);
	if (sender.queue != NULL)
		ret_result->counts = gg_send_queue_counts(sender.queue);
	gg_http_kept_close(&sender.connection);
	gg_seen_done(&sender);
	gg_send_workspace_free(sender.workspace);
	gg_array_done(&sender.shares);
	free(sender.path);
	gg_live_names_free(sender.names);
	gg_known_symbols_free(sender.symbols);
	gg_send_queue_free(sender.queue);
	if (sender.state_fd >= 0)
		close(sender.state_fd);
	if (sender.signal_fd >= 0)
		close(sender.signal_fd);
	return status;
}
