/* SPDX-License-Identifier: Apache-2.0 */
/*
 * region_list - the region files of this machine: what there is, whose it is, and what may go.
 *
 * Looked for in GEIGER_DIR, /dev/shm, $TMPDIR, /tmp, and in sessions' directories below them.  A file
 * counts if its name is one that agents give and it is a regular file of ours (root: of anybody); links
 * are not followed, neither of files nor of directories.
 *
 * A region may be removed when its process is gone, it is old enough, and no recorder is at work on
 * its session.  What does not have a region's first bytes is never removed, with one exception: a file
 * of that name, empty from the start on, whose process died while it made it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum gg_listed_region_kind {
	GG_LISTED_REGION_WHOLE,
	GG_LISTED_REGION_UNMADE, /* its process died over making it, or is at it */
	GG_LISTED_REGION_OTHER, /* not a region, whatever its name; or of another version, or damaged */
};

struct gg_listed_region {
	const char *path;
	enum gg_listed_region_kind kind;
	uint32_t pid;
	bool is_alive;
	bool is_recorded;    /* a recorder that runs has it in its session */
	uint64_t disk_bytes; /* that it takes */
	/* Of whole ones. */
	uint64_t start_wall_ns;
	uint64_t last_wall_ns; /* of the last that it knows of; of the living 0 */
	double idle_seconds;   /* since then; of the living 0 */
	uint64_t sample_count, live_count;
	const char *command; /* arguments with blanks between */
};

/* Valid during the call.  Other than 0 stops the walk and is returned by it. */
typedef int gg_listed_region_visit(const struct gg_listed_region *file, void *context);

bool gg_region_list_is_directory(const char *path);

/* Those in the given directories and in sessions' directories below them; of none: the usual places. */
GG_MUST_CHECK int gg_region_list_each(char *const *directories, int count,
                                      gg_listed_region_visit *visit, void *context,
                                      struct gg_error *error);

struct gg_clean {
	double older_seconds; /* than this, since the last that they know of */
	/*
	 * Of each directory, with the sessions below it, so many stay: the newest of those that could go.  The
	 * same holds for the profiles of directories that are named; without it profiles are left alone.
	 */
	bool by_count;
	uint64_t keep_count;
	bool dry_run;
	/* Told of each; may be NULL.  Other than 0 ends the cleaning and is returned. */
	int (*removed)(const char *path, void *context);
	void *context;
	/* Filled in. */
	uint64_t removed_count, removed_bytes; /* regions and profiles */
	uint64_t removed_profile_count;
	uint64_t young_count; /* regions that stay because of older_seconds alone */
};

/* Removes the regions of dead processes there, and sessions' directories that nobody needs any more. */
GG_MUST_CHECK int gg_region_list_clean(char *const *directories, int count, struct gg_clean *clean,
                                       struct gg_error *error);

/*
 * Removes the directories of sessions whose recorders were killed and left no region, in the usual places: a
 * recorder does so when it begins.  What cannot be removed stays.
 */
void gg_region_list_clean_abandoned(void);
