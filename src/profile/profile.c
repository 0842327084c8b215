/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile - the life of a profile's file: created in memory, put into its place by the first commit,
 * completed by finish.
 *
 * Journal   a rollback journal, so that the file itself always holds all that was committed; a WAL
 *           would hold the last minutes in a file beside it, which a copy of one file loses.
 * Kill -9   the transaction that was open is rolled back by whoever opens the file next.
 * No sync   while recording: syncing once a second would wait for the disk of the program that is
 *           measured.  gg_profile_finish() syncs.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profile/schema.h"
#include "profile/store.h"

/* Rows after which a profile commits by itself: bounds what is in memory before it has its file. */
#define UNCOMMITTED_MAX 500000

/* Milliseconds that a reader or writer waits for the other to finish. */
enum { BUSY_MS = 5000 };

static struct gg_profile *new_profile(struct gg_error *error)
{
	struct gg_profile *profile = calloc(1, sizeof(*profile));

	if (profile == NULL)
		gg_error_set_errno(error, ENOMEM, "profile", NULL);
	else
		profile->free_reserve_bytes = GG_STORE_END_BYTES;
	return profile;
}

static void free_profile(struct gg_profile *profile)
{
	gg_store_forget_statements(profile);
	sqlite3_close_v2(profile->db);
	gg_intern_done(&profile->modules);
	gg_intern_done(&profile->frames);
	gg_intern_done(&profile->symbols);
	gg_intern_done(&profile->names[GG_NAME_HEAP]);
	gg_intern_done(&profile->names[GG_NAME_TYPE]);
	gg_map_done(&profile->stacks);
	for (size_t i = 0; i < GG_COUNT(profile->session_texts); i++)
		free(profile->session_texts[i]);
	free(profile->path);
	free(profile);
}

/* Opens a database with everything off that could run what a file brings along. */
static int open_database(struct gg_profile *profile, const char *path, int flags,
                         struct gg_error *error)
{
	static const int refused[] = { SQLITE_DBCONFIG_ENABLE_TRIGGER, SQLITE_DBCONFIG_ENABLE_VIEW,
		                       SQLITE_DBCONFIG_TRUSTED_SCHEMA,
		                       SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION };
	int result = sqlite3_open_v2(path, &profile->db, flags | SQLITE_OPEN_NOMUTEX, NULL);

	if (result != SQLITE_OK)
		return gg_store_fail(profile, result, error);
	sqlite3_extended_result_codes(profile->db, 1);
	for (size_t i = 0; i < GG_COUNT(refused); i++)
		sqlite3_db_config(profile->db, refused[i], 0, NULL);
	sqlite3_db_config(profile->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_limit(profile->db, SQLITE_LIMIT_LENGTH, 64 << 20);
	sqlite3_limit(profile->db, SQLITE_LIMIT_ATTACHED, 0);
	sqlite3_busy_timeout(profile->db, BUSY_MS);
	return gg_store_execute(profile, "pragma cell_size_check = on; pragma temp_store = memory",
	                        error);
}

/* --- reading ---------------------------------------------------------------------------------- */

static uint32_t big_endian(const unsigned char *bytes)
{
	return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 |
	       bytes[3];
}

/* By the file's first 100 bytes, which say more to a person than what SQLite would. */
static int check_header(const char *path, struct gg_error *error)
{
	unsigned char header[100] = { 0 };
	FILE *file = fopen(path, "re");
	size_t length;
	uint32_t version;
	struct stat status;

	if (file == NULL)
		return gg_error_set_errno(error, errno, path, NULL);
	if (fstat(fileno(file), &status) == 0 && !S_ISREG(status.st_mode)) {
		fclose(file);
		return gg_error_set(error, -EBADMSG, path, NULL, "not a file");
	}
	length = fread(header, 1, sizeof(header), file);
	fclose(file);
	if (length < sizeof(header) || memcmp(header, "SQLite format 3", 16) != 0)
		return gg_error_set(error, -EBADMSG, path,
		                    "Profiles are made by 'geiger record' and 'geiger salvage'.",
		                    length == 0 ? "not a profile: it is empty" : "not a profile");
	if (big_endian(header + 68) != GG_PROFILE_APPLICATION_ID)
		return gg_error_set(error, -EBADMSG, path, NULL,
		                    "a database, but not a profile: its application id is 0x%08x",
		                    big_endian(header + 68));
	version = big_endian(header + 60);
	if (version == 0 || version > GG_PROFILE_VERSION)
		return gg_error_set(error, -EBADMSG, path,
		                    "Use the geiger that made it, or a newer one.",
		                    "a profile of version %u; this geiger reads up to version %d",
		                    version, GG_PROFILE_VERSION);
	return 0;
}

static int64_t read_integer(struct gg_profile *profile, const char *sql, int *ret_result)
{
	sqlite3_stmt *statement = NULL;
	int64_t value = 0;

	*ret_result = sqlite3_prepare_v2(profile->db, sql, -1, &statement, NULL);
	if (*ret_result == SQLITE_OK)
		*ret_result = sqlite3_step(statement);
	if (*ret_result == SQLITE_ROW) {
		value = sqlite3_column_int64(statement, 0);
		*ret_result = SQLITE_OK;
	}
	sqlite3_finalize(statement);
	return value;
}

/* How many ids there are without a gap from 1 on. */
static int count_ids(struct gg_profile *profile, struct gg_error *error)
{
	static const char *const tables[GG_DENSE_COUNT] = {
		[GG_DENSE_PROCESS] = "process", [GG_DENSE_THREAD] = "thread",
		[GG_DENSE_MODULE] = "module",   [GG_DENSE_FRAME] = "frame",
		[GG_DENSE_STACK] = "stack",     [GG_DENSE_HEAP] = "heap",
		[GG_DENSE_TYPE] = "type",
	};
	char sql[128];
	int result;

	for (int i = 0; i < GG_DENSE_COUNT; i++) {
		snprintf(sql, sizeof(sql), "select max(id) from %s", tables[i]);
		int64_t most = read_integer(profile, sql, &result), count = 0;

		snprintf(sql, sizeof(sql), "select count(*) from %s where id > 0", tables[i]);
		if (result == SQLITE_OK)
			count = read_integer(profile, sql, &result);
		if (result != SQLITE_OK)
			return gg_store_fail(profile, result, error);
		profile->counts[i] = (uint32_t)(most == count && count < UINT32_MAX ? count : 0);
	}
	return 0;
}

int gg_profile_open(struct gg_profile **ret_profile, const char *path, struct gg_error *error)
{
	struct gg_profile *profile;
	int code = check_header(path, error);

	if (code < 0)
		return code;
	profile = new_profile(error);
	if (profile == NULL)
		return -ENOMEM;
	profile->path = realpath(path, NULL); /* no name of it can be a URI or a place in memory */
	code = profile->path == NULL ? gg_error_set_errno(error, errno, path, NULL) : 0;
	if (code == 0)
		code = open_database(profile, profile->path, SQLITE_OPEN_READWRITE, error);
	if (code == 0)
		code = gg_store_execute(profile, "pragma query_only = on", error);
	if (code == 0)
		code = count_ids(profile, error);
	if (code < 0) {
		free_profile(profile);
		return code;
	}
	profile->is_in_file = true;
	*ret_profile = profile;
	return 0;
}

uint64_t gg_profile_dangling_count(const struct gg_profile *profile)
{
	return profile->dangling_count;
}

/* --- writing ---------------------------------------------------------------------------------- */

/* May `path` be replaced?  It may if there is nothing, an empty file, or a profile that nobody writes. */
static int check_replaceable(const char *path, struct gg_error *error)
{
	struct gg_error ignored;
	struct stat status;

	if (stat(path, &status) < 0)
		return errno == ENOENT ? 0 : gg_error_set_errno(error, errno, path, NULL);
	if (S_ISREG(status.st_mode) && status.st_size == 0)
		return 0;
	if (!S_ISREG(status.st_mode) || check_header(path, &ignored) < 0)
		return gg_error_set(error, -EEXIST, path, "Give another name, or remove it.",
		                    "there is something that is not a profile");
	return 0;
}

/* The path without symbolic links, so that a link to a profile stays one. */
static char *settle_path(const char *path)
{
	char *settled = realpath(path, NULL);

	if (settled != NULL || errno != ENOENT)
		return settled;
	if (path[0] == '/')
		return strdup(path);
	return asprintf(&settled, "./%s", path) < 0 ? NULL : settled; /* never a URI */
}

static int create_tables(struct gg_profile *profile, struct gg_error *error)
{
	char pragmas[256];
	int code;

	snprintf(pragmas, sizeof(pragmas),
	         "pragma page_size = %d; pragma application_id = %d; pragma user_version = %d",
	         GG_SCHEMA_PAGE_BYTES, GG_PROFILE_APPLICATION_ID, GG_PROFILE_VERSION);
	code = gg_store_execute(profile, pragmas, error);
	return code < 0 ? code : gg_store_execute(profile, gg_schema_tables, error);
}

int gg_profile_create(struct gg_profile **ret_profile, const char *path, struct gg_error *error)
{
	struct gg_profile *profile;
	int code = path != NULL ? check_replaceable(path, error) : 0;

	if (code < 0)
		return code;
	profile = new_profile(error);
	if (profile == NULL)
		return -ENOMEM;
	if (path != NULL) {
		profile->path = settle_path(path);
		if (profile->path == NULL)
			code = gg_error_set_errno(error, errno, path, NULL);
	}
	if (code == 0)
		code = open_database(profile, ":memory:", SQLITE_OPEN_READWRITE, error);
	if (code == 0)
		code = create_tables(profile, error);
	if (code < 0) {
		free_profile(profile);
		return code;
	}
	profile->is_written = true;
	*ret_profile = profile;
	return 0;
}

static int commit_transaction(struct gg_profile *profile, struct gg_error *error)
{
	int code = gg_store_execute(profile, "commit", error);

	if (code < 0)
		return code;
	profile->in_transaction = false;
	profile->uncommitted_count = 0;
	return 0;
}

/* Copies what is in memory to a new file. */
static int copy_to(struct gg_profile *profile, const char *path, struct gg_error *error)
{
	sqlite3 *file = NULL;
	sqlite3_backup *backup;
	int result = sqlite3_open_v2(path, &file, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);

	if (result == SQLITE_OK)
		result = sqlite3_exec(file, "pragma synchronous = off; pragma journal_mode = off",
		                      NULL, NULL, NULL);
	if (result == SQLITE_OK) {
		backup = sqlite3_backup_init(file, "main", profile->db, "main");
		if (backup != NULL)
			sqlite3_backup_step(backup, -1);
		result = backup != NULL ? sqlite3_backup_finish(backup) : sqlite3_errcode(file);
	}
	if (result != SQLITE_OK)
		gg_error_set(error, -EIO, profile->path, NULL, "cannot be written: %s",
		             sqlite3_errstr(result));
	sqlite3_close(file);
	return result == SQLITE_OK ? 0 : -EIO;
}

/* A journal that an earlier profile of that name left would be taken for one of this. */
static void remove_leftovers(const char *path)
{
	static const char *const endings[] = { "-journal", "-wal", "-shm" };
	char name[PATH_MAX];

	for (size_t i = 0; i < GG_COUNT(endings); i++) {
		if (snprintf(name, sizeof(name), "%s%s", path, endings[i]) < (int)sizeof(name))
			unlink(name);
	}
}

/*
 * The first commit: gives the profile its file.  It is written under a name beside the final one and
 * moved over what was there, so that there is a whole profile under that name at every moment.
 */
static int put_in_file(struct gg_profile *profile, struct gg_error *error)
{
	sqlite3 *memory = profile->db;
	char *part;
	int code;

	if (asprintf(&part, "%s.%d.part", profile->path, (int)getpid()) < 0)
		return gg_error_set_errno(error, ENOMEM, profile->path, NULL);
	unlink(part);
	code = copy_to(profile, part, error);
	if (code == 0) {
		remove_leftovers(profile->path);
		if (rename(part, profile->path) < 0)
			code = gg_error_set_errno(error, errno, profile->path, NULL);
	}
	if (code < 0)
		unlink(part);
	free(part);
	if (code < 0)
		return code;
	gg_store_forget_statements(profile);
	code = open_database(profile, profile->path, SQLITE_OPEN_READWRITE, error);
	sqlite3_close_v2(memory);
	if (code < 0)
		return code;
	profile->is_in_file = true;
	return gg_store_execute(profile,
	                        "pragma synchronous = off; pragma secure_delete = off;"
	                        "pragma cache_size = -16384",
	                        error);
}

int gg_profile_commit(struct gg_profile *profile, struct gg_error *error)
{
	int code = 0;

	if (profile->in_transaction)
		code = commit_transaction(profile, error);
	if (code == 0 && profile->is_written && profile->path != NULL && !profile->is_in_file)
		code = put_in_file(profile, error);
	return code;
}

int gg_profile_finish(struct gg_profile *profile, struct gg_error *error)
{
	int code = gg_profile_commit(profile, error);

	if (code == 0 && profile->is_in_file)
		code = gg_store_execute(profile, "pragma synchronous = full", error);
	return code;
}

void gg_profile_close(struct gg_profile *profile)
{
	struct gg_error ignored;

	if (profile == NULL)
		return;
	if (profile->is_written)
		(void)!gg_profile_commit(profile, &ignored);
	free_profile(profile);
}
