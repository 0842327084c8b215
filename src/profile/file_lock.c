/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_lock - SQLite's write lock, held while a profile's file is read to be replaced.
 *
 * Without it, a recorder or another editor could commit between the first row that is read and the
 * rename, and the rename would put the older content in place.
 *
 * Never open and close the locked file by other means than SQLite: POSIX drops all locks that the
 * process has on a file as soon as it closes any descriptor of it.
 */
#include <errno.h>

#include "profile/statements.h"

static bool has_moved(sqlite3 *db)
{
	int moved = 1;

	return sqlite3_file_control(db, "main", SQLITE_FCNTL_HAS_MOVED, &moved) != SQLITE_OK ||
	       moved != 0;
}

static int fail_moved(const struct gg_profile *profile, struct gg_error *error)
{
	return gg_error_set(error, -EBUSY, profile->path, "Try again.",
	                    "another program has replaced or removed the file");
}

int gg_database_lock(struct gg_profile *profile, struct gg_error *error)
{
	int result = sqlite3_open_v2(profile->path, &profile->lock,
	                             SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);

	/* A recorder holds it for long; another editor is done soon. */
	if (result == SQLITE_OK && profile->is_written)
		sqlite3_busy_timeout(profile->lock, GG_DATABASE_BUSY_MS);
	if (result == SQLITE_OK)
		result = sqlite3_exec(profile->lock, "begin immediate", NULL, NULL, NULL);
	if ((result & 0xff) == SQLITE_BUSY)
		return gg_error_set(error, -EBUSY, profile->path, "Wait until it has finished.",
		                    "another program is writing the profile");
	if ((result & 0xff) == SQLITE_READONLY && !profile->is_written) {
		gg_database_unlock(profile);
		return gg_database_execute(profile, "begin", error);
	}
	if (result != SQLITE_OK)
		return gg_database_fail(profile, result, error);
	return has_moved(profile->db) || has_moved(profile->lock) ? fail_moved(profile, error) : 0;
}

int gg_database_check_lock(const struct gg_profile *profile, struct gg_error *error)
{
	if (profile->lock == NULL)
		return gg_error_set(error, -EACCES, profile->path,
		                    "Write a copy: geiger pack -o FILE.",
		                    "the file may only be read");
	return has_moved(profile->lock) ? fail_moved(profile, error) : 0;
}

void gg_database_unlock(struct gg_profile *profile)
{
	sqlite3_close_v2(profile->lock);
	profile->lock = NULL;
}
