/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libc_data - a copy of the variables of another process's libc, for what glibc knows of itself.
 *
 *   struct gg_libc_data data;
 *
 *   status = gg_libc_data_read(&data, &map, &residency);
 *   for (size_t at = 0; at < data.count; at += 8)
 *           ... data.bytes + at ...
 *   gg_libc_data_done(&data);
 *
 * Pages that are not resident were never written; their bytes are 0 in the copy.
 *
 * Threads  one owner at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/look/memory_map.h"
#include "record/look/residency.h"

struct gg_libc_data {
	uint64_t begin; /* address of bytes[0] */
	size_t count;   /* 0: the process has no libc that is known */
	unsigned char *bytes;
};

/* Copies the data.  Returns 0, or a negative errno value with *ret empty. */
int gg_libc_data_read(struct gg_libc_data *ret, const struct gg_memory_map *map,
                      struct gg_residency *residency);

void gg_libc_data_done(struct gg_libc_data *data);
