/* SPDX-License-Identifier: Apache-2.0 */
/*
 * open - opens an existing file, which may be anything, as a profile.
 *
 * The checks come first: the file must be a whole SQLite file of geiger, and its tables must be
 * exactly those of the schema.  Then no statement of geiger can run code that the file brings along
 * (views, triggers, generated columns, virtual tables).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <threads.h>
#include <unistd.h>

#include "profile/packed.h"
#include "profile/schema.h"
#include "profile/statements.h"
#include "region/layout.h"

const char gg_database_writing_pragmas[] =
	"pragma synchronous = off; pragma secure_delete = off; pragma cache_size = -16384";

struct gg_profile *gg_database_new(struct gg_error *error)
{
	struct gg_profile *profile = calloc(1, sizeof(*profile));

	if (profile == NULL)
		gg_error_memory(error, "profile");
	else
		profile->free_reserve_bytes = GG_DATABASE_END_BYTES;
	if (profile != NULL)
		profile->version = GG_PROFILE_VERSION;
	return profile;
}

void gg_database_free(struct gg_profile *profile)
{
	gg_compaction_free(profile->compaction);
	gg_database_forget_statements(profile);
	sqlite3_close_v2(profile->db);
	gg_database_unlock(profile);
	gg_intern_done(&profile->modules);
	gg_intern_done(&profile->frames);
	gg_intern_done(&profile->symbols);
	gg_intern_done(&profile->names[GG_NAME_HEAP]);
	gg_intern_done(&profile->names[GG_NAME_TYPE]);
	gg_map_done(&profile->stacks);
	for (size_t i = 0; i < GG_COUNT(profile->session_texts); i++)
		free(profile->session_texts[i]);
	free(profile->path);
	free(profile->final_path);
	free(profile);
}

/* Nobody reads SQLite's own sums of its memory, which cost two locks for each of its blocks. */
static void leave_out_sums(void)
{
	sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

/* Opens a database with every feature off that could run code from the file. */
int gg_database_open(struct gg_profile *profile, const char *path, int flags,
                     struct gg_error *error)
{
	static const int refused[] = { SQLITE_DBCONFIG_ENABLE_TRIGGER, SQLITE_DBCONFIG_ENABLE_VIEW,
		                       SQLITE_DBCONFIG_TRUSTED_SCHEMA,
		                       SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION };
	static once_flag is_set_up = ONCE_FLAG_INIT;
	int result;

	call_once(&is_set_up, leave_out_sums);
	result = sqlite3_open_v2(path, &profile->db, flags | SQLITE_OPEN_NOMUTEX, NULL);
	if (result != SQLITE_OK)
		return gg_database_fail(profile, result, error);
	sqlite3_extended_result_codes(profile->db, 1);
	for (size_t i = 0; i < GG_COUNT(refused); i++)
		sqlite3_db_config(profile->db, refused[i], 0, NULL);
	sqlite3_db_config(profile->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_limit(profile->db, SQLITE_LIMIT_LENGTH, 64 << 20);
	sqlite3_limit(profile->db, SQLITE_LIMIT_ATTACHED, 0);
	sqlite3_busy_timeout(profile->db, GG_DATABASE_BUSY_MS);
	return gg_database_execute(
		profile, "pragma cell_size_check = on; pragma temp_store = memory", error);
}

/* --- reading ---------------------------------------------------------------------------------- */

static uint32_t big_endian(const unsigned char *bytes)
{
	return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 |
	       bytes[3];
}

/* The file size that the header states; 0: the header states none. */
static int64_t file_bytes(const unsigned char *header)
{
	int64_t page_bytes = header[16] << 8 | header[17];

	if (memcmp(header + 24, header + 92, 4) !=
	    0) /* the page count is older than the last change */
		return 0;
	return (page_bytes == 1 ? 65536 : page_bytes) * big_endian(header + 28);
}

/* With a hot journal the header may show half of a change. */
static bool has_journal(const char *path)
{
	char *journal;
	bool has = asprintf(&journal, "%s-journal", path) >= 0;

	if (has) {
		has = access(journal, F_OK) == 0;
		free(journal);
	}
	return has;
}

bool gg_profile_is_file(int fd)
{
	unsigned char header[100];

	return pread(fd, header, sizeof(header), 0) == sizeof(header) &&
	       memcmp(header, "SQLite format 3", 16) == 0 &&
	       big_endian(header + 68) == GG_PROFILE_APPLICATION_ID;
}

bool gg_database_is_profile(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool is = fd >= 0 && gg_profile_is_file(fd);

	if (fd >= 0)
		close(fd);
	return is;
}

int gg_database_check_header(const char *path, struct gg_error *error)
{
	unsigned char header[100] = { 0 };
	FILE *stream = fopen(path, "re");
	size_t length;
	uint32_t version;
	struct stat file;

	if (stream == NULL)
		return gg_error_set_errno(error, errno, path, NULL);
	if (fstat(fileno(stream), &file) < 0 || !S_ISREG(file.st_mode)) {
		fclose(stream);
		return gg_error_set(error, -EBADMSG, path, "Name the profile's file.",
		                    S_ISDIR(file.st_mode) ? "is a directory" : "is not a file");
	}
	length = fread(header, 1, sizeof(header), stream);
	fclose(stream);
	if (memcmp(header, &(uint64_t){ GG_REGION_MAGIC }, sizeof(uint64_t)) == 0)
		return gg_error_set(error, -EBADMSG, path,
		                    "Make a profile of it: geiger salvage -o FILE REGION.",
		                    "a region, not a profile");
	if (length < sizeof(header) || memcmp(header, "SQLite format 3", 16) != 0)
		return gg_error_set(
			error, -EBADMSG, path,
			"Profiles are made by 'geiger record' and 'geiger salvage', and by "
			"'geiger import' of other tools' files.",
			length == 0 ? "not a profile: it is empty" : "not a profile");
	if (file.st_size < file_bytes(header) && !has_journal(path))
		return gg_error_set(error, -EBADMSG, path, "Copy or record it again.",
		                    "truncated: %lld of its %lld bytes are there",
		                    (long long)file.st_size, (long long)file_bytes(header));
	if (big_endian(header + 68) != GG_PROFILE_APPLICATION_ID)
		return gg_error_set(error, -EBADMSG, path, NULL,
		                    "a database, but not a profile: its application id is 0x%08x",
		                    big_endian(header + 68));
	version = big_endian(header + 60) & ~(uint32_t)GG_PACKED_FLAG;
	/* Profiles of version 1 were never released. */
	if (version == 1)
		return gg_error_set(error, -EBADMSG, path, "Record it again.",
		                    "a profile of version 1, which no release made; this geiger "
		                    "reads version %d",
		                    GG_PROFILE_VERSION);
	if (version == 0 || version > GG_PROFILE_VERSION)
		return gg_error_set(error, -EBADMSG, path,
		                    "Use the geiger that made it, or a newer one.",
		                    "a profile of version %u; this geiger reads up to version %d",
		                    version, GG_PROFILE_VERSION);
	return 0;
}

/* Counts the ids 1, 2, ... one by one, up to the first that is missing. */
static int walk_ids(struct gg_profile *profile, const char *table, uint32_t *ret_count,
                    struct gg_error *error)
{
	sqlite3_stmt *statement = NULL;
	char sql[128];
	uint32_t count = 0;
	int result;

	snprintf(sql, sizeof(sql), "select id from %s where id > 0 order by id", table);
	result = sqlite3_prepare_v2(profile->db, sql, -1, &statement, NULL);
	while (result == SQLITE_OK || result == SQLITE_ROW) {
		result = sqlite3_step(statement);
		if (result != SQLITE_ROW || sqlite3_column_int64(statement, 0) != count + 1L)
			break;
		count++;
	}
	sqlite3_finalize(statement);
	if (result != SQLITE_ROW && result != SQLITE_DONE)
		return gg_database_fail(profile, result, error);
	*ret_count = count;
	return 0;
}

/*
 * Finds the largest n for which all ids 1 to n exist.  Ids are keys, so n rows from 1 to n are all
 * of them; SQLite counts rows by the page.  Only a damaged file needs the walk.
 */
static int count_ids(struct gg_profile *profile, const char *table, uint32_t *ret_count,
                     struct gg_error *error)
{
	sqlite3_stmt *statement = NULL;
	int64_t count = -1, least = 0, most = 0;
	char sql[128];

	snprintf(sql, sizeof(sql),
	         "select (select count(*) from %s), (select min(id) from %s),"
	         " (select max(id) from %s)",
	         table, table, table);
	if (sqlite3_prepare_v2(profile->db, sql, -1, &statement, NULL) == SQLITE_OK &&
	    sqlite3_step(statement) == SQLITE_ROW) {
		count = sqlite3_column_int64(statement, 0);
		least = sqlite3_column_int64(statement, 1);
		most = sqlite3_column_int64(statement, 2);
	}
	sqlite3_finalize(statement);
	if (count != most || least != (count > 0 ? 1 : 0) || count < 0 || count >= UINT32_MAX)
		return walk_ids(profile, table, ret_count, error);
	*ret_count = (uint32_t)count;
	return 0;
}

static int count_all_ids(struct gg_profile *profile, struct gg_error *error)
{
	static const char *const tables[GG_DENSE_COUNT] = {
		[GG_DENSE_PROCESS] = "process", [GG_DENSE_THREAD] = "thread",
		[GG_DENSE_MODULE] = "module",   [GG_DENSE_FRAME] = "frame",
		[GG_DENSE_STACK] = "stack",     [GG_DENSE_HEAP] = "heap",
		[GG_DENSE_TYPE] = "type",
	};
	int result, status = 0;

	profile->data_version = gg_database_read_integer(profile, "pragma data_version", &result);
	for (int i = 0; i < GG_DENSE_COUNT && status == 0; i++)
		status = count_ids(profile, tables[i], &profile->counts[i], error);
	if (status < 0)
		return status;
	profile->last_sample = (uint64_t)gg_database_read_integer(
		profile, "select max(id) from sample", &result);
	if (result == SQLITE_OK)
		profile->has_summary = gg_database_read_integer(profile,
		                                                "select count(*) from stack_sum",
		                                                &result) > 0;
	return result == SQLITE_OK ? 0 : gg_database_fail(profile, result, error);
}

/*
 * A recorder may have committed since the file was opened.  Ids beyond those that were counted then
 * would be read as 0, so they are counted again.
 */
int gg_profile_begin_reading(struct gg_profile *profile, bool *ret_began, struct gg_error *error)
{
	int result, status = 0;

	*ret_began = sqlite3_get_autocommit(profile->db) != 0;
	if (!*ret_began)
		return 0;
	status = gg_database_execute(profile, "begin", error);
	/* The first read takes the lock that makes all reads one state. */
	if (status == 0 && !profile->is_written &&
	    (gg_database_read_integer(profile, "select count(*) from sqlite_schema", &result) < 0 ||
	     gg_database_read_integer(profile, "pragma data_version", &result) !=
	             profile->data_version))
		status = count_all_ids(profile, error);
	if (status < 0)
		gg_profile_end_reading(profile);
	*ret_began = status == 0;
	return status;
}

void gg_profile_end_reading(struct gg_profile *profile)
{
	sqlite3_exec(profile->db, "commit", NULL, NULL, NULL);
}

/* SQLite stores the text of a table with this beginning, however it was typed. */
static const char create_table[] = "CREATE TABLE ";

/* True if the SQL that a file has for a table is the text of geiger. */
static bool is_as_made(const char *sql, const char *create)
{
	size_t length = strlen(create_table);

	return sql != NULL && strncmp(sql, create_table, length) == 0 &&
	       strcmp(sql + length, create) == 0;
}

/* Checks that the file has the table, with the same text. */
static int check_table(struct gg_profile *profile, const char *name, const char *create,
                       struct gg_error *error)
{
	sqlite3_stmt *statement = NULL;
	bool same = false;
	int result;

	if (create == NULL)
		return 0;
	result = sqlite3_prepare_v2(profile->db,
	                            "select sql from main.sqlite_schema where type = 'table'"
	                            " and name = ? and rootpage > 0",
	                            -1, &statement, NULL);

	if (result == SQLITE_OK)
		result = sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
	if (result == SQLITE_OK)
		result = sqlite3_step(statement);
	if (result == SQLITE_ROW)
		same = is_as_made((const char *)sqlite3_column_text(statement, 0), create);
	sqlite3_finalize(statement);
	if (result != SQLITE_ROW && result != SQLITE_DONE)
		return gg_database_fail(profile, result, error);
	if (same)
		return 0;
	return gg_error_set(error, -EBADMSG, profile->path, "The file is damaged or was changed.",
	                    result == SQLITE_ROW ? "its table '%s' is not as geiger makes it"
	                                         : "it has no table '%s'",
	                    name);
}

static int check_tables(struct gg_profile *profile, struct gg_error *error)
{
	int result, status = 0;

	profile->version = (uint32_t)gg_database_read_integer(profile, "pragma user_version",
	                                                      &result);
	if (result != SQLITE_OK)
		return gg_database_fail(profile, result, error);
	if ((profile->version & GG_PACKED_FLAG) != 0) {
		profile->version &= ~(uint32_t)GG_PACKED_FLAG;
		status = check_table(profile, "packed", gg_packed_table, error);
		/* Its first commit replaces the file by what was read now. */
		if (status == 0 && profile->is_written)
			status = gg_database_lock(profile, error);
		if (profile->is_written)
			profile->source = profile;
		return status == 0 ? gg_packed_load(profile, error) : status;
	}
	for (size_t i = 0; status == 0 && gg_schema_tables[i] != NULL; i++)
		status = check_table(profile, gg_schema_tables[i]->name,
		                     gg_record_table_create(gg_schema_tables[i], profile->version),
		                     error);
	return status;
}

static uint32_t mode_of(const char *path)
{
	struct stat file;

	return stat(path, &file) == 0 ? file.st_mode & 0777 : 0;
}

enum purpose { TO_READ, TO_EDIT, TO_COPY };

static int open_file(struct gg_profile **ret_profile, const char *path, enum purpose purpose,
                     struct gg_error *error)
{
	bool to_edit = purpose == TO_EDIT;
	struct gg_profile *profile;
	int status = gg_database_check_header(path, error);

	if (status < 0)
		return status;
	profile = gg_database_new(error);
	if (profile == NULL)
		return -ENOMEM;
	profile->is_in_file = true;
	profile->is_written = to_edit;
	profile->file_mode = to_edit ? mode_of(path) : 0;
	profile->path = realpath(path, NULL); /* an absolute path cannot be a URI or ":memory:" */
	status = profile->path == NULL ? gg_error_set_errno(error, errno, path, NULL) : 0;
	/* SQLite needs to write to roll back the journal of a killed recorder. */
	if (status == 0)
		status = gg_database_open(profile, profile->path, SQLITE_OPEN_READWRITE, error);
	if (status == 0 && purpose == TO_COPY)
		status = gg_database_lock(profile, error);
	if (status == 0)
		status = check_tables(profile, error);
	if (status == 0)
		status = gg_database_execute(
			profile, to_edit ? gg_database_writing_pragmas : "pragma query_only = on",
			error);
	if (status == 0)
		status = count_all_ids(profile, error);
	if (status == 0 && to_edit)
		status = gg_database_load_names(profile, error);
	if (status < 0) {
		gg_database_free(profile);
		return status;
	}
	*ret_profile = profile;
	return 0;
}

int gg_profile_open(struct gg_profile **ret_profile, const char *path, struct gg_error *error)
{
	return open_file(ret_profile, path, TO_READ, error);
}

int gg_database_open_locked(struct gg_profile **ret_profile, const char *path,
                            struct gg_error *error)
{
	return open_file(ret_profile, path, TO_COPY, error);
}

int gg_profile_again(struct gg_profile **ret_profile, const struct gg_profile *profile,
                     struct gg_error *error)
{
	if (profile->path == NULL || !profile->is_in_file || profile->is_written)
		return gg_error_set(error, -ENOENT, "profile", NULL,
		                    "what it holds is not all in a file");
	return open_file(ret_profile, profile->path, TO_READ, error);
}

int gg_profile_edit(struct gg_profile **ret_profile, const char *path, struct gg_error *error)
{
	return open_file(ret_profile, path, TO_EDIT, error);
}

int gg_profile_copy(struct gg_profile **ret_profile, const struct gg_profile *profile,
                    struct gg_error *error)
{
	struct gg_profile *copy = gg_database_new(error);
	sqlite3_backup *backup;
	int result, status = copy != NULL ? 0 : -ENOMEM;

	if (status == 0)
		status = gg_database_open(copy, ":memory:", SQLITE_OPEN_READWRITE, error);
	if (status == 0) {
		backup = sqlite3_backup_init(copy->db, "main", profile->db, "main");
		if (backup != NULL)
			sqlite3_backup_step(backup, -1);
		result = backup != NULL ? sqlite3_backup_finish(backup) : sqlite3_errcode(copy->db);
		if (result != SQLITE_OK)
			status = gg_database_fail(copy, result, error);
	}
	if (status == 0) {
		copy->is_written = true;
		copy->version = profile->version;
		status = count_all_ids(copy, error);
	}
	if (status == 0)
		status = gg_database_load_names(copy, error);
	if (status < 0) {
		if (copy != NULL)
			gg_database_free(copy);
		return status;
	}
	*ret_profile = copy;
	return 0;
}

int gg_profile_last_time(struct gg_profile *profile, int64_t *ret_time_ns, struct gg_error *error)
{
	int result;

	*ret_time_ns = gg_database_read_integer(
		profile,
		"select max(coalesce((select max(t_alloc) from sample), 0),"
		" coalesce((select max(t_free) from sample), 0),"
		" coalesce((select max(time_ns) from memory), 0),"
		" coalesce((select max(time_ns) from event), 0),"
		" coalesce((select max(end_ns) from process), 0))",
		&result);
	return result == SQLITE_OK ? 0 : gg_database_fail(profile, result, error);
}

uint64_t gg_profile_dangling_count(const struct gg_profile *profile)
{
	return profile->dangling_count;
}
