/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_alive - is the process that a region belongs to still there?
 *
 * A pid comes back; the pid and the moment of its start do not.  Processes of another pid namespace
 * have other pids here: theirs are looked up in vain, but they hold a lock on their region.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "region/layout.h"

/* `start_ticks` as in the region's header; 0: not known, so the pid alone decides. */
bool gg_process_alive(uint32_t pid, uint64_t start_ticks);

/* The process of an open region, or a forked child that goes on in it. */
bool gg_process_alive_region(const struct gg_region_header *header, int fd);

/*
 * The id that the process of an open region has here.  One of another pid namespace (a container that the
 * command started) is looked for by the moment of its start; its own id where it is not found.
 */
uint32_t gg_process_alive_pid_here(const struct gg_region_header *header, int fd);

/* The parent, 0 if it is not there. */
uint32_t gg_process_alive_parent(uint32_t pid);
