/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unseen_children - forked children without a region, whose number the profile has.
 *
 * The counter "forked processes that were not noted" of a process tells how many of its children
 * may hold, until the end, what the process freed or left (profile/unseen_heirs.h).  The recorder
 * counts such children (process/idle_children.h), and so does a salvage (regions/noted_forks.h).
 *
 * Threads  one owner of the writer at a time.
 */
#pragma once

#include "record/process/lineage.h"
#include "record/session/profile_writer.h"
#include "region/session_files.h"

/* Writes how many such children the process has.  A failure stays in the writer. */
void gg_unseen_children_write(struct gg_profile_writer *writer,
                              const struct gg_lineage_process *process);

/*
 * Finds the earliest and the latest start, in ticks of the kernel, of the child that noted the
 * fork.  A process with the child's pid and another start is not the child.
 */
void gg_unseen_children_start(const struct gg_lineage *lineage, const struct gg_session_fork *fork,
                              uint64_t *ret_least, uint64_t *ret_most);
