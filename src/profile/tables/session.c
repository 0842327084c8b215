/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session - the tables with the one session of a profile and the names of sampling schemes.
 */
#include <stdlib.h>
#include <string.h>

#include "profile/tables/record_table.h"

/* The only row has the id 1.  The profile owns the texts of the last session that was read. */
struct session_row {
	uint32_t id;
	struct gg_profile_session session;
};

static const struct gg_column session_columns[] = {
	{ "id", GG_COLUMN_UINT32, .offset = offsetof(struct session_row, id) },
	{ "command", GG_COLUMN_TEXT, .offset = offsetof(struct session_row, session.command) },
	{ "host", GG_COLUMN_TEXT, .offset = offsetof(struct session_row, session.host) },
	{ "kernel", GG_COLUMN_TEXT, .offset = offsetof(struct session_row, session.kernel) },
	{ "machine", GG_COLUMN_TEXT, .offset = offsetof(struct session_row, session.machine) },
	{ "geiger", GG_COLUMN_TEXT, .offset = offsetof(struct session_row, session.geiger) },
	{ "start_wall_ns", GG_COLUMN_BITS,
	  .offset = offsetof(struct session_row, session.start_wall_ns) },
	{ "end_ns", GG_COLUMN_TIME, .offset = offsetof(struct session_row, session.end_ns) },
	{ "interval", GG_COLUMN_NUMBER,
	  .offset = offsetof(struct session_row, session.interval_bytes) },
	{ "scheme", GG_COLUMN_SCHEME, .offset = offsetof(struct session_row, session.scheme) },
	{ "exit_status", GG_COLUMN_STATUS,
	  .offset = offsetof(struct session_row, session.exit_status) },
	{ "has_history", GG_COLUMN_BOOL,
	  .offset = offsetof(struct session_row, session.has_history) },
};

const struct gg_record_table gg_record_table_session = {
	.name = "session",
	.create = "session(\n"
		  "  id integer primary key check (id = 1),\n"
		  "  command text, host text, kernel text, machine text, geiger text,\n"
		  "  start_wall_ns integer, end_ns integer,\n"
		  "  interval real, scheme integer references scheme(id),\n"
		  "  exit_status integer, has_history integer)",
	.insert = "insert or replace",
	.sql = GG_SQL_SESSION,
	.columns = session_columns,
	.column_count = GG_COUNT(session_columns),
};

/* Made with the file; the numbers are those of enum gg_scheme. */
const struct gg_record_table gg_record_table_scheme = {
	.name = "scheme",
	.create = "scheme(id integer primary key, name text)",
};

int gg_profile_set_session(struct gg_profile *profile, const struct gg_profile_session *session,
                           struct gg_error *error)
{
	struct session_row row = { .id = 1, .session = *session };

	return gg_record_table_insert(profile, &gg_record_table_session, &row, error);
}

/* Replaces *text, which is valid until the next row, by a copy that the profile owns. */
static void own_text(char **owned, const char **text)
{
	free(*owned);
	*owned = *text != NULL ? strdup(*text) : NULL;
	*text = *owned;
}

int gg_profile_session(struct gg_profile *profile, struct gg_profile_session *ret_session,
                       struct gg_error *error)
{
	struct session_row row = { .session = { .end_ns = GG_TIME_NONE, .exit_status = -1 } };
	struct gg_row_reader reading;
	int status;

	gg_record_table_select(&reading, profile, &gg_record_table_session, " where id = 1");
	if (gg_record_table_next(&reading, &gg_record_table_session, &row)) {
		own_text(&profile->session_texts[0], &row.session.command);
		own_text(&profile->session_texts[1], &row.session.host);
		own_text(&profile->session_texts[2], &row.session.kernel);
		own_text(&profile->session_texts[3], &row.session.machine);
		own_text(&profile->session_texts[4], &row.session.geiger);
	}
	status = gg_row_reader_end(&reading, error);
	if (status == 0)
		*ret_session = row.session;
	return status;
}
