/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/sql_query.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "profile/schema.h"
#include "profile/sql_functions.h"
#include "profile/statements.h"
#include "region/reader/view.h"

struct gg_sql_query {
	struct gg_profile *profile;
	sqlite3_stmt *statement;
	struct gg_sql_pinned pinned; /* the functions gg_pinned_...() point here */
};

/* SQLite's authorizer: allows only what reads. */
static int authorize(void *context, int action, const char *first, const char *second,
                     const char *database, const char *view)
{
	static const char *const pragmas[] = {
		"table_info",   "table_xinfo", "table_list", "index_list",      "application_id",
		"user_version", "page_count",  "page_size",  "compile_options", "foreign_key_list"
	};

	(void)context, (void)database, (void)view;
	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_READ:
	case SQLITE_RECURSIVE:
		return SQLITE_OK;
	case SQLITE_FUNCTION:
		return strcasecmp(second, "load_extension") == 0 ? SQLITE_DENY : SQLITE_OK;
	case SQLITE_PRAGMA:
		for (size_t i = 0; i < GG_COUNT(pragmas); i++) {
			bool sets = second != NULL && (strcmp(pragmas[i], "user_version") == 0 ||
			                               strcmp(pragmas[i], "application_id") == 0 ||
			                               strncmp(pragmas[i], "page_", 5) == 0);

			if (strcasecmp(first, pragmas[i]) == 0 && !sets)
				return SQLITE_OK;
		}
		return SQLITE_DENY;
	default:
		return SQLITE_DENY;
	}
}

/* Makes an empty temporary table, which hides the one in the file. */
static void append_empty_table(struct gg_buf *out, const struct gg_record_table *table)
{
	gg_buf_printf(out, "create temp table if not exists %s;\n", table->create);
}

/* Turns "create view" into "create temp view", which hides a view of that name in the file. */
static int make_views(struct gg_profile *profile, struct gg_error *error)
{
	static const char create[] = "create view ";
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	const char *at = gg_schema_views, *next;

	/* The summaries of older files lack columns, so the views add up the samples themselves. */
	if (profile->version < 3) {
		append_empty_table(&text, &gg_record_table_stack_sum);
		append_empty_table(&text, &gg_record_table_function_sum);
	}
	if (profile->version < GG_PROFILE_VERSION_LOOK) {
		append_empty_table(&text, &gg_record_table_look);
		append_empty_table(&text, &gg_record_table_look_mapping);
		append_empty_table(&text, &gg_record_table_look_block);
		append_empty_table(&text, &gg_record_table_look_total);
	}
	if (profile->version < GG_PROFILE_VERSION_ATTACH)
		append_empty_table(&text, &gg_record_table_attach);
	if (profile->version < GG_PROFILE_VERSION_FAULT)
		append_empty_table(&text, &gg_record_table_fault);
	if (profile->version < GG_PROFILE_VERSION_END_LEAST)
		gg_buf_append_text(&text, "create temp view process as"
		                          " select *, null as end_least_ns from main.process;");
	while ((next = strstr(at, create)) != NULL) {
		gg_buf_append(&text, at, (size_t)(next - at));
		gg_buf_append_text(&text, "create temp view if not exists ");
		at = next + strlen(create);
	}
	gg_buf_append_text(&text, at);
	if (text.failed)
		return gg_error_memory(error, profile->path);
	return gg_database_execute(profile, gg_buf_text(&text), error);
}

/*
 * SQLite sets up table-valued functions at their first use, and the authorizer would refuse that as
 * a change of the schema.  Therefore use them once here, before the authorizer is in force.
 */
static const char table_functions[] =
	"select 1 from pragma_table_info('sample'), pragma_table_list, pragma_index_list('sample'),"
	" json_each('[]'), json_tree('[]') limit 0";

static int note_lacking_counter(uint32_t process, const char *name, uint64_t value, void *context)
{
	bool *is_lacking = context;
	uint32_t counter = gg_region_counter_of(name);

	(void)process;
	*is_lacking |= value > 0 &&
	               (gg_region_counter_is_drop(counter) || counter == GG_COUNT_JAVA_THREADS ||
	                strcmp(name, GG_PROFILE_LACKING_SENDERS) == 0);
	return 0;
}

static int note_lacking_event(const struct gg_profile_event *event, void *context)
{
	bool *is_lacking = context;

	*is_lacking |= event->kind != NULL && strcmp(event->kind, "off") == 0;
	return 0;
}

/* Finds out if samples are missing, so that figures are lower bounds. */
static int find_lacking(struct gg_profile *profile, bool *ret_is_lacking, struct gg_error *error)
{
	int status = gg_profile_each_counter(profile, note_lacking_counter, ret_is_lacking, error);

	return status == 0
	               ? gg_profile_each_event(profile, note_lacking_event, ret_is_lacking, error)
	               : status;
}

/* Prepares the connection for queries. */
static int begin_questions(struct gg_sql_query *query, const struct gg_sql_pinned *pinned,
                           struct gg_error *error)
{
	struct gg_profile *profile = query->profile;
	bool is_lacking = false;
	int status, result;

	sqlite3_set_authorizer(profile->db, NULL, NULL);
	status = find_lacking(profile, &is_lacking, error);
	if (status < 0)
		return status;
	sqlite3_db_config(profile->db, SQLITE_DBCONFIG_ENABLE_VIEW, 1, NULL);
	if (pinned != NULL)
		query->pinned = *pinned;
	result = gg_sql_functions_register(profile->db, is_lacking);
	if (result == SQLITE_OK && pinned != NULL)
		result = gg_sql_pinned_register(profile->db, &query->pinned);
	if (result != SQLITE_OK)
		return gg_database_fail(profile, result, error);
	status = gg_database_execute(profile, "pragma query_only = off", error);
	if (status == 0)
		status = make_views(profile, error);
	if (status == 0)
		status = gg_database_execute(profile, table_functions, error);
	if (status == 0)
		status = gg_database_execute(profile, "pragma query_only = on", error);
	return status;
}

/* True if the text has only blanks, semicolons, and comments. */
static bool is_nothing(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *statement = NULL;
	bool nothing = sqlite3_prepare_v2(db, sql, -1, &statement, &sql) == SQLITE_OK &&
	               statement == NULL;

	sqlite3_finalize(statement);
	return nothing;
}

static int prepare(struct gg_sql_query *query, const char *sql, struct gg_error *error)
{
	sqlite3 *db = query->profile->db;
	const char *rest = "";
	int result = sqlite3_prepare_v2(db, sql, -1, &query->statement, &rest);

	switch (result & 0xff) {
	case SQLITE_OK:
		break;
	case SQLITE_AUTH:
		return gg_error_set(error, -EINVAL, "sql",
		                    "Only questions are answered: 'select ...'.",
		                    "a profile is not changed");
	case SQLITE_ERROR:
		return gg_error_set(error, -EINVAL, "sql",
		                    "'geiger sql FILE' without a question lists tables and views.",
		                    "%s", sqlite3_errmsg(db));
	default:
		return gg_database_fail(query->profile, result, error);
	}
	if (query->statement == NULL)
		return gg_error_set(error, -EINVAL, "sql",
		                    "Ask, for example, 'select * from v_function'.",
		                    "there is no question");
	if (!is_nothing(db, rest))
		return gg_error_set(error, -EINVAL, "sql", "Ask one after the other.",
		                    "more than one statement");
	if (!sqlite3_stmt_readonly(query->statement))
		return gg_error_set(error, -EINVAL, "sql",
		                    "Only questions are answered: 'select ...'.",
		                    "a profile is not changed");
	return 0;
}

int gg_sql_query_new(struct gg_sql_query **ret_query, struct gg_profile *profile, const char *sql,
                     struct gg_error *error)
{
	return gg_sql_query_new_pinned(ret_query, profile, sql, NULL, error);
}

int gg_sql_query_new_pinned(struct gg_sql_query **ret_query, struct gg_profile *profile,
                            const char *sql, const struct gg_sql_pinned *pinned,
                            struct gg_error *error)
{
	struct gg_sql_query *query = calloc(1, sizeof(*query));
	int status;

	if (query == NULL)
		return gg_error_memory(error, "sql");
	query->profile = profile;
	status = begin_questions(query, pinned, error);
	if (status == 0) {
		sqlite3_set_authorizer(profile->db, authorize, NULL);
		status = prepare(query, sql, error);
	}
	if (status < 0) {
		gg_sql_query_free(query);
		return status;
	}
	*ret_query = query;
	return 0;
}

void gg_sql_query_free(struct gg_sql_query *query)
{
	if (query == NULL)
		return;
	sqlite3_finalize(query->statement);
	gg_sql_pinned_register(query->profile->db, NULL);
	sqlite3_set_authorizer(query->profile->db, NULL, NULL);
	sqlite3_db_config(query->profile->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	free(query);
}

int gg_sql_query_column_count(const struct gg_sql_query *query)
{
	return sqlite3_column_count(query->statement);
}

const char *gg_sql_query_column_name(const struct gg_sql_query *query, int column)
{
	const char *name = sqlite3_column_name(query->statement, column);

	return name != NULL ? name : "";
}

int gg_sql_query_next(struct gg_sql_query *query, struct gg_error *error)
{
	int result = sqlite3_step(query->statement);

	if (result == SQLITE_ROW)
		return 1;
	if (result == SQLITE_DONE)
		return 0;
	if ((result & 0xff) ==
	    SQLITE_ERROR) /* an error of the query: a function refused a value, or an overflow */
		return gg_error_set(error, -EINVAL, "sql", NULL, "%s",
		                    sqlite3_errmsg(query->profile->db));
	return gg_database_fail(query->profile, result, error);
}

enum gg_sql_query_kind gg_sql_query_kind(const struct gg_sql_query *query, int column)
{
	switch (sqlite3_column_type(query->statement, column)) {
	case SQLITE_INTEGER:
		return GG_SQL_QUERY_INTEGER;
	case SQLITE_FLOAT:
		return GG_SQL_QUERY_NUMBER;
	case SQLITE_TEXT:
		return GG_SQL_QUERY_TEXT;
	case SQLITE_BLOB:
		return GG_SQL_QUERY_BYTES;
	default:
		return GG_SQL_QUERY_NULL;
	}
}

int64_t gg_sql_query_integer(const struct gg_sql_query *query, int column)
{
	return sqlite3_column_int64(query->statement, column);
}

double gg_sql_query_number(const struct gg_sql_query *query, int column)
{
	return sqlite3_column_double(query->statement, column);
}

const char *gg_sql_query_text(const struct gg_sql_query *query, int column, size_t *ret_length)
{
	bool is_bytes = sqlite3_column_type(query->statement, column) == SQLITE_BLOB;
	const void *text = is_bytes ? sqlite3_column_blob(query->statement, column)
	                            : (const void *)sqlite3_column_text(query->statement, column);

	if (ret_length != NULL)
		*ret_length = (size_t)sqlite3_column_bytes(query->statement, column);
	return text != NULL ? text : "";
}
