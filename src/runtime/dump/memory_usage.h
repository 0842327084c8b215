/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_usage - reads from the kernel how much memory this process and its control group use.
 *
 * Neither allocates nor is a cancellation point; errno is kept.  Cost: a few system calls.
 */
#pragma once

#include <stdint.h>

/* The resident set size; 0: unknown. */
uint64_t gg_memory_usage_rss_bytes(void);

/*
 * The usage of the control group in percent of its limit, from 0 to 100 and more: the largest of
 * the group's and of all groups above it.  0: there is no limit, or it is unknown.  Versions 1 and
 * 2. `root` is where control groups are mounted, /sys/fs/cgroup; `membership` is /proc/self/cgroup.
 */
uint32_t gg_memory_usage_cgroup_percent(const char *root, const char *membership);
