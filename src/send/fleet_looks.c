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
#include "record/regions/region_profile.h"
#include "send/http_post.h"
#include "send/send_reply.h"
#include "send/sender.h"
#include "send/sender_internal.h"

enum {
	SETTLE_MS = 2000, /* until the recorder has written what happened in a slot */
	SPREAD = 10,      /* hosts send within a tenth of a slot */
	DEFINITION_ROUNDS_MAX = 64,
	SHARES_MAX = 1000,
	PPM = 1000000,
};
static const char slot_end[] = "/slot", stacks_end[] = "/stacks";

/* --- delivery ------------------------------------------------------------------------------- */

static uint32_t share_of(const char *service, void *context)
{
	const struct sender *sender = context;
	uint64_t id = gg_fleet_service_id(service);

	for (size_t i = 0; i < sender->shares.count; i++)
		if (sender->shares.items[i].service == id)
			return sender->shares.items[i].ppm;
	return PPM;
}

/* The answer replaces what earlier ones said of the same services. */
static void take_shares(struct sender *sender, const struct gg_fleet_answer *answer)
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
static bool send_definitions(const struct gg_http_post *post, const struct gg_fleet_body *body,
                             const struct gg_fleet_answer *unknown, struct gg_send_answer *answer)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf definitions = { 0 };
	char target[GG_RECEIVER_PATH_MAX + sizeof(stacks_end)];
	size_t length = strlen(post->target);
	struct gg_http_post more = *post;
	struct gg_http_reply reply;
	int status = gg_fleet_definitions_of(&definitions, body, unknown);

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

void gg_sender_deliver_slot(struct sender *sender, const struct gg_http_post *post,
                            struct gg_send_answer *ret_answer)
{
	size_t length = strlen(post->target);
	struct gg_http_post slot = *post;
	struct gg_fleet_body body;
	bool has_more = true;

	if (gg_fleet_body_split(&body, post->body, post->length) < 0 || length < strlen(slot_end) ||
	    length >= GG_RECEIVER_PATH_MAX) {
		fail(ret_answer, GG_SEND_REJECTED, "the queue has no slot there");
		return;
	}
	slot.body = body.slot;
	slot.length = body.slot_bytes;
	for (int round = 0; has_more && round < DEFINITION_ROUNDS_MAX; round++) {
		struct gg_fleet_answer answer;
		struct gg_http_reply reply;
		bool is_sent = true;
		int status;

		if (!post_or_tell(&slot, &reply, ret_answer))
			return;
		status = gg_fleet_answer_read(&answer, reply.body);
		if (status < 0) {
			fail(ret_answer, status == -ENOMEM ? GG_SEND_LATER : GG_SEND_REJECTED,
			     "this is no receiver of a fleet");
			return;
		}
		take_shares(sender, &answer);
		has_more = answer.has_more;
		if (answer.unknown.count > 0)
			is_sent = send_definitions(&slot, &body, &answer, ret_answer);
		gg_fleet_answer_done(&answer);
		if (!is_sent)
			return;
	}
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

static const char *host_of(const struct sender *sender, const char *recorded)
{
	const struct gg_send_facts *facts = &sender->options->facts;

	for (size_t i = 0; i < facts->label_count; i++)
		if (strcmp(facts->labels[i].key, "host.name") == 0)
			return facts->labels[i].value;
	if (recorded != NULL && recorded[0] != '\0')
		return recorded;
	return facts->host != NULL && facts->host[0] != '\0' ? facts->host : "[unknown]";
}

/* Puts one message into the queue; `totals` says what is sent once it is there. */
static int put_part(struct sender *sender, struct seen_process *seen, const struct gg_buf *body,
                    const char *about, struct gg_sent_totals *totals)
{
	struct gg_send_item item = { .target = sender->options->facts.receiver->path,
		                     .type = "application/x-geiger-fleet",
		                     .about = about,
		                     .owner = seen->owner,
		                     .is_gzip = true,
		                     .body = body->data,
		                     .length = body->length };
	struct gg_sent_totals noted = *totals;
	uint64_t number = 0;
	int status = gg_send_queue_put(sender->queue, &item, &number, sender->error);

	if (status < 0)
		return status;
	noted.number = totals->number = number;
	status = gg_seen_write_totals(sender, seen, &noted);
	if (status < 0) {
		gg_send_queue_cancel(sender->queue, number);
		return status;
	}
	gg_send_queue_commit(sender->queue, number);
	sender->result->profile_count++;
	return 0;
}

/* Puts the messages of a slot into the queue, and notes the slot with the last of them. */
static int put_slot(struct sender *sender, struct seen_process *seen, struct gg_fleet_maker *maker,
                    uint64_t start_s, struct gg_sent_totals *totals, bool is_final)
{
	size_t count = gg_fleet_maker_part_count(maker);
	char about[GG_SEND_ABOUT_MAX];

	snprintf(about, sizeof(about), "%.100s, slot %" PRIu64, seen->about, start_s);
	for (size_t i = 0; i < count; i++) {
		GG_CLEANUP(gg_buf_done) struct gg_buf body = { 0 };
		int status = gg_fleet_maker_part(maker, i, &body);

		if (status < 0)
			return status == -ENOMEM ? gg_error_memory(sender->error, "send")
			                         : gg_error_set(sender->error, status, "send", NULL,
			                                        "a slot is too large");
		if (i + 1 == count) {
			totals->until_ns = (int64_t)((start_s + sender->options->slot_seconds) *
			                             GG_NS_PER_S);
			totals->is_final = is_final;
		}
		status = put_part(sender, seen, &body, about, totals);
		if (status < 0)
			return status;
	}
	return 0;
}

/* The session's own number, the same whenever and wherever its profile is sent. */
static uint64_t instance_of(const struct gg_model *model)
{
	const struct gg_profile_session *session = &model->sessions[0];
	uint64_t hash = gg_stable_hash_text(GG_STABLE_HASH_START, "session");
	char text[64];

	snprintf(text, sizeof(text), "%" PRIu64 " %u", session->start_wall_ns,
	         model->process_count > 1 ? model->processes[1].pid : 0);
	hash = gg_stable_hash_text(hash, text);
	return gg_stable_hash_text(hash, session->host != NULL ? session->host : "");
}

/* What a model without times has allocated, by stack.  The caller frees it. */
static int sum_allocated(struct sender *sender, const struct gg_model *model,
                         struct gg_plain_tally **ret_sums)
{
	struct gg_plain_tally *sums = calloc(model->stack_count + 1, sizeof(*sums));
	struct gg_extract *extract = NULL;
	int status = sums == NULL ? gg_error_memory(sender->error, "send")
	                          : gg_sender_extract_of(sender, model, &extract);

	for (size_t i = 0; status == 0 && i < extract->row_count; i++)
		gg_plain_tally_add(&sums[extract->rows[i].stack],
		                   &extract->rows[i].allocated.tally);
	gg_extract_free(extract);
	if (status < 0) {
		free(sums);
		sums = NULL;
	}
	*ret_sums = sums;
	return status;
}

/* Makes one slot of the model, and puts it into the queue. */
static int send_slot(struct sender *sender, struct seen_process *seen, const struct gg_model *model,
                     const struct gg_fleet_what *what, struct gg_fleet_span *span,
                     struct gg_sent_totals *totals, bool is_final)
{
	struct gg_fleet_maker *maker = NULL;
	int status = gg_fleet_maker_new(&maker, &sender->options->facts, span);

	if (status == 0)
		status = gg_fleet_maker_add(maker, model, what);
	if (status == 0)
		status = gg_fleet_maker_finish(maker);
	if (status < 0)
		status = gg_error_memory(sender->error, "send");
	else
		status = put_slot(sender, seen, maker, span->start_s, totals, is_final);
	gg_fleet_maker_free(maker);
	return status;
}

static int send_slots(struct sender *sender, const struct gg_model *model, bool is_finished)
{
	const struct gg_profile_session *session = &model->sessions[0];
	uint32_t seconds = sender->options->slot_seconds;
	bool has_history = gg_model_has_history(model) && gg_model_has_times(model);
	uint64_t instance = instance_of(model), end_s, start_s, now_ns = gg_clock_wall_ns();
	char owner[GG_SEND_OWNER_MAX], text[20];
	struct gg_fleet_span span = { .host = host_of(sender, session->host),
		                      .instance = text,
		                      .seconds = seconds };
	struct gg_fleet_what what = { .zero_wall_ns = session->start_wall_ns,
		                      .has_history = has_history,
		                      .share_of = share_of,
		                      .context = sender };
	struct gg_plain_tally *allocated = NULL;
	struct gg_sent_totals totals = { 0 };
	struct seen_process *seen;
	bool is_known;
	int status;

	snprintf(text, sizeof(text), "%016" PRIx64, instance);
	snprintf(owner, sizeof(owner), "fleet-%s", text);
	memcpy(span.boot, text, sizeof(span.boot)); /* a session has no boot but its own */
	seen = gg_seen_process_of(sender, owner);
	if (seen == NULL)
		return gg_error_memory(sender->error, "send");
	snprintf(seen->about, sizeof(seen->about), "%.120s",
	         session->command != NULL ? session->command : "a session");
	seen->is_here = true;
	status = gg_seen_read_totals(sender, seen, false, &totals, &is_known);
	if (status < 0)
		return status;
	if (totals.is_final) {
		sender->result->unchanged_count++;
		seen->is_final = true;
		goto out;
	}
	if (!has_history && is_finished) {
		status = sum_allocated(sender, model, &allocated);
		what.allocated = allocated;
	}
	end_s = is_finished ? (session->start_wall_ns +
	                       (uint64_t)(model->end_ns > 0 ? model->end_ns : 0)) /
	                              GG_NS_PER_S
	                    : (now_ns - SETTLE_MS * GG_NS_PER_MS) / GG_NS_PER_S;
	start_s = session->start_wall_ns / GG_NS_PER_S;
	if (!has_history)
		start_s = end_s;
	if ((uint64_t)totals.until_ns / GG_NS_PER_S > start_s)
		start_s = (uint64_t)totals.until_ns / GG_NS_PER_S;
	start_s -= start_s % seconds;
	while (status == 0 && (has_history || is_finished) &&
	       (start_s + seconds <= end_s || (is_finished && start_s <= end_s))) {
		bool is_last = is_finished && start_s + seconds > end_s;

		span.start_s = start_s;
		what.is_last = is_last;
		status = send_slot(sender, seen, model, &what, &span, &totals, is_last);
		start_s += seconds;
	}
	seen->is_unsent = status < 0;
	/* The queue is full: the profile has all slots, so a later look sends them. */
	if (status == -ENOSPC || status == -EDQUOT) {
		sender->skipped_count++;
		sender->refused_count++;
		if (!sender->is_full)
			gg_sender_tell(sender, "the queue is full: slots wait in the profile");
		sender->is_full = true;
		*sender->error = (struct gg_error){ 0 };
		status = 0;
	}
out:
	free(allocated);
	return status;
}

int gg_sender_look_for_fleet_at_profile(struct sender *sender)
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
		status = gg_sender_load_model(sender, profile, session.end_ns == GG_TIME_NONE,
		                              &model);
	gg_profile_close(profile);
	if (status < 0)
		return status;
	if (model->session_count > 0)
		status = send_slots(sender, model, session.end_ns != GG_TIME_NONE);
	gg_model_free(model);
	if (status == 0) /* otherwise the next look tries again */
		sender->has_ended = session.end_ns != GG_TIME_NONE;
	return status;
}
