/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/fleet_question.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fleet/fleet_schema.h"
#include "fleet/fleet_statements.h"
#include "fleet/fleet_wire.h"

enum { PPM = 1000000, ADVICE_NAMES_MAX = 5 };

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
	gg_array_done(&scope->hosts);
	gg_array_done(&scope->slots);
	gg_array_done(&scope->covered_counts);
	gg_map_done(&scope->sender_of);
	gg_map_done(&scope->host_of);
	gg_map_done(&scope->series_of);
	gg_map_done(&scope->certain);
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
	static const struct gg_fleet_cover no_rollups;
	const struct gg_fleet_cover *cover = scope->cover != NULL ? scope->cover : &no_rollups;
	uint32_t around_s = GG_FLEET_AROUND_SLOTS * question->slot_length_s;
	GG_CLEANUP(gg_buf_done) struct gg_buf query = { 0 };
	const struct gg_clickhouse_value values[] = {
		gg_clickhouse_name("db", question->tenant),
		gg_clickhouse_u64("service", scope->service),
		gg_clickhouse_u64("any_service", question->service == NULL),
		gg_clickhouse_u64("any_series",
		                  scope->has_all_series || (question->service == NULL &&
		                                            scope->series_ids.count == 0)),
		scope->series_ids.count > 0 && !scope->has_all_series
			? gg_clickhouse_u64s("series", scope->series_ids.items,
		                             scope->series_ids.count)
			: gg_clickhouse_u64s("series", &no_series, 1),
		gg_clickhouse_u64("any_host", question->host == NULL),
		gg_clickhouse_text("host_name", question->host != NULL ? question->host : ""),
		gg_clickhouse_u64("from", scope->from_s),
		gg_clickhouse_u64("to", scope->to_s),
		gg_clickhouse_u64("early", scope->from_s > around_s ? scope->from_s - around_s : 0),
		gg_clickhouse_u64("late", scope->to_s < UINT32_MAX - around_s
		                                  ? scope->to_s + around_s
		                                  : UINT32_MAX),
		gg_clickhouse_u64("raw_from",
		                  scope->cover != NULL ? cover->raw_from_s : scope->from_s),
		gg_clickhouse_u64("raw_to", scope->cover != NULL ? cover->raw_to_s : scope->to_s),
		gg_clickhouse_u64s("hours", cover->hours.items, cover->hours.count),
		gg_clickhouse_u64s("days", cover->days.items, cover->days.count),
		gg_clickhouse_u64("groups", groups),
		gg_clickhouse_u64("all_slots", !scope->is_latest),
		gg_clickhouse_u64("with_ended", scope->with_ended),
		gg_clickhouse_u64("metric", folded_metric(question->metric)),
		gg_clickhouse_text("db_text", question->tenant),
		gg_clickhouse_u64("snapshot_slots", GG_FLEET_SNAPSHOT_SLOTS),
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
	bool has_others = false;
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
		if (strcmp(name, scope->question->service) != 0) {
			has_others = true;
			continue;
		}
		all++;
		add_name(&versions, &version_count, series.version);
		is_known = gg_map_get(&scope->series_of, series.id) != GG_MAP_NONE;
		if (is_known || !is_wanted(scope->question, &series)) {
			has_others = has_others || !is_known;
			continue;
		}
		if (gg_map_put(&scope->series_of, series.id, scope->series.count) < 0 ||
		    !gg_array_push(&scope->series, series) ||
		    !gg_array_push(&scope->series_ids, series.id))
			return gg_error_memory(error, "fleet");
	}
	if (status == 0)
		status = gg_fleet_check_rows(&rows, error);
	scope->has_all_series = !has_others;
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
	uint32_t reach = GG_FLEET_SNAPSHOT_SLOTS * scope->question->slot_length_s;

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
	if (!scope->with_ended)
		return gg_error_set(error, -ENODATA, "fleet",
		                    "geiger fleet services says when each service was last seen; "
		                    "--metric allocated has processes that ended within a slot.",
		                    "no process of service '%s' ran at the end of a slot of that "
		                    "time, so none held memory",
		                    scope->question->service);
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

/* --- hosts ----------------------------------------------------------------------------------- */

uint64_t gg_fleet_scope_host(const struct gg_fleet_scope *scope, uint64_t sender)
{
	uint64_t index = gg_map_get(&scope->host_of, sender);

	return index != GG_MAP_NONE ? scope->hosts.items[index].id : 0;
}

/* Notes that a sender is on a host. */
static int add_sender(struct gg_fleet_scope *scope, struct gg_map *by_id, uint64_t sender,
                      uint64_t id)
{
	uint64_t index = gg_map_get(by_id, id);

	if (index == GG_MAP_NONE) {
		struct gg_fleet_host *host = gg_array_add(&scope->hosts);

		index = scope->hosts.count - 1;
		if (host == NULL || gg_map_put(by_id, id, index) < 0)
			return -ENOMEM;
		host->id = id;
	}
	return gg_map_put(&scope->host_of, sender, index);
}

int gg_fleet_scope_read_hosts(struct gg_fleet_scope *scope, struct gg_clickhouse *store,
                              struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf reply = { 0 };
	struct gg_clickhouse_rows rows;
	struct gg_map by_id = { 0 };
	int status = gg_fleet_scope_ask(scope, store, GG_FLEET_HOSTS, 0, &reply, error);

	rows = gg_clickhouse_rows_of(&reply);
	while (status == 0 && gg_clickhouse_rows_more(&rows)) {
		uint64_t sender = gg_clickhouse_read_u64(&rows);
		size_t length;
		const char *text = gg_clickhouse_read_text(&rows, &length);
		char *name = strndup(text, length);

		if (name == NULL || add_sender(scope, &by_id, sender, gg_fleet_host_id(name)) < 0)
			status = gg_error_memory(error, "fleet");
		free(name);
	}
	gg_map_done(&by_id);
	if (status == 0)
		status = gg_fleet_check_rows(&rows, error);
	if (status == 0 && scope->question->host != NULL && scope->hosts.count == 0)
		status = gg_error_set(error, -ENOENT, "fleet",
		                      "geiger fleet report SERVICE --by-label host lists them.",
		                      "no host '%s' reported service '%s' in that time",
		                      scope->question->host, scope->question->service);
	return status;
}

double gg_fleet_scope_slots(const struct gg_fleet_scope *scope, uint64_t sender)
{
	uint64_t index = gg_map_get(&scope->sender_of, sender);

	return index != GG_MAP_NONE ? fmax(1, scope->covered_counts.items[index]) : 1;
}

bool gg_fleet_is_beyond_raw(const struct gg_fleet_scope *scope)
{
	return scope->slots.count > 0 && scope->slots.items[0] < scope->floors.raw_s;
}

int gg_fleet_scope_find_host(struct gg_fleet_scope *scope, uint64_t sender, uint32_t *ret_host)
{
	uint64_t index = gg_map_get(&scope->host_of, sender);

	if (index == GG_MAP_NONE) {
		struct gg_fleet_host *host = gg_array_add(&scope->hosts);

		index = scope->hosts.count - 1;
		if (host == NULL || gg_map_put(&scope->host_of, sender, index) < 0)
			return -ENOMEM;
		host->id = sender;
	}
	*ret_host = (uint32_t)index;
	return 0;
}

/* --- members --------------------------------------------------------------------------------- */

struct gg_fleet_member gg_fleet_read_member(struct gg_clickhouse_rows *rows,
                                            uint32_t *ret_covered_s)
{
	struct gg_fleet_member member = { .sender = gg_clickhouse_read_u64(rows) };
	uint32_t selected_ppm;

	member.last_slot_s = gg_clickhouse_read_u32(rows);
	member.last_running_s = gg_clickhouse_read_u32(rows);
	member.process_count = gg_clickhouse_read_double(rows);
	selected_ppm = gg_clickhouse_read_u32(rows);
	member.is_selected = selected_ppm > 0;
	member.selected_share = (double)selected_ppm / PPM;
	member.is_certain = selected_ppm >= PPM;
	member.is_redrawn = gg_clickhouse_read_u8(rows) != 0;
	member.gap_max = gg_clickhouse_read_double(rows);
	member.lacks_objects = (gg_clickhouse_read_u8(rows) & GG_FLEET_LACKING) != 0;
	member.rss_bytes = gg_clickhouse_read_double(rows);
	member.live_bytes = gg_clickhouse_read_double(rows);
	member.allocated_bytes = gg_clickhouse_read_double(rows);
	member.dropped_count = gg_clickhouse_read_double(rows);
	*ret_covered_s = gg_clickhouse_read_u32(rows);
	return member;
}

static int compare_members(const void *a, const void *b)
{
	const struct gg_fleet_member *left = a, *right = b;

	if (left->host != right->host)
		return left->host < right->host ? -1 : 1;
	if (left->sender != right->sender)
		return left->sender < right->sender ? -1 : 1;
	return left->series < right->series ? -1 : left->series > right->series;
}

/* Members are sorted by host and sender.  A sender has a member for each of its series. */
static int count_hosts(struct gg_fleet_scope *scope)
{
	const struct gg_fleet_member *members = scope->members.items;
	int status = 0;

	for (size_t i = 0; i < scope->members.count;) {
		uint32_t host = members[i].host;
		bool is_selected = false, is_there = false, is_lacking = false;

		for (; i < scope->members.count && members[i].host == host; i++) {
			bool is_first = i == 0 || members[i - 1].sender != members[i].sender;
			double slots = gg_fleet_scope_slots(scope, members[i].sender);

			is_lacking = is_lacking || (!scope->is_latest && slots < scope->slot_count);

			is_selected = is_selected || members[i].is_selected;
			is_there = is_there || members[i].last_slot_s == scope->moment_s;
			scope->process_count += members[i].process_count;
			scope->rss_bytes += members[i].rss_bytes;
			scope->sender_count += is_first;
			scope->selected_sender_count += is_first && members[i].is_selected;
			if (is_first && members[i].is_certain) {
				scope->certain_sender_count++;
				if (gg_map_put(&scope->certain, members[i].sender, 0) < 0)
					status = -ENOMEM;
			}
		}
		scope->host_count++;
		scope->selected_count += is_selected;
		scope->reported_count += is_there;
		scope->lacking_count += is_lacking;
	}
	return status;
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
		uint32_t covered_s;
		uint64_t series;
		double slots;

		gg_clickhouse_read_u64(&rows);
		series = gg_map_get(&scope->series_of, gg_clickhouse_read_u64(&rows));
		member = gg_fleet_read_member(&rows, &covered_s);
		if (series == GG_MAP_NONE)
			continue;
		member.series = (uint32_t)series;
		if (member.is_redrawn && scope->question->joins_draws)
			member.is_selected = scope->is_redrawn = true;
		if (gg_fleet_scope_find_host(scope, member.sender, &member.host) < 0)
			return gg_error_memory(error, "fleet");
		slots = gg_fleet_scope_slots(scope, member.sender);
		member.process_count /= slots;
		member.rss_bytes /= slots;
		member.live_bytes /= slots;
		if (!gg_array_push(&scope->members, member))
			return gg_error_memory(error, "fleet");
	}
	if (status == 0)
		status = gg_fleet_check_rows(&rows, error);
	if (status == 0 && scope->members.count == 0 && !scope->question->is_part)
		status = refuse_time(scope, error);
	if (status < 0)
		return status;
	if (scope->members.count == 0)
		return 0;
	qsort(scope->members.items, scope->members.count, sizeof(*scope->members.items),
	      compare_members);
	return count_hosts(scope) < 0 ? gg_error_memory(error, "fleet") : 0;
}

/* Refuses a question if no host was drawn, or if the drawn hosts change within the window. */
static int check_draws(const struct gg_fleet_scope *scope, struct gg_error *error)
{
	if (scope->question->by_slot || scope->members.count == 0)
		return 0;
	if (scope->question->joins_draws && scope->is_redrawn)
		return 0;
	for (size_t i = 0; i < scope->members.count; i++)
		if (scope->members.items[i].is_redrawn)
			return gg_error_set(
				error, -ENOTSUP, "fleet",
				"Ask for a window within one hour, or for a moment (--at).",
				"hosts were drawn anew within the window, so no set of drawn hosts "
				"stands for all");
	if (scope->selected_sender_count == 0)
		return gg_error_set(
			error, -ENODATA, "fleet",
			"geiger fleet timeline shows RSS of all hosts; another hour draws others.",
			"the store has no stacks of that time: none of %zu host%s was drawn",
			scope->host_count, scope->host_count == 1 ? "" : "s");
	return 0;
}

int gg_fleet_scope_of(struct gg_fleet_scope *scope, struct gg_clickhouse *store,
                      const struct gg_fleet_question *question, struct gg_error *error)
{
	int status = gg_fleet_schema_check(store, question->tenant, error);

	*scope = (struct gg_fleet_scope){ .question = question,
		                          .service = gg_fleet_service_id(question->service),
		                          .from_s = question->since_s,
		                          .to_s = question->until_s,
		                          .with_ended = question->metric != GG_METRIC_LIVE,
		                          .slot_count = 1 };
	if (status == 0)
		status = gg_fleet_read_floors(&scope->floors, store, question->tenant, error);
	/* A chart has the slots whose rows are still there. */
	if (status == 0 && question->by_slot && scope->from_s < scope->floors.raw_s)
		scope->from_s = scope->floors.raw_s;
	if (status == 0)
		status = read_series(scope, store, error);
	if (status == 0)
		status = gg_fleet_scope_read_hosts(scope, store, error);
	if (status == 0)
		status = choose_window(scope, store, error);
	if (status == 0 && !scope->is_latest)
		status = gg_fleet_read_coverage(scope, store, error);
	if (status == 0)
		status = read_members(scope, store, error);
	if (status == 0)
		status = check_draws(scope, error);
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

uint64_t gg_fleet_delay_seconds(struct gg_clickhouse *store, const char *tenant)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf query = { 0 }, reply = { 0 };
	const struct gg_clickhouse_value values[] = { gg_clickhouse_text("db_text", tenant) };
	struct gg_clickhouse_rows rows;
	struct gg_error ignored;
	uint64_t delay_s;

	if (gg_clickhouse_bind(&query, gg_fleet_upkeep(GG_FLEET_DELAY), values, GG_COUNT(values),
	                       &ignored) < 0 ||
	    gg_clickhouse_query(store, &query, &reply, &ignored) < 0)
		return 0;
	rows = gg_clickhouse_rows_of(&reply);
	delay_s = gg_clickhouse_read_u64(&rows);
	return rows.failed ? 0 : delay_s;
}
