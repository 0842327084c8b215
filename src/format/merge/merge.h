/* SPDX-License-Identifier: Apache-2.0 */
/*
 * merge - adds up profiles of many processes or machines.
 *
 *   struct gg_merge *merge;
 *
 *   gg_profile_create_whole(&out, path, error);
 *   gg_merge_new(&merge, out, &options, error);
 *   gg_merge_add(merge, profile, error);    for each profile, which may be closed afterwards
 *   gg_merge_finish(merge, error);
 *   gg_merge_free(merge);
 *   gg_profile_finish(out, error);
 *
 * Contents      For each stack and each set of process labels, the result has three sums with their
 *               errors: the memory live at the end of its session, the memory left by processes
 *               that exited, and the allocated memory.  It has no times, threads or single samples.
 *               Only what garbage collectors did stays a list by time, of each process by itself.
 *               Looks belong to processes and samples, so they are left out, and a note says so.
 *               So are attaches; a note says how much was in use at them.
 * Scaled first  Each sample is weighted by its own probability, and each aggregate is already
 *               weighted.  Only then do they add up.
 * Stacks        are equal if their frames are.  A frame is identified by build-id and address.
 *               Without a build-id, the names of functions, files and lines identify it; without
 *               names, path and address do.
 * Memory        150 bytes for each pair of stack and label set, and 32 bytes for each sample of the
 *               profile that is being read.  When there are GG_MERGE_ROWS_MAX pairs, they are
 *               written before the next profile is read, and may occur twice in the file, which
 *               does not change sums.  Each distinct node of the tree of stacks takes 40 bytes.
 * Threads       one owner.
 */
#pragma once

#include "base/compiler.h"
#include "format/import/import.h"
#include "profile/profile.h"

struct gg_merge;

struct gg_merge_options {
	const struct gg_import_label *labels; /* for every process; they override its own labels */
	size_t label_count;
	bool keep_hosts; /* add the recording machine as the label "host" */
};

GG_MUST_CHECK int gg_merge_new(struct gg_merge **ret_merge, struct gg_profile *out,
                               const struct gg_merge_options *options, struct gg_error *error);
GG_MUST_CHECK int gg_merge_add(struct gg_merge *merge, struct gg_profile *profile,
                               struct gg_error *error);
GG_MUST_CHECK int gg_merge_finish(struct gg_merge *merge, struct gg_error *error);
void gg_merge_free(struct gg_merge *merge); /* NULL is fine */
