/* SPDX-License-Identifier: Apache-2.0 */
/*
 * region_list - lists the region files of this machine and removes those that nobody needs.
 *
 * The search covers GEIGER_DIR, /dev/shm, $TMPDIR, /tmp, and sessions' directories below them.  A
 * file counts if it has a region's name and is a regular file of the user (for root: of anybody).
 * The search follows no links, neither to files nor to directories.
 *
 * A region may be removed when its process has ended, the region is old enough, and no recorder
 * records its session.  A file without a region's head is never removed, with one exception: a file
 * with a region's name and an empty head, whose process died while it created the region.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct gg_region_view;

enum gg_listed_region_kind {
	GG_LISTED_REGION_WHOLE,
	GG_LISTED_REGION_UNMADE, /* its process is creating it, or died before it was complete */
	GG_LISTED_REGION_OTHER,  /* no region despite its name, of another version, or damaged */
};

struct gg_listed_region {
	const char *path;
	enum gg_listed_region_kind kind;
	uint32_t pid;
	bool is_alive;
	bool is_recorded;    /* it belongs to the session of a running recorder */
	uint64_t disk_bytes; /* allocated disk space */
	/* The following are set for GG_LISTED_REGION_WHOLE only. */
	uint64_t start_wall_ns;
	uint64_t last_wall_ns; /* the last time that the region knows; 0: its process lives */
	double idle_seconds;   /* since last_wall_ns; 0 if its process lives */
	uint64_t sample_count, live_count;
	const char *command; /* the arguments, separated by blanks */
	const struct gg_region_view *view;
	int fd; /* the open file */
};

/* `file` is valid during the call.  A result other than 0 ends the search, which returns it. */
typedef int gg_listed_region_visit(const struct gg_listed_region *file, void *context);

bool gg_region_list_is_directory(const char *path);

/*
 * Visits the regions in the given directories and in sessions' directories below them.  count 0: in
 * the usual places.
 */
GG_MUST_CHECK int gg_region_list_each(char *const *directories, int count,
                                      gg_listed_region_visit *visit, void *context,
                                      struct gg_error *error);

/*
 * Says whether the search reads a region and visits it.  A caller that has seen the region before
 * may know that nothing changed, or read the little that did.
 */
typedef bool gg_listed_region_wanted(const char *path, int fd, void *context);

/* As gg_region_list_each(), for the regions that `wanted` wants. */
GG_MUST_CHECK int gg_region_list_each_wanted(char *const *directories, int count,
                                             gg_listed_region_wanted *wanted,
                                             gg_listed_region_visit *visit, void *context,
                                             struct gg_error *error);

/* A result other than 0 ends the search, which returns it. */
typedef int gg_listed_stream_visit(const char *path, uint32_t pid, void *context);

/* Visits the events of .NET's runtimes that recorders keep, in directories as above. */
GG_MUST_CHECK int gg_region_list_each_stream(char *const *directories, int count,
                                             gg_listed_stream_visit *visit, void *context,
                                             struct gg_error *error);

struct gg_clean {
	double older_seconds; /* removes only regions that were idle for at least that long */
	/*
	 * Removes all but the newest keep_count of the regions that may be removed, in each
	 * directory with the sessions below it.  The same applies to the profiles of the given
	 * directories.  Without by_count no profile is removed.
	 */
	bool by_count;
	uint64_t keep_count;
	bool dry_run; /* reports what it would remove, and removes nothing */
	/* Called for each removed file; may be NULL.  A result other than 0 ends the cleaning. */
	int (*removed)(const char *path, void *context);
	void *context;
	/* Results. */
	uint64_t removed_count;        /* regions and profiles */
	uint64_t removed_bytes;        /* of all files */
	uint64_t removed_stream_count; /* events of .NET's runtimes */
	uint64_t removed_profile_count;
	uint64_t young_count; /* regions that only older_seconds protects */
};

/*
 * Removes the regions of ended processes, the events of .NET's runtimes, and sessions' directories
 * without these and without recorders.  Directories as in gg_region_list_each().
 */
GG_MUST_CHECK int gg_region_list_clean(char *const *directories, int count, struct gg_clean *clean,
                                       struct gg_error *error);

/*
 * Removes, in the usual places, the directories of sessions whose recorders were killed and left no
 * region.  Each recorder calls it when it begins.  Errors are ignored.
 */
void gg_region_list_clean_abandoned(void);
