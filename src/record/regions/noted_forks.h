/* SPDX-License-Identifier: Apache-2.0 */
/*
 * noted_forks - children without a region that noted their fork in a session's directory, for a
 * salvage.
 *
 * A recorder watches such children (process/idle_children.h).  A salvage comes when it is gone, and
 * a region has no history: nobody knows which of the blocks that a process freed or left its
 * children still held.  So the counter of unnoted children tells that there are some, and these
 * blocks count in upper ends (profile/unseen_heirs.h).
 *
 * A child does not count if its region is salvaged as well, if it executed a program that has a
 * region, or if it has ended while another process of the salvage runs on: then it holds nothing at
 * the end.  The recorder gives back the space of forks that it has read, and leaves those of
 * children that may still be idle (struct gg_session_forks_head).  If some may be missing, each
 * process counts as one with such children.
 *
 * Hostile  every process of the session can write the file.  Links and pipes are not read, and not
 *          more than FORKS_BYTES_MAX.
 * Threads  one owner of the writer at a time.
 */
#pragma once

#include "record/process/lineage.h"
#include "record/session/profile_writer.h"

struct gg_noted_fork_counts {
	uint64_t child_count;  /* children of processes that are in the profile */
	uint64_t orphan_count; /* ... and of others, whose regions are gone with what they held */
};

/*
 * Reads the file of a directory, whose regions are in the lineage and in the profile already.  Adds
 * the children that count to *counts.  0, or the writer's first failure.
 */
int gg_noted_forks_write(struct gg_profile_writer *writer, struct gg_lineage *lineage,
                         int directory_fd, struct gg_noted_fork_counts *counts);
