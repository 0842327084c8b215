/* SPDX-License-Identifier: Apache-2.0 */
/* packed_file - writes the file of a packed profile, and that of an unpacked one. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <zlib.h>

#include "profile/packed.h"
#include "profile/schema.h"
#include "profile/statements.h"

enum { PACKED_PAGE_BYTES = 1024 };

#define PACK_MOST (INT64_C(1) << 30)

uint64_t gg_packed_streams_most = GG_PACKED_STREAMS_MOST;

/* SQLite keeps the text with its comment, so `.schema` shows what the file is. */
const char gg_packed_table[] =
	"packed(part integer primary key, content blob\n"
	"  /* a packed profile: 'geiger sql FILE' reads it, and 'geiger pack --undo FILE' makes an\n"
	"     ordinary one of it, with the tables that geiger's documents describe */)";

const char gg_packed_views[] =
	"select name, sql from main.sqlite_schema where type = 'view' order by rowid";

uint32_t gg_packed_check(const void *bytes, size_t length)
{
	return (uint32_t)crc32_z(0, bytes, length);
}

/* Appends a view for each view of the profile; it calls a function that does not exist. */
static int append_views(struct gg_profile *profile, struct gg_buf *sql, struct gg_error *error)
{
	sqlite3_stmt *row = NULL;
	int result = sqlite3_prepare_v2(profile->db, gg_packed_views, -1, &row, NULL);

	while (result == SQLITE_OK || result == SQLITE_ROW) {
		char *text;

		result = sqlite3_step(row);
		if (result != SQLITE_ROW)
			break;
		text = sqlite3_mprintf("create view \"%w\" as select"
		                       " packed_run_geiger_pack_undo();\n",
		                       sqlite3_column_text(row, 0));
		if (text == NULL)
			result = SQLITE_NOMEM;
		else
			gg_buf_append_text(sql, text);
		sqlite3_free(text);
	}
	sqlite3_finalize(row);
	return result == SQLITE_DONE ? 0 : gg_database_fail(profile, result, error);
}

static int put_part(struct gg_profile *out, sqlite3_stmt *row, const struct gg_buf *content,
                    size_t at, struct gg_error *error)
{
	size_t left = content->length - at;
	int result = sqlite3_bind_blob64(row, 1, content->data + at,
	                                 left < GG_PACKED_PART_BYTES ? left : GG_PACKED_PART_BYTES,
	                                 SQLITE_STATIC);

	if (result == SQLITE_OK)
		result = sqlite3_step(row);
	sqlite3_reset(row);
	return result == SQLITE_DONE ? 0 : gg_database_fail(out, result, error);
}

/* Fills the database in memory. */
static int make_file(struct gg_profile *out, struct gg_profile *source,
                     const struct gg_buf *content, struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf sql = { 0 };
	sqlite3_stmt *row = NULL;
	int status, result;

	gg_buf_printf(&sql,
	              "pragma page_size = %d; pragma application_id = %d; pragma user_version = %u;"
	              " create table %s;\n",
	              PACKED_PAGE_BYTES, GG_PROFILE_APPLICATION_ID,
	              GG_PACKED_FLAG | source->version, gg_packed_table);
	status = append_views(source, &sql, error);
	if (status == 0 && sql.failed)
		status = gg_error_memory(error, out->path);
	if (status == 0)
		status = gg_database_execute(out, gg_buf_text(&sql), error);
	if (status < 0)
		return status;
	result = sqlite3_prepare_v2(out->db, "insert into packed(content) values (?)", -1, &row,
	                            NULL);
	status = result == SQLITE_OK ? 0 : gg_database_fail(out, result, error);
	for (size_t at = 0; status == 0 && at < content->length; at += GG_PACKED_PART_BYTES)
		status = put_part(out, row, content, at, error);
	sqlite3_finalize(row);
	return status;
}

static void keep_mode(struct gg_profile *out, const char *path)
{
	struct stat file;

	if (stat(path, &file) == 0)
		out->file_mode = file.st_mode & 0777;
}

static int check_size(struct gg_profile *profile, int64_t most_bytes, struct gg_error *error)
{
	int result;
	int64_t pages = gg_database_read_integer(profile, "pragma page_count", &result);
	int64_t page_bytes = gg_database_read_integer(profile, "pragma page_size", &result);

	if (result != SQLITE_OK)
		return gg_database_fail(profile, result, error);
	if (pages > most_bytes / (page_bytes > 0 ? page_bytes : 1))
		return gg_error_set(error, -EFBIG, profile->path,
		                    most_bytes < PACK_MOST ? "To pack it: geiger pack FILE."
		                                           : "It stays as it is.",
		                    "not packed, since it has more than %lld MiB",
		                    (long long)(most_bytes >> 20));
	return 0;
}

static bool is_own_file(const struct gg_profile *profile, const char *output)
{
	char *settled = output != NULL ? realpath(output, NULL) : NULL;
	bool is = output == NULL || (settled != NULL && strcmp(settled, profile->path) == 0);

	free(settled);
	return is;
}

/* Prepares `out`, which may be the source itself, for the file that is written from the source. */
static int set_output(struct gg_profile *out, const struct gg_profile *source, const char *output,
                      struct gg_error *error)
{
	char *path;

	keep_mode(out, source->path);
	if (is_own_file(source, output)) {
		out->source = source;
		if (out->path == NULL)
			out->path = strdup(source->path);
		return out->path != NULL ? gg_database_check_lock(source, error)
		                         : gg_error_memory(error, source->path);
	}
	path = out->path;
	out->path = NULL;
	free(path);
	return gg_database_set_path(out, output, error);
}

static int pack_to(struct gg_profile *profile, const char *output, int64_t most_bytes,
                   struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf content = { 0 };
	struct gg_profile *out = gg_database_new(error);
	int status;

	if (out == NULL)
		return -ENOMEM;
	status = set_output(out, profile, output, error);
	if (status == 0)
		status = check_size(profile, most_bytes, error);
	if (status == 0)
		status = gg_packed_append(profile, &content, error);
	if (status == 0)
		status = gg_database_open(out, ":memory:", SQLITE_OPEN_READWRITE, error);
	if (status == 0)
		status = make_file(out, profile, &content, error);
	if (status == 0)
		status = gg_database_put_in_place(out, true, error);
	gg_database_free(out);
	return status;
}

enum { SOURCE_TRIES = 3, SOURCE_PAUSE_NS = 23000000 };

/*
 * Opens the profile with its lock.  A recorder lets its lock go for a moment at each commit; three
 * tries do not all meet such a moment.
 */
static int open_source(struct gg_profile **ret_profile, const char *path, struct gg_error *error)
{
	struct gg_profile_session session;
	int status = 0;

	for (int i = 0; i < SOURCE_TRIES && status == 0; i++) {
		struct gg_profile *profile;

		status = gg_database_open_locked(&profile, path, error);
		if (status < 0)
			return status;
		*ret_profile = profile;
		status = gg_profile_session(profile, &session, error);
		if (status == 0 && (session.end_ns != GG_TIME_NONE || i == SOURCE_TRIES - 1))
			return 0;
		gg_database_free(profile);
		nanosleep(&(struct timespec){ .tv_nsec = SOURCE_PAUSE_NS }, NULL);
	}
	return status;
}

int gg_profile_pack(const char *path, const char *output, struct gg_error *error)
{
	return gg_profile_pack_up_to(path, output, PACK_MOST, error);
}

int gg_profile_pack_up_to(const char *path, const char *output, int64_t most_bytes,
                          struct gg_error *error)
{
	struct gg_profile *profile;
	int status = open_source(&profile, path, error);

	if (status < 0)
		return status;
	if (!profile->is_packed || output != NULL)
		status = pack_to(profile, output, most_bytes, error);
	else
		status = 1;
	gg_database_free(profile);
	return status;
}

int gg_profile_unpack(const char *path, const char *output, struct gg_error *error)
{
	struct gg_profile *profile;
	int status = open_source(&profile, path, error);

	if (status < 0)
		return status;
	status = 1;
	if (profile->is_packed || output != NULL) {
		status = set_output(profile, profile, output, error);
		if (status == 0)
			status = gg_database_put_in_place(profile, true, error);
	}
	gg_database_free(profile);
	return status;
}
