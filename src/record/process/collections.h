/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collections - what garbage collectors of the session's processes did, from their own lines.
 *
 * A runtime that reports its collections writes lines into a file of each process beside the
 * regions, "collections-PID" (bindings/python/geiger/_collections.py).  The recorder reads these
 * files when the recording ends, and so does a salvage of the regions.  Each line becomes an event
 * of the kind GG_PROFILE_COLLECTIONS.
 *
 * Hostile  every process of the session can write these files.  A line that is not exactly as
 *          expected ends the file, and so does COLLECTIONS_LINES_MAX.  Links and pipes are not
 *          read.
 * Threads  one owner of the writer at a time.
 */
#pragma once

#include "record/session/profile_writer.h"

/*
 * Reads the files of a directory.  The processes are in the profile already.  *last_ns becomes the
 * session time of the last line if that is later; it may be NULL.  0, or the writer's first
 * failure.
 */
int gg_collections_write(struct gg_profile_writer *writer, int directory_fd, int64_t *last_ns);
