/* SPDX-License-Identifier: Apache-2.0 */
/*
 * receive_insert - the thread that inserts sealed segments into the store, some at a time.
 *
 * A round takes the oldest segments of one tenant, up to GROUP_BYTES, and inserts for each table
 * the blocks of all of them at once: the store makes a part of each insert, so few and large
 * inserts are cheap.  Then it inserts the round's rows of `batch`, and removes the files.
 *
 * Replicas  After a failure the next replica of the shard is in use.
 * Failures  are those of a tenant: it waits for a while, which grows, and the rounds of other
 *           tenants go on.  If the server answered with an error, the tenant's next rounds take one
 *           segment each, so that a segment which the store cannot read does not hold up the rest.
 *           A segment is set aside only if the server says that it cannot read the rows.
 * Stop      The thread makes one more round with a short timeout, and none after a failure.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/time_units.h"
#include "fleet/receive_internal.h"

enum {
	GROUP_BYTES = 12 << 20,
	GROUP_COUNT = 256,
	LINGER_MS = 300, /* so that a round has more than the first segment */
	IDLE_MS = 1000,
	FAILING_POLL_MS = 500, /* while tenants wait */
	RETRY_LEAST_MS = 500,
	RETRY_MOST_MS = 30000,
	ABSENT_MS = 10000, /* that a tenant without tables waits */
	SINGLE_AFTER_MS = 8000,
	REFUSALS_MAX = 8, /* of one segment alone, before it is set aside */
};
#define LAST_TIMEOUT_SECONDS 5

/*
 * The order of inserts: rows that others name come first.  The table `process` is last: a question
 * counts a host as soon as its row is there, and would report 0 for memory that is not there yet.
 */
static const char *const order[] = { "series", "host", "frame",  "symbol", "stack",
	                             "draw",   "live", "folded", "process" };

struct group_member {
	uint64_t number, bytes;
	bool is_old;
	struct gg_segment segment;
};

struct insert_group {
	struct group_member members[GROUP_COUNT];
	size_t count;
	char tenant[GG_SEGMENT_TENANT_MAX];
};

/* A tenant whose last insert failed. */
struct failing_tenant {
	char name[GG_SEGMENT_TENANT_MAX];
	uint64_t until_ns, backoff_ms;
	/* Segments up to `single_end` come alone, those after `after` first; 0: in groups. */
	uint64_t after, single_end;
};

struct insert_thread {
	struct gg_receive *receive;
	GG_ARRAY(struct failing_tenant) failing;
	struct insert_group group;
};

static struct failing_tenant *find_failing(struct insert_thread *thread, const char *tenant)
{
	for (size_t i = 0; i < thread->failing.count; i++)
		if (strcmp(thread->failing.items[i].name, tenant) == 0)
			return &thread->failing.items[i];
	return NULL;
}

/* True if the segment of that tenant is not for this round. */
static bool is_waiting(struct insert_thread *thread, const char *tenant, uint64_t number)
{
	const struct failing_tenant *failing = find_failing(thread, tenant);

	return failing != NULL &&
	       (failing->until_ns > gg_clock_monotonic_ns() || number <= failing->after);
}

/* Ends the rounds of single segments; true: some tenant's oldest segments come again. */
static bool wrap(struct insert_thread *thread)
{
	uint64_t now_ns = gg_clock_monotonic_ns();
	bool has_any = false;

	for (size_t i = 0; i < thread->failing.count; i++) {
		struct failing_tenant *failing = &thread->failing.items[i];

		if (failing->after == 0 || failing->until_ns > now_ns)
			continue;
		failing->after = failing->single_end = 0;
		has_any = true;
	}
	return has_any;
}

static void empty(struct insert_group *group)
{
	for (size_t i = 0; i < group->count; i++)
		gg_segment_done(&group->members[i].segment);
	group->count = 0;
}

/* --- pending segments ----------------------------------------------------------------------- */

static void forget(struct gg_receive *receive, uint64_t number)
{
	pthread_mutex_lock(&receive->mutex);
	for (size_t i = 0; i < receive->pending.count; i++) {
		if (receive->pending.items[i].number != number)
			continue;
		receive->pending_bytes -= receive->pending.items[i].bytes;
		memmove(&receive->pending.items[i], &receive->pending.items[i + 1],
		        (receive->pending.count - i - 1) * sizeof(*receive->pending.items));
		receive->pending.count--;
		break;
	}
	pthread_mutex_unlock(&receive->mutex);
}

/* Copies the pending segment after a number.  Returns false if there is no such segment. */
static bool next_pending(struct gg_receive *receive, uint64_t after, struct gg_receive_pending *ret)
{
	size_t low = 0, high;
	bool has_one;

	pthread_mutex_lock(&receive->mutex);
	high = receive->pending.count;
	while (low < high) { /* they are sorted by number */
		size_t middle = low + (high - low) / 2;

		if (receive->pending.items[middle].number > after)
			high = middle;
		else
			low = middle + 1;
	}
	has_one = low < receive->pending.count;
	if (has_one)
		*ret = receive->pending.items[low];
	pthread_mutex_unlock(&receive->mutex);
	return has_one;
}

static void tell(struct gg_receive *receive, const char *text)
{
	if (receive->options->tell != NULL)
		receive->options->tell(text, receive->options->context);
}

static void set_aside(struct gg_receive *receive, uint64_t number, const char *why)
{
	char text[400];

	snprintf(text, sizeof(text), "segment %016" PRIx64 " is set aside (.damaged): %.300s",
	         number, why);
	tell(receive, text);
	gg_segment_set_aside(receive->directory_fd, number);
	forget(receive, number);
	pthread_mutex_lock(&receive->mutex);
	receive->counts.set_aside++;
	receive->has_lost_names = true;
	pthread_mutex_unlock(&receive->mutex);
}

/* Keeps the tenant of an old segment, so that nobody reads the file for it again. */
static void note_tenant(struct gg_receive *receive, uint64_t number, const char *tenant)
{
	pthread_mutex_lock(&receive->mutex);
	for (size_t i = 0; i < receive->pending.count; i++)
		if (receive->pending.items[i].number == number)
			snprintf(receive->pending.items[i].tenant, GG_SEGMENT_TENANT_MAX, "%s",
			         tenant);
	pthread_mutex_unlock(&receive->mutex);
}

/* True if the segment of that tenant comes without others. */
static bool is_single(struct insert_thread *thread, const char *tenant, uint64_t number)
{
	struct failing_tenant *failing = find_failing(thread, tenant);

	if (failing == NULL || failing->single_end == 0)
		return false;
	if (number <= failing->single_end)
		return true;
	failing->after = failing->single_end = 0;
	return false;
}

/* Loads the oldest segments of one tenant that does not wait. */
static void load(struct insert_thread *thread)
{
	struct gg_receive *receive = thread->receive;
	struct insert_group *group = &thread->group;
	struct gg_receive_pending pending;
	size_t most = GROUP_COUNT;
	uint64_t bytes = 0, after = 0;

	while (group->count < most && next_pending(receive, after, &pending)) {
		struct group_member *member = &group->members[group->count];
		struct gg_error error = { 0 };
		int status;

		after = pending.number;
		if (pending.tenant[0] != '\0' &&
		    (is_waiting(thread, pending.tenant, pending.number) ||
		     (group->count > 0 && strcmp(group->tenant, pending.tenant) != 0)))
			continue;
		if (group->count > 0 && bytes + pending.bytes > GROUP_BYTES)
			return;
		*member = (struct group_member){ .number = pending.number,
			                         .bytes = pending.bytes,
			                         .is_old = pending.is_old };
		status = gg_segment_read(&member->segment, receive->directory_fd, pending.number,
		                         &error);
		if (status == -EBADMSG) {
			set_aside(receive, pending.number, error.message);
			continue;
		}
		if (status < 0) /* such as -EMFILE: the next round tries again */
			return;
		note_tenant(receive, pending.number, member->segment.tenant);
		if (is_waiting(thread, member->segment.tenant, pending.number) ||
		    (group->count > 0 && strcmp(group->tenant, member->segment.tenant) != 0)) {
			gg_segment_done(&member->segment);
			continue;
		}
		snprintf(group->tenant, sizeof(group->tenant), "%s", member->segment.tenant);
		if (group->count == 0 && is_single(thread, group->tenant, pending.number))
			most = 1;
		bytes += pending.bytes;
		group->count++;
	}
}

/* --- the store ------------------------------------------------------------------------------ */

static int insert_bytes(struct gg_receive *receive, const char *tenant, const char *table,
                        const struct gg_buf *rows, struct gg_error *error)
{
	const struct gg_clickhouse_value names[] = { gg_clickhouse_name("db", tenant),
		                                     gg_clickhouse_name("table", table) };
	GG_CLEANUP(gg_buf_done) struct gg_buf statement = { 0 };
	int status;

	if (rows->failed)
		return gg_error_memory(error, "fleet");
	if (rows->length == 0)
		return 0;
	status = gg_clickhouse_bind(&statement, "INSERT INTO {db}.{table} FORMAT Native", names,
	                            GG_COUNT(names), error);
	if (status == 0)
		status = gg_clickhouse_insert(receive->store, &statement, rows->data, rows->length,
		                              error);
	return status;
}

/* Drops the members that `batch` has: they were inserted, and the receiver was killed then. */
static int skip_inserted(struct gg_receive *receive, struct insert_group *group,
                         struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf query = { 0 }, reply = { 0 };
	uint64_t numbers[GROUP_COUNT];
	struct gg_clickhouse_rows rows;
	size_t count = 0;
	int status;

	for (size_t i = 0; i < group->count; i++)
		if (group->members[i].is_old)
			numbers[count++] = group->members[i].number;
	if (count == 0)
		return 0;
	status = gg_clickhouse_bind(
		&query,
		"SELECT DISTINCT segment FROM {db}.batch WHERE receiver = {receiver} AND "
		"segment IN ({segments}) FORMAT RowBinary",
		(struct gg_clickhouse_value[]){ gg_clickhouse_name("db", group->tenant),
	                                        gg_clickhouse_u64("receiver", receive->receiver),
	                                        gg_clickhouse_u64s("segments", numbers, count) },
		3, error);
	if (status == 0)
		status = gg_clickhouse_query(receive->store, &query, &reply, error);
	if (status < 0)
		return status;
	rows = gg_clickhouse_rows_of(&reply);
	while (gg_clickhouse_rows_more(&rows)) {
		uint64_t number = gg_clickhouse_read_u64(&rows);

		for (size_t i = 0; !rows.failed && i < group->count; i++) {
			if (group->members[i].number != number)
				continue;
			gg_segment_remove(receive->directory_fd, number);
			forget(receive, number);
			gg_segment_done(&group->members[i].segment);
			group->members[i] = group->members[--group->count];
			pthread_mutex_lock(&receive->mutex);
			receive->counts.skipped_by_batch++;
			pthread_mutex_unlock(&receive->mutex);
			break;
		}
	}
	return 0;
}

static int insert_table(struct gg_receive *receive, const struct insert_group *group,
                        const char *table, struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf rows = { 0 };

	for (size_t i = 0; i < group->count; i++) {
		const struct gg_segment *segment = &group->members[i].segment;

		for (size_t k = 0; k < segment->blocks.count; k++)
			if (strcmp(segment->blocks.items[k].table, table) == 0)
				gg_buf_append(&rows, segment->blocks.items[k].bytes.data,
				              segment->blocks.items[k].bytes.length);
	}
	return insert_bytes(receive, group->tenant, table, &rows, error);
}

static int insert_batch(struct gg_receive *receive, const struct insert_group *group,
                        struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf rows = { 0 };
	uint64_t now_s = gg_clock_wall_ns() / GG_NS_PER_S;

	for (size_t i = 0; i < group->count; i++)
		if (gg_segment_batch_row(&rows, receive->receiver, group->members[i].number,
		                         group->members[i].segment.row_count,
		                         group->members[i].bytes, now_s) < 0)
			return gg_error_memory(error, "fleet");
	return insert_bytes(receive, group->tenant, "batch", &rows, error);
}

static int insert_group(struct gg_receive *receive, struct insert_group *group,
                        struct gg_error *error)
{
	int status = skip_inserted(receive, group, error);

	for (size_t i = 0; status == 0 && i < GG_COUNT(order); i++)
		status = insert_table(receive, group, order[i], error);
	if (status == 0)
		status = insert_batch(receive, group, error);
	if (status < 0)
		return status;
	for (size_t i = 0; i < group->count; i++) {
		const struct group_member *member = &group->members[i];

		gg_segment_remove(receive->directory_fd, member->number);
		forget(receive, member->number);
		pthread_mutex_lock(&receive->mutex);
		receive->counts.inserted_segments++;
		receive->counts.inserted_rows += member->segment.row_count;
		pthread_mutex_unlock(&receive->mutex);
	}
	return 0;
}

/* --- the thread ----------------------------------------------------------------------------- */

/* Waits for the time, or less if the receiver stops.  Returns false if it stops. */
static bool wait_for(struct gg_receive *receive, uint64_t wait_ms, bool until_work)
{
	struct timespec until;
	bool is_stopped;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += (time_t)(wait_ms / 1000);
	until.tv_nsec += (long)(wait_ms % 1000) * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	pthread_mutex_lock(&receive->mutex);
	while (!receive->is_stopped && !(until_work && receive->pending.count > 0))
		if (pthread_cond_timedwait(&receive->has_work, &receive->mutex, &until) ==
		    ETIMEDOUT)
			break;
	is_stopped = receive->is_stopped;
	pthread_mutex_unlock(&receive->mutex);
	return !is_stopped;
}

/*
 * Goes on with the next replica, unless all replicas would say the same.  The next insert repeats
 * rows that the last replica may have taken.  Their keys are the same, so they stay single.
 */
static void change_replica(struct gg_receive *receive, int status)
{
	size_t count = receive->options->store_count;
	size_t at = (size_t)(receive->store - receive->options->store);

	if (count > 1 && status != -EBADMSG && status != -ENOENT && status != -ENOMEM)
		receive->store = &receive->options->store[(at + 1) % count];
}

/* The tenant's segments wait; those of others go on. */
static void note_failure(struct insert_thread *thread, int status, uint64_t first, uint64_t last,
                         const struct gg_error *error)
{
	struct gg_receive *receive = thread->receive;
	const struct insert_group *group = &thread->group;
	struct failing_tenant *failing = find_failing(thread, group->tenant);
	bool is_new = failing == NULL, may_be_one;
	int code = receive->store->code;

	change_replica(receive, status);

	pthread_mutex_lock(&receive->mutex);
	if (receive->failing_since_ns == 0)
		receive->failing_since_ns = gg_clock_monotonic_ns();
	receive->counts.insert_errors++;
	if (is_new && status == -ENOENT) /* tables that were dropped also held names */
		receive->has_lost_names = true;
	snprintf(receive->last_error, sizeof(receive->last_error), "%.290s", error->message);
	pthread_mutex_unlock(&receive->mutex);
	if (is_new) {
		char text[500];

		snprintf(text, sizeof(text),
		         "the store does not take rows of the tenant %s, segments wait: %.300s",
		         group->tenant, error->message);
		tell(receive, text);
		failing = gg_array_add(&thread->failing);
		if (failing == NULL) {
			wait_for(receive, RETRY_MOST_MS, false);
			return;
		}
		snprintf(failing->name, sizeof(failing->name), "%s", group->tenant);
	}
	failing->backoff_ms = status == -ENOENT                         ? ABSENT_MS
	                      : failing->backoff_ms == 0                ? RETRY_LEAST_MS
	                      : failing->backoff_ms * 2 < RETRY_MOST_MS ? failing->backoff_ms * 2
	                                                                : RETRY_MOST_MS;
	failing->until_ns = gg_clock_monotonic_ns() + failing->backoff_ms * GG_NS_PER_MS;
	/* An error that lasts may be about one segment, although its code does not say so. */
	may_be_one = status == -EBADMSG ||
	             (status == -EAGAIN && code != 0 && failing->backoff_ms >= SINGLE_AFTER_MS);
	if (failing->single_end != 0)
		failing->after = first;
	else if (may_be_one)
		failing->single_end = last;
}

static void note_success(struct insert_thread *thread, uint64_t last)
{
	struct gg_receive *receive = thread->receive;
	struct failing_tenant *failing = find_failing(thread, thread->group.tenant);
	char text[200];

	pthread_mutex_lock(&receive->mutex);
	receive->failing_since_ns = 0;
	receive->last_error[0] = '\0';
	pthread_mutex_unlock(&receive->mutex);
	if (failing == NULL)
		return;
	failing->backoff_ms = failing->until_ns = 0;
	if (last < failing->single_end) { /* the next one comes alone as well */
		failing->after = last;
		return;
	}
	/* Segments that came alone and were refused are before it: they come again. */
	if (failing->after > 0 && wrap(thread))
		return;
	snprintf(text, sizeof(text), "the store takes rows of the tenant %s again",
	         thread->group.tenant);
	tell(receive, text);
	*failing = thread->failing.items[--thread->failing.count];
}

/* The store answered, and does not want this segment alone; true: it went aside. */
static bool note_refusal(struct gg_receive *receive, uint64_t number, const struct gg_error *error)
{
	unsigned count = 0;

	pthread_mutex_lock(&receive->mutex);
	for (size_t i = 0; i < receive->pending.count; i++)
		if (receive->pending.items[i].number == number)
			count = ++receive->pending.items[i].refusal_count;
	pthread_mutex_unlock(&receive->mutex);
	if (count < REFUSALS_MAX)
		return false;
	set_aside(receive, number, error->message);
	return true;
}

/* Inserts a round; false: it failed. */
static bool insert_round(struct insert_thread *thread)
{
	struct gg_receive *receive = thread->receive;
	struct insert_group *group = &thread->group;
	uint64_t first = group->members[0].number, last = group->members[group->count - 1].number;
	bool is_one = group->count == 1;
	struct gg_error error = { 0 };
	int status = insert_group(receive, group, &error);

	if (status == 0) {
		note_success(thread, last);
	} else {
		/* An answer that is not even HTTP says nothing about the rows. */
		if (status == -EBADMSG && is_one && receive->store->code != 0)
			note_refusal(receive, first, &error);
		note_failure(thread, status, first, last, &error);
	}
	empty(group);
	return status == 0;
}

static void shorten_timeouts(struct gg_receive *receive)
{
	size_t count = receive->options->store_count;

	for (size_t i = 0; i < (count > 0 ? count : 1); i++)
		if (receive->options->store[i].timeout_seconds > LAST_TIMEOUT_SECONDS)
			receive->options->store[i].timeout_seconds = LAST_TIMEOUT_SECONDS;
}

void *gg_receive_insert(void *context)
{
	static struct insert_thread thread; /* one a process; a group is large */
	struct gg_receive *receive = context;
	bool goes_on = true, has_succeeded = true;

	thread = (struct insert_thread){ .receive = receive };
	while (goes_on) {
		goes_on = wait_for(receive, IDLE_MS, true);
		if (goes_on && has_succeeded)
			goes_on = wait_for(receive, LINGER_MS, false);
		/* At the end, one more round: what it cannot insert stays for the next receiver. */
		if (!goes_on && !has_succeeded)
			break;
		if (!goes_on)
			shorten_timeouts(receive);
		load(&thread);
		if (thread.group.count == 0 && wrap(&thread))
			load(&thread);
		if (thread.group.count > 0)
			has_succeeded = insert_round(&thread);
		else if (goes_on) /* only tenants that wait are left */
			goes_on = wait_for(receive, FAILING_POLL_MS, false);
	}
	gg_array_done(&thread.failing);
	return NULL;
}
