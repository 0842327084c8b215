/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_profiles - makes the difference of a process, puts its body into the queue, notes it, and
 * commits.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/path.h"
#include "send/sender.h"
#include "send/sender_internal.h"

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

/*
 * Commits a body, and sends it at once while the look has time for that: a slow receiver must not
 * stretch the look, which is one moment for all processes.
 */
static void commit(struct sender *sender, uint64_t number)
{
	/* A fleet's answers change what the look at the next processes sends. */
	bool sends_now = sender->options->facts.receiver->form != GG_RECEIVER_FLEET &&
	                 sender->look_sends_ns > 0 && !gg_sender_is_ending(sender);
	uint64_t start_ns = gg_clock_monotonic_ns(), took_ns;

	gg_send_queue_commit(sender->queue, number, sends_now);
	took_ns = gg_clock_monotonic_ns() - start_ns;
	sender->look_sends_ns -= took_ns < sender->look_sends_ns ? took_ns : sender->look_sends_ns;
}

/* Puts a body into the queue, notes what it has, and lets it go, at once if nothing else waits. */
int gg_sender_put(struct sender *sender, struct seen_process *seen, const struct gg_send_item *item,
                  struct gg_sent_totals *totals)
{
	uint64_t number = 0;
	int status = gg_send_queue_put(sender->queue, item, &number, sender->error);

	if (status < 0)
		return status;
	totals->number = number;
	status = gg_seen_write_totals(sender, seen, totals);
	if (status < 0) {
		gg_send_queue_cancel(sender->queue, number);
		return status;
	}
	commit(sender, number);
	sender->result->profile_count++;
	return 0;
}

static int put_body(struct sender *sender, struct seen_process *seen,
                    const struct gg_send_body *body, struct gg_sent_totals *totals)
{
	struct gg_send_item item = gg_send_body_item(body, seen->owner);

	return gg_sender_put(sender, seen, &item, totals);
}

static int put(struct sender *sender, struct seen_process *seen, struct gg_extract *extract,
               struct gg_sent_totals *totals)
{
	struct gg_send_body body = { 0 };
	int status = gg_send_body_make(&body, sender->facts, extract, gg_hash_random_seed() | 1,
	                               sender->error);

	if (status == 0)
		status = put_body(sender, seen, &body, totals);
	gg_send_body_done(&body);
	return status;
}

/* The queue has no room, so the next look sends this process's difference. */
static void skip(struct sender *sender)
{
	sender->skipped_count++;
	sender->refused_count++;
	if (!sender->is_full)
		gg_sender_tell(
			sender,
			"the queue is full: looks wait until there is room; what is allocated "
			"meanwhile is sent then");
	sender->is_full = true;
}

/* The queue never has room for the process, so waiting does not help. */
static void tell_large(struct sender *sender, struct seen_process *seen)
{
	if (!seen->was_told_large)
		gg_sender_tell(sender, "%s is not sent: %.200s", seen->about,
		               sender->error->message);
	seen->was_told_large = true;
}

/* After a look at which everything had room. */
void gg_sender_end_full(struct sender *sender)
{
	if (sender->is_full)
		gg_sender_tell(sender,
		               "the queue has room again: %" PRIu64 " states of live memory are "
		               "missing, and nothing that was allocated",
		               sender->skipped_count);
	sender->is_full = false;
	sender->skipped_count = 0;
}

/* A queue without room is no failure: the next look sends the difference. */
static int end_put(struct sender *sender, struct seen_process *seen, int status)
{
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

/* `extract` has the rows of that process alone. */
static int send_rows(struct sender *sender, struct seen_process *seen, const struct looked *looked,
                     struct gg_extract *extract)
{
	struct gg_sent_totals totals;
	bool is_known;
	bool began_before = sender->options->every_seconds > 0 &&
	                    looked->begin_wall_ns < sender->start_wall_ns;
	int status = gg_seen_read_totals(sender, seen, began_before, &totals, &is_known);

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
		                                : gg_seen_write_totals(sender, seen, &totals);
	}
	/* The outline has the earlier totals: its next difference would count this one again. */
	if (status == 0)
		gg_seen_forget_outline(sender, seen);
	gg_sent_totals_done(&totals);
	return end_put(sender, seen, status);
}

/* Sends a process's rows of an extract, [first, end). */
int gg_sender_send_process(struct sender *sender, const struct looked *looked,
                           const struct gg_extract *all, size_t first, size_t end)
{
	struct gg_extract part = *all;
	struct gg_plain_tally live = { 0 };
	struct seen_process *seen = gg_seen_process_of(sender, looked->owner);
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
	part.is_lacking = gg_model_lacks_objects(all->model, all->rows[first].process);
	for (size_t i = 0; i < part.row_count; i++)
		part.rows[i].live.is_lacking = part.rows[i].allocated.is_lacking = part.is_lacking;
	gg_extract_expose(&part, false, &part.live);
	seen->is_here = true;
	snprintf(seen->about, sizeof(seen->about), "%.120s (%u)",
	         process->exe != NULL ? gg_path_base(process->exe) : "a process", process->pid);
	status = send_rows(sender, seen, looked, &part);
	free(part.rows);
	return status;
}

int gg_sender_send_numbers(struct sender *sender, struct seen_process *seen,
                           const struct gg_send_outline_look *look)
{
	struct gg_sent_totals totals, noted = { 0 };
	struct gg_send_body body = { 0 };
	int status = gg_send_outline_body(seen->outline, sender->workspace, look, &totals, &body,
	                                  sender->error);

	if (status != 1) {
		gg_send_body_done(&body);
		return status;
	}
	/* Without a state directory the note is in memory, and gets rows of its own. */
	if (sender->state_fd < 0 && gg_sent_totals_copy(&noted, &totals) < 0)
		status = gg_error_memory(sender->error, "send");
	if (status == 1)
		status = put_body(sender, seen, &body, sender->state_fd < 0 ? &noted : &totals);
	if (status == 0) {
		totals.number = sender->state_fd < 0 ? seen->totals.number : totals.number;
		gg_send_outline_keep(seen->outline, &totals);
		sender->result->quick_count++;
	}
	gg_sent_totals_done(&noted);
	gg_sent_totals_done(&totals);
	gg_send_body_done(&body);
	status = end_put(sender, seen, status);
	return status == 0 ? 1 : status;
}
