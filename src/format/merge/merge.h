/* SPDX-License-Identifier: Apache-2.0 */
/*
 * merge - adds up profiles of many processes or machines.
 *
 *   struct gg_merge *merge;
 *
 *   gg_profile_create_whole(&out, path, error);
 *   gg_merge_new(&merge, out, &options, error);
 *   gg_merge_add(merge, profile, error);           each; it may be closed then
 *   gg_merge_finish(merge, error);
 *   gg_merge_free(merge);
 *   gg_profile_finish(out, error);
 *
 * What is kept   For each stack, and each set of labels that processes have: what was live at the end of
 *                its session, what processes left at their exits, and what was allocated, with its error.  Times, threads and single samples are not.
 * Scaled first   Each sample is weighed by its own probability, each row of sums was; only then they add up.
 * Stacks         are the same where their frames are: by build-id and address, or, of modules without a
 *                build-id, by the names of functions, files and lines; without either by path and address.
 * Memory         150 bytes for each stack and set of labels, of at most ROWS_MAX at a time: when there are
 *                more they are written, and come twice in the file, which sums do not mind.  And 40 bytes
 *                for each different node of the tree of stacks.
 * Threads        one owner.
 */
#pragma once

#include "base/compiler.h"
#include "format/import/import.h"
#include "profile/profile.h"

struct gg_merge;

struct gg_merge_options {
	const struct gg_import_label *labels; /* that every process gets, over its own */
	size_t label_count;
	bool keep_hosts; /* where a profile was recorded becomes the label "host" */
};

GG_MUST_CHECK int gg_merge_new(struct gg_merge **ret_merge, struct gg_profile *out,
                               const struct gg_merge_options *options, struct gg_error *error);
GG_MUST_CHECK int gg_merge_add(struct gg_merge *merge, struct gg_profile *profile,
                               struct gg_error *error);
GG_MUST_CHECK int gg_merge_finish(struct gg_merge *merge, struct gg_error *error);
void gg_merge_free(struct gg_merge *merge); /* NULL is fine */
