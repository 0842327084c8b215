/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fleet_looks - looks for a fleet: makes the messages of each slot that has passed, and delivers
 * them.
 *
 * A session that is recorded has an instance of its own: a number made of its start.  Its slots
 * are a function of its profile, so a slot that is sent twice changes no row, even if the sender
 * lost its state in between.  The note of the session (sent_totals.h) has the time up to which
 * slots are in the queue.
 *
 * Delivery  A slot goes first.  The answer names the stacks that the receiver does not know, and
 *           these follow in a second request.  Both count as one attempt: if the second request
 *           fails, the slot goes again, and the receiver recognizes it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/time_units.h"
#include "format/codec/stable_hash.h"
#include "send/fleet_looks.h"
#include "send/http_post.h"
#include "send/send_reply.h"
#include "send/sender.h"
#include "send/sender_internal.h"

enum {
	SETTLE_MS = 2000, /* until the recorder has written what happened in a slot */
	SPREAD = 10,      /* hosts send within a tenth of a slot */
	DEFINITION_ROUNDS_MAX = 64,
	SHARES_MAX = 1000,
	FACTS_KEY = 1, /* of a row of a session's note */
};
static const char slot_end[] = "/slot", stacks_end[] = "/stacks";

/* --- delivery ------------------------------------------------------------------------------- */

uint32_t gg_sender_fleet_share(const char *service, void *context)
{
	const struct sender *sender = context;
	uint64_t id = gg_fleet_service_id(service);

	for (size_t i = 0; i < sender->shares.count; i++)
		if (sender->shares.items[i].service == id)
			return sender->shares.items[i].ppm;
	return GG_FLEET_PPM;
}

/* The answer replaces what earlier ones said of the same services. */
static void take_shares(struct sender *sender, const struct gg_slot_answer *answer)
{
	for (size_t i = 0; i < answer->shares.count; i++) {
		size_t at = 0;

		while (at < sender->shares.count &&
		       sender->shares.items[at].service != answer->shares.items[i].service)
			at++;
		if (at < sender->shares.count)
			sender->shares.items[at] = answer->shares.items[i];
		else if (at < SHARES_MAX &&
		         !gg_array_push(&sender->shares, answer->shares.items[i]))
			return;
	}
}

/* Posts, and fills in the answer; true: the reply has status 200. */
static bool post_or_tell(const struct gg_http_post *post, struct gg_http_reply *reply,
                         struct gg_send_answer *answer)
{
	char why[GG_HTTP_WHY_MAX];
	enum gg_http_result result = gg_http_post(post, reply, why);

	if (result == GG_HTTP_REPLIED) {
		gg_send_reply_read(reply, false, answer);
		return answer->verdict == GG_SEND_DELIVERED;
	}
	/* The receiver recognizes what it has, so there is no doubt: the queue sends it again. */
	*answer = (struct gg_send_answer){ .verdict = GG_SEND_LATER, .retry_after_seconds = -1 };
	snprintf(answer->text, sizeof(answer->text), "%s", why);
	return false;
}

static void fail(struct gg_send_answer *answer, enum gg_send_verdict verdict, const char *text)
{
	*answer = (struct gg_send_answer){ .verdict = verdict, .retry_after_seconds = -1 };
	snprintf(answer->text, sizeof(answer->text), "%s", text);
}

/* Sends definitions of the stacks that the answer names.  False: the attempt has failed. */
static bool send_definitions(const struct gg_http_post *post, const struct gg_slot_body *body,
                             const struct gg_slot_answer *unknown, struct gg_send_answer *answer)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf definitions = { 0 };
	char target[GG_RECEIVER_PATH_MAX + sizeof(stacks_end)];
	size_t length = strlen(post->target);
	struct gg_http_post more = *post;
	struct gg_http_reply reply;
	int status = gg_slot_definitions(&definitions, body, unknown);

	if (status < 0) {
		fail(answer, status == -ENOMEM ? GG_SEND_LATER : GG_SEND_REJECTED,
		     "its definitions cannot be read");
		return false;
	}
	snprintf(target, sizeof(target), "%.*s%s", (int)(length - strlen(slot_end)), post->target,
	         stacks_end);
	more.target = target;
	more.body = definitions.data;
	more.length = definitions.length;
	return post_or_tell(&more, &reply, answer);
}

/* Sends a part of a slot, and its definitions as long as the answers ask for some. */
static bool send_part(struct sender *sender, const struct gg_http_post *post,
                      const struct gg_slot_body *body, struct gg_send_answer *ret_answer)
{
	struct gg_http_post slot = *post;
	bool has_more = true, is_sent = true;

	slot.body = body->slot;
	slot.length = body->slot_bytes;
	for (int round = 0; is_sent && has_more && round < DEFINITION_ROUNDS_MAX; round++) {
		struct gg_slot_answer answer;
		struct gg_http_reply reply;
		int status;

		if (!post_or_tell(&slot, &reply, ret_answer))
			return false;
		status = gg_slot_answer_read(&answer, reply.body);
		if (status < 0) {
			fail(ret_answer, status == -ENOMEM ? GG_SEND_LATER : GG_SEND_REJECTED,
			     "this is no receiver of a fleet");
			return false;
		}
		take_shares(sender, &answer);
		has_more = answer.has_more;
		if (answer.unknown.count > 0)
			is_sent = send_definitions(&slot, body, &answer, ret_answer);
		gg_slot_answer_done(&answer);
	}
	return is_sent;
}

void gg_sender_deliver_slot(struct sender *sender, const struct gg_http_post *post,
                            struct gg_send_answer *ret_answer)
{
	size_t length = strlen(post->target), rest = post->length;
	const char *at = post->body;
	struct gg_slot_body body;
	int status = 0;

	fail(ret_answer, GG_SEND_REJECTED, "the queue has no slot there");
	if (length < strlen(slot_end) || length >= GG_RECEIVER_PATH_MAX)
		return;
	while ((status = gg_slot_body_next(&body, &at, &rest)) == 1)
		if (!send_part(sender, post, &body, ret_answer))
			return;
	if (status < 0)
		fail(ret_answer, GG_SEND_REJECTED, "the queue has no slot there");
}

/* --- times ---------------------------------------------------------------------------------- */

uint64_t gg_sender_fleet_wait_ns(const struct sender *sender)
{
	uint64_t slot_ns = sender->options->slot_seconds * GG_NS_PER_S;
	const char *host = sender->options->facts.host;
	uint64_t spread_ns = gg_fleet_host_id(host) % (slot_ns / SPREAD + 1);
	uint64_t due_ns = SETTLE_MS * GG_NS_PER_MS + spread_ns;
	uint64_t past_ns = gg_clock_wall_ns() % slot_ns;

	return past_ns < due_ns ? due_ns - past_ns : slot_ns - past_ns + due_ns;
}

/* --- looks ---------------------------------------------------------------------------------- */

const char *gg_sender_fleet_host(const struct sender *sender, const char *recorded)
{
	const struct gg_send_facts *facts = &sender->options->facts;
	const char *given = gg_send_facts_label(facts, "host.name");

	if (given != NULL)
		return given;
	if (recorded != NULL && recorded[0] != '\0')
		return recorded;
	return facts->host != NULL && facts->host[0] != '\0' ? facts->host : "[unknown]";
}

/*
 * Makes the body of a slot, puts it into the queue, and notes `totals`, which get its number.  The
 * function takes the memory of their rows.  An empty slot is noted alone.
 */
static int put_slot(struct sender *sender, struct seen_process *seen, struct gg_slot_maker *maker,
                    uint64_t start_s, struct gg_sent_totals *totals)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf body = { 0 };
	char about[GG_SEND_ABOUT_MAX];
	struct gg_send_item item = { .target = sender->options->facts.receiver->path,
		                     .type = "application/x-geiger-fleet",
		                     .about = about,
		                     .owner = seen->owner,
		                     .is_gzip = true };
	int status = gg_slot_maker_body(maker, &body);

	if (status < 0)
		return status == -ENOMEM ? gg_error_memory(sender->error, "send")
		                         : gg_error_set(sender->error, status, "send", NULL,
		                                        "a slot is too large");
	snprintf(about, sizeof(about), "%.100s, slot %" PRIu64, seen->about, start_s);
	item.body = body.data;
	item.length = body.length;
	totals->until_ns = (int64_t)((start_s + sender->options->slot_seconds) * GG_NS_PER_S);
	return body.length > 0 ? gg_sender_put(sender, seen, &item, totals)
	                       : gg_seen_write_totals(sender, seen, totals);
}

/* A queue without room is no failure: a later look sends what this one could not. */
int gg_sender_fleet_end(struct sender *sender, struct seen_process *seen, int status)
{
	seen->is_unsent = status < 0;
	if (status != -ENOSPC && status != -EDQUOT)
		return status;
	sender->skipped_count++;
	sender->refused_count++;
	if (!sender->is_full)
		gg_sender_tell(sender, "the queue is full: slots wait until there is room");
	sender->is_full = true;
	*sender->error = (struct gg_error){ 0 };
	return 0;
}

typedef GG_ARRAY(struct gg_slot_allocated) allocated_list;

/* Sums up allocations of a model without times, by process and stack. */
static int sum_allocated(struct sender *sender, const struct gg_model *model, allocated_list *list)
{
	struct gg_extract *extract = NULL;
	int status = gg_sender_extract_of(sender, model, &extract);

	for (size_t i = 0; status == 0 && i < extract->row_count; i++) {
		const struct gg_extract_row *row = &extract->rows[i];
		struct gg_slot_allocated allocated = { .process = row->process,
			                               .stack = row->stack,
			                               .tally = row->allocated.tally };

		if (allocated.tally.sample_count > 0 && !gg_array_push(list, allocated))
			status = gg_error_memory(sender->error, "send");
	}
	gg_extract_free(extract);
	return status;
}

/* Makes one slot of the model, and puts it into the queue. */
int gg_sender_fleet_send(struct sender *sender, struct seen_process *seen,
                         const struct gg_model *model, const struct gg_slot_what *what,
                         const struct gg_slot_span *span, struct gg_sent_totals *totals)
{
	struct gg_slot_maker *maker = NULL;
	int status = gg_slot_maker_new(&maker, &sender->options->facts, span);

	if (status == 0)
		status = gg_slot_maker_add(maker, model, what);
	if (status == 0)
		status = gg_slot_maker_finish(maker);
	if (status < 0)
		status = gg_error_memory(sender->error, "send");
	else
		status = put_slot(sender, seen, maker, span->start_s, totals);
	gg_slot_maker_free(maker);
	return status;
}

/*
 * The second after the last one that the profile has whole, on the session's clock: its start plus
 * a time that the recorder wrote.  The sender's own clocks have no part in it.  If somebody
 * set the wall clock ahead after the session began, or the machine was suspended, a sender that
 * starts later would take slots for over before their events happen, and what these allocate
 * would be lost.  A recorder writes a reading of memory each second, so the end moves on in an
 * idle session.
 */
static uint64_t end_of(const struct gg_model *model, bool is_finished)
{
	const int64_t settle_ns = is_finished ? 0 : SETTLE_MS * (int64_t)GG_NS_PER_MS;
	int64_t end_ns = model->end_ns - settle_ns;

	return (model->sessions[0].start_wall_ns + (uint64_t)(end_ns > 0 ? end_ns : 0)) /
	       GG_NS_PER_S;
}

/* The facts of a sender on which its rows depend: with others, the store would count twice. */
static struct gg_sent_row facts_row(const struct sender *sender)
{
	const struct gg_send_facts *facts = &sender->options->facts;
	uint64_t hash = gg_stable_hash_text(GG_STABLE_HASH_START, "slots");
	char text[32];

	snprintf(text, sizeof(text), "%u", (unsigned)sender->options->slot_seconds);
	hash = gg_stable_hash_text(hash, text);
	hash = gg_stable_hash_text(hash, facts->service != NULL ? facts->service : "");
	for (size_t i = 0; i < facts->label_count; i++) {
		hash = gg_stable_hash_text(hash, facts->labels[i].key);
		hash = gg_stable_hash_text(hash, facts->labels[i].value);
	}
	return (struct gg_sent_row){ .key = FACTS_KEY, .bytes = hash };
}

/* A set of slots with other facts would be added to that which the store has. */
static int check_facts(struct sender *sender, const struct gg_sent_totals *totals)
{
	for (size_t i = 0; i < totals->rows.count; i++)
		if (totals->rows.items[i].key == FACTS_KEY &&
		    totals->rows.items[i].bytes != facts_row(sender).bytes)
			return gg_error_set(sender->error, -EEXIST, "send",
			                    "Give the same --slot, --service and --label again.",
			                    "this session was sent with other slots or labels: "
			                    "the store would count it twice");
	return 0;
}

static int send_slot(struct sender *sender, struct seen_process *seen, const struct gg_model *model,
                     const struct gg_slot_what *what, const struct gg_slot_span *span,
                     bool is_final)
{
	struct gg_sent_totals next = { .is_final = is_final };
	int status = gg_array_push(&next.rows, facts_row(sender))
	                     ? gg_sender_fleet_send(sender, seen, model, what, span, &next)
	                     : gg_error_memory(sender->error, "send");

	gg_sent_totals_done(&next);
	return status;
}

/* Sends the slots of a session that are over and not sent; of a finished one, the last as well. */
static int send_slots(struct sender *sender, const struct gg_model *model, bool is_finished,
                      struct seen_process *seen, struct gg_sent_totals *totals,
                      struct gg_slot_span *span)
{
	bool has_history = gg_model_has_history(model) && gg_model_has_times(model);
	uint64_t end_s = end_of(model, is_finished), seconds = span->seconds;
	uint64_t start_s = model->sessions[0].start_wall_ns / GG_NS_PER_S;
	uint64_t until_s = (uint64_t)totals->until_ns / GG_NS_PER_S;
	struct gg_slot_what what = { .zero_wall_ns = model->sessions[0].start_wall_ns,
		                     .has_history = has_history,
		                     .is_finished = is_finished && has_history,
		                     .share_of = gg_sender_fleet_share,
		                     .context = sender };
	allocated_list allocated = { 0 };
	bool is_final = false;
	int status = 0;

	/* A state without history is known at its end alone. */
	if (!has_history) {
		if (!is_finished)
			return 0;
		status = sum_allocated(sender, model, &allocated);
		what.allocated = allocated.items;
		what.allocated_count = allocated.count;
		start_s = end_s;
	}
	/* A note that is ahead of the profile is wrong, and slots that come again change no row. */
	if (until_s > start_s && until_s <= end_s + seconds)
		start_s = until_s;
	for (start_s -= start_s % seconds;
	     status == 0 && start_s + (is_finished ? 0 : seconds) <= end_s; start_s += seconds) {
		span->start_s = start_s;
		is_final = is_finished && start_s + seconds > end_s;
		status = send_slot(sender, seen, model, &what, span, is_final);
	}
	/* The last slot went when the session ran: another one says that it has ended. */
	if (status == 0 && is_finished && !is_final) {
		span->start_s = start_s;
		status = send_slot(sender, seen, model, &what, span, true);
	}
	gg_array_done(&allocated);
	return gg_sender_fleet_end(sender, seen, status);
}

int gg_sender_send_session(struct sender *sender, const struct gg_model *model, bool is_finished)
{
	const struct gg_profile_session *session = &model->sessions[0];
	char owner[GG_SEND_OWNER_MAX], instance[20];
	struct gg_slot_span span = { .host = gg_sender_fleet_host(sender, session->host),
		                     .instance = instance,
		                     .seconds = sender->options->slot_seconds };
	struct gg_sent_totals totals = { 0 };
	struct seen_process *seen;
	bool is_known;
	int status;

	snprintf(instance, sizeof(instance), "%016" PRIx64, gg_slot_instance(model));
	snprintf(owner, sizeof(owner), "fleet-%s", instance);
	memcpy(span.boot, instance, sizeof(span.boot)); /* a session has no boot but its own */
	seen = gg_seen_process_of(sender, owner);
	if (seen == NULL)
		return gg_error_memory(sender->error, "send");
	snprintf(seen->about, sizeof(seen->about), "%.120s",
	         session->command != NULL ? session->command : "a session");
	seen->is_here = true;
	status = gg_seen_read_totals(sender, seen, false, &totals, &is_known);
	if (status == 0 && is_known)
		status = check_facts(sender, &totals);
	if (status < 0) {
		gg_sent_totals_done(&totals);
		return status;
	}
	if (totals.is_final) {
		sender->result->unchanged_count++;
		seen->is_final = true;
		seen->is_unsent = false;
	} else {
		status = send_slots(sender, model, is_finished, seen, &totals, &span);
	}
	gg_sent_totals_done(&totals);
	return status;
}
