/* SPDX-License-Identifier: Apache-2.0 */
/* retention_lists - cleans the agents' lists of regions to retain (region/retention.h). */
#include "record/regions/retention_lists.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "region/retention.h"

bool gg_retention_is_name(const char *name)
{
	return strncmp(name, GG_RETENTION_PREFIX, strlen(GG_RETENTION_PREFIX)) == 0;
}

/*
 * True if the list names a region that still exists.  A damaged file is not needed: its name shows
 * that an agent created it.  The count in the file is not trusted beyond the bytes that were read.
 */
static bool is_needed(int directory, int fd)
{
	struct gg_retention list;
	ssize_t got = pread(fd, &list, sizeof(list), 0);
	size_t head = offsetof(struct gg_retention, entries);

	if (got < (ssize_t)head || list.magic != GG_RETENTION_MAGIC)
		return false;
	for (size_t i = 0; i < list.count && i < ((size_t)got - head) / sizeof(list.entries[0]);
	     i++) {
		char name[64];

		snprintf(name, sizeof(name), "geiger-%" PRIu32 "-%" PRIu64 ".region",
		         list.entries[i].pid, list.entries[i].made_ns);
		if (faccessat(directory, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			return true;
	}
	return false;
}

void gg_retention_clean(int directory, const char *name)
{
	int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct stat status;

	if (fd < 0)
		return;
	/* If the file is locked, an agent is using it, and it stays. */
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
	    (geteuid() == 0 || status.st_uid == geteuid()) && flock(fd, LOCK_EX | LOCK_NB) == 0 &&
	    !is_needed(directory, fd))
		unlinkat(directory, name, 0);
	close(fd);
}
