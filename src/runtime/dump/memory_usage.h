/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_usage - reads from the kernel how much memory this process and its control group use.
 *
 * The functions do not allocate, are no cancellation points, and keep errno.  Cost: a few system
 * calls.
 */
#pragma once

#include <stdint.h>

/* The resident set size; 0: unknown. */
uint64_t gg_memory_usage_rss_bytes(void);

/*
 * Returns the usage of the control group in percent of its limit, which may exceed 100.  Each group
 * above it has a limit as well, and the largest percentage counts.  0: no group has a limit, or the
 * usage is unknown.  Works with versions 1 and 2.  `root` is the mount point of control groups,
 * /sys/fs/cgroup; `membership` is /proc/self/cgroup.
 */
uint32_t gg_memory_usage_cgroup_percent(const char *root, const char *membership);
