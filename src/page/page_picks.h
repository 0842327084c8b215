/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_picks - the samples and sums of a profile with their owners and times.
 *
 * A block that several processes share after a fork is one pick, and one more pick for each of its
 * holders.
 */
#pragma once

#include "page/page_run.h"

/* Collects all samples and sums into `picks` and `held` of the run, and finds the owners. */
GG_MUST_CHECK int gg_page_collect(struct gg_page_run *run);
void gg_page_collect_done(struct gg_page_run *run);
