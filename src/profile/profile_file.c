/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_file - the life of a profile's file: created in memory, moved into place by the first
 * commit, completed by gg_profile_finish().
 *
 * Start     SQLite takes 17 million instructions for the statements that create tables and views.
 *           So a recorder starts with the bytes of an empty profile (empty_profile.h).
 * Journal   A rollback journal, so that the file itself holds everything that was committed.  A WAL
 *           would hold the last minutes in a second file, which a copy of the profile would lose.
 * Kill -9   The next program that opens the file rolls back the open transaction.
 * No sync   The recorder does not sync while it records, because it would compete with the profiled
 *           program for the disk.  gg_profile_finish() syncs.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/scratch.h"
#include "profile/empty_profile.h"
#include "profile/packed.h"
#include "profile/schema.h"
#include "profile/statements.h"

/* SQLite's write lock tells: a recorder keeps a transaction open.  Does not wait for the lock. */
bool gg_profile_is_being_written(const char *path)
{
	sqlite3 *db = NULL;
	int result = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL);

	if (result == SQLITE_OK)
		result = sqlite3_exec(db, "begin immediate", NULL, NULL, NULL);
	sqlite3_close(db);
	return result == SQLITE_BUSY;
}

/* Checks that `path` may be replaced: it is empty, or a profile that nobody is writing. */
static int check_replaceable(const char *path, struct gg_error *error)
{
	struct stat file;

	if (stat(path, &file) < 0)
		return gg_error_set_errno(error, errno, path, NULL);
	if (S_ISREG(file.st_mode) && file.st_size == 0)
		return 0;
	if (!S_ISREG(file.st_mode)) /* never remove devices and directories */
		return gg_error_set(error, -EEXIST, path, "A profile is a file: give another name.",
		                    S_ISDIR(file.st_mode) ? "is a directory" : "is not a file");
	if (access(path, R_OK) < 0)
		return gg_error_set_errno(error, errno, path, "Give another name.");
	if (!gg_database_is_profile(path))
		return gg_error_set(error, -EEXIST, path, "Give another name, or remove it.",
		                    "there is something that is not a profile");
	if (gg_profile_is_being_written(path))
		return gg_error_set(error, -EBUSY, path, "Give another name, or wait.",
		                    "another recorder is writing it");
	return 0;
}

/*
 * The absolute path without symbolic links.  A link to a profile then stays a link, SQLite cannot
 * take the name for a URI, and a change of directory does no harm.  *ret_exists: the file exists.
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

/* Determines the final path, and fails before a long recording if it cannot be written. */
int gg_database_set_path(struct gg_profile *profile, const char *path, struct gg_error *error)
{
	char *slash, *directory;
	bool exists;
	int status = 0;

	if (strcmp(path, "-") == 0) /* other commands take "-" as standard output */
		return gg_error_set(error, -EINVAL, "-", "Name a file; ./- is one.",
		                    "a profile is not written to standard output");
	profile->path = settle_path(path, &exists);
	if (profile->path == NULL)
		return gg_error_set_output(error, errno, path);
	if (exists)
		status = check_replaceable(profile->path, error);
	if (status < 0)
		return status;
	slash = strrchr(profile->path, '/');
	directory = strndup(profile->path, (size_t)(slash - profile->path) + 1);
	if (slash[1] == '\0')
		status = gg_error_set_errno(error, EISDIR, path, NULL);
	else if (directory == NULL || access(directory, W_OK | X_OK) < 0)
		status = gg_error_set_errno(error, errno, directory,
		                            "Give another place for the file.");
	free(directory);
	return status;
}

static int create_tables(struct gg_profile *profile, struct gg_error *error)
{
	char pragmas[256];
	int status;

	snprintf(pragmas, sizeof(pragmas),
	         "pragma page_size = %d; pragma application_id = %d; pragma user_version = %d",
	         GG_SCHEMA_PAGE_BYTES, GG_PROFILE_APPLICATION_ID, GG_PROFILE_VERSION);
	status = gg_database_execute(profile, pragmas, error);
	for (size_t i = 0; status == 0 && gg_schema_tables[i] != NULL; i++) {
		GG_CLEANUP(gg_buf_done) struct gg_buf sql = { 0 };

		gg_buf_printf(&sql, "create table %s", gg_schema_tables[i]->create);
		status = sql.failed ? gg_error_memory(error, "profile")
		                    : gg_database_execute(profile, gg_buf_text(&sql), error);
	}
	if (status == 0)
		status = gg_database_execute(profile, gg_schema_contents, error);
	return status == 0 ? gg_database_execute(profile, gg_schema_views, error) : status;
}

int gg_profile_create(struct gg_profile **ret_profile, const char *path, struct gg_error *error)
{
	struct gg_profile *profile = gg_database_new(error);
	int status = 0;

	if (profile == NULL)
		return -ENOMEM;
	if (path != NULL)
		status = gg_database_set_path(profile, path, error);
	if (status == 0)
		status = gg_database_open(profile, ":memory:", SQLITE_OPEN_READWRITE, error);
	if (status == 0)
		status = create_tables(profile, error);
	if (status < 0) {
		gg_database_free(profile);
		return status;
	}
	profile->is_written = true;
	*ret_profile = profile;
	return 0;
}

/* Registers the file, its journal, and its temporary name (put_in_file) for removal at signals. */
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
	int status = gg_profile_create(&profile, path, error);

	if (status < 0)
		return status;
	profile->final_path = profile->path;
	for (size_t i = 0; i < GG_COUNT(profile->scratch); i++)
		profile->scratch[i] = -1;
	profile->has_scratch = true;
	if (asprintf(&profile->path, "%s.%d.whole", profile->final_path, (int)getpid()) < 0) {
		profile->path = NULL;
		gg_database_free(profile);
		return gg_error_memory(error, path);
	}
	list_scratch(profile);
	*ret_profile = profile;
	return 0;
}

/* Copies the database in memory to a file that is empty. */
static int copy_database(const struct gg_profile *profile, const char *path, struct gg_error *error)
{
	sqlite3 *file = NULL;
	sqlite3_backup *backup;
	int result = sqlite3_open_v2(path, &file, SQLITE_OPEN_READWRITE, NULL);

	if (result == SQLITE_OK)
		result = sqlite3_exec(file, "pragma synchronous = off; pragma journal_mode = off",
		                      NULL, NULL, NULL);
	if (result == SQLITE_OK) {
		backup = sqlite3_backup_init(file, "main", profile->db, "main");
		if (backup != NULL)
			sqlite3_backup_step(backup, -1);
		result = backup != NULL ? sqlite3_backup_finish(backup) : sqlite3_errcode(file);
	}
	if (result != SQLITE_OK) {
		int reason = (result & 0xff) == SQLITE_FULL ? ENOSPC : sqlite3_system_errno(file);

		gg_error_set(error, -EIO, gg_database_place(profile),
		             reason == ENOSPC ? "Make room on the disk." : NULL,
		             "cannot be written: %s",
		             reason > 0 ? strerror(reason) : sqlite3_errstr(result));
	}
	sqlite3_close(file);
	return result == SQLITE_OK ? 0 : -EIO;
}

/* Writes the bytes of an empty profile. */
static int write_empty(const struct gg_profile *profile, int fd, struct gg_error *error)
{
	size_t length = 0;
	ssize_t count;

	while (length < gg_empty_profile_length) {
		count = write(fd, gg_empty_profile + length, gg_empty_profile_length - length);
		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0)
			return gg_error_set_errno(error, count < 0 ? errno : EIO,
			                          gg_database_place(profile), NULL);
		length += (size_t)count;
	}
	return 0;
}

/* Copies the database to a new file; without one, makes the file of an empty profile. */
static int copy_to(const struct gg_profile *profile, const char *path, struct gg_error *error)
{
	/* Only the owner may read it, as with perf's files: it has addresses and command lines. */
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600), status = 0;

	if (fd < 0)
		return gg_error_set_errno(error, errno, gg_database_place(profile), NULL);
	if (profile->db == NULL)
		status = write_empty(profile, fd, error);
	close(fd);
	return profile->db == NULL ? status : copy_database(profile, path, error);
}

/* Removes a journal of an earlier profile, which SQLite would apply to the new file. */
static void remove_leftovers(const char *path)
{
	static const char *const endings[] = { "-journal", "-wal", "-shm" };
	char name[PATH_MAX];

	for (size_t i = 0; i < GG_COUNT(endings); i++) {
		if (snprintf(name, sizeof(name), "%s%s", path, endings[i]) < (int)sizeof(name))
			unlink(name);
	}
}

static int sync_file(const char *path, struct gg_error *error)
{
	int file = open(path, O_RDONLY | O_CLOEXEC), status = 0;

	if (file < 0 || fsync(file) < 0)
		status = gg_error_set_errno(error, errno, path, NULL);
	if (file >= 0)
		close(file);
	return status;
}

/*
 * Writes the file under a temporary name.  The caller removes or renames it, also after a failure,
 * forgets the number of base/scratch.h, and frees the name, which is NULL without memory.
 */
static int write_part(struct gg_profile *profile, char **ret_part, int *ret_scratch,
                      struct gg_error *error)
{
	*ret_scratch = -1;
	if (asprintf(ret_part, "%s.%d.part", profile->path, (int)getpid()) < 0) {
		*ret_part = NULL;
		return gg_error_memory(error, profile->path);
	}
	unlink(*ret_part);
	*ret_scratch = gg_scratch_add(*ret_part);
	return copy_to(profile, *ret_part, error);
}

static const char mount_advice[] =
	"If the file is a mount point, write a copy: geiger pack -o FILE.";

int gg_database_put_in_place(struct gg_profile *profile, bool must_sync, struct gg_error *error)
{
	char *part;
	int scratch, status = write_part(profile, &part, &scratch, error);

	if (status == 0 && profile->source != NULL)
		status = gg_database_copy_attributes(profile->path, part, error);
	else if (status == 0 && profile->file_mode != 0 && chmod(part, profile->file_mode) < 0)
		status = gg_error_set_errno(error, errno, profile->path, NULL);
	if (status == 0 && must_sync)
		status = sync_file(part, error);
	if (status == 0 && profile->source != NULL)
		status = gg_database_check_lock(profile->source, error);
	if (status == 0) {
		remove_leftovers(profile->path);
		if (rename(part, profile->path) < 0)
			status = gg_error_set_errno(error, errno, profile->path,
			                            errno == EBUSY ? mount_advice : NULL);
	}
	if (status < 0 && part != NULL)
		unlink(part);
	gg_scratch_forget(scratch);
	free(part);
	return status;
}

/*
 * The first commit, which creates the profile's file.  It writes the file under a temporary name
 * and renames it, so that the final name refers to a whole profile at every moment.
 */
static int put_in_file(struct gg_profile *profile, struct gg_error *error)
{
	sqlite3 *memory = profile->db;
	/* A new recording replaces nothing, but an edited packed profile its only copy. */
	int status = gg_database_put_in_place(profile, profile->is_packed, error);

	if (status < 0)
		return status;
	gg_database_forget_statements(profile);
	status = gg_database_open(profile, profile->path, SQLITE_OPEN_READWRITE, error);
	sqlite3_close_v2(memory);
	profile->source = NULL;
	gg_database_unlock(profile);
	if (status < 0)
		return status;
	profile->is_in_file = true;
	return gg_database_execute(profile, gg_database_writing_pragmas, error);
}

/*
 * Ends the transaction.  If a reader holds the file, the transaction stays open for the next
 * commit, unless `must` says that this is the last one.
 */
static int commit_transaction(struct gg_profile *profile, bool must, struct gg_error *error)
{
	int result;

	if (sqlite3_get_autocommit(profile->db))
		return 0;
	sqlite3_busy_timeout(profile->db, must ? GG_DATABASE_LAST_COMMIT_MS : 20);
	result = sqlite3_exec(profile->db, "commit", NULL, NULL, NULL);
	sqlite3_busy_timeout(profile->db, GG_DATABASE_BUSY_MS);
	if (result == SQLITE_BUSY && !must)
		return 0;
	if (result != SQLITE_OK)
		return gg_database_fail_write(profile, result, error);
	profile->has_changes = false;
	profile->uncommitted_count = 0;
	return 0;
}

static int commit(struct gg_profile *profile, bool must, struct gg_error *error)
{
	int status;

	if (profile->failure != 0)
		return gg_database_fail_again(profile, error);
	status = commit_transaction(profile, must, error);
	if (status == 0 && profile->is_written && profile->path != NULL && !profile->is_in_file)
		status = put_in_file(profile, error);
	return status;
}

int gg_profile_try(struct gg_profile *profile, struct gg_error *error)
{
	char *part = NULL;
	int status = commit_transaction(profile, false, error), scratch = -1;

	if (status == 0)
		status = write_part(profile, &part, &scratch, error);
	if (part != NULL)
		unlink(part);
	gg_scratch_forget(scratch);
	free(part);
	profile->is_tried = true;
	return status;
}

int gg_profile_commit(struct gg_profile *profile, struct gg_error *error)
{
	int status = 0;

	if (profile->has_changes || !profile->is_in_file || profile->failure != 0)
		status = commit(profile, false, error);
	/* A transaction is always open, so that others see the lock of a writer. */
	if (status == 0 && profile->is_in_file && profile->is_written &&
	    sqlite3_get_autocommit(profile->db))
		status = gg_database_execute(profile, "begin immediate", error);
	return status;
}

/* For make_empty_profile, and for builds without its bytes. */
static int create_by_statements(struct gg_profile **ret_profile, const char *path,
                                struct gg_error *error)
{
	/* Every profile has a session, also if its recorder is killed at once. */
	static const struct gg_profile_session unknown = { .end_ns = GG_TIME_NONE,
		                                           .exit_status = -1,
		                                           .has_history = true };
	int status = gg_profile_create(ret_profile, path, error);

	if (status < 0)
		return status;
	status = gg_profile_set_session(*ret_profile, &unknown, error);
	if (status == 0)
		status = gg_profile_commit(*ret_profile, error);
	if (status < 0)
		gg_database_free(*ret_profile);
	return status;
}

int gg_profile_create_at_once(struct gg_profile **ret_profile, const char *path,
                              struct gg_error *error)
{
	struct gg_profile *profile;
	int status;

	if (gg_empty_profile_length == 0)
		return create_by_statements(ret_profile, path, error);
	profile = gg_database_new(error);
	if (profile == NULL)
		return -ENOMEM;
	status = gg_database_set_path(profile, path, error);
	if (status == 0)
		status = put_in_file(profile, error);
	if (status < 0) {
		gg_database_free(profile);
		return status;
	}
	profile->is_written = true;
	*ret_profile = profile;
	return 0;
}

/*
 * Returns pages that compaction has emptied to the file system if there are many.  If a reader
 * holds the file, they stay in it: the profile is complete without that.
 */
static int shrink(struct gg_profile *profile, struct gg_error *error)
{
	int result;
	int64_t free_pages = gg_database_read_integer(profile, "pragma freelist_count", &result);
	int64_t pages = gg_database_read_integer(profile, "pragma page_count", &result);

	if (result != SQLITE_OK)
		return gg_database_fail(profile, result, error);
	if (free_pages * 8 <= pages)
		return 0;
	sqlite3_limit(profile->db, SQLITE_LIMIT_ATTACHED,
	              1); /* VACUUM attaches the database that it builds */
	result = sqlite3_exec(profile->db, "vacuum", NULL, NULL, NULL);
	sqlite3_limit(profile->db, SQLITE_LIMIT_ATTACHED, 0);
	return result == SQLITE_OK || (result & 0xff) == SQLITE_BUSY
	               ? 0
	               : gg_database_fail(profile, result, error);
}

/* Moves a complete profile to its final path. */
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

void gg_profile_report_progress(struct gg_profile *profile, const struct gg_progress *progress)
{
	profile->progress = progress;
}

int gg_profile_finish(struct gg_profile *profile, struct gg_error *error)
{
	int status = gg_database_begin(profile, error);

	if (status == 0 && profile->has_summary)
		status = gg_profile_summary_remove(profile, error);
	/* All samples are in the file then, where a second connection reads a half of them. */
	if (status == 0)
		status = gg_profile_commit(profile, error);
	if (status == 0)
		status = gg_profile_summary_make(profile, error);
	if (status == 0)
		status = commit(profile, true, error);
	if (status < 0 || !profile->is_in_file)
		return status;
	status = shrink(profile, error);
	if (status == 0)
		status = sync_file(profile->path, error);
	if (status == 0 && profile->final_path != NULL)
		status = move_whole(profile, error);
	return status;
}

/* The file of a packed profile is an ordinary one since the first commit of an edit. */
static void pack_again(const char *path)
{
	struct gg_error ignored;

	if (path != NULL)
		(void)!gg_profile_pack(path, NULL, &ignored);
}

void gg_profile_close(struct gg_profile *profile)
{
	struct gg_error ignored;
	char *packed_path = NULL;

	if (profile == NULL)
		return;
	if (profile->final_path != NULL) { /* not finished */
		if (profile->is_in_file)
			unlink(profile->path);
		remove_leftovers(profile->path);
	} else if (profile->is_written && profile->failure == 0 &&
	           (profile->is_in_file || !profile->is_tried)) {
		(void)!commit(profile, true, &ignored);
	}
	forget_scratch(profile);
	if (profile->is_packed && profile->is_in_file && profile->failure == 0)
		packed_path = strdup(profile->path);
	gg_database_free(profile);
	pack_again(packed_path);
	free(packed_path);
}
