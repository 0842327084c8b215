/* SPDX-License-Identifier: Apache-2.0 */
/*
 * protections - the protections of all mappings at one moment, for many look-ups.
 *
 * Threads  each has its own; mappings that other threads make meanwhile may be missing.
 * Full     Mappings beyond the first MiB of /proc/self/maps are unknown.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gg_protections {
	struct gg_protection_range *ranges; /* by address; NULL: unknown */
	size_t count, bytes;
};

/* Without /proc or memory, nothing is known.  gg_protections_done() is due in each case. */
void gg_protections_read(struct gg_protections *ret_protections);
void gg_protections_done(struct gg_protections *protections);

/* False: the protection of the address is unknown, or it is not mapped. */
bool gg_protections_find(const struct gg_protections *protections, uint64_t address,
                         int *ret_protection);
