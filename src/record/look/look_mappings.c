/* SPDX-License-Identifier: Apache-2.0 */
/*
 * look_mappings - groups mappings by kind and name, and keeps the largest groups
 * (look/look_mappings.h).
 */
#include "record/look/look_mappings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/hash.h"

/*
 * Names of heaps tell nothing that their kind does not, and the names of stacks have a thread's
 * number.
 */
static bool is_kind_named(enum gg_mapping_kind kind)
{
	return kind == GG_MAPPING_NAMED || kind == GG_MAPPING_DATA || kind == GG_MAPPING_FILE ||
	       kind == GG_MAPPING_SHARED;
}

static void add_part(struct gg_smaps_part *sum, const struct gg_smaps_part *part)
{
	sum->mapping_count += part->mapping_count;
	sum->size_bytes += part->size_bytes;
	sum->rss_bytes += part->rss_bytes;
	sum->pss_bytes += part->pss_bytes;
	sum->swap_bytes += part->swap_bytes;
	sum->lazy_free_bytes += part->lazy_free_bytes;
	sum->huge_bytes += part->huge_bytes;
}

void gg_look_mappings_visit(enum gg_mapping_kind kind, const char *name, size_t name_bytes,
                            const struct gg_smaps_part *part, void *context)
{
	struct gg_look_mappings *mappings = context;
	struct gg_look_name *added;
	uint64_t key, index;

	if (!is_kind_named(kind))
		name_bytes = kind == GG_MAPPING_STACK && name_bytes == 7 ? name_bytes : 0;
	/* Names with one hash would share a record.  That hides a name, but no byte. */
	key = gg_hash_bytes(name, name_bytes, 0) * GG_MAPPING_KIND_COUNT + (uint64_t)kind;
	index = gg_map_get(&mappings->by_name, key);
	if (index != GG_MAP_NONE) {
		add_part(&mappings->list.items[index].part, part);
		return;
	}
	if (!gg_array_reserve(&mappings->list, mappings->list.count + 1) ||
	    gg_map_put(&mappings->by_name, key, mappings->list.count) < 0) {
		mappings->is_full = true;
		return;
	}
	added = gg_array_add(&mappings->list);
	*added = (struct gg_look_name){ kind, mappings->names.length, name_bytes, *part };
	gg_buf_append(&mappings->names, name, name_bytes);
	mappings->is_full |= mappings->names.length != added->offset + name_bytes;
}

/* Orders by kind; in each kind the groups without a name are last, others by descending RSS. */
static int compare_groups(const void *a, const void *b)
{
	const struct gg_look_name *left = a, *right = b;

	if (left->kind != right->kind)
		return left->kind < right->kind ? -1 : 1;
	if ((left->bytes == 0) != (right->bytes == 0))
		return left->bytes == 0 ? 1 : -1;
	if (left->part.rss_bytes != right->part.rss_bytes)
		return left->part.rss_bytes > right->part.rss_bytes ? -1 : 1;
	return left->offset < right->offset ? -1 : left->offset > right->offset;
}

static struct gg_profile_look_mapping record_of(const struct gg_look_name *group, const char *name)
{
	const struct gg_smaps_part *part = &group->part;

	return (struct gg_profile_look_mapping){
		.kind = (uint32_t)group->kind,
		.name = name,
		.mapping_count = part->mapping_count,
		.size_bytes = part->size_bytes,
		.rss_bytes = part->rss_bytes,
		.pss_bytes = part->pss_bytes,
		.swap_bytes = part->swap_bytes,
		.lazy_free_bytes = part->lazy_free_bytes,
		.huge_bytes = part->huge_bytes,
	};
}

/* Joins the groups of a kind beyond GG_LOOK_NAMES_MAX; returns the new count of groups. */
static size_t join_small(struct gg_look_name *groups, size_t count)
{
	size_t kept = 0, in_kind = 0;

	for (size_t i = 0; i < count; i++) {
		bool is_same = kept > 0 && groups[kept - 1].kind == groups[i].kind;

		in_kind = is_same ? in_kind : 0;
		if (is_same && groups[kept - 1].bytes == 0) {
			add_part(&groups[kept - 1].part, &groups[i].part);
			continue;
		}
		groups[kept] = groups[i];
		if (in_kind >= GG_LOOK_NAMES_MAX)
			groups[kept].bytes = 0;
		in_kind++;
		kept++;
	}
	return kept;
}

int gg_look_mappings_take(struct gg_look_mappings *mappings, struct gg_look_records *ret_records)
{
	struct gg_look_name *groups = mappings->list.items;
	size_t count = mappings->list.count, bytes = 0;
	char *names;

	*ret_records = (struct gg_look_records){ 0 };
	if (mappings->is_full)
		return -ENOMEM;
	if (count > 0)
		qsort(groups, count, sizeof(*groups), compare_groups);
	count = join_small(groups, count);
	for (size_t i = 0; i < count; i++)
		bytes += groups[i].bytes + 1;
	/* The records point into the names, which must not move any more. */
	if (!gg_buf_reserve(&ret_records->names, bytes) ||
	    !gg_array_reserve(&ret_records->list, count))
		return -ENOMEM;
	names = ret_records->names.data;
	for (size_t i = 0; i < count; i++) {
		const char *name = NULL;

		if (groups[i].bytes > 0) {
			name = memcpy(names, mappings->names.data + groups[i].offset,
			              groups[i].bytes);
			names += groups[i].bytes;
			*names++ = '\0';
		}
		*gg_array_add(&ret_records->list) = record_of(&groups[i], name);
	}
	return 0;
}

void gg_look_mappings_done(struct gg_look_mappings *mappings)
{
	gg_array_done(&mappings->list);
	gg_map_done(&mappings->by_name);
	gg_buf_done(&mappings->names);
}

void gg_look_records_done(struct gg_look_records *records)
{
	gg_array_done(&records->list);
	gg_buf_done(&records->names);
}
