/* SPDX-License-Identifier: Apache-2.0 */
/*
 * old_profiles - removes all but the newest profiles of a directory.
 *
 * A directory may have other files with such names.  So a file must pass three checks before it can
 * be removed: its name, its owner, and its first bytes.
 */
#include "record/regions/old_profiles.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/time_units.h"
#include "profile/profile.h"

struct old_profile {
	uint64_t wall_ns;
	uint64_t bytes; /* allocated disk space */
	char name[256];
};

/* True for NAME.geiger.  A profile that is still recorded has another name, so it stays. */
static bool has_name(const char *name)
{
	static const char suffix[] = ".geiger";
	size_t length = strlen(name);

	return length > strlen(suffix) && length < sizeof(((struct old_profile *)0)->name) &&
	       strcmp(name + length - strlen(suffix), suffix) == 0;
}

/* True if the file is a profile of the user; root may remove everybody's.  Follows no links. */
static bool look_at(int directory, const char *name, struct old_profile *ret_profile)
{
	int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct stat file;
	bool is = fd >= 0 && fstat(fd, &file) == 0 && S_ISREG(file.st_mode) &&
	          (geteuid() == 0 || file.st_uid == geteuid()) && gg_profile_is_file(fd);

	if (is) {
		*ret_profile = (struct old_profile){
			.wall_ns = (uint64_t)file.st_mtim.tv_sec * GG_NS_PER_S +
			           (uint64_t)file.st_mtim.tv_nsec,
			.bytes = (uint64_t)file.st_blocks * 512,
		};
		memcpy(ret_profile->name, name, strlen(name) + 1);
	}
	if (fd >= 0)
		close(fd);
	return is;
}

static int newest_first(const void *a, const void *b)
{
	const struct old_profile *x = a, *y = b;

	return (x->wall_ns < y->wall_ns) - (x->wall_ns > y->wall_ns);
}

/* Removes a profile and counts it.  A profile that is gone already is no error. */
static int remove_one(int directory, const char *path, const struct old_profile *profile,
                      struct gg_clean *clean, struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf whole = { 0 };

	gg_buf_printf(&whole, "%s/%s", path, profile->name);
	if (whole.failed)
		return gg_error_memory(error, path);
	if (!clean->dry_run && unlinkat(directory, profile->name, 0) < 0)
		return errno == ENOENT
		               ? 0
		               : gg_error_set_errno(error, errno, gg_buf_text(&whole), NULL);
	clean->removed_count++;
	clean->removed_profile_count++;
	clean->removed_bytes += profile->bytes;
	return clean->removed != NULL ? clean->removed(gg_buf_text(&whole), clean->context) : 0;
}

int gg_old_profiles_clean(const char *directory, struct gg_clean *clean, struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf found = { 0 };
	DIR *listing = opendir(directory);
	uint64_t now_ns = gg_clock_wall_ns();
	struct old_profile profile, *profiles;
	struct dirent *entry;
	int status = 0;

	if (listing == NULL)
		return gg_error_set_errno(error, errno, directory, NULL);
	while ((entry = readdir(listing)) != NULL)
		if (has_name(entry->d_name) && look_at(dirfd(listing), entry->d_name, &profile))
			gg_buf_append(&found, &profile, sizeof(profile));
	profiles = (struct old_profile *)found.data;
	if (found.failed)
		status = gg_error_memory(error, directory);
	else if (found.length > 0)
		qsort(profiles, found.length / sizeof(profile), sizeof(profile), newest_first);
	for (size_t i = clean->keep_count; status == 0 && i < found.length / sizeof(profile); i++)
		if ((double)now_ns - (double)profiles[i].wall_ns >= clean->older_seconds * 1e9)
			status = remove_one(dirfd(listing), directory, &profiles[i], clean, error);
	closedir(listing);
	return status;
}
