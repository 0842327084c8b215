/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collections - what garbage collectors of the session's processes did, from their own lines.
 *
 * A runtime that reports its collections writes lines into a file of each process, beside the
 * regions (bindings/python/geiger/_collections.py):
 *
 *   collections-PID-TICKS-NUMBER
 *
 * PID is in the process's own namespace, so processes of two containers may have the same one.
 * TICKS is field 22 of /proc/PID/stat.  NUMBER stands in the name of the process's region, and is
 * a time just before the region's start.  TICKS and NUMBER may be 0 or missing.  The recorder reads
 * these files when the recording ends, and so does a salvage of the regions.  Each line becomes an
 * event of the kind GG_PROFILE_COLLECTIONS.
 *
 * Hostile  every process of the session can write these files.  A line that is not exactly as
 *          expected ends the file, and so does COLLECTIONS_LINES_MAX.  Links and pipes are not
 *          read.  In a session of root, a file counts for a program only if root, the reader or the
 *          owner of the program's region owns it.
 * Threads  one owner of the writer at a time.
 */
#pragma once

#include <stddef.h>

#include "record/process/lineage.h"
#include "record/session/profile_writer.h"

/*
 * A program that may have lines in a directory.  Programs that a process executes one after the
 * other share pid and ticks.  Times are those of CLOCK_MONOTONIC in the boot of the program.
 */
struct gg_collections_program {
	uint32_t process;         /* id in the profile */
	uint32_t pid;             /* in its own namespace */
	uint64_t start_ticks;     /* 0: unknown */
	uint64_t region_ns;       /* the start of its region; 0: without a region */
	uint64_t from_ns, to_ns;  /* it ran in this time; to_ns: UINT64_MAX if that is unknown */
	uint64_t session_zero_ns; /* the session's start by this clock; it may have wrapped */
	int64_t owner;            /* of its region; -1: unknown */
};

/*
 * Reads the files of a directory for these programs, which are in the profile already.  *last_ns
 * becomes the session time of the last line if that is later; it may be NULL.  0, or the writer's
 * first failure.
 */
int gg_collections_write(struct gg_profile_writer *writer, int directory_fd,
                         const struct gg_collections_program *programs, size_t count,
                         int64_t *last_ns);

/* Reads the files of a directory for all processes of a session's profile. */
int gg_collections_write_session(struct gg_profile_writer *writer, int directory_fd,
                                 const struct gg_lineage *lineage);
