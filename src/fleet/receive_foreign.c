/* SPDX-License-Identifier: Apache-2.0 */
/*
 * receive_foreign - takes profiles of other agents, and stores them as slots of their processes.
 *
 * | path                           | agent                              | form                |
 * |--------------------------------|------------------------------------|---------------------|
 * | /push.v1.PusherService/Push    | Alloy and SDKs of Pyroscope        | foreign_request.h   |
 * | /ingest                        | older SDKs of Pyroscope            | foreign_request.h   |
 * | /v1development/profiles        | OpenTelemetry's collector and SDKs | import_otlp.c       |
 *
 * Process   One process of a profile is a sender.  Its labels tell it from others, so two processes
 *           with the same labels would be one.
 * Live      is a state, and agents push it every few seconds.  The first profile after the end of a
 *           slot is that slot's look, as for regions; the others change nothing.
 * Allocated If the agent takes differences, each profile is a span of its own: its rows have its
 *           own second as their slot, so they add up, and a profile that comes again changes no
 *           row.  If it counts from the start of the process, the look has the difference to the
 *           look before (foreign_senders.h).
 * Freed     is allocated less the growth of what is live, where the agent counts from the start.
 * Order     The note of a look is on the disk before its segment.  A receiver that was killed
 *           between them loses that look, and takes no second one.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/time_units.h"
#include "fleet/fleet_statements.h"
#include "fleet/foreign_process.h"
#include "fleet/foreign_profile.h"
#include "fleet/foreign_request.h"
#include "fleet/receive_internal.h"
#include "format/codec/wire_writer.h"
#include "send/fleet_slots.h"

enum {
	FOREIGN_SLOT_SECONDS = 600,
	PROCESSES_MOST = 256,        /* of one profile */
	INNER_BYTES_MOST = 32 << 20, /* of all profiles of a request, unpacked */
	FRAMES_MOST = 500000,        /* of all samples of a request: less than a second of work */
	FRAME_BYTES = 16,            /* of the tenant's rate that a frame of a sample takes */
	SILENT_SLOTS = 6, /* after which a process may be forgotten if there are too many */
	BUSY_SECONDS = 60,
};

static const char push_path[] = "/push.v1.PusherService/Push";
static const char ingest_path[] = "/ingest";

static bool is_otlp(const char *path)
{
	return strcmp(path, "/v1development/profiles") == 0 || strcmp(path, "/v1/profiles") == 0;
}

bool gg_receive_is_foreign(const char *path)
{
	return strcmp(path, push_path) == 0 || strcmp(path, ingest_path) == 0 || is_otlp(path);
}

static bool is_json(const struct gg_receive_request *request)
{
	static const char type[] = "application/json";

	return request->content_type != NULL &&
	       strncasecmp(request->content_type, type, strlen(type)) == 0;
}

bool gg_receive_may_be_empty(const struct gg_receive_request *request)
{
	return (strcmp(request->path, push_path) == 0 || is_otlp(request->path)) &&
	       !is_json(request);
}

/* A request on its way. */
struct foreign {
	struct gg_receive *receive;
	const char *tenant;
	struct gg_receive_answer *answer;
	uint64_t inner_bytes;
	uint64_t frames_left;
	bool is_timeless; /* equal bytes of another slot are another look */
	/* The profile that is being stored. */
	struct gg_foreign_profile profile;
	const struct gg_fleet_label *labels;
	size_t label_count;
	bool is_delta;   /* those of OTLP's processes have their own */
	bool is_fetched; /* now: a target's clock must not decide whether its slot has a look */
	const char *heap;
};

/* A process of the profile. */
struct foreign_process {
	struct foreign *foreign;
	struct gg_foreign_process is;
	struct gg_foreign_sender *sender;
	bool has_allocated, is_delta;
	uint64_t time_s; /* of its profile */
};

static uint64_t now_seconds(void)
{
	return gg_clock_wall_ns() / GG_NS_PER_S;
}

/* --- slots ---------------------------------------------------------------------------------- */

static bool memory_is_out(const struct foreign *foreign)
{
	gg_receive_answer_with(foreign->answer, 503, "memory is out");
	foreign->answer->retry_after_s = BUSY_SECONDS;
	return false;
}

/* False: nothing tells the process from others, and the answer says so. */
static bool identify(struct foreign_process *process, uint32_t number)
{
	struct foreign *foreign = process->foreign;
	int status = gg_foreign_process_of(&process->is, foreign->profile.model, number,
	                                   foreign->labels, foreign->label_count);

	if (status == 0)
		return true;
	if (status == -ENOMEM)
		return memory_is_out(foreign);
	gg_receive_count(foreign->receive, &foreign->receive->counts.refused_bad);
	if (status == -EILSEQ)
		gg_receive_answer_with(foreign->answer, 400, "a label is not UTF-8");
	else
		gg_receive_answer_with(
			foreign->answer, 400,
			"no label tells this process from others: give it one such as "
			"instance, pod or hostname");
	return false;
}

/* Adds a part of a slot to the segment, and seals the definitions of its stacks. */
static bool add_part(const struct foreign *foreign, const struct gg_fleet_slot *slot,
                     const struct gg_fleet_definitions *definitions, struct gg_segment *segment)
{
	struct gg_receive *receive = foreign->receive;
	struct gg_segment part = { 0 };
	bool is_added;

	if (definitions->stacks.count > 0 &&
	    !gg_receive_knows_stacks(receive, foreign->tenant, slot) &&
	    !gg_receive_seal_definitions(receive, foreign->tenant, definitions, foreign->answer))
		return false;
	is_added = gg_segment_of_slot(&part, slot) == 0 && gg_segment_append(segment, &part) == 0;
	if (!is_added)
		memory_is_out(foreign);
	gg_segment_done(&part);
	return is_added;
}

/*
 * Makes a slot of the process, and seals all of its parts as one segment: if some were sealed and
 * others not, a later profile of the same slot would add up with them.
 */
static bool seal_slot(struct foreign_process *process, struct gg_slot_maker *maker,
                      const struct gg_slot_what *what, bool has_process_row)
{
	const struct foreign *foreign = process->foreign;
	struct gg_segment segment = { 0 };
	char number[16];
	const struct gg_fleet_label receiver = { GG_FLEET_RECEIVER_KEY, number };
	bool is_sealed = true;

	snprintf(number, sizeof(number), "%" PRIu32, foreign->receive->receiver);

	if (gg_slot_maker_add(maker, foreign->profile.model, what) < 0 ||
	    gg_slot_maker_finish(maker) < 0)
		return memory_is_out(foreign);
	for (size_t i = 0; is_sealed && i < gg_slot_maker_part_count(maker); i++) {
		struct gg_fleet_slot slot;
		struct gg_fleet_definitions definitions;

		if (gg_slot_maker_part(maker, i, &slot, &definitions) < 0) {
			is_sealed = memory_is_out(foreign);
		} else {
			slot.host_labels = &receiver;
			slot.host_label_count = 1;
			if (!has_process_row) /* one without processes would say that it ended */
				slot.processes.count = 0;
			is_sealed = add_part(foreign, &slot, &definitions, &segment);
		}
		gg_fleet_slot_done(&slot);
		gg_fleet_definitions_done(&definitions);
	}
	is_sealed = is_sealed &&
	            gg_receive_seal(foreign->receive, foreign->tenant, &segment, foreign->answer);
	gg_segment_done(&segment);
	return is_sealed;
}

static struct gg_slot_maker *new_maker(const struct foreign_process *process, uint64_t start_s,
                                       uint32_t seconds)
{
	const struct gg_slot_span span = { .host = process->is.host,
		                           .instance = process->is.instance,
		                           .start_s = start_s,
		                           .seconds = seconds };
	struct gg_slot_maker *maker = NULL;

	return gg_slot_maker_new(&maker, &process->is.facts, &span) < 0 ? NULL : maker;
}

static struct gg_slot_what what_of(const struct foreign_process *process)
{
	return (struct gg_slot_what){ .only_process = process->is.number,
		                      .no_model_labels = true,
		                      .kind = process->is.kind,
		                      .heap = process->foreign->heap };
}

/* --- the rows of a process ------------------------------------------------------------------ */

struct row_lists {
	GG_ARRAY(struct gg_slot_counted) counted;
	GG_ARRAY(struct gg_slot_allocated) sums;
};

static void free_lists(struct row_lists *lists)
{
	gg_array_done(&lists->counted);
	gg_array_done(&lists->sums);
}

static bool add_sum(struct row_lists *lists, const struct gg_foreign_row *row,
                    const struct gg_foreign_part *part, enum gg_fleet_metric metric)
{
	const struct gg_slot_allocated sum = {
		.process = row->process, .stack = row->stack, .tally = part->sum, .metric = metric
	};

	return !part->is_sum || gg_array_push(&lists->sums, sum);
}

/*
 * Says that nobody knows what a stack allocated or freed: a sum of nothing whose error is unknown.
 * Without it, a question would take the absence of rows for an exact 0.
 */
static bool add_unknown(struct row_lists *lists, const struct gg_foreign_row *row,
                        enum gg_fleet_metric metric)
{
	struct gg_slot_allocated sum = { .process = row->process,
		                         .stack = row->stack,
		                         .metric = metric };

	sum.tally.unknown[GG_BYTES] = sum.tally.unknown[GG_ALLOCATIONS] = 1;
	return gg_array_push(&lists->sums, sum);
}

static bool has_memory(const struct gg_foreign_part *part)
{
	return part->samples > 0 || part->is_sum;
}

static bool add_counted(struct row_lists *lists, const struct gg_foreign_row *row,
                        uint32_t allocated, uint32_t freed, uint32_t live)
{
	const struct gg_slot_counted counted = { .process = row->process,
		                                 .stack = row->stack,
		                                 .size = row->size,
		                                 .gap = row->gap,
		                                 .allocated = allocated,
		                                 .freed = freed,
		                                 .live = live };

	return (allocated == 0 && freed == 0 && live == 0) ||
	       gg_array_push(&lists->counted, counted);
}

/* --- spans of an agent that takes differences ------------------------------------------------ */

static bool store_span(struct foreign_process *process)
{
	struct foreign *foreign = process->foreign;
	struct gg_slot_what what = what_of(process);
	struct row_lists lists = { 0 };
	struct gg_slot_maker *maker = NULL;
	bool is_stored = true;

	if (process->sender->delta_s == process->time_s) {
		/* Its rows might have the keys of the other one's, and replace them. */
		gg_receive_count(foreign->receive, &foreign->receive->counts.foreign_unclear);
		return true;
	}
	for (size_t i = 0; is_stored && i < foreign->profile.rows.count; i++) {
		const struct gg_foreign_row *row = &foreign->profile.rows.items[i];

		if (row->process == process->is.number)
			is_stored = add_counted(&lists, row, (uint32_t)row->ever.samples, 0, 0) &&
			            add_sum(&lists, row, &row->ever, GG_FLEET_ALLOCATED) &&
			            (!has_memory(&row->ever) ||
			             add_unknown(&lists, row, GG_FLEET_FREED));
	}
	if (is_stored && lists.counted.count + lists.sums.count > 0) {
		what.counted = lists.counted.items;
		what.counted_count = lists.counted.count;
		what.allocated = lists.sums.items;
		what.allocated_count = lists.sums.count;
		maker = new_maker(process, process->time_s, 1);
		is_stored = maker != NULL ? seal_slot(process, maker, &what, false)
		                          : memory_is_out(foreign);
		if (is_stored) {
			process->sender->delta_s = process->time_s;
			gg_receive_count(foreign->receive, &foreign->receive->counts.foreign_spans);
		}
	} else if (!is_stored) {
		memory_is_out(foreign);
	}
	gg_slot_maker_free(maker);
	free_lists(&lists);
	return is_stored;
}

/* --- looks ---------------------------------------------------------------------------------- */

static uint64_t counter_key(const struct gg_fleet_stack_id *stack, const struct gg_foreign_row *row)
{
	uint64_t gap;

	memcpy(&gap, &row->gap, sizeof(gap));
	return gg_hash_bytes(stack->bytes, sizeof(stack->bytes), gg_hash_integer(row->size, gap));
}

/* The difference to the last look, and the counters of this one. */
struct difference {
	struct gg_fleet_stack_id *ids; /* by row of the process */
	const struct gg_foreign_row **rows;
	size_t count;
	struct gg_foreign_counters now;
	bool *is_taken; /* by counter: a row has its difference already */
	bool is_known;  /* there is a look before that this one continues */
};

static void free_difference(struct difference *difference)
{
	free(difference->ids);
	free(difference->rows);
	free(difference->is_taken);
	gg_array_done(&difference->now);
}

/* Adds up counters with equal keys: frames of different modules may have one name. */
static void merge_counters(struct gg_foreign_counters *counters)
{
	size_t kept = 0;

	gg_foreign_counters_sort(counters);
	for (size_t i = 1; i < counters->count; i++) {
		if (counters->items[kept].key == counters->items[i].key) {
			counters->items[kept].ever += counters->items[i].ever;
			counters->items[kept].live += counters->items[i].live;
		} else {
			counters->items[++kept] = counters->items[i];
		}
	}
	if (counters->count > 0)
		counters->count = kept + 1;
}

static bool find_difference(struct foreign_process *process, struct gg_slot_maker *maker,
                            struct difference *difference)
{
	const struct gg_foreign_profile *profile = &process->foreign->profile;
	uint32_t *stacks = calloc(profile->rows.count + 1, sizeof(*stacks));
	size_t count = 0;
	bool is_made;

	difference->ids = calloc(profile->rows.count + 1, sizeof(*difference->ids));
	difference->rows = calloc(profile->rows.count + 1, sizeof(*difference->rows));
	is_made = stacks != NULL && difference->ids != NULL && difference->rows != NULL;
	for (size_t i = 0; is_made && i < profile->rows.count; i++) {
		const struct gg_foreign_row *row = &profile->rows.items[i];

		if (row->process != process->is.number)
			continue;
		stacks[count] = row->stack;
		difference->rows[count++] = row;
	}
	difference->count = count;
	is_made = is_made && gg_slot_maker_stack_ids(maker, profile->model, stacks, count,
	                                             difference->ids) == 0;
	free(stacks);
	for (size_t i = 0; is_made && i < count; i++) {
		const struct gg_foreign_row *row = difference->rows[i];
		const struct gg_foreign_counter counter = {
			.key = counter_key(&difference->ids[i], row),
			.ever = row->ever.samples,
			.live = (uint32_t)row->live.samples,
		};

		if (counter.ever > 0)
			is_made = gg_array_push(&difference->now, counter);
	}
	if (is_made)
		merge_counters(&difference->now);
	difference->is_taken = calloc(difference->now.count + 1, sizeof(bool));
	difference->is_known = process->sender->has_counters &&
	                       gg_foreign_counters_grew(&difference->now,
	                                                &process->sender->counters);
	return is_made && difference->is_taken != NULL;
}

/*
 * The samples of a row that were allocated and freed since the last look.  Returns false if nobody
 * knows.
 */
static bool count_row(const struct foreign_process *process, struct difference *difference,
                      size_t number, uint32_t *ret_allocated, uint32_t *ret_freed)
{
	uint64_t key = counter_key(&difference->ids[number], difference->rows[number]);
	const struct gg_foreign_counter *now = gg_foreign_counters_find(&difference->now, key);
	const struct gg_foreign_counter *before = gg_foreign_counters_find(
		&process->sender->counters, key);
	uint64_t allocated, held, freed;
	size_t index;

	*ret_allocated = *ret_freed = 0;
	if (now == NULL)
		return true;
	if (!difference->is_known) /* the first look of all begins the count */
		return process->sender->until_s == 0;
	index = (size_t)(now - difference->now.items);
	if (difference->is_taken[index])
		return true;
	difference->is_taken[index] = true;
	allocated = now->ever - (before != NULL ? before->ever : 0);
	held = allocated + (before != NULL ? before->live : 0);
	freed = held > now->live ? held - now->live : 0;
	if (allocated > GG_FLEET_COUNT_MAX || freed > GG_FLEET_COUNT_MAX) {
		gg_receive_count(process->foreign->receive,
		                 &process->foreign->receive->counts.foreign_unclear);
		return false;
	}
	*ret_allocated = (uint32_t)allocated;
	*ret_freed = (uint32_t)freed;
	return true;
}

/* Adds what a row allocated and freed since the last look. */
static bool add_difference(struct foreign_process *process, struct difference *difference,
                           size_t number, struct row_lists *lists)
{
	const struct gg_foreign_row *row = difference->rows[number];
	uint32_t allocated = 0, freed = 0;
	bool has_ever = has_memory(&row->ever), has_live = has_memory(&row->live);
	/* Live memory that was never allocated: the agent sends no allocations. */
	bool is_known = !process->is_delta && !row->ever.is_sum && (has_ever || !has_live) &&
	                count_row(process, difference, number, &allocated, &freed);
	/* Spans say what an agent that takes differences allocated. */
	bool lacks_allocated = !is_known && !process->is_delta && (has_ever || has_live);
	bool lacks_freed = (!is_known || row->live.is_sum) && (has_ever || has_live);

	return add_counted(lists, row, allocated, lacks_freed ? 0 : freed,
	                   (uint32_t)row->live.samples) &&
	       (!lacks_allocated || add_unknown(lists, row, GG_FLEET_ALLOCATED)) &&
	       (!lacks_freed || add_unknown(lists, row, GG_FLEET_FREED));
}

static bool add_look_rows(struct foreign_process *process, struct difference *difference,
                          struct row_lists *lists)
{
	bool is_made = true;

	for (size_t i = 0; is_made && i < difference->count; i++)
		is_made = add_difference(process, difference, i, lists) &&
		          add_sum(lists, difference->rows[i], &difference->rows[i]->live,
		                  GG_FLEET_LIVE);
	return is_made;
}

/* Stores the state of the process at the end of a slot. */
static bool store_look(struct foreign_process *process, uint64_t start_s, uint32_t seconds)
{
	struct foreign *foreign = process->foreign;
	struct gg_foreign_senders *senders = &foreign->receive->foreign;
	struct gg_foreign_sender *sender = process->sender;
	struct gg_slot_maker *maker = new_maker(process, start_s, seconds);
	struct gg_slot_what what = what_of(process);
	struct difference difference = { 0 };
	struct row_lists lists = { 0 };
	uint64_t before_s = sender->until_s;
	bool is_stored = false;

	if (maker == NULL || !find_difference(process, maker, &difference) ||
	    !add_look_rows(process, &difference, &lists)) {
		memory_is_out(foreign);
	} else if (gg_foreign_senders_note(senders, sender, start_s + seconds) < 0) {
		gg_receive_count(foreign->receive, &foreign->receive->counts.failed_disk);
		gg_receive_answer_with(foreign->answer, 503, "the receiver's disk is full");
		foreign->answer->retry_after_s = BUSY_SECONDS;
	} else {
		what.counted = lists.counted.items;
		what.counted_count = lists.counted.count;
		what.allocated = lists.sums.items;
		what.allocated_count = lists.sums.count;
		is_stored = seal_slot(process, maker, &what, true);
		if (is_stored && process->has_allocated && !process->is_delta)
			gg_foreign_senders_keep(senders, sender, &difference.now);
		if (is_stored) {
			gg_receive_note_sign(foreign->receive, foreign->tenant);
			gg_receive_count(foreign->receive, &foreign->receive->counts.foreign_looks);
		} else { /* the agent sends it again, and nothing of it is stored */
			sender->until_s = before_s;
		}
	}
	gg_slot_maker_free(maker);
	free_difference(&difference);
	free_lists(&lists);
	return is_stored;
}

/* --- profiles ------------------------------------------------------------------------------- */

/* Finds the time of the process's profile, and how its agent counts allocations. */
static void find_span(struct foreign_process *process, uint32_t number)
{
	struct foreign *foreign = process->foreign;
	const struct gg_foreign_span *span = &foreign->profile.spans.items[number];
	uint64_t end_ns = span->resource > 0 ? span->end_ns : foreign->profile.end_ns;

	process->has_allocated = span->resource == 0 || span->has_allocated;
	process->is_delta = span->resource > 0 ? span->is_delta : foreign->is_delta;
	foreign->is_timeless |= end_ns == 0 && !process->is_delta;
	process->time_s = end_ns > 0 && !foreign->is_fetched ? end_ns / GG_NS_PER_S : now_seconds();
}

/* Two agents at one process, such as one that takes differences and one that does not. */
static bool has_one_way(struct foreign_process *process)
{
	struct gg_foreign_sender *sender = process->sender;

	if (!process->has_allocated)
		return true;
	if (sender->way == GG_FOREIGN_UNKNOWN)
		sender->way = process->is_delta ? GG_FOREIGN_DIFFERENCES : GG_FOREIGN_TOTALS;
	return (sender->way == GG_FOREIGN_DIFFERENCES) == process->is_delta;
}

static bool store_process(struct foreign_process *process)
{
	struct gg_receive *receive = process->foreign->receive;
	struct foreign *foreign = process->foreign;
	uint32_t seconds = receive->options->slot_seconds > 0 ? receive->options->slot_seconds
	                                                      : FOREIGN_SLOT_SECONDS;
	uint64_t end_s = process->time_s - process->time_s % seconds;
	/* Senders that are silent for some slots make room for others. */
	uint64_t least_s = now_seconds() > SILENT_SLOTS * (uint64_t)seconds
	                           ? now_seconds() - SILENT_SLOTS * (uint64_t)seconds
	                           : 0;
	uint64_t id;

	if (!identify(process, process->is.number))
		return false;
	id = gg_fleet_sender_id(process->is.host, process->is.instance);
	process->sender = gg_foreign_senders_get(
		&receive->foreign, gg_foreign_sender_key(foreign->tenant, id), least_s);
	if (process->sender == NULL) {
		gg_receive_count(receive, &receive->counts.refused_busy);
		gg_receive_answer_with(foreign->answer, 429, "too many processes send");
		foreign->answer->retry_after_s = BUSY_SECONDS;
		return false;
	}
	if (!has_one_way(process)) {
		gg_receive_count(receive, &receive->counts.foreign_unclear);
		return true;
	}
	if (process->is_delta && !store_span(process))
		return false;
	if (end_s < seconds || end_s - seconds < process->sender->until_s ||
	    end_s - seconds < receive->foreign.floor_s) {
		gg_receive_count(receive, &receive->counts.foreign_between);
		return true;
	}
	return store_look(process, end_s - seconds, seconds);
}

/* Stores the processes whose time is right.  False: none, or the answer says what failed. */
static bool store_processes(struct foreign *foreign)
{
	uint32_t count = foreign->profile.model->process_count, late_count = 0;

	for (uint32_t i = 1; i < count; i++) {
		struct foreign_process process = { .foreign = foreign, .is.number = i };

		find_span(&process, i);
		/* A wrong clock of one host must not lose what a collector sends with it. */
		if (!gg_receive_is_of_its_time(foreign->receive, process.time_s, 0,
		                               foreign->answer))
			late_count++;
		else if (!store_process(&process))
			return false;
	}
	if (late_count > 0 && late_count + 1 >= count)
		return false;
	foreign->answer->status = 0;
	gg_buf_clear(&foreign->answer->body);
	return true;
}

static bool has_few_samples(const struct foreign *foreign)
{
	const struct gg_foreign_profile *profile = &foreign->profile;
	uint64_t live = 0, ever = 0;

	for (size_t i = 0; i < profile->rows.count; i++) {
		const struct gg_foreign_row *row = &profile->rows.items[i];
		bool is_delta = foreign->is_delta || profile->spans.items[row->process].is_delta;

		live += row->live.samples;
		ever += is_delta ? row->ever.samples : 0;
		if (live > GG_FLEET_COUNT_MAX || ever > GG_FLEET_COUNT_MAX)
			return false;
	}
	return true;
}

/* Reads and stores one profile; false: the answer says why not. */
static bool store_profile(struct foreign *foreign, const struct gg_importer *importer,
                          const void *bytes, size_t length)
{
	struct gg_receive *receive = foreign->receive;
	struct gg_error error = { 0 };
	uint64_t unpacked = 0;
	bool is_stored = true;
	int status = gg_foreign_profile_read(&foreign->profile, importer, bytes, length,
	                                     GG_FLEET_MESSAGE_MAX, &foreign->frames_left, &unpacked,
	                                     &error);

	foreign->inner_bytes += unpacked;
	if (status == -ENOMSG) { /* such as one of processor's time: agents send these as well */
		gg_receive_count(receive, &receive->counts.foreign_other);
		return true;
	}
	if (status == 0 && !has_few_samples(foreign))
		status = gg_error_set(&error, -EBADMSG, "profile", NULL,
		                      "the profile has more samples than a slot can hold");
	if (status < 0) {
		if (status != -ENOMEM)
			gg_receive_count(receive, &receive->counts.refused_bad);
		gg_receive_answer_with(foreign->answer, status == -ENOMEM ? 503 : 400,
		                       error.message);
		gg_foreign_profile_done(&foreign->profile);
		return false;
	}
	if (foreign->profile.model->process_count > PROCESSES_MOST + 1) {
		gg_receive_answer_with(foreign->answer, 400, "a profile has too many processes");
		is_stored = false;
	}
	/* The samples of OTLP have the labels of their process, so there is no process without. */
	if (importer == &gg_importer_otlp && foreign->profile.rows.count == 0)
		gg_receive_count(receive, &receive->counts.foreign_other);
	else
		is_stored = is_stored && store_processes(foreign);
	gg_foreign_profile_done(&foreign->profile);
	return is_stored;
}

static bool has_budget(const struct foreign *foreign)
{
	if (foreign->inner_bytes <= INNER_BYTES_MOST)
		return true;
	gg_receive_count(foreign->receive, &foreign->receive->counts.refused_large);
	gg_receive_answer_with(foreign->answer, 413, "the profiles are too large");
	return false;
}

static void store_items(struct foreign *foreign, const struct gg_foreign_request *parsed)
{
	bool is_good = true;

	for (size_t i = 0; is_good && i < parsed->items.count; i++) {
		const struct gg_foreign_item *item = &parsed->items.items[i];

		foreign->labels = item->labels;
		foreign->label_count = item->label_count;
		foreign->is_delta = item->is_delta;
		is_good = has_budget(foreign) &&
		          store_profile(foreign, &gg_importer_pprof, item->bytes, item->length);
	}
	if (is_good)
		foreign->answer->status = 200;
}

void gg_receive_foreign(struct gg_receive *receive, const struct gg_receive_request *request,
                        const char *tenant, const void *bytes, size_t length,
                        struct gg_receive_answer *answer)
{
	struct foreign foreign = {
		.receive = receive, .tenant = tenant, .answer = answer, .frames_left = FRAMES_MOST
	};
	GG_CLEANUP(gg_buf_done) struct gg_buf whole = { 0 };
	struct gg_foreign_request parsed = { 0 };
	struct gg_error error = { 0 };
	int status;

	/* The labels of /ingest are in its address. */
	gg_buf_printf(&whole, "%s %s %s\n", request->path,
	              request->name != NULL ? request->name : "",
	              request->format != NULL ? request->format : "");
	gg_buf_append(&whole, bytes, length);
	if (whole.failed) {
		memory_is_out(&foreign);
		return;
	}
	answer->status = 0;
	if (gg_receive_has_message(receive, tenant, whole.data, whole.length)) {
		gg_receive_count(receive, &receive->counts.repeated);
		answer->status = 200;
		return;
	}
	foreign.heap = "pprof";
	if (is_otlp(request->path)) {
		foreign.heap = "otlp";
		if (store_profile(&foreign, &gg_importer_otlp, bytes, length))
			answer->status = 200;
	} else {
		const struct gg_foreign_ingest ingest = { .name = request->name,
			                                  .format = request->format,
			                                  .units = request->units,
			                                  .content_type = request->content_type };

		status = strcmp(request->path, push_path) == 0
		                 ? gg_foreign_request_push(&parsed, bytes, length, is_json(request),
		                                           &error)
		                 : gg_foreign_request_ingest(&parsed, &ingest, bytes, length,
		                                             &error);
		if (status < 0) {
			gg_receive_count(receive, &receive->counts.refused_bad);
			gg_receive_answer_with(answer, status == -ENOMEM ? 503 : 400,
			                       error.message);
		} else {
			if (parsed.is_other)
				gg_receive_count(receive, &receive->counts.foreign_other);
			store_items(&foreign, &parsed);
		}
		gg_foreign_request_done(&parsed);
	}
	if (answer->status == 200 && !foreign.is_timeless)
		gg_receive_remember_message(receive, tenant, whole.data, whole.length);
	/* The limit is one of unpacked bytes: the tenant's next requests wait for these. */
	gg_receive_charge(receive, tenant,
	                  foreign.inner_bytes + (FRAMES_MOST - foreign.frames_left) * FRAME_BYTES);
}

static void store_scraped(struct gg_receive *receive, const struct gg_scraped *scraped)
{
	const char *tenant = scraped->target->tenant;
	struct gg_receive_answer answer = { 0 };
	struct foreign foreign = { .receive = receive,
		                   .tenant = tenant[0] != '\0' ? tenant : "default",
		                   .answer = &answer,
		                   .frames_left = FRAMES_MOST,
		                   .labels = scraped->target->labels,
		                   .label_count = scraped->target->label_count,
		                   .is_fetched = true,
		                   .heap = "pprof" };
	char text[500];

	if (!gg_receive_is_tenant(foreign.tenant))
		gg_receive_answer_with(&answer, 400, "__tenant__ is no tenant");
	else if (store_profile(&foreign, &gg_importer_pprof, scraped->body.data,
	                       scraped->body.length))
		answer.status = 200;
	if (answer.status != 200) {
		if (receive->counts.scrape_refused == 0 && receive->options->tell != NULL) {
			snprintf(text, sizeof(text), "%.200s: %.250s", scraped->target->url,
			         gg_buf_text(&answer.body));
			receive->options->tell(text, receive->options->context);
		}
		gg_receive_count(receive, &receive->counts.scrape_refused);
	}
	gg_buf_done(&answer.body);
}

void gg_receive_scraped(struct gg_receive *receive)
{
	struct gg_scraped scraped;

	while (receive->scraper != NULL && gg_receive_has_queue(receive) &&
	       gg_scraper_take(receive->scraper, &scraped)) {
		store_scraped(receive, &scraped);
		gg_scraped_done(&scraped);
	}
}

/* --- answers -------------------------------------------------------------------------------- */

/*
 * The codes of gRPC, by which agents decide whether they try again: Connect has their names, and
 * OTLP their numbers.
 */
struct answer_code {
	unsigned status;
	int number;
	const char *name;
};

static const struct answer_code *code_of(unsigned status)
{
	static const struct answer_code codes[] = {
		{ 400, 3, "invalid_argument" },
		{ 401, 16, "unauthenticated" },
		{ 403, 7, "permission_denied" },
		{ 405, 12, "unimplemented" },
		{ 413, 8, "resource_exhausted" },
		{ 415, 3, "invalid_argument" },
		{ 429, 8, "resource_exhausted" },
		{ 503, 14, "unavailable" },
		{ 0, 13, "internal" },
	};
	size_t i = 0;

	while (codes[i].status != 0 && codes[i].status != status)
		i++;
	return &codes[i];
}

void gg_receive_foreign_answer(const struct gg_receive_request *request,
                               struct gg_receive_answer *answer)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	struct gg_json json = { .out = &text };

	if (!gg_receive_is_foreign(request->path) || strcmp(request->path, ingest_path) == 0)
		return;
	if (answer->status == 200) { /* an empty message */
		gg_buf_clear(&answer->body);
		if (is_json(request))
			gg_buf_append_text(&answer->body, "{}");
		answer->type = is_json(request)         ? "application/json"
		               : is_otlp(request->path) ? "application/x-protobuf"
		                                        : "application/proto";
		return;
	}
	if (answer->body.length > 0 && answer->body.data[answer->body.length - 1] == '\n')
		answer->body.data[--answer->body.length] = '\0';
	if (is_otlp(request->path) && !is_json(request)) { /* google.rpc.Status */
		gg_wire_put_number(&text, 1, (uint64_t)code_of(answer->status)->number);
		gg_wire_put_text(&text, 2, gg_buf_text(&answer->body));
		answer->type = "application/x-protobuf";
	} else {
		gg_json_open(&json, NULL, '{');
		if (is_otlp(request->path))
			gg_json_integer(&json, "code", code_of(answer->status)->number);
		else
			gg_json_text(&json, "code", code_of(answer->status)->name);
		gg_json_text(&json, "message", gg_buf_text(&answer->body));
		gg_json_close(&json);
		answer->type = "application/json";
	}
	gg_buf_clear(&answer->body);
	gg_buf_append(&answer->body, text.data, text.length);
}
