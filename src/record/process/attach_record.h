/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attach_record - writes into the profile how the agent was attached to a process.
 *
 * Threads  one owner of the writer at a time.
 */
#pragma once

#include <stdint.h>

#include "record/session/profile_writer.h"
#include "region/layout.h"

/*
 * Writes what the region's header tells about the attach, and replaces what an earlier header told.
 * Does nothing for a process that was recorded from its start.  0, or the writer's first failure.
 */
int gg_attach_record_write(struct gg_profile_writer *writer, uint32_t process,
                           const struct gg_region_header *header);

/*
 * Returns how a process has ended whose agent noted an end: "exited", or "lived on" if that was a
 * detach.
 */
const char *gg_attach_record_ending(const struct gg_region_header *header);
