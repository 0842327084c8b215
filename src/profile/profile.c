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
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scratch.h"
#include "profile/schema.h"
#include "profile/statements.h"

/* What a program must hold off from while another changes the profile; waits for nobody. */
bool gg_profile_is_being_written(const char *path)
{
	sqlite3 *db = NULL;
	int result = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL);

	if (result == SQLITE_OK)
		result = sqlite3_exec(db, "begin immediate", NULL, NULL, NULL);
	sqlite3_close(db);
	return result == SQLITE_BUSY;
}

/* May `path` be replaced?  It may if it is empty, or a profile that nobody writes. */
static int check_replaceable(const char *path, struct gg_error *error)
{
	struct stat status;

	if (stat(path, &status) < 0)
		return gg_error_set_errno(error, errno, path, NULL);
	if (S_ISREG(status.st_mode) && status.st_size == 0)
		return 0;
	if (!S_ISREG(status.st_mode)) /* a device is not to be removed, nor is a directory */
		return gg_error_set(error, -EEXIST, path, "A profile is a file: give another name.",
		                    S_ISDIR(status.st_mode) ? "is a directory" : "is not a file");
	if (!gg_store_is_profile(path))
		return gg_error_set(error, -EEXIST, path, "Give another name, or remove it.",
		                    "there is something that is not a profile");
	if (gg_profile_is_being_written(path))
		return gg_error_set(error, -EBUSY, path, "Give another name, or wait.",
		                    "another recorder is writing it");
	return 0;
}

/*
 * The absolute path, without symbolic links, so that a link to a profile stays one, no name of it is
 * a URI, and a change of directory does no harm.  Says whether the file is there.
 */
static char *settle_path(const char *path, bool *ret_exists)
{
	char *settled = realpath(path, NULL), *directory;
	const char *slash = strrchr(path, '/');

	*ret_exists = settled != NULL;
	if (settled != NULL || errno != ENOENT)
		return settled;
	if (slash == NULL)
		directory = realpath(".", NULL);
	else if (slash == path)
		directory = strdup("");
	else
		directory = strndup(path, (size_t)(slash - path));
	if (directory != NULL && slash != NULL && slash != path) {
		char *given = directory;

		directory = realpath(given, NULL);
		free(given);
	}
	if (directory == NULL)
		return NULL;
	if (asprintf(&settled, "%s/%s", directory, slash != NULL ? slash + 1 : path) < 0)
		settled = NULL;
	free(directory);
	return settled;
}

/* Settles where the profile goes, and asks before a long recording whether it can go there. */
static int set_path(struct gg_profile *profile, const char *path, struct gg_error *error)
{
	char *slash, *directory;
	bool exists;
	int code = 0;

	if (strcmp(path, "-") == 0) /* where other commands have it, it is standard output */
		return gg_error_set(error, -EINVAL, "-", "Name a file; ./- is one.",
		                    "a profile is not written to standard output");
	profile->path = settle_path(path, &exists);
	if (profile->path == NULL)
		return gg_error_set_errno(error, errno, path, NULL);
	if (exists)
		code = check_replaceable(profile->path, error);
	if (code < 0)
		return code;
	slash = strrchr(profile->path, '/');
	directory = strndup(profile->path, (size_t)(slash - profile->path) + 1);
	if (slash[1] == '\0')
		code = gg_error_set_errno(error, EISDIR, path, NULL);
	else if (directory == NULL || access(directory, W_OK | X_OK) < 0)
		code = gg_error_set_errno(error, errno, directory,
		                          "Give another place for the file.");
	free(directory);
	return code;
}

static int create_tables(struct gg_profile *profile, struct gg_error *error)
{
	char pragmas[256];
	int code;

	snprintf(pragmas, sizeof(pragmas),
	         "pragma page_size = %d; pragma application_id = %d; pragma user_version = %d",
	         GG_SCHEMA_PAGE_BYTES, GG_PROFILE_APPLICATION_ID, GG_PROFILE_VERSION);
	code = gg_store_execute(profile, pragmas, error);
	if (code == 0)
		code = gg_store_execute(profile, gg_schema_tables, error);
	return code == 0 ? gg_store_execute(profile, gg_schema_views, error) : code;
}

int gg_profile_create(struct gg_profile **ret_profile, const char *path, struct gg_error *error)
{
	struct gg_profile *profile = gg_store_new(error);
	int code = 0;

	if (profile == NULL)
		return -ENOMEM;
	if (path != NULL)
		code = set_path(profile, path, error);
	if (code == 0)
		code = gg_store_open(profile, ":memory:", SQLITE_OPEN_READWRITE, error);
	if (code == 0)
		code = create_tables(profile, error);
	if (code < 0) {
		gg_store_free(profile);
		return code;
	}
	profile->is_written = true;
	*ret_profile = profile;
	return 0;
}

/* The file, its journal, and the name under which it is begun (put_in_file). */
static void list_scratch(struct gg_profile *profile)
{
	char name[PATH_MAX];

	profile->scratch[0] = gg_scratch_add(profile->path);
	if (snprintf(name, sizeof(name), "%s-journal", profile->path) < (int)sizeof(name))
		profile->scratch[1] = gg_scratch_add(name);
	if (snprintf(name, sizeof(name), "%s.%d.part", profile->path, (int)getpid()) <
	    (int)sizeof(name))
		profile->scratch[2] = gg_scratch_add(name);
}

static void forget_scratch(struct gg_profile *profile)
{
	for (size_t i = 0; i < GG_COUNT(profile->scratch) && profile->has_scratch; i++)
		gg_scratch_forget(profile->scratch[i]);
	profile->has_scratch = false;
}

int gg_profile_create_whole(struct gg_profile **ret_profile, const char *path,
                            struct gg_error *error)
{
	struct gg_profile *profile;
	int code = gg_profile_create(&profile, path, error);

	if (code < 0)
		return code;
	profile->final_path = profile->path;
	for (size_t i = 0; i < GG_COUNT(profile->scratch); i++)
		profile->scratch[i] = -1;
	profile->has_scratch = true;
	if (asprintf(&profile->path, "%s.%d.whole", profile->final_path, (int)getpid()) < 0) {
		profile->path = NULL;
		gg_store_free(profile);
		return gg_error_memory(error, path);
	}
	list_scratch(profile);
	*ret_profile = profile;
	return 0;
}

/* Copies what is in memory to a new file. */
static int copy_to(struct gg_profile *profile, const char *path, struct gg_error *error)
{
	sqlite3 *file = NULL;
	sqlite3_backup *backup;
	/* For its owner alone, as perf's files are: it has addresses and command lines. */
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600), result;

	if (fd < 0)
		return gg_error_set_errno(error, errno, profile->path, NULL);
	close(fd);
	result = sqlite3_open_v2(path, &file, SQLITE_OPEN_READWRITE, NULL);
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
		return gg_error_memory(error, profile->path);
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
	code = gg_store_open(profile, profile->path, SQLITE_OPEN_READWRITE, error);
	sqlite3_close_v2(memory);
	if (code < 0)
		return code;
	profile->is_in_file = true;
	return gg_store_execute(profile, gg_store_writing_pragmas, error);
}

/*
 * Ends the transaction.  A reader may hold the file: then the transaction goes on and is committed
 * next time, unless `must` says that this is the last.
 */
static int commit_transaction(struct gg_profile *profile, bool must, struct gg_error *error)
{
	int result;

	if (sqlite3_get_autocommit(profile->db))
		return 0;
	if (!must)
		sqlite3_busy_timeout(profile->db, 20);
	result = sqlite3_exec(profile->db, "commit", NULL, NULL, NULL);
	sqlite3_busy_timeout(profile->db, GG_STORE_BUSY_MS);
	if (result == SQLITE_BUSY && !must)
		return 0;
	if (result != SQLITE_OK)
		return gg_store_fail_write(profile, result, error);
	profile->has_changes = false;
	profile->uncommitted_count = 0;
	return 0;
}

static int commit(struct gg_profile *profile, bool must, struct gg_error *error)
{
	int code;

	if (profile->failure != 0)
		return gg_store_fail_again(profile, error);
	code = commit_transaction(profile, must, error);
	if (code == 0 && profile->is_written && profile->path != NULL && !profile->is_in_file)
		code = put_in_file(profile, error);
	return code;
}

int gg_profile_commit(struct gg_profile *profile, struct gg_error *error)
{
	int code = 0;

	if (profile->has_changes || !profile->is_in_file || profile->failure != 0)
		code = commit(profile, false, error);
	/* Always in a transaction: so others see that somebody writes. */
	if (code == 0 && profile->is_in_file && profile->is_written &&
	    sqlite3_get_autocommit(profile->db))
		code = gg_store_execute(profile, "begin immediate", error);
	return code;
}

static int sync_file(const char *path, struct gg_error *error)
{
	int file = open(path, O_RDONLY | O_CLOEXEC), code = 0;

	if (file < 0 || fsync(file) < 0)
		code = gg_error_set_errno(error, errno, path, NULL);
	if (file >= 0)
		close(file);
	return code;
}

/* Gives pages back that folding has left empty, where they are many. */
static int shrink(struct gg_profile *profile, struct gg_error *error)
{
	int result, code;
	int64_t free_pages = gg_store_read_integer(profile, "pragma freelist_count", &result);
	int64_t pages = gg_store_read_integer(profile, "pragma page_count", &result);

	if (result != SQLITE_OK)
		return gg_store_fail(profile, result, error);
	if (free_pages * 8 <= pages)
		return 0;
	sqlite3_limit(profile->db, SQLITE_LIMIT_ATTACHED, 1); /* it attaches what it builds */
	code = gg_store_execute(profile, "vacuum", error);
	sqlite3_limit(profile->db, SQLITE_LIMIT_ATTACHED, 0);
	return code;
}

/* Moves a profile that is whole to where it belongs. */
static int move_whole(struct gg_profile *profile, struct gg_error *error)
{
	remove_leftovers(profile->final_path);
	if (rename(profile->path, profile->final_path) < 0)
		return gg_error_set_errno(error, errno, profile->final_path, NULL);
	forget_scratch(profile);
	free(profile->path);
	profile->path = profile->final_path;
	profile->final_path = NULL;
	return 0;
}

int gg_profile_finish(struct gg_profile *profile, struct gg_error *error)
{
	int code = gg_store_begin(profile, error);

	if (code == 0 && profile->has_summary)
		code = gg_report_summary_remove(profile, error);
	if (code == 0)
		code = gg_report_summary_make(profile, error);
	if (code == 0)
		code = commit(profile, true, error);
	if (code < 0 || !profile->is_in_file)
		return code;
	code = shrink(profile, error);
	if (code == 0)
		code = sync_file(profile->path, error);
	if (code == 0 && profile->final_path != NULL)
		code = move_whole(profile, error);
	return code;
}

void gg_profile_close(struct gg_profile *profile)
{
	struct gg_error ignored;

	if (profile == NULL)
		return;
	if (profile->final_path != NULL) { /* not finished */
		if (profile->is_in_file)
			unlink(profile->path);
		remove_leftovers(profile->path);
	} else if (profile->is_written && profile->failure == 0) {
		(void)!commit(profile, true, &ignored);
	}
	forget_scratch(profile);
	gg_store_free(profile);
}
