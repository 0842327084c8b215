/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_usage - how much memory this process and its control group have, as the kernel counts.
 *
 * Neither allocates nor is a cancellation point; errno is kept.  Cost: a few system calls.
 */
#pragma once

#include <stdint.h>

/* Resident; 0: not known. */
uint64_t gg_memory_usage_rss_bytes(void);

/*
 * What the control group has of its limit, in percent, 0 to 100 and more; of those above it, too: the
 * largest.  0: there is no limit, or it cannot be told.  Version 2 and 1 of control groups.
 * root: where they are mounted, /sys/fs/cgroup; membership: /proc/self/cgroup.
 */
uint32_t gg_memory_usage_cgroup_percent(const char *root, const char *membership);
