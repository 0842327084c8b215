/* SPDX-License-Identifier: Apache-2.0 */
/*
 * merge_kinds - numbers for the allocation classes of merged profiles.
 *
 *   struct gg_merge_kinds kinds = { .out = out };
 *
 *   gg_merge_kinds_read(&kinds, profile, error);                       each profile
 *   gg_merge_kinds_number(&kinds, is_mapping, heap, type, &number);    ids of that profile
 *   gg_merge_kinds_done(&kinds);
 *
 * Equal names of heaps and types are one class, whichever profile they come from.
 *
 * Threads  one owner.
 */
#pragma once

#include "base/array.h"
#include "base/map.h"
#include "profile/profile.h"

struct gg_merge_kind {
	bool is_mapping;
	uint32_t heap, type; /* ids of `out`; 0: none */
};

struct gg_merge_kinds {
	struct gg_profile *out;
	GG_ARRAY(struct gg_merge_kind) list; /* number - 1 */
	struct gg_map numbers;
	/* By id of the profile that is being added: the id of `out`. */
	GG_ARRAY(uint32_t) heaps, types;
	struct gg_error *error;
};

/* Reads the names of a profile.  -ENOMEM, or the error of its reader. */
GG_MUST_CHECK int gg_merge_kinds_read(struct gg_merge_kinds *kinds, struct gg_profile *profile,
                                      struct gg_error *error);
/* Numbers begin with 1; 0 stands for a class that nobody knows.  -ENOMEM. */
GG_MUST_CHECK int gg_merge_kinds_number(struct gg_merge_kinds *kinds, bool is_mapping,
                                        uint32_t heap, uint32_t type, uint32_t *ret_number);
void gg_merge_kinds_done(struct gg_merge_kinds *kinds);
