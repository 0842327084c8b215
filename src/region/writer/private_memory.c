/* SPDX-License-Identifier: Apache-2.0 */
/* private_memory - maps the tables beside the file, and empties some of them in a forked child. */
#include "region/writer/private_memory.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/assert.h"

enum { LARGE_PAGE_BYTES = 64 * 1024 /* the largest pages of aarch64 */ };

/*
 * A part is an array, an index or the filter.  Its size follows from the capacity of one table.
 * `is_forgotten`: a forked child empties it, whatever another thread was doing to it at the fork.
 */
struct private_part {
	size_t member; /* offset of the pointer, index or filter in struct gg_region */
	enum gg_region_table_id table;
	enum private_part_type { ARRAY, INDEX, FILTER } type;
	uint32_t record_bytes;            /* of an array */
	enum gg_hash_index_growth growth; /* of an index */
	bool is_forgotten;
};

#define MEMBER(name)       offsetof(struct gg_region, name)
#define RECORD_BYTES(name) sizeof(*((struct gg_region *)NULL)->name)

/* The filter comes after the arrays that it points to. */
static const struct private_part parts[] = {
	{ MEMBER(records), GG_TABLE_LIVE, ARRAY, RECORD_BYTES(records), 0, false },
	{ MEMBER(homes), GG_TABLE_LIVE, ARRAY, RECORD_BYTES(homes), 0, true },
	{ MEMBER(filter), GG_TABLE_LIVE, FILTER, 0, 0, true },
	{ MEMBER(address_index), GG_TABLE_LIVE, INDEX, 0, GG_HASH_INDEX_TIGHT, true },
	/* forget_site_totals() clears the site total in a stack's word; the hash in it stays. */
	{ MEMBER(stack_words), GG_TABLE_STACKS, ARRAY, RECORD_BYTES(stack_words), 0, false },
	{ MEMBER(stack_index), GG_TABLE_STACKS, INDEX, 0, GG_HASH_INDEX_FLAT, false },
	{ MEMBER(site_keys), GG_TABLE_SITE_TOTALS, ARRAY, RECORD_BYTES(site_keys), 0, true },
	{ MEMBER(site_index), GG_TABLE_SITE_TOTALS, INDEX, 0, GG_HASH_INDEX_TIGHT, true },
	{ MEMBER(slot_owners), GG_TABLE_SLOTS, ARRAY, RECORD_BYTES(slot_owners), 0, true },
	{ MEMBER(frame_words), GG_TABLE_FRAMES, ARRAY, RECORD_BYTES(frame_words), 0, false },
	{ MEMBER(frame_index), GG_TABLE_FRAMES, INDEX, 0, GG_HASH_INDEX_FLAT, false },
};

/* Parts begin at whole pages, however large these are: madvise() rounds up what it wipes. */
static size_t to_large_page(size_t bytes)
{
	return (bytes + LARGE_PAGE_BYTES - 1) & ~(size_t)(LARGE_PAGE_BYTES - 1);
}

static size_t part_bytes(const struct private_part *part, uint64_t capacity)
{
	switch (part->type) {
	case INDEX:
		return gg_hash_index_bytes(capacity, part->growth);
	case FILTER:
		return gg_filter_bytes(capacity);
	case ARRAY:
	default:
		return capacity * part->record_bytes;
	}
}

size_t gg_region_private_bytes(const struct gg_region_options *options)
{
	size_t bytes = 0;

	for (size_t i = 0; i < GG_COUNT(parts); i++)
		bytes += to_large_page(part_bytes(&parts[i], options->capacities[parts[i].table]));
	return bytes;
}

static size_t bytes_of(const struct gg_region *region, const struct private_part *part)
{
	return part_bytes(part, region->tables[part->table].capacity);
}

/*
 * The address of a part follows from the sizes of those before it.  The pointer in the region would
 * be quicker, but another thread may have been setting it when this process was forked.
 */
static void *memory_of(const struct gg_region *region, const struct private_part *part)
{
	uint8_t *memory = region->memory;

	for (const struct private_part *before = parts; before < part; before++)
		memory += to_large_page(bytes_of(region, before));
	gg_assert(memory + bytes_of(region, part) <= region->memory + region->memory_bytes);
	return memory;
}

/* Sets the pointer to a part.  An index and the filter also have levels, which begin in it. */
static void init_part(struct gg_region *region, const struct private_part *part)
{
	uint64_t capacity = region->tables[part->table].capacity;
	uint8_t *member = (uint8_t *)region + part->member;
	void *memory = memory_of(region, part);

	if (part->type == ARRAY)
		memcpy(member, &memory, sizeof(memory));
	else if (part->type == INDEX)
		gg_hash_index_init((struct gg_hash_index *)(void *)member, memory, capacity,
		                   part->growth);
	else
		gg_filter_init(&region->filter, memory, capacity, region->homes,
		               &region->records[0].address,
		               sizeof(*region->records) / sizeof(uint64_t),
		               &region->tables[part->table].used_count);
}

/* A mapping of a region that was retired; base NULL: none. */
static struct {
	void *base;
	size_t bytes;
} retired;

static void *map_or_reuse(size_t bytes)
{
	void *memory = retired.base;

	if (memory != NULL && retired.bytes == bytes) {
		retired.base = NULL;
		return memory;
	}
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
	              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	/* Only the beginnings of the parts are in use, and a huge page for each of them would cost
	 * 2 MiB instead of a few KiB. */
	if (memory != MAP_FAILED)
		madvise(memory, bytes, MADV_NOHUGEPAGE);
	return memory;
}

int gg_region_private_map(struct gg_region *region, const struct gg_region_options *options)
{
	size_t bytes = gg_region_private_bytes(options);
	int saved_errno = errno;
	void *memory = map_or_reuse(bytes);

	errno = saved_errno;
	if (memory == MAP_FAILED)
		return -ENOMEM;
	region->memory = memory;
	region->memory_bytes = bytes;
	for (size_t i = 0; i < GG_COUNT(parts); i++) {
		gg_assert(options->capacities[parts[i].table] ==
		          region->tables[parts[i].table].capacity);
		init_part(region, &parts[i]);
	}
	return 0;
}

/* Makes a part all zero again, without touching pages that nobody has written. */
static void wipe(void *memory, size_t bytes)
{
	if (madvise(memory, to_large_page(bytes), MADV_DONTNEED) != 0)
		memset(memory, 0, bytes);
}

void gg_region_private_retire(struct gg_region *region)
{
	int saved_errno = errno;

	if (region->memory == NULL)
		return;
	wipe(region->memory, region->memory_bytes);
	errno = saved_errno;
	retired.base = region->memory;
	retired.bytes = region->memory_bytes;
	region->memory = NULL;
}

/* The new file has no site totals yet, and nobody owns one. */
static void forget_site_totals(struct gg_region *region)
{
	memset(region->site_owners, 0, sizeof(region->site_owners));
	for (uint32_t i = 0; i < region->tables[GG_TABLE_STACKS].used_count; i++)
		region->stack_words[i] &= ~(uint64_t)GG_REGION_STACK_TOTAL_MASK;
}

void gg_region_private_forget(struct gg_region *region)
{
	for (size_t i = 0; i < GG_COUNT(parts); i++) {
		if (parts[i].is_forgotten)
			wipe(memory_of(region, &parts[i]), bytes_of(region, &parts[i]));
	}
	forget_site_totals(region);
	region->free_head = 0;
	for (size_t i = 0; i < GG_COUNT(parts); i++)
		if (parts[i].is_forgotten)
			init_part(region, &parts[i]);
}
