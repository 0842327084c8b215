/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/intern.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "base/hash.h"

void gg_intern_done(struct gg_intern *intern)
{
	gg_map_done(&intern->map);
	gg_buf_done(&intern->bytes);
	gg_buf_done(&intern->ends);
	intern->count = 0;
}

struct interned_key {
	const struct gg_intern *intern;
	const void *bytes;
	size_t length;
};

static bool key_is_equal(uint64_t value, const void *context)
{
	const struct interned_key *key = context;
	const uint64_t *ends = (const uint64_t *)(const void *)key->intern->ends.data;
	uint64_t start = value > 0 ? ends[value - 1] : 0;

	return ends[value] - start == key->length &&
	       (key->length == 0 ||
	        memcmp(key->intern->bytes.data + start, key->bytes, key->length) == 0);
}

uint32_t gg_intern_find(struct gg_intern *intern, const void *key, size_t length)
{
	struct interned_key wanted = { intern, key, length };
	uint64_t hash = gg_hash_bytes(key, length, gg_map_seed(&intern->map));
	uint64_t value = gg_map_find(&intern->map, hash, key_is_equal, &wanted);

	gg_assert(value == GG_MAP_NONE || value < intern->count);
	return value != GG_MAP_NONE ? (uint32_t)value + 1 : 0;
}

int gg_intern_add(struct gg_intern *intern, const void *key, size_t length)
{
	uint64_t hash = gg_hash_bytes(key, length, gg_map_seed(&intern->map)), end;

	gg_assert(intern->ends.length == intern->count * sizeof(end));
	if (intern->count == UINT32_MAX)
		return -ENOSPC;
	if (!gg_buf_reserve(&intern->bytes, length) ||
	    !gg_buf_reserve(&intern->ends, sizeof(end)) ||
	    gg_map_insert(&intern->map, hash, intern->count) < 0)
		return -ENOMEM;
	gg_buf_append(&intern->bytes, key, length);
	end = intern->bytes.length;
	gg_buf_append(&intern->ends, &end, sizeof(end));
	intern->count++;
	return 0;
}
