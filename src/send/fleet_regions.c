/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fleet_regions - looks for a fleet at regions: of this machine, a directory, or a process.
 *
 * A look takes all regions together as one model, so that a block which forked processes share is
 * one block, and makes one slot of it: that which ended last.  Live samples are known one by one.
 * Allocations are known as sums by stack since the process began, so the slot gets their
 * difference to the last look, folded.  It has what was allocated up to the look, which is a
 * little after the end of the slot; the next slot has the rest.
 *
 * Note      One note has what was sent of all processes (sent_totals.h): for each stack of a
 *           process three rows, whose pairs of numbers are those of struct sent_sums.  Body and
 *           note are committed together, so a kill neither loses nor doubles a difference.
 * Clock     Live rows of two looks would add up in one slot.  So the note also has spans of slots
 *           that were sent: from the first to the end of the last, in seconds since 1970.  When the
 *           wall clock is set back into one of them, the host waits until the clock has left it.
 * First     A process that ran long before the sender first saw it gives its difference from then
 *           on: nobody knows in which slots the rest belongs.
 * Instance  The sender of all regions is the host's own.  A sender of one process or one
 *           directory is another one of the same host.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/time_units.h"
#include "format/codec/stable_hash.h"
#include "record/regions/find_region.h"
#include "record/regions/process_alive.h"
#include "record/regions/region_list.h"
#include "record/regions/region_profile.h"
#include "region/reader/view.h"
#include "send/fleet_looks.h"
#include "send/sender.h"

enum { SYMBOL_LIMIT_SECONDS = 20, PARTS = 3, PART_MASK = 3, MARK = 3 };

/* Keys of rows of the note that have spans of sent slots: as small as no hash is, in practice. */
enum { SPAN_KEY = 16, SPANS_MAX = 16 };
static const char boot_path[] = "/proc/sys/kernel/random/boot_id";

typedef GG_ARRAY(char *) path_list;

/* Facts that distinguish a process from others, although pids come again and clocks are set. */
struct known_region {
	uint32_t pid;
	uint64_t start_wall_ns, start_monotonic_ns;
};
typedef GG_ARRAY(struct known_region) region_heads;
typedef GG_ARRAY(struct gg_slot_allocated) difference_list;

/* Allocations of a process with a stack: additive, and never less than before. */
struct sent_sums {
	double n, seen, bytes, bytes_var, count, count_var;
};

/* --- regions -------------------------------------------------------------------------------- */

static int add_path(path_list *paths, const char *path)
{
	char *copy = strdup(path), **item = copy != NULL ? gg_array_add(paths) : NULL;

	if (item == NULL) {
		free(copy);
		return -ENOMEM;
	}
	*item = copy;
	return 0;
}

static int visit(const struct gg_listed_region *file, void *context)
{
	return file->kind == GG_LISTED_REGION_WHOLE ? add_path(context, file->path) : 0;
}

static void free_paths(path_list *paths)
{
	for (size_t i = 0; i < paths->count; i++)
		free(paths->items[i]);
	gg_array_done(paths);
}

/* Lists the target's regions.  A process that has ended keeps its last region. */
static int find_paths(struct sender *sender, path_list *paths)
{
	char *target = (char *)sender->options->target, *path = NULL;
	int status;

	if (target == NULL ||
	    (!gg_find_region_is_pid(target) && gg_region_list_is_directory(target)))
		status = gg_region_list_each(&target, target != NULL, visit, paths, sender->error);
	else {
		status = gg_find_region(&path, target, sender->error);
		if (status == -ESRCH && sender->path != NULL) {
			*sender->error = (struct gg_error){ 0 };
			return add_path(paths, sender->path);
		}
		if (status < 0)
			return status;
		free(sender->path);
		sender->path = path;
		status = add_path(paths, path);
	}
	return status == -ENOMEM ? gg_error_memory(sender->error, "send") : status;
}

/* Reads the heads of the regions; one that cannot be read is not among them. */
static int read_heads(const path_list *paths, region_heads *heads)
{
	for (size_t i = 0; i < paths->count; i++) {
		int fd = open(paths->items[i], O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		struct gg_region_header header;
		bool is_read = fd >= 0 &&
		               gg_region_header_read(&header, fd, paths->items[i], NULL) == 0;

		if (fd >= 0)
			close(fd);
		if (is_read &&
		    !gg_array_push(heads, (struct known_region){ header.pid, header.start_wall_ns,
		                                                 header.start_monotonic_ns }))
			return -ENOMEM;
	}
	return 0;
}

/* True if the process of the only region still writes it. */
static bool is_alive(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct gg_region_header header;
	bool result = fd >= 0 && gg_region_header_read(&header, fd, path, NULL) == 0 &&
	              gg_process_alive_region(&header, fd);

	if (fd >= 0)
		close(fd);
	return result;
}

/* --- differences ---------------------------------------------------------------------------- */

static struct sent_sums sums_of(const struct gg_plain_tally *tally)
{
	const struct gg_plain_moments *usual = tally->usual, *sure = tally->sure;

	return (struct sent_sums){
		.n = tally->sample_count,
		.seen = usual[GG_BYTES].seen + sure[GG_BYTES].seen,
		.bytes = usual[GG_BYTES].value + sure[GG_BYTES].value,
		.bytes_var = usual[GG_BYTES].variance + sure[GG_BYTES].variance,
		.count = usual[GG_ALLOCATIONS].value + sure[GG_ALLOCATIONS].value,
		.count_var = usual[GG_ALLOCATIONS].variance + sure[GG_ALLOCATIONS].variance,
	};
}

static uint64_t bits_of(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static double double_of(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static int compare_keys(const void *a, const void *b)
{
	const struct gg_sent_row *left = a, *right = b;

	return (left->key > right->key) - (left->key < right->key);
}

static const struct gg_sent_row *find_row(const struct gg_sent_totals *totals, uint64_t key)
{
	const struct gg_sent_row wanted = { .key = key };

	return totals->rows.count == 0 ? NULL
	                               : bsearch(&wanted, totals->rows.items, totals->rows.count,
	                                         sizeof(wanted), compare_keys);
}

/* Returns the sums that were sent for the process and stack of that key. */
static struct sent_sums find_sums(const struct gg_sent_totals *totals, uint64_t key)
{
	struct sent_sums sums = { 0 };
	double *const pairs[PARTS][2] = { { &sums.n, &sums.seen },
		                          { &sums.bytes, &sums.bytes_var },
		                          { &sums.count, &sums.count_var } };

	for (unsigned i = 0; i < PARTS; i++) {
		const struct gg_sent_row *row = find_row(totals, key | i);

		if (row == NULL)
			return (struct sent_sums){ 0 };
		*pairs[i][0] = double_of(row->bytes);
		*pairs[i][1] = double_of(row->count);
	}
	return sums;
}

static bool put_sums(struct gg_sent_totals *totals, uint64_t key, const struct sent_sums *sums)
{
	const struct gg_sent_row rows[PARTS] = {
		{ key, bits_of(sums->n), bits_of(sums->seen) },
		{ key | 1, bits_of(sums->bytes), bits_of(sums->bytes_var) },
		{ key | 2, bits_of(sums->count), bits_of(sums->count_var) },
	};

	for (unsigned i = 0; i < PARTS; i++)
		if (!gg_array_push(&totals->rows, rows[i]))
			return false;
	return true;
}

/* The samples since then, which are not known one by one. */
static struct gg_plain_tally difference_of(const struct sent_sums *now,
                                           const struct sent_sums *then,
                                           const struct gg_plain_tally *all, enum gg_scheme scheme)
{
	const struct gg_folded folded = {
		.sample_count = (uint64_t)(now->n - then->n + 0.5),
		.seen_bytes = now->seen > then->seen ? (uint64_t)(now->seen - then->seen + 0.5) : 0,
		.bytes = fmax(now->bytes - then->bytes, 0),
		.bytes_variance = fmax(now->bytes_var - then->bytes_var, 0),
		.count = fmax(now->count - then->count, 0),
		.count_variance = fmax(now->count_var - then->count_var, 0),
		.sampling_interval = all->sampled_interval_max,
		.scheme = scheme,
		.most_bytes = UINT64_MAX,
		.unknown_errors = (all->unknown[GG_BYTES] > 0 ? 1u << GG_BYTES : 0) |
		                  (all->unknown[GG_ALLOCATIONS] > 0 ? 1u << GG_ALLOCATIONS : 0),
	};
	struct gg_plain_tally tally = { 0 };

	gg_plain_tally_add_folded(&tally, &folded);
	return tally;
}

struct differing {
	struct sender *sender;
	const struct gg_model *model;
	const struct gg_slot_span *span;
	const struct gg_sent_totals *then;
	struct gg_sent_totals *now;
	difference_list *list;
	const region_heads *heads;
	bool *has_ended; /* by process */
};

/*
 * The process's number in the note, the same at each look: that of its region's head.  The model
 * has its start to some milliseconds, by which the region of a pid is found.
 */
static uint64_t process_key(const struct differing *differing, uint32_t process)
{
	const struct gg_profile_process *of = &differing->model->processes[process];
	int64_t wall_ns = (int64_t)differing->model->sessions[0].start_wall_ns + of->start_ns;
	const struct known_region *nearest = NULL;
	char text[96];

	for (size_t i = 0; i < differing->heads->count; i++) {
		const struct known_region *head = &differing->heads->items[i];

		if (head->pid == of->pid &&
		    (nearest == NULL || llabs((int64_t)head->start_wall_ns - wall_ns) <
		                                llabs((int64_t)nearest->start_wall_ns - wall_ns)))
			nearest = head;
	}
	snprintf(text, sizeof(text), "%u %" PRIu64 " %" PRIu64, of->pid,
	         nearest != NULL ? nearest->start_wall_ns : (uint64_t)wall_ns,
	         nearest != NULL ? nearest->start_monotonic_ns : 0);
	return gg_stable_hash_text(GG_STABLE_HASH_START, text);
}

/* True if what a process allocated before this look is in the slot, or in an earlier one. */
static bool has_difference(const struct differing *differing, uint32_t process)
{
	const struct gg_model *model = differing->model;
	uint64_t key = process_key(differing, process) | MARK;
	int64_t start_s = (int64_t)(model->sessions[0].start_wall_ns / GG_NS_PER_S) +
	                  model->processes[process].start_ns / (int64_t)GG_NS_PER_S;
	int64_t since_s = (int64_t)differing->span->start_s;
	int64_t until_s = differing->then->until_ns / (int64_t)GG_NS_PER_S;

	if (find_row(differing->then, key) != NULL)
		return true;
	/* The last look did not see it, so it is not older than that. */
	if (until_s > 0 && until_s < since_s)
		since_s = until_s;
	return start_s + differing->span->seconds >= since_s;
}

static int add_row(struct differing *differing, const struct gg_extract_row *row)
{
	const struct gg_model *model = differing->model;
	const struct gg_plain_tally *tally = &row->allocated.tally;
	uint64_t key = gg_hash_integer(gg_sent_key(model, row->stack),
	                               process_key(differing, row->process)) &
	               ~(uint64_t)PART_MASK;
	struct sent_sums now = sums_of(tally), then = find_sums(differing->then, key);
	struct gg_slot_allocated difference = { .process = row->process, .stack = row->stack };

	if (now.n <= then.n) /* nothing new; a torn view may even have less */
		return put_sums(differing->now, key, then.n > 0 ? &then : &now) ? 0 : -ENOMEM;
	difference.tally = difference_of(&now, &then, tally, model->processes[row->process].scheme);
	if (has_difference(differing, row->process) && !gg_array_push(differing->list, difference))
		return -ENOMEM;
	return put_sums(differing->now, key, &now) ? 0 : -ENOMEM;
}

static int find_differences(struct differing *differing)
{
	struct gg_extract *extract = NULL;
	int status = gg_sender_extract_of(differing->sender, differing->model, &extract);

	if (status < 0)
		return status;
	for (uint32_t i = 1; status == 0 && i < differing->model->process_count; i++) {
		const bool runs = differing->model->processes[i].end_ns == GG_TIME_NONE;
		const struct gg_sent_row mark = { .key = process_key(differing, i) | MARK,
			                          .bytes = runs };
		const struct gg_sent_row *before = find_row(differing->then, mark.key);

		differing->has_ended[i] = !runs && before != NULL && before->bytes != 0;
		if (!gg_array_push(&differing->now->rows, mark))
			status = -ENOMEM;
	}
	for (size_t i = 0; status == 0 && i < extract->row_count; i++)
		status = add_row(differing, &extract->rows[i]);
	gg_extract_free(extract);
	if (status == 0 && differing->now->rows.count > 0)
		qsort(differing->now->rows.items, differing->now->rows.count,
		      sizeof(*differing->now->rows.items), compare_keys);
	return status == 0 ? 0 : gg_error_memory(differing->sender->error, "send");
}

/* --- slots ---------------------------------------------------------------------------------- */

/* The slot of this look: the last one that has ended, or at the end the one that is not over. */
static uint64_t slot_of(const struct sender *sender, bool is_over)
{
	uint64_t seconds = sender->options->slot_seconds;
	uint64_t now_s = gg_clock_wall_ns() / GG_NS_PER_S, start_s = now_s - now_s % seconds;

	return is_over ? start_s - seconds : start_s;
}

static bool is_span(const struct gg_sent_row *row)
{
	return row->key >= SPAN_KEY && row->key < SPAN_KEY + SPANS_MAX;
}

/* True if the slot that starts then is in a span of the note. */
static bool was_sent(const struct gg_sent_totals *then, uint64_t start_s)
{
	for (size_t i = 0; i < then->rows.count; i++) {
		const struct gg_sent_row *row = &then->rows.items[i];

		if (is_span(row) && row->bytes <= start_s && start_s < row->count)
			return true;
	}
	return false;
}

/*
 * Adds the note's spans and this slot to the next note.  The slot continues a span that ended a
 * short time ago; after a longer time it begins one, because a clock that is wrong by days must not
 * make one span of all these days.  Without room the span that ended first is forgotten.
 */
static bool add_spans(struct gg_sent_totals *now, const struct gg_sent_totals *then,
                      const struct gg_slot_span *slot)
{
	struct gg_sent_row spans[SPANS_MAX + 1];
	const uint64_t seconds = slot->seconds, end_s = slot->start_s + seconds;
	size_t count = 0, first = 0;
	bool is_in = false, has_room = true;

	for (size_t i = 0; i < then->rows.count && count < SPANS_MAX; i++)
		if (is_span(&then->rows.items[i]))
			spans[count++] = then->rows.items[i];
	if (count == 0 && then->until_ns > 0) { /* a note of a version without spans */
		const uint64_t until_s = (uint64_t)then->until_ns / GG_NS_PER_S;

		spans[0] = (struct gg_sent_row){ .bytes = until_s > seconds ? until_s - seconds : 0,
			                         .count = until_s };
		count = 1;
	}
	for (size_t i = 0; i < count && !is_in; i++)
		if (spans[i].count <= slot->start_s &&
		    slot->start_s - spans[i].count <= seconds + GG_FLEET_AHEAD_SECONDS) {
			spans[i].count = end_s;
			is_in = true;
		}
	if (!is_in) {
		spans[count] = (struct gg_sent_row){ .bytes = slot->start_s, .count = end_s };
		count++;
	}
	if (count > SPANS_MAX) {
		for (size_t i = 1; i < count; i++)
			if (spans[i].count < spans[first].count)
				first = i;
		spans[first] = spans[--count];
	}
	for (size_t i = 0; i < count && has_room; i++) {
		spans[i].key = SPAN_KEY + i;
		has_room = gg_array_push(&now->rows, spans[i]);
	}
	return has_room;
}

static void read_boot(unsigned char boot[16])
{
	int fd = open(boot_path, O_RDONLY | O_CLOEXEC);
	char text[64] = "";

	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	if (fd >= 0)
		close(fd);
	gg_fleet_siphash128(text, strlen(text), (const unsigned char *)"geiger-fleet-boot", boot);
}

/* "": the sender of the whole host. */
static void name_instance(const struct sender *sender, char instance[20])
{
	const char *target = sender->options->target;
	uint64_t hash = gg_stable_hash_text(GG_STABLE_HASH_START, target != NULL ? target : "");

	instance[0] = '\0';
	if (target != NULL)
		snprintf(instance, 20, "%016" PRIx64, hash);
}

static int send_regions(struct sender *sender, const struct gg_model *model,
                        const region_heads *heads)
{
	bool is_over = sender->options->every_seconds > 0 && !sender->is_stopped &&
	               !sender->has_ended;
	char instance[20];
	struct gg_slot_span span = { .host = gg_sender_fleet_host(sender, NULL),
		                     .instance = instance,
		                     .start_s = slot_of(sender, is_over),
		                     .seconds = sender->options->slot_seconds };
	struct seen_process *seen = gg_seen_process_of(sender, "fleet-regions");
	struct gg_sent_totals then = { 0 }, now = { 0 };
	difference_list list = { 0 };
	struct differing differing = { sender, model,
		                       &span,  &then,
		                       &now,   &list,
		                       heads,  calloc(model->process_count + 1, sizeof(bool)) };
	struct gg_slot_what what = { .zero_wall_ns = model->sessions[0].start_wall_ns,
		                     .is_living = true,
		                     .has_ended = differing.has_ended,
		                     .share_of = gg_sender_fleet_share,
		                     .context = sender };
	uint64_t until_s, now_s = gg_clock_wall_ns() / GG_NS_PER_S;
	bool is_known;
	int status;

	if (seen == NULL || differing.has_ended == NULL) {
		free(differing.has_ended);
		return gg_error_memory(sender->error, "send");
	}
	snprintf(seen->about, sizeof(seen->about), "the host");
	seen->is_here = true;
	name_instance(sender, instance);
	read_boot(span.boot);
	status = gg_seen_read_totals(sender, seen, false, &then, &is_known);
	if (status < 0) {
		free(differing.has_ended);
		return status;
	}
	until_s = (uint64_t)then.until_ns / GG_NS_PER_S;
	if (then.until_ns == 0 && is_over) {
		/*
		 * An earlier sender may have sent this slot, and its note was lost: rows of two
		 * looks would add up.  So the next slot is the first one.
		 */
		now.until_ns = (int64_t)((span.start_s + span.seconds) * GG_NS_PER_S);
		sender->result->idle_count++;
		status = add_spans(&now, &then, &span) ? gg_seen_write_totals(sender, seen, &now)
		                                       : gg_error_memory(sender->error, "send");
	} else if (was_sent(&then, span.start_s) ||
	           (until_s > span.start_s &&
	            until_s <= now_s + span.seconds + GG_FLEET_AHEAD_SECONDS)) {
		/*
		 * This slot was sent, or later ones, before the clock was set back: the next one
		 * has what is new.  Slots of a clock that was further ahead do not matter, because
		 * a receiver refused them, unless this one is among them.
		 */
		sender->result->idle_count++;
	} else {
		status = add_spans(&now, &then, &span) ? find_differences(&differing)
		                                       : gg_error_memory(sender->error, "send");
		what.allocated = list.items;
		what.allocated_count = list.count;
		if (status == 0)
			status = gg_sender_fleet_send(sender, seen, model, &what, &span, &now);
		status = gg_sender_fleet_end(sender, seen, status);
	}
	free(differing.has_ended);
	gg_array_done(&list);
	gg_sent_totals_done(&then);
	gg_sent_totals_done(&now);
	return status;
}

int gg_sender_look_for_fleet_at_regions(struct sender *sender)
{
	struct gg_profile *profile = NULL;
	struct gg_model *model = NULL;
	region_heads heads = { 0 };
	path_list paths = { 0 };
	bool is_one = sender->options->target != NULL &&
	              !gg_region_list_is_directory(sender->options->target);
	int status;

	/*
	 * Without notes, a sender knows neither which slots an earlier one has sent nor who it was.
	 * The store would add up the looks of both.
	 */
	if (sender->state_fd < 0)
		return gg_error_set(sender->error, -EINVAL, "send: --state",
		                    "Give --state DIR, such as one below /dev/shm.",
		                    "memory that is sent to a fleet without a state could count "
		                    "twice");
	status = find_paths(sender, &paths);
	if (status == 0 && is_one)
		sender->has_ended = !is_alive(paths.items[0]);
	if (status == 0 && paths.count > 0)
		status = gg_region_profile_load_several(&profile, paths.items, (int)paths.count,
		                                        SYMBOL_LIMIT_SECONDS, sender->error);
	if (status == 0 && read_heads(&paths, &heads) < 0)
		status = gg_error_memory(sender->error, "send");
	free_paths(&paths);
	if (status == -ENOENT && !is_one) {
		*sender->error = (struct gg_error){ 0 };
		status = 0;
	}
	if (status == 0 && profile != NULL)
		status = gg_sender_load_model(sender, profile, false, &model);
	gg_profile_close(profile);
	if (model != NULL && model->session_count > 0)
		status = send_regions(sender, model, &heads);
	gg_model_free(model);
	gg_array_done(&heads);
	return status;
}
