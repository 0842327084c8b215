/* SPDX-License-Identifier: Apache-2.0 */
/*
 * region_looks - looks at regions: of a process, of a directory, or of the machine.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/time_units.h"
#include "record/regions/find_region.h"
#include "record/regions/polling.h"
#include "record/regions/process_alive.h"
#include "record/regions/region_list.h"
#include "record/symbols/symbolize.h"
#include "region/reader/view.h"
#include "send/send_state.h"
#include "send/sender.h"
#include "send/sender_internal.h"

enum {
	SYMBOL_SECONDS = 20, /* for a module */
	CLOCK_STEP_MS = 1000,
	REPEAT_SECONDS = 300, /* a profile of a process that does nothing */
	OUTLINES_MAX_BYTES = 44 << 20,
};

static void name_region_owner(char owner[GG_SEND_OWNER_MAX], const struct gg_region_header *header)
{
	gg_seen_name_owner(owner, header->pid, header->start_wall_ns, header->start_monotonic_ns);
}

/* Nothing was sampled yet, so there is nothing to send, or to lose. */
static void note_empty(struct sender *sender, const struct looked *looked, uint32_t pid)
{
	struct seen_process *seen = gg_seen_process_of(sender, looked->owner);

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
	struct seen_process *seen = gg_seen_process_of(sender, owner);
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
static bool is_idle(const struct seen_process *seen, uint64_t number, uint64_t number_then)
{
	return number != 0 && number == number_then && !seen->is_unsent &&
	       gg_clock_monotonic_ns() - seen->look_ns < REPEAT_SECONDS * GG_NS_PER_S;
}

static uint32_t stack_of(uint32_t node, void *polling)
{
	return gg_polling_stack(polling, node);
}

/*
 * Keeps what the next look needs to go the quick way.  Without memory, or if outlines have used up
 * theirs, that look goes this way.
 */
static void keep_outline(struct sender *sender, const char *owner,
                         const struct gg_region_view *view, const struct gg_extract *extract,
                         struct gg_polling *polling)
{
	struct seen_process *seen = gg_seen_find(sender, owner);
	struct gg_send_outline_source source = { .facts = &sender->options->facts,
		                                 .extract = extract,
		                                 .view = view,
		                                 .stack_of = stack_of,
		                                 .context = polling };
	struct gg_sent_totals totals = { 0 };
	struct gg_error error = { 0 };
	bool is_known = false;

	/* An outline that cannot fit is not made. */
	if (seen == NULL || seen->is_unsent || sender->outline_bytes >= OUTLINES_MAX_BYTES)
		return;
	gg_seen_forget_outline(sender, seen);
	source.totals = &totals;
	if (gg_seen_read_totals(sender, seen, false, &totals, &is_known) < 0) {
		*sender->error = (struct gg_error){ 0 };
		return;
	}
	if (is_known &&
	    gg_send_outline_make(&seen->outline, sender->workspace, &source, &error) == 0 &&
	    seen->outline != NULL) {
		sender->outline_bytes += gg_send_outline_bytes(seen->outline);
		if (sender->outline_bytes > OUTLINES_MAX_BYTES)
			gg_seen_forget_outline(sender, seen);
	}
	gg_sent_totals_done(&totals);
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
	bool comes_again = is_alive && sender->options->every_seconds > 0;
	uint64_t pulse = comes_again ? gg_region_view_pulse(view) : 0;
	uint64_t hash = comes_again && pulse == 0 ? hash_of(view) : 0;
	struct seen_process *seen;
	int status;

	name_region_owner(looked.owner, &view->header);
	seen = gg_seen_process_of(sender, looked.owner);
	if (gg_seen_is_final(sender, looked.owner)) {
		sender->result->unchanged_count++;
		return 0;
	}
	if (seen != NULL &&
	    (is_idle(seen, pulse, seen->look_pulse) || is_idle(seen, hash, seen->look_hash))) {
		sender->result->idle_count++;
		return 0;
	}
	status = gg_polling_open(&polling, path, sender->error);
	if (status < 0)
		return status;
	looked.begin_wall_ns = start_wall_of(sender, looked.owner, &view->header, is_alive);
	gg_polling_set_start_wall(polling, looked.begin_wall_ns);
	status = gg_polling_take(polling, view, sender->error);
	if (status == 0)
		status = gg_polling_put_mappings(polling, sender->error);
	looked.now_ns = gg_polling_view_ns(polling);
	if (status == 0)
		status = gg_symbolize_with(gg_polling_profile(polling), &symbols, sender->symbols,
		                           &named, sender->error);
	if (status == 0)
		status = gg_sender_load_model(sender, gg_polling_profile(polling), false, &model);
	if (status == 0)
		status = gg_sender_extract_of(sender, model, &extract);
	if (status == 0 && extract->row_count > 0)
		status = gg_sender_send_process(sender, &looked, extract, 0, extract->row_count);
	else if (status == 0)
		note_empty(sender, &looked, view->header.pid);
	if (status == 0 && extract->row_count > 0 && pulse != 0)
		keep_outline(sender, looked.owner, view, extract, polling);
	seen = gg_seen_process_of(sender, looked.owner);
	if (status == 0 && seen != NULL) {
		seen->look_hash = hash;
		seen->look_pulse = pulse;
		seen->look_ns = gg_clock_monotonic_ns();
	}
	gg_extract_free(extract);
	gg_model_free(model);
	gg_polling_free(polling);
	return status;
}

/*
 * Looks at a process that the sender knows by its region's numbers alone.  Returns true if that was
 * all: it did nothing, or its outline had a place for all that it did.
 */
static bool look_quickly(struct sender *sender, const char *path, int fd)
{
	struct gg_send_outline_look look = { .facts = &sender->options->facts };
	char owner[GG_SEND_OWNER_MAX];
	struct gg_region_header header;
	struct gg_region_view view;
	struct seen_process *seen;
	uint64_t pulse;
	int status;

	if (sender->options->every_seconds <= 0 ||
	    gg_region_header_read(&header, fd, path, NULL) < 0)
		return false;
	name_region_owner(owner, &header);
	seen = gg_seen_find(sender, owner);
	if (seen == NULL || seen->is_final || seen->look_pulse == 0 ||
	    !gg_process_alive_region(&header, fd))
		return false;
	pulse = gg_region_pulse_read(&header, fd);
	if (is_idle(seen, pulse, seen->look_pulse)) {
		seen->is_here = true;
		sender->result->idle_count++;
		return true;
	}
	if (seen->outline == NULL || gg_region_view_read_numbers(&view, fd, path, NULL) < 0)
		return false;
	pulse = gg_region_view_pulse(&view);
	look.view = &view;
	look.begin_wall_ns = start_wall_of(sender, owner, &view.header, true);
	look.now_ns = (int64_t)(gg_clock_monotonic_ns() - view.header.start_monotonic_ns);
	status = gg_sender_send_numbers(sender, seen, &look);
	gg_region_view_done(&view);
	if (status <= 0) { /* the long way says what is wrong */
		*sender->error = (struct gg_error){ 0 };
		return false;
	}
	seen->is_here = true;
	if (!seen->is_unsent) {
		seen->look_pulse = pulse;
		seen->look_ns = gg_clock_monotonic_ns();
	}
	return true;
}

static bool is_wanted(const char *path, int fd, void *context)
{
	return !look_quickly(context, path, fd);
}

/* Looks at a region.  *ret_is_alive: its process lives; it stays as it is if nobody knows. */
static int look_at_region(struct sender *sender, const char *path, bool *ret_is_alive)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), status;
	struct gg_region_view view;

	if (fd < 0)
		return gg_error_set_errno(sender->error, errno, path, NULL);
	if (look_quickly(sender, path, fd)) {
		*ret_is_alive = true;
		close(fd);
		return 0;
	}
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
	char owner[GG_SEND_OWNER_MAX];
	bool is_alive;
	int status;

	if (file->kind != GG_LISTED_REGION_WHOLE)
		return 0;
	name_region_owner(owner, &file->view->header);
	if (gg_seen_is_final(sender, owner)) {
		sender->result->unchanged_count++;
		return 0;
	}
	/* A process that ended after the view was read may have written in between. */
	status = file->is_alive ? send_view(sender, file->path, file->view, true)
	                        : look_at_region(sender, file->path, &is_alive);
	if (status < 0) { /* one region must not end the look at the others */
		gg_sender_tell_error(sender);
		seen = gg_seen_process_of(sender, owner);
		if (seen != NULL)
			seen->is_unsent = true;
	}
	return 0;
}

int gg_sender_look_at_directory(struct sender *sender)
{
	char *directory = (char *)sender->options->target;
	int status = gg_region_list_each_wanted(&directory, directory != NULL, is_wanted,
	                                        visit_region, sender, sender->error);

	if (status == 0)
		gg_seen_tell_gone(sender);
	return status;
}

/* Looks at the managed memory of the process of a region. */
static int look_at_managed(struct sender *sender, bool is_alive)
{
	int fd = open(sender->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), status;
	struct gg_region_header header;

	if (fd < 0)
		return 0;
	status = gg_region_header_read(&header, fd, sender->path, sender->error);
	if (status == 0)
		status = gg_managed_looks_look(
			sender, &header, (pid_t)gg_process_alive_pid_here(&header, fd), is_alive);
	close(fd);
	return status;
}

/* Looks at a region that may have gone since the last look. */
static int look_at_last(struct sender *sender, bool *ret_is_alive)
{
	int status;

	for (size_t i = 0; i < sender->seen.count; i++)
		sender->seen.items[i].is_here = gg_managed_looks_has(sender,
		                                                     sender->seen.items[i].owner);
	status = look_at_region(sender, sender->path, ret_is_alive);
	if (status == 0)
		status = look_at_managed(sender, *ret_is_alive);
	if (status != -ENOENT)
		return status;
	*ret_is_alive = false;
	status = gg_managed_looks_last(sender);
	gg_seen_tell_gone(sender);
	return status;
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

		if (!seen->is_here || seen->about[0] == '\0' ||
		    gg_managed_looks_has(sender, seen->owner))
			continue;
		snprintf(region.owner, sizeof(region.owner), "%s", seen->owner);
		snprintf(region.about, sizeof(region.about), "%s", seen->about);
		gg_send_state_remember(sender->state_fd, &region);
	}
}

/* A region that the last sender did not send whole comes before one that gg_find_region() finds. */
int gg_sender_recall(struct sender *sender)
{
	struct gg_send_region region;
	struct seen_process *seen;

	if (sender->state_fd < 0 || sender->options->target == NULL ||
	    !gg_find_region_is_pid(sender->options->target) ||
	    !gg_send_state_recall(sender->state_fd, &region))
		return 0;
	seen = gg_seen_process_of(sender, region.owner);
	sender->path = strdup(region.path);
	if (seen == NULL || sender->path == NULL)
		return gg_error_memory(sender->error, "send");
	snprintf(seen->about, sizeof(seen->about), "%s", region.about);
	gg_seen_is_final(sender, region.owner);
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
	if (last < 0 && gg_sender_may_pass(last))
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
int gg_sender_look_at_process(struct sender *sender)
{
	bool is_alive = true, is_pid = gg_find_region_is_pid(sender->options->target);
	struct gg_error why;
	char *path = NULL;
	int found = gg_find_region(&path, sender->options->target, sender->error), status = 0;

	if (found < 0 && (sender->path == NULL || gg_sender_may_pass(found)))
		return found;
	why = *sender->error;
	*sender->error = (struct gg_error){ 0 };
	if (sender->path != NULL && (path == NULL || strcmp(path, sender->path) != 0))
		status = look_at_last(sender, &is_alive);
	if (path == NULL)
		return end_process(sender, found, &why, status, is_alive);
	/* The next region would replace the only path to what the earlier one still has. */
	if ((status < 0 && gg_sender_may_pass(status)) || sender->refused_count > 0) {
		free(path);
		return status;
	}
	if (status < 0)
		gg_sender_tell_error(sender);
	free(sender->path);
	sender->path = path;
	is_alive = true;
	status = look_at_last(sender, &is_alive);
	if (status == 0)
		sender->has_ended = !is_alive;
	else if (!gg_sender_may_pass(status))
		sender->has_ended = !is_pid;
	if (status == 0 && is_alive)
		remember(sender);
	return status;
}
