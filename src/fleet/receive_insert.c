/* SPDX-License-Identifier: Apache-2.0 */
/*
 * receive_insert - the thread that inserts sealed segments into the store, some at a time.
 *
 * A round takes the oldest segments of one tenant, up to GROUP_BYTES, and inserts for each table
 * the blocks of all of them at once: the store makes a part of each insert, so few and large
 * inserts are cheap.  Then it inserts the round's rows of `batch`, and removes the files.  If the
 * store refuses a round, the next rounds take one segment each, so that a segment which the store
 * cannot read does not hold up the others.
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
	RETRY_LEAST_MS = 500,
	RETRY_MOST_MS = 30000,
	REFUSALS_MAX = 8,    /* of one segment alone, before it is set aside */
	ABSENT_SECONDS = 10, /* that a tenant without tables waits, while others go on */
	ABSENT_MAX = 64,
};

/* The order of inserts: rows that others name come first. */
static const char *const order[] = { "series",  "host", "frame",  "symbol", "stack",
	                             "process", "draw", "folded", "live" };

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

/* Tenants without tables, whose segments must not hold up those of others. */
struct absent_tenant {
	char name[GG_SEGMENT_TENANT_MAX];
	uint64_t until_ns;
};

struct absent_tenants {
	struct absent_tenant list[ABSENT_MAX];
	size_t next;
};

static bool is_absent(const struct absent_tenants *absent, const char *tenant)
{
	uint64_t now_ns = gg_clock_monotonic_ns();

	for (size_t i = 0; i < ABSENT_MAX; i++)
		if (absent->list[i].until_ns > now_ns && strcmp(absent->list[i].name, tenant) == 0)
			return true;
	return false;
}

/* The oldest entry makes room: its tenant is only asked for earlier. */
static void note_absent(struct absent_tenants *absent, const char *tenant)
{
	struct absent_tenant *entry = &absent->list[absent->next++ % ABSENT_MAX];

	snprintf(entry->name, sizeof(entry->name), "%s", tenant);
	entry->until_ns = gg_clock_monotonic_ns() + ABSENT_SECONDS * GG_NS_PER_S;
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

/* Loads the next segments of one tenant after a number; `most` of them. */
static void load(struct gg_receive *receive, struct insert_group *group,
                 const struct absent_tenants *absent, size_t most, uint64_t after)
{
	struct gg_receive_pending pending;
	uint64_t bytes = 0;

	while (group->count < most && next_pending(receive, after, &pending)) {
		struct group_member *member = &group->members[group->count];
		struct gg_error error = { 0 };
		int status;

		after = pending.number;
		if (pending.tenant[0] != '\0' &&
		    (is_absent(absent, pending.tenant) ||
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
		if (is_absent(absent, member->segment.tenant) ||
		    (group->count > 0 && strcmp(group->tenant, member->segment.tenant) != 0)) {
			gg_segment_done(&member->segment);
			continue;
		}
		snprintf(group->tenant, sizeof(group->tenant), "%s", member->segment.tenant);
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
		status = gg_clickhouse_insert(receive->options->store, &statement, rows->data,
		                              rows->length, error);
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
		status = gg_clickhouse_query(receive->options->store, &query, &reply, error);
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

static void note_failure(struct gg_receive *receive, const struct gg_error *error)
{
	bool is_new;

	pthread_mutex_lock(&receive->mutex);
	is_new = receive->failing_since_ns == 0;
	if (is_new)
		receive->failing_since_ns = gg_clock_monotonic_ns();
	receive->counts.insert_errors++;
	snprintf(receive->last_error, sizeof(receive->last_error), "%.290s", error->message);
	pthread_mutex_unlock(&receive->mutex);
	if (is_new) {
		char text[400];

		snprintf(text, sizeof(text), "the store does not take rows, segments wait: %.300s",
		         error->message);
		tell(receive, text);
	}
}

static void note_success(struct gg_receive *receive)
{
	bool was_failing;

	pthread_mutex_lock(&receive->mutex);
	was_failing = receive->failing_since_ns != 0;
	receive->failing_since_ns = 0;
	receive->last_error[0] = '\0';
	pthread_mutex_unlock(&receive->mutex);
	if (was_failing)
		tell(receive, "the store takes rows again");
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

void *gg_receive_insert(void *context)
{
	struct gg_receive *receive = context;
	static struct insert_group group; /* one thread a process has them */
	static struct absent_tenants absent;
	uint64_t backoff_ms = 0, after = 0;
	size_t most = GROUP_COUNT;

	for (;;) {
		struct gg_error error = { 0 };
		bool goes_on = wait_for(receive, backoff_ms > 0 ? backoff_ms : 1000,
		                        backoff_ms == 0);
		uint64_t first;
		int status;

		/* At the end, one more round: what it cannot insert stays for the next receiver. */
		if (goes_on && backoff_ms == 0)
			goes_on = wait_for(receive, LINGER_MS, false);
		load(receive, &group, &absent, most, after);
		if (group.count == 0 && after > 0) { /* all are through: the oldest comes again */
			after = 0;
			load(receive, &group, &absent, most, after);
		}
		if (group.count == 0) {
			/* Only tenants without tables are left: they come again after a while. */
			if (!goes_on || !wait_for(receive, IDLE_MS, false))
				return NULL;
			continue;
		}
		first = group.members[0].number;
		status = insert_group(receive, &group, &error);
		if (status == 0) {
			note_success(receive);
			backoff_ms = 0;
			most = GROUP_COUNT;
			after = 0;
		} else {
			note_failure(receive, &error);
			if (status == -ENOENT)
				note_absent(&absent, group.tenant);
			if (status == -EBADMSG && most == 1)
				note_refusal(receive, first, &error);
			/* Alone, and the next one: a bad segment must not hold up the others. */
			if (status == -EBADMSG) {
				after = most == 1 ? first : 0;
				most = 1;
			}
			backoff_ms = status == -ENOENT                ? 0
			             : backoff_ms == 0                ? RETRY_LEAST_MS
			             : backoff_ms * 2 < RETRY_MOST_MS ? backoff_ms * 2
			                                              : RETRY_MOST_MS;
		}
		empty(&group);
		if (!goes_on)
			return NULL;
	}
}
