/* SPDX-License-Identifier: Apache-2.0 */
/*
 * private_memory - the tables beside the file, which only the profiled program sees.
 *
 *   status = gg_region_private_map(region, options);
 *
 * One anonymous mapping holds all parts: the live samples, the indexes, the filter and the words of
 * stacks and site totals.  private_memory.c lists them in one table.  The mapping is sparse, so a
 * part costs memory only as far as it is in use.
 *
 * A forked child has a copy of all parts.  It keeps what is still true (live samples, hashes of
 * stacks), and forgets the parts that describe the parent's threads or file.
 *
 * Threads   one, while no other thread uses the region.
 */
#pragma once

#include "region/writer/region.h"

/* Maps the parts, all zero.  0 or -ENOMEM.  errno is kept. */
GG_MUST_CHECK int gg_region_private_map(struct gg_region *region,
                                        const struct gg_region_options *options);

/*
 * Empties the whole mapping and keeps it for the next gg_region_private_map() of the same size.  It
 * is never unmapped: a thread may have loaded the filter's view, and may ask the cells much later.
 * They answer "no" from now on.
 */
void gg_region_private_retire(struct gg_region *region);

/* Empties the parts that a forked child builds again. */
void gg_region_private_forget(struct gg_region *region);
