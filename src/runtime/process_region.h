/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_region - makes the region of this process: its name, its directory, its file.
 *
 * The region goes into GEIGER_DIR and nowhere else; a recorded session may have a second directory
 * (recorded_session.h).  Without GEIGER_DIR it goes into the first of /dev/shm, $TMPDIR and /tmp
 * that has room.
 *
 * Fork     A signal handler may fork while its thread makes a region, and the child may return from
 *          the handler.  The child must not continue in its parent's file, so it makes memory
 *          without a file instead, and a region of its own the next time it needs one.
 * Threads  one at a time: the thread that starts or adopts.  Its stack may be small.
 */
#pragma once

#include <stdbool.h>

#include "base/compiler.h"
#include "region/writer/region.h"

/* gg_region_init(), or gg_region_adopt() in a forked child. */
typedef int gg_process_region_make(struct gg_region *region, const struct gg_region_file *map,
                                   const struct gg_region_options *options);

/* Once, at the start: remembers $TMPDIR. */
void gg_process_region_remember_temporary(void);

/* Makes gg_process.region.  0 or -Exxx; then no file is left. */
GG_COLD int gg_process_region_open(gg_process_region_make *make);

/*
 * True if the failure is news.  The end of the recording, and a file that was cut short, are not.
 */
bool gg_process_region_is_reportable(int status);

/* Logs why there is no region. */
GG_COLD void gg_process_region_report(const char *what, int status);

/* Tells the recorder, if there is one, that this process has no region. */
GG_COLD void gg_process_region_count_missing(int status, bool is_forked);

/* In a child that returns into the code that writes or makes its parent's region: what it writes
 * there is no longer seen in the file. */
void gg_process_region_detach(void);
