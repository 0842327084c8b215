/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_alive - tells if the process that a region belongs to still lives.
 *
 * The kernel reuses pids, but a pid together with the time of its start is unique.  Processes of
 * another pid namespace have other pids here, so a lookup by pid fails; but they hold a lock on
 * their region.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "region/layout.h"

/* `start_ticks` as in the region's header; 0: unknown, so the pid alone decides. */
bool gg_process_alive(uint32_t pid, uint64_t start_ticks);

/* True if the process of an open region lives, or a forked child that writes the same region. */
bool gg_process_alive_region(const struct gg_region_header *header, int fd);

enum gg_process_maps {
	GG_PROCESS_MAPS_IT,
	GG_PROCESS_MAPS_OTHERS, /* not this file */
	GG_PROCESS_MAPS_UNKNOWN
};

/*
 * Tells if the process has mapped the file.  It compares the inode only, because some file systems
 * (btrfs, overlayfs) report different devices in /proc/PID/maps and in stat().
 */
enum gg_process_maps gg_process_alive_maps(uint32_t pid, const struct stat *file);

/*
 * Returns the pid that the process of an open region has in the caller's namespace.  The time of
 * its start and its mapping of the region identify a process of another pid namespace (a container
 * that the command started); if the search fails, its own pid is returned.
 */
uint32_t gg_process_alive_pid_here(const struct gg_region_header *header, int fd);

/*
 * Returns the pid that the process has in its own namespace, by which its region is named; 0: there
 * is no such process, or the kernel does not tell.
 */
uint32_t gg_process_alive_innermost_pid(uint32_t pid);

/* Returns the start of the process as in the region's header; 0: there is no such process. */
uint64_t gg_process_alive_start_ticks(uint32_t pid);

/*
 * How long the machine was suspended at least, at a time of CLOCK_MONOTONIC when a process that
 * started so many ticks after the boot was there; 0: unknown.
 */
uint64_t gg_process_alive_suspended_ns(uint64_t start_ticks, uint64_t monotonic_ns);

/* A time that is known within bounds. */
struct gg_time_bounds {
	uint64_t least_ns, most_ns;
};

/*
 * The earliest and the latest start that the kernel can tell of a process that began between the
 * two times of CLOCK_MONOTONIC, in its ticks.  They include the time for which the machine had been
 * suspended when the process began.
 */
void gg_process_alive_ticks_between(struct gg_time_bounds start, struct gg_time_bounds suspended,
                                    uint64_t *ret_least, uint64_t *ret_most);

/*
 * Returns how a process ended whose parent has not waited for it yet, as waitpid() does; -1: its
 * parent has, it lives, or the caller may not know.
 */
int gg_process_alive_exit_status(uint32_t pid, uint64_t start_ticks);

/* Returns the pid of the parent; 0: there is no such process. */
uint32_t gg_process_alive_parent(uint32_t pid);
