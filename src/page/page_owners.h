/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_owners - the processes and threads that allocated, and the labels of processes.
 *
 * A cell has one number for its owner: the number of a process, or, after all processes, of a
 * thread.  If a page has no room for threads, processes are the owners, and their numbers do not
 * change.
 */
#pragma once

#include "base/json.h"
#include "page/page_run.h"

enum { GG_PAGE_LABELS_MAX = 32 }; /* the page shows only the first so many keys */

GG_MUST_CHECK int gg_page_owners_find(struct gg_page_run *run);
void gg_page_owners_done(struct gg_page_owners *owners);
uint32_t gg_page_owner_of(const struct gg_page_run *run, const struct gg_page_pick *pick);
/* Writes "processes", "threads" and "labels". */
GG_MUST_CHECK int gg_page_owners_write(struct gg_page_run *run, struct gg_json *json);
/* Lists the label keys in the order of their first use.  Returns their number. */
size_t gg_page_label_keys(const struct gg_model *model, const char **keys);
/* The name of a process; NULL: it has no name. */
const char *gg_page_process_name(const struct gg_profile_process *process);
