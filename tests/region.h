/* SPDX-License-Identifier: Apache-2.0 */
/* Small regions in memory files, for the tests of src/region. */
#pragma once

#include "region/reader/view.h"
#include "region/writer/adopt.h"
#include "region/writer/private_live_table.h"
#include "region/writer/record.h"
#include "region/writer/region.h"
#include "region/writer/stack_table.h"
#include "region/writer/validate.h"

/*
 * Capacities that a test can fill: slots 8, threads 16, stacks 256, live 512, rows 128, ring 64 ...
 */
void region_small_options(struct gg_region_options *options);

/* Makes a region in a memory file; prints why not. */
bool region_make(struct gg_region *region, const struct gg_region_options *options);

/* Reads it, as it is now.  False with a message if it is damaged or torn. */
bool region_view(const struct gg_region *region, struct gg_region_view *view);

/* Reads it and checks the equation.  False with a message. */
bool region_is_consistent(const struct gg_region *region);

/*
 * Checks a region that no thread is using right now: it is consistent, and its private state and
 * its file agree (gg_region_validate()).
 */
bool region_is_valid(const struct gg_region *region);

/* A sample of that address and size, drawn with 64 KiB; time and usable size follow from them. */
struct gg_allocation region_sample(uint64_t address, uint64_t size_bytes, uint32_t stack);

/* A small generator for tests (xorshift*); state != 0. */
uint64_t region_random(uint64_t *state);
