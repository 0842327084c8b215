/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top_list - the processes that `geiger top` can show, with the live memory of each.
 *
 *   struct gg_top_list *list = gg_top_list_new();
 *
 *   if (gg_top_list_look(list, 0.95, false, &snapshot, error) == 0)
 *           ... snapshot->rows[i] has the live memory of snapshot->entries[i] ...
 *   gg_top_list_free(list);
 *
 * The list has the running processes of `geiger ls`, each with its current region.  On request it
 * also has the regions of processes that have ended, and all other processes of the user (for root:
 * of anybody).
 *
 * Live   The figure of `geiger report` at the same moment.
 * Cost   A look reads each region, and estimates those that changed since the last look.  There may
 *        be thousands of ended processes, so a look stops to estimate those after ENDED_NS; their
 *        live memory is unknown until a later look.
 * Threads  One owner at a time.
 */
#pragma once

#include "top/top_snapshot.h"

struct gg_top_list;

struct gg_top_list *gg_top_list_new(void);       /* NULL: out of memory */
void gg_top_list_free(struct gg_top_list *list); /* NULL is fine */

/*
 * Makes a snapshot with entries, which the caller frees.  Damaged regions are left out.  With `all`
 * the list has processes that have ended, or have no agent.
 */
GG_MUST_CHECK int gg_top_list_look(struct gg_top_list *list, double confidence, bool all,
                                   struct gg_top_snapshot **ret_snapshot, struct gg_error *error);
