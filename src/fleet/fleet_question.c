/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/fleet_question.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fleet/fleet_schema.h"
#include "fleet/fleet_statements.h"

enum { SNAPSHOT_SLOTS = 2, PPM = 1000000, ADVICE_NAMES_MAX = 5 };

int gg_fleet_check_rows(const struct gg_clickhouse_rows *rows, struct gg_error *error)
{
	return rows->failed ? gg_error_set(error, -EBADMSG, "fleet", NULL,
	                                   "the store's reply ends within a row")
	                    : 0;
}

void gg_fleet_scope_done(struct gg_fleet_scope *scope)
{
	for (size_t i = 0; i < scope->texts.count; i++)
		free(scope->texts.items[i]);
	for (size_t i = 0; i < scope->label_lists.count; i++)
		free(scope->label_lists.items[i]);
	gg_array_done(&scope->texts);
	gg_array_done(&scope->label_lists);
	gg_array_done(&scope->series);
	gg_array_done(&scope->series_ids);
	gg_array_done(&scope->members);
	*scope = (struct gg_fleet_scope){ 0 };
}

/* The number that the table `folded` has for a metric. */
static uint64_t folded_metric(enum gg_metric metric)
{
	return metric == GG_METRIC_ALLOCATED ? 0 : metric == GG_METRIC_FREED ? 1 : 2;
}

int gg_fleet_scope_ask(const struct gg_fleet_scope *scope, struct gg_clickhouse *store,
                       int statement, uint64_t groups, struct gg_buf *reply, struct gg_error *error)
{
	const struct gg_fleet_question *question = scope->question;
	static const uint64_t no_series = 0; /* an id that no series has */
	GG_CLEANUP(gg_buf_done) struct gg_buf query = { 0 };
	const struct gg_clickhouse_value values[] = {
		gg_clickhouse_name("db", question->tenant),
		gg_clickhouse_u64("service", scope->service),
		gg_clickhouse_u64("any_service", question->service == NULL),
		gg_clickhouse_u64("any_series", question->service == NULL),
		scope->series_ids.count > 0 ? gg_clickhouse_u64s("series", scope->series_ids.items,
		                                                 scope->series_ids.count)
					    : gg_clickhouse_u64s("series", &no_series, 1),
		gg_clickhouse_u64("any_host", question->host == NULL),
		gg_clickhouse_u64("host",
		                  question->host != NULL ? gg_fleet_host_id(question->host) : 0),
		gg_clickhouse_u64("from", scope->from_s),
		gg_clickhouse_u64("to", scope->to_s),
		gg_clickhouse_u64("groups", groups),
		gg_clickhouse_u64("all_slots", !scope->is_latest),
		gg_clickhouse_u64("metric", folded_metric(question->metric)),
	};
	int status = gg_clickhouse_bind(&query, gg_fleet_statement(statement), values,
	                                GG_COUNT(values), error);

	return status < 0 ? status : gg_clickhouse_query(store, &query, reply, error);
}

/* --- series ---------------------------------------------------------------------------------- */

/* Copies a text of a row; NULL: out of memory. */
static const char *keep_text(struct gg_fleet_scope *scope, const char *text, size_t length)
{
	char *copy = strndup(text, length);

	if (copy != NULL && gg_array_push(&scope->texts, copy))
		return copy;
	free(copy);
	return NULL;
}

static const char *read_text(struct gg_fleet_scope *scope, struct gg_clickhouse_rows *rows)
{
	size_t length;
	const char *text = gg_clickhouse_read_text(rows, &length);

	return keep_text(scope, text, length);
}

static int compare_labels(const void *a, const void *b)
{
	const struct gg_fleet_label *left = a, *right = b;

	return strcmp(left->key, right->key);
}

static int read_labels(struct gg_fleet_scope *scope, struct gg_clickhouse_rows *rows,
                       struct gg_fleet_scope_series *series)
{
	uint64_t count = gg_clickhouse_read_varint(rows), values;
	struct gg_fleet_label *labels;

	if (count > (size_t)(rows->end - rows->at))
		count = 0, rows->failed = true;
	labels = calloc(count + 1, sizeof(*labels));
	if (labels == NULL || !gg_array_push(&scope->label_lists, labels)) {
		free(labels);
		return -ENOMEM;
	}
	for (uint64_t i = 0; i < count; i++)
		labels[i].key = read_text(scope, rows);
	values = gg_clickhouse_read_varint(rows);
	for (uint64_t i = 0; i < values && !rows->failed; i++) {
		const char *text = read_text(scope, rows);

		if (i < count)
			labels[i].value = text;
	}
	for (uint64_t i = 0; i < count; i++) {
		if (labels[i].key == NULL)
			return -ENOMEM;
		if (labels[i].value == NULL)
			labels[i].value = "";
	}
	qsort(labels, count, sizeof(*labels), compare_labels);
	series->labels = labels;
	series->label_count = count;
	return 0;
}

static bool has_label(const struct gg_fleet_scope_series *series,
                      const struct gg_fleet_label *wanted)
{
	for (size_t i = 0; i < series->label_count; i++)
		if (strcmp(series->labels[i].key, wanted->key) == 0)
			return strcmp(series->labels[i].value, wanted->value) == 0;
	return false;
}

static bool is_wanted(const struct gg_fleet_question *question,
                      const struct gg_fleet_scope_series *series)
{
	if (question->version != NULL && strcmp(question->version, series->version) != 0)
		return false;
	for (size_t i = 0; i < question->label_count; i++)
		if (!has_label(series, &question->labels[i]))
			return false;
	return true;
}

/* A list of names, each once, as far as there is room. */
static void add_name(struct gg_buf *names, size_t *count, const char *name)
{
	char quoted[200];

	snprintf(quoted, sizeof(quoted), "'%.150s'", name);
	if (strstr(gg_buf_text(names), quoted) != NULL)
		return;
	if (++*count <= ADVICE_NAMES_MAX)
		gg_buf_printf(names, "%s%s", *count > 1 ? ", " : "", quoted);
	else if (*count == ADVICE_NAMES_MAX + 1)
		gg_buf_append_text(names, ", ...");
}

static int refuse_service(const struct gg_fleet_scope *scope, struct gg_clickhouse *store,
                          struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf reply = { 0 }, names = { 0 };
	struct gg_clickhouse_rows rows;
	size_t count = 0, length;
	int status = gg_fleet_scope_ask(scope, store, GG_FLEET_SERVICES, 0, &reply, error);
	char advice[GG_ERROR_ADVICE_MAX];

	if (status < 0)
		return status;
	rows = gg_clickhouse_rows_of(&reply);
	while (gg_clickhouse_rows_more(&rows)) {
		char name[200];

		gg_clickhouse_read_u64(&rows);
		gg_clickhouse_read_u64(&rows);
		for (int i = 0; i < 5; i++) {
			const char *text = gg_clickhouse_read_text(&rows, &length);

			if (i == 0)
				snprintf(name, sizeof(name), "%.*s", (int)(length % 150), text);
		}
		for (int i = 0; i < 2; i++)
			for (uint64_t left = gg_clickhouse_read_varint(&rows);
			     left > 0 && !rows.failed; left--)
				gg_clickhouse_read_text(&rows, &length);
		if (!rows.failed)
			add_name(&names, &count, name);
	}
	snprintf(advice, sizeof(advice), count > 0 ? "It has %.200s." : "It has no service yet.",
	         gg_buf_text(&names));
	return gg_error_set(error, -ENOENT, "fleet", advice, "the store has no service '%s'",
	                    scope->question->service);
}

static int read_series(struct gg_fleet_scope *scope, struct gg_clickhouse *store,
                       struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf reply = { 0 }, versions = { 0 };
	size_t all = 0, version_count = 0;
	struct gg_clickhouse_rows rows;
	char advice[GG_ERROR_ADVICE_MAX];
	int status = gg_fleet_scope_ask(scope, store, GG_FLEET_SERIES, 0, &reply, error);

	rows = gg_clickhouse_rows_of(&reply);
	while (status == 0 && gg_clickhouse_rows_more(&rows)) {
		struct gg_fleet_scope_series series = { 0 };
		const char *name;
		bool is_known = false;

		gg_clickhouse_read_u64(&rows);
		series.id = gg_clickhouse_read_u64(&rows);
		name = read_text(scope, &rows);
		series.version = read_text(scope, &rows);
		for (int i = 0; i < 3; i++)
			read_text(scope, &rows);
		if (name == NULL || series.version == NULL ||
		    read_labels(scope, &rows, &series) < 0)
			return gg_error_memory(error, "fleet");
		/* Two services may share an id: the name decides. */
		if (strcmp(name, scope->question->service) != 0)
			continue;
		all++;
		add_name(&versions, &version_count, series.version);
		for (size_t i = 0; i < scope->series.count; i++)
			is_known = is_known || scope->series.items[i].id == series.id;
		if (is_known || !is_wanted(scope->question, &series))
			continue;
		if (!gg_array_push(&scope->series, series) ||
		    !gg_array_push(&scope->series_ids, series.id))
			return gg_error_memory(error, "fleet");
	}
	if (status == 0)
		status = gg_fleet_check_rows(&rows, error);
	if (status < 0 || scope->series.count > 0)
		return status;
	if (all == 0)
		return refuse_service(scope, store, error);
	snprintf(advice, sizeof(advice), "It has the version%s %.200s.",
	         version_count == 1 ? "" : "s", gg_buf_text(&versions));
	return gg_error_set(error, -ENOENT, "fleet", advice,
	                    "service '%s' has no processes of that version and these labels",
	                    scope->question->service);
}

/* --- time ------------------------------------------------------------------------------------ */

/* Sets the window of a moment: a host's snapshot counts until the second slot after it. */
static void choose_moment(struct gg_fleet_scope *scope, uint32_t moment_s)
{
	uint32_t reach = SNAPSHOT_SLOTS * scope->question->slot_length_s;

	scope->moment_s = moment_s;
	scope->to_s = moment_s + 1;
	scope->from_s = scope->to_s > reach ? scope->to_s - reach : 0;
	scope->is_latest = true;
	scope->slot_count = 1;
}

static int find_slot(struct gg_fleet_scope *scope, struct gg_clickhouse *store, int statement,
                     uint32_t *ret_slot_s, struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf reply = { 0 };
	struct gg_clickhouse_rows rows;
	int status = gg_fleet_scope_ask(scope, store, statement, 0, &reply, error);

	rows = gg_clickhouse_rows_of(&reply);
	*ret_slot_s = status == 0 && reply.length > 0 ? gg_clickhouse_read_u32(&rows) : 0;
	return status;
}

static int refuse_time(const struct gg_fleet_scope *scope, struct gg_error *error)
{
	return gg_error_set(error, -ENODATA, "fleet",
	                    "geiger fleet services says when each service was last seen.",
	                    "no process of service '%s' reported in that time",
	                    scope->question->service);
}

static int choose_window(struct gg_fleet_scope *scope, struct gg_clickhouse *store,
                         struct gg_error *error)
{
	const struct gg_fleet_question *question = scope->question;
	uint32_t slot_s = 0;
	int status;

	scope->from_s = question->since_s;
	scope->to_s = question->until_s;
	if (question->metric == GG_METRIC_LIVE && question->when != GG_FLEET_AVERAGE) {
		status = find_slot(scope, store,
		                   question->when == GG_FLEET_AT_PEAK ? GG_FLEET_PEAK_SLOT
		                                                      : GG_FLEET_LAST_SLOT,
		                   &slot_s, error);
		if (status < 0)
			return status;
		if (slot_s == 0)
			return refuse_time(scope, error);
		choose_moment(scope, slot_s);
	}
	return 0;
}

/* --- members --------------------------------------------------------------------------------- */

static int find_series(const struct gg_fleet_scope *scope, uint64_t id)
{
	for (size_t i = 0; i < scope->series.count; i++)
		if (scope->series.items[i].id == id)
			return (int)i;
	return -1;
}

static struct gg_fleet_member read_member(struct gg_clickhouse_rows *rows)
{
	struct gg_fleet_member member = { .host = gg_clickhouse_read_u64(rows) };
	uint32_t selected_ppm;

	member.last_slot_s = gg_clickhouse_read_u32(rows);
	member.slot_count = gg_clickhouse_read_u32(rows);
	member.process_count = gg_clickhouse_read_u32(rows);
	selected_ppm = gg_clickhouse_read_u32(rows);
	member.is_selected = selected_ppm > 0;
	member.selected_share = (double)selected_ppm / PPM;
	member.gap_max = gg_clickhouse_read_double(rows);
	member.scheme = gg_clickhouse_read_u8(rows);
	member.rss_bytes = gg_clickhouse_read_double(rows);
	member.live_bytes = gg_clickhouse_read_double(rows);
	member.allocated_bytes = gg_clickhouse_read_double(rows);
	member.dropped_count = gg_clickhouse_read_double(rows);
	return member;
}

static int compare_members(const void *a, const void *b)
{
	const struct gg_fleet_member *left = a, *right = b;

	if (left->host != right->host)
		return left->host < right->host ? -1 : 1;
	return left->series < right->series ? -1 : left->series > right->series;
}

/* Counts hosts: members are sorted by host, and a host may have several series. */
static void count_hosts(struct gg_fleet_scope *scope)
{
	for (size_t i = 0; i < scope->members.count;) {
		const struct gg_fleet_member *member = &scope->members.items[i];
		uint64_t host = member->host;
		bool is_selected = false, is_there = false;

		for (; i < scope->members.count && scope->members.items[i].host == host; i++) {
			member = &scope->members.items[i];
			is_selected = is_selected || member->is_selected;
			is_there = is_there || member->last_slot_s == scope->moment_s;
			scope->process_count += member->process_count;
			scope->rss_bytes += member->rss_bytes;
			if (!scope->is_latest && member->slot_count > scope->slot_count)
				scope->slot_count = member->slot_count;
		}
		scope->host_count++;
		scope->selected_count += is_selected;
		scope->reported_count += is_there;
	}
}

static int read_members(struct gg_fleet_scope *scope, struct gg_clickhouse *store,
                        struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf reply = { 0 };
	struct gg_clickhouse_rows rows;
	int status = gg_fleet_scope_ask(scope, store, GG_FLEET_PROCESSES, 0, &reply, error);

	rows = gg_clickhouse_rows_of(&reply);
	while (status == 0 && gg_clickhouse_rows_more(&rows)) {
		struct gg_fleet_member member;
		int series;

		gg_clickhouse_read_u64(&rows);
		series = find_series(scope, gg_clickhouse_read_u64(&rows));
		member = read_member(&rows);
		member.series = (uint32_t)series;
		if (series >= 0 && !gg_array_push(&scope->members, member))
			return gg_error_memory(error, "fleet");
	}
	if (status == 0)
		status = gg_fleet_check_rows(&rows, error);
	if (status == 0 && scope->members.count == 0)
		status = refuse_time(scope, error);
	if (status < 0)
		return status;
	qsort(scope->members.items, scope->members.count, sizeof(*scope->members.items),
	      compare_members);
	count_hosts(scope);
	return 0;
}

/* The number of slots in which any host reported: those over which live memory is averaged. */
static int count_slots(struct gg_fleet_scope *scope, struct gg_clickhouse *store,
                       struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf reply = { 0 };
	struct gg_clickhouse_rows rows;
	uint32_t last = 0;
	int status = gg_fleet_scope_ask(scope, store, GG_FLEET_SLOTS, 0, &reply, error);

	rows = gg_clickhouse_rows_of(&reply);
	scope->slot_count = 0;
	while (status == 0 && gg_clickhouse_rows_more(&rows)) {
		uint32_t slot = gg_clickhouse_read_u32(&rows);

		scope->slot_count += slot != last;
		last = slot;
		gg_clickhouse_read_u64(&rows);
		gg_clickhouse_read_u32(&rows);
		for (int i = 0; i < 3; i++)
			gg_clickhouse_read_double(&rows);
	}
	return status == 0 ? gg_fleet_check_rows(&rows, error) : status;
}

int gg_fleet_scope_of(struct gg_fleet_scope *scope, struct gg_clickhouse *store,
                      const struct gg_fleet_question *question, struct gg_error *error)
{
	int status = gg_fleet_schema_check(store, question->tenant, error);

	*scope = (struct gg_fleet_scope){ .question = question,
		                          .service = gg_fleet_service_id(question->service) };
	if (status == 0)
		status = read_series(scope, store, error);
	if (status == 0)
		status = choose_window(scope, store, error);
	if (status == 0)
		status = read_members(scope, store, error);
	if (status == 0 && !scope->is_latest)
		status = count_slots(scope, store, error);
	if (status < 0)
		gg_fleet_scope_done(scope);
	return status;
}

void gg_fleet_append_time(uint32_t time_s, struct gg_buf *out)
{
	time_t at = time_s;
	struct tm parts;
	char text[40];

	gmtime_r(&at, &parts);
	strftime(text, sizeof(text), parts.tm_sec == 0 ? "%Y-%m-%d %H:%M" : "%Y-%m-%d %H:%M:%S",
	         &parts);
	gg_buf_append_text(out, text);
}

void gg_fleet_scope_describe(const struct gg_fleet_scope *scope, struct gg_buf *out)
{
	if (scope->is_latest) {
		gg_buf_append_text(out, scope->question->when == GG_FLEET_AT_PEAK ? "at the peak, "
		                                                                  : "at ");
		gg_fleet_append_time(scope->moment_s, out);
		gg_buf_append_text(out, " UTC");
		return;
	}
	gg_buf_printf(out, "%s %u slot%s",
	              scope->question->metric == GG_METRIC_LIVE ? "averaged over" : "summed over",
	              scope->slot_count, scope->slot_count == 1 ? "" : "s");
	if (scope->from_s > 0) {
		gg_buf_append_text(out, " from ");
		gg_fleet_append_time(scope->from_s, out);
	}
	if (scope->to_s < UINT32_MAX) {
		gg_buf_append_text(out, " to ");
		gg_fleet_append_time(scope->to_s, out);
	}
	if (scope->from_s > 0 || scope->to_s < UINT32_MAX)
		gg_buf_append_text(out, " UTC");
}
