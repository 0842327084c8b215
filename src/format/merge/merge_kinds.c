/* SPDX-License-Identifier: Apache-2.0 */
/* merge_kinds - finds equal allocation classes of several profiles by their names. */
#include "format/merge/merge_kinds.h"

#include <errno.h>

static int take_heap(uint32_t id, const char *name, void *context)
{
	struct gg_merge_kinds *kinds = context;

	if (!gg_array_extend(&kinds->heaps, (size_t)id + 1))
		return gg_error_memory(kinds->error, "merge");
	return gg_profile_intern_name(kinds->out, GG_NAME_HEAP, name != NULL ? name : "",
	                              &kinds->heaps.items[id], kinds->error);
}

static int take_type(uint32_t id, const char *name, void *context)
{
	struct gg_merge_kinds *kinds = context;

	if (!gg_array_extend(&kinds->types, (size_t)id + 1))
		return gg_error_memory(kinds->error, "merge");
	return gg_profile_intern_name(kinds->out, GG_NAME_TYPE, name != NULL ? name : "",
	                              &kinds->types.items[id], kinds->error);
}

int gg_merge_kinds_read(struct gg_merge_kinds *kinds, struct gg_profile *profile,
                        struct gg_error *error)
{
	int status;

	kinds->error = error;
	kinds->heaps.count = kinds->types.count = 0;
	status = gg_profile_each_name(profile, GG_NAME_HEAP, take_heap, kinds, error);
	return status == 0 ? gg_profile_each_name(profile, GG_NAME_TYPE, take_type, kinds, error)
	                   : status;
}

int gg_merge_kinds_number(struct gg_merge_kinds *kinds, bool is_mapping, uint32_t heap,
                          uint32_t type, uint32_t *ret_number)
{
	struct gg_merge_kind wanted = {
		.is_mapping = is_mapping,
		.heap = heap < kinds->heaps.count ? kinds->heaps.items[heap] : 0,
		.type = type < kinds->types.count ? kinds->types.items[type] : 0,
	};
	/* Ids are dense, and a profile has fewer than 2^31 heaps. */
	uint64_t key = (uint64_t)is_mapping << 63 | (uint64_t)wanted.heap << 32 | wanted.type;
	uint64_t found = gg_map_get(&kinds->numbers, key);
	struct gg_merge_kind *kept;

	if (found != GG_MAP_NONE) {
		*ret_number = (uint32_t)found;
		return 0;
	}
	kept = gg_array_add(&kinds->list);
	if (kept == NULL || gg_map_put(&kinds->numbers, key, kinds->list.count) < 0)
		return -ENOMEM;
	*kept = wanted;
	*ret_number = (uint32_t)kinds->list.count;
	return 0;
}

void gg_merge_kinds_done(struct gg_merge_kinds *kinds)
{
	gg_array_done(&kinds->list);
	gg_array_done(&kinds->heaps);
	gg_array_done(&kinds->types);
	gg_map_done(&kinds->numbers);
}
