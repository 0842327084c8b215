/* SPDX-License-Identifier: Apache-2.0 */
/*
 * adopt - makes the region that a forked child inherited one of its own.
 *
 *   if (gg_region_adopt(&region, &map, &options) < 0)
 *           ... the child records nothing ...
 *
 * The child has a copy of the parent's private memory, which is the exact state of the fork.  It
 * also has the parent's file, to which it must not write.  So it makes a new file from the private
 * memory.
 * Stacks, modules, names and threads keep their ids; the site totals start as what was live at the
 * fork.  The child does not see what the parent does later.
 */
#pragma once

#include "region/writer/region.h"

/*
 * One thread calls it in a forked child, while no other thread uses the region.  Afterwards all
 * threads must begin again.  If another process is forked from this one meanwhile, it adopts the
 * same state.  0, or an error of gg_region_init(): then nothing may be recorded, and
 * gg_live_maybe() says no.
 */
GG_MUST_CHECK int gg_region_adopt(struct gg_region *region, const struct gg_region_file *map,
                                  const struct gg_region_options *options);
