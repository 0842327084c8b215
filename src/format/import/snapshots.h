/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshots - makes a profile with a time axis from heap profiles that one process gives at times.
 *
 *   struct gg_snapshots *snapshots;
 *
 *   gg_snapshots_new(&snapshots, profile, &options, error);
 *   gg_snapshots_add(snapshots, input, 1, error);     at 1, 2, 3 ... times the spacing
 *   gg_snapshots_free(snapshots);
 *
 * Two snapshots differ by what was allocated and what was freed between them, by stack and size.
 * Each difference becomes an aggregate with the times of the two, so live memory is that of the
 * snapshot at each of their times, and sums over whole spacings are right.  The newest blocks of a
 * stack and size end first, because nothing tells which ones were freed.  The first snapshot has
 * what was live then.
 *
 * The profile is committed with each snapshot, so a kill loses one spacing at most.
 *
 * Formats  pprof.  A format without allocated memory shows only by how much live memory changed.
 * Restart  If counts of allocations fall, the process is another one: all blocks end, and the
 *          snapshot is a first one again.
 * Memory   some 200 bytes for each stack and size, and 80 for each spacing of which some are live.
 * Threads  one owner.
 */
#pragma once

#include "format/import/import.h"

struct gg_snapshots;

struct gg_snapshots_options {
	const char *command; /* of the process, and of the session */
	const struct gg_import_label *labels;
	size_t label_count;
	int64_t spacing_ns;
	uint64_t start_wall_ns; /* one spacing before the first snapshot, since 1970 */
	bool ignore_files;      /* as in struct gg_import_options */
};

GG_MUST_CHECK int gg_snapshots_new(struct gg_snapshots **ret_snapshots, struct gg_profile *profile,
                                   const struct gg_snapshots_options *options,
                                   struct gg_error *error);

/*
 * Adds the snapshot that was taken at `number` spacings after the start.  Numbers ascend from 1,
 * and may skip snapshots that failed.  After an error the profile has the snapshots before.
 */
GG_MUST_CHECK int gg_snapshots_add(struct gg_snapshots *snapshots, struct gg_input *input,
                                   int64_t number, struct gg_error *error);

/* The bytes that were live at the last snapshot, as an estimate. */
double gg_snapshots_live_bytes(const struct gg_snapshots *snapshots);

void gg_snapshots_free(struct gg_snapshots *snapshots);
