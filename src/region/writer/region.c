/* SPDX-License-Identifier: Apache-2.0 */
#include "region/writer/region.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/hash.h"
#include "region/writer/record.h"

enum {
	STEP_BYTES = 64 * 1024, /* least space asked for at once, once a table has as much */
	STEP_SHARE = 4,         /* ... and this part of what a table has */
	STEP_BYTES_MAX = 4 * 1024 * 1024,
	FIRST_LIVE_BYTES = 8 * 1024,  /* where a sandbox gives no more, so many samples are kept */
	LARGE_PAGE_BYTES = 64 * 1024, /* the largest of aarch64 */
	PRIVATE_PARTS_MAX = 16,
	FIT_LEAST = 256, /* records: with fewer a table is of no use */
	ASK_AGAIN = 1024 /* after a disk was full, every so many tries */
};

/* Least and most: ids must fit their fields.  `first_count`: records with a meaning of their own. */
static const struct {
	uint32_t least, standard, most, first_count;
} capacities[GG_TABLE_COUNT] = {
	[GG_TABLE_SLOTS] = { 1, 16384, 65535, 0 },
	[GG_TABLE_THREADS] = { 1, 4096, 65535, 1 },
	[GG_TABLE_MODULES] = { 1, 16384, 65535, 0 },
	[GG_TABLE_HEAPS] = { 1, 256, 65535, 1 },
	[GG_TABLE_TYPES] = { 1, 16384, 65535, 1 },
	[GG_TABLE_STRINGS] = { 1, 4 << 20, 1 << 28, 0 },
	[GG_TABLE_STACKS] = { GG_STACK_FIRST, 1 << 20, 1 << 26, GG_STACK_FIRST },
	[GG_TABLE_LIVE] = { 1, 1 << 20, 1 << 26, 0 },
	[GG_TABLE_ROWS] = { 1, 1 << 18, 1 << 24, 1 },
	[GG_TABLE_RING] = { 1, 4096, 1 << 24, 0 },
	[GG_TABLE_FRAMES] = { 1, 1 << 16, 1 << 24, 1 },
};

void gg_region_options_default(struct gg_region_options *options)
{
	*options = (struct gg_region_options){ .max_frames = 512,
		                               .active = true,
		                               .interval_bytes = 512 * 1024 };
	for (int i = 0; i < GG_TABLE_COUNT; i++)
		options->capacities[i] = capacities[i].standard;
}

static uint64_t to_page(uint64_t bytes)
{
	return (bytes + GG_REGION_PAGE_BYTES - 1) & ~(uint64_t)(GG_REGION_PAGE_BYTES - 1);
}

static uint64_t table_bytes(const struct gg_region_options *options, int table)
{
	return (uint64_t)options->capacities[table] * gg_region_record_bytes[table];
}

uint64_t gg_listed_region_bytes(const struct gg_region_options *options)
{
	uint64_t bytes = GG_REGION_PAGE_BYTES;

	for (int i = 0; i < GG_TABLE_COUNT; i++) {
		uint32_t capacity = options->capacities[i];

		if (capacity < capacities[i].least || capacity > capacities[i].most)
			return 0;
		bytes += to_page(table_bytes(options, i));
	}
	if ((options->capacities[GG_TABLE_RING] & (options->capacities[GG_TABLE_RING] - 1)) != 0)
		return 0;
	return bytes;
}

static void raise(uint64_t *word, uint64_t value)
{
	uint64_t seen = gg_load_relaxed(word);

	while (seen < value && !gg_cas_acq_rel(word, &seen, value))
		;
}

/* A small table doubles; a large one grows by a part. */
static uint64_t step_after(uint64_t have)
{
	uint64_t step = have / STEP_SHARE;

	if (step < STEP_BYTES)
		step = have < STEP_BYTES ? have : STEP_BYTES;
	return step < STEP_BYTES_MAX ? step : STEP_BYTES_MAX;
}

/*
 * Space for the table's bytes [0, wanted) and some more.  False: there is none, or not now.
 * One thread asks ahead of the need, and the others go on.  If it does not run for a while, they use
 * up what there is, and then ask themselves (`needed`): space that is given twice does no harm.
 */
static bool grow(struct gg_region *region, struct gg_region_space *table, uint64_t wanted,
                 bool needed)
{
	uint64_t all = (uint64_t)table->capacity * table->record_bytes;
	uint64_t have = gg_load_acquire(&table->reserved_bytes), target;
	bool is_first, done;

	if (wanted <= have)
		return true;
	/* A full disk is not asked at every sample. */
	if (gg_load_relaxed(&table->failure_count) > 0 &&
	    gg_add_relaxed(&table->asked_in_vain, 1) % ASK_AGAIN != ASK_AGAIN - 1)
		return false;
	is_first = gg_exchange_acq_rel(&table->growing, 1) == 0;
	if (!is_first && !needed)
		return false;
	have = gg_load_acquire(&table->reserved_bytes);
	target = to_page((wanted > have ? wanted : have) + step_after(have));
	if (table == &region->tables[GG_TABLE_LIVE] && target < FIRST_LIVE_BYTES)
		target = FIRST_LIVE_BYTES;
	target = target < to_page(all) ? target : to_page(all);
	done = target <= have ||
	       gg_region_file_reserve(&region->map, table->offset + have, target - have) == 0;
	if (done) {
		raise(&table->reserved_bytes, target);
	} else {
		gg_add_relaxed(&table->failure_count, 1);
		gg_region_count(region, GG_COUNT_GROW_FAILED, 1);
	}
	if (is_first)
		gg_store_release(&table->growing, 0);
	return done;
}

bool gg_region_reach(struct gg_region *region, enum gg_region_table_id id, uint32_t count)
{
	struct gg_region_space *table = &region->tables[id];

	return grow(region, table, (uint64_t)count * table->record_bytes, true);
}

uint32_t gg_region_take_run(struct gg_region *region, enum gg_region_table_id id, uint32_t count)
{
	struct gg_region_space *table = &region->tables[id];
	uint32_t used = gg_load_relaxed(&table->used_count);
	uint64_t all = (uint64_t)table->capacity * table->record_bytes, have, end, ahead;

	do {
		if (count > table->capacity - used)
			return GG_INDEX_NONE;
		end = (uint64_t)(used + count) * table->record_bytes;
		have = gg_load_acquire(&table->reserved_bytes);
		/* Half a step ahead, so that others seldom find too little while one asks. */
		ahead = end + (have < STEP_BYTES ? have : STEP_BYTES) / 2;
		if (gg_unlikely(ahead > have))
			grow(region, table, ahead < all ? ahead : all, false);
		if (gg_unlikely(end > gg_load_acquire(&table->reserved_bytes)) &&
		    !grow(region, table, end, true))
			return GG_INDEX_NONE;
		/* In one order with the filter's sizes: start_growing(). */
	} while (!gg_cas_seq_cst(&table->used_count, &used, used + count));
	/* Before any use of the record: a reader looks at used_count records, and finds those that
	 * an announcement names. */
	raise(table->mirror, used + count);
	return used;
}

uint32_t gg_region_take(struct gg_region *region, enum gg_region_table_id id)
{
	return gg_region_take_run(region, id, 1);
}

void gg_region_show(struct gg_region *region, enum gg_region_table_id id, uint32_t index)
{
	raise(region->tables[id].mirror, (uint64_t)index + 1);
}

/* Sets the header but its magic; the tables are empty. */
static void write_header(struct gg_region *region, const struct gg_region_options *options)
{
	struct gg_region_header *header = region->header;
	uint64_t offset = GG_REGION_PAGE_BYTES;

	*header = (struct gg_region_header){
		.version = GG_REGION_VERSION,
		.header_bytes = sizeof(*header),
		.file_bytes = region->map.bytes,
		.pid = options->pid,
		.parent_pid = options->parent_pid,
		.start_monotonic_ns = gg_clock_monotonic_ns(),
		.start_wall_ns = gg_clock_wall_ns(),
		.process_start_ticks = options->process_start_ticks,
		.max_frames = options->max_frames,
		.control = { .change_count = 1,
		             .interval_bytes = options->interval_bytes,
		             .active = options->active },
	};
	header->command_bytes = options->command_bytes < GG_REGION_COMMAND_MAX
	                                ? options->command_bytes
	                                : GG_REGION_COMMAND_MAX;
	header->exe_bytes = options->exe_bytes < GG_REGION_EXE_MAX ? options->exe_bytes
	                                                           : GG_REGION_EXE_MAX;
	header->options_bytes = options->options_bytes < GG_REGION_OPTIONS_MAX
	                                ? options->options_bytes
	                                : GG_REGION_OPTIONS_MAX;
	if (options->command != NULL)
		memcpy(header->command, options->command, header->command_bytes);
	if (options->exe != NULL)
		memcpy(header->exe, options->exe, header->exe_bytes);
	if (options->options != NULL)
		memcpy(header->options, options->options, header->options_bytes);
	for (int i = 0; i < GG_TABLE_COUNT; i++) {
		*gg_region_table_of(header, i) = (struct gg_region_table){
			.offset = offset,
			.record_bytes = gg_region_record_bytes[i],
			.capacity = options->capacities[i],
			.used_count = capacities[i].first_count,
		};
		region->tables[i] = (struct gg_region_space){
			.base = region->map.base + offset,
			.offset = offset,
			.record_bytes = gg_region_record_bytes[i],
			.capacity = options->capacities[i],
			.used_count = capacities[i].first_count,
			.mirror = &gg_region_table_of(header, i)->used_count,
		};
		offset += to_page(table_bytes(options, i));
	}
}

/*
 * The records with a meaning of their own are zero, as space is that nobody has asked for; but row 0 says
 * that it is the row of stacks without a place, in thread 0.  Threads that do this at once store the same.
 */
bool gg_region_open(struct gg_region *region)
{
	struct gg_region_row *row = gg_region_at(region, GG_TABLE_ROWS, 0);

	/* Acquire: pairs with the release below, so row 0 is there. */
	if (gg_likely(gg_load_acquire(&region->is_open) != 0))
		return true;
	if (!gg_region_reach(region, GG_TABLE_ROWS, 1))
		return false;
	gg_store_relaxed(&row->stack, (uint32_t)GG_STACK_OVERFLOW);
	gg_store_release(&row->ready, 1);
	gg_store_relaxed(&region->row_keys[0].stack, (uint32_t)GG_STACK_OVERFLOW);
	gg_store_relaxed(&region->stack_words[GG_STACK_OVERFLOW], 1);
	gg_store_release(&region->is_open, 1);
	return true;
}

/* Maps the file's part of the region: header, tables. */
static int init_shared(struct gg_region *region, const struct gg_region_file *map,
                       const struct gg_region_options *options)
{
	uint64_t bytes = gg_listed_region_bytes(options);
	int status;

	if (bytes == 0 || map->base == NULL || map->bytes < bytes)
		return -EINVAL;
	/* That is told; what is full later is counted. */
	if (map->is_full)
		return -ENOSPC;
	region->map = *map;
	status = gg_region_file_reserve(&region->map, 0, GG_REGION_PAGE_BYTES);
	if (status < 0)
		return status;
	region->header = (struct gg_region_header *)map->base;
	write_header(region, options);
	return 0;
}

/* Whole pages, however large they are: the system rounds up what it is told to wipe. */
static size_t to_large_page(size_t bytes)
{
	return (bytes + LARGE_PAGE_BYTES - 1) & ~(size_t)(LARGE_PAGE_BYTES - 1);
}

/* Cuts the next part off the private mapping, for wipe(). */
static void *cut(uint8_t **next, size_t bytes)
{
	void *part = *next;

	*next += to_large_page(bytes);
	return part;
}

/* Makes a part all zero again, without touching what never was anything else. */
static void wipe(void *part, size_t bytes)
{
	if (madvise(part, to_large_page(bytes), MADV_DONTNEED) != 0)
		memset(part, 0, bytes);
}

static void init_live(struct gg_region *region, uint64_t live)
{
	gg_index_init(&region->live_index, region->live_index.levels[0], live, GG_INDEX_TIGHT);
	gg_filter_init(&region->filter, region->filter.memory, live, region->homes,
	               &region->records[0].address, sizeof(*region->records) / sizeof(uint64_t),
	               &region->tables[GG_TABLE_LIVE].used_count);
}

size_t gg_region_private_bytes(const struct gg_region_options *options)
{
	const struct gg_region *region = NULL; /* for sizes alone */
	uint64_t live = options->capacities[GG_TABLE_LIVE];
	uint64_t stacks = options->capacities[GG_TABLE_STACKS];
	uint64_t rows = options->capacities[GG_TABLE_ROWS];
	uint64_t slots = options->capacities[GG_TABLE_SLOTS];
	uint64_t frames = options->capacities[GG_TABLE_FRAMES];

	return live * (sizeof(*region->records) + sizeof(*region->homes)) +
	       stacks * sizeof(*region->stack_words) + rows * sizeof(*region->row_keys) +
	       slots * sizeof(*region->slot_owners) + gg_index_bytes(live, GG_INDEX_TIGHT) +
	       gg_index_bytes(stacks, GG_INDEX_FLAT) + gg_index_bytes(rows, GG_INDEX_TIGHT) +
	       frames * sizeof(*region->frame_words) + gg_index_bytes(frames, GG_INDEX_FLAT) +
	       gg_filter_bytes(live) + (size_t)PRIVATE_PARTS_MAX * LARGE_PAGE_BYTES;
}

void gg_region_options_fit(struct gg_region_options *options, uint64_t bytes)
{
	bool can_shrink = true;

	while (can_shrink &&
	       gg_listed_region_bytes(options) + gg_region_private_bytes(options) > bytes) {
		can_shrink = false;
		for (int i = 0; i < GG_TABLE_COUNT; i++) {
			if (options->capacities[i] / 2 < FIT_LEAST)
				continue;
			options->capacities[i] /= 2;
			can_shrink = true;
		}
	}
}

static int init_private(struct gg_region *region, const struct gg_region_options *options)
{
	uint64_t live = options->capacities[GG_TABLE_LIVE];
	uint64_t stacks = options->capacities[GG_TABLE_STACKS];
	uint64_t rows = options->capacities[GG_TABLE_ROWS];
	uint64_t slots = options->capacities[GG_TABLE_SLOTS];
	uint64_t frames = options->capacities[GG_TABLE_FRAMES];
	size_t bytes = gg_region_private_bytes(options);
	int saved_errno = errno;
	uint8_t *next = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
	                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	/* Tables are sparse: a huge page for each of their beginnings would be 2 MiB for some KiB. */
	if (next != MAP_FAILED)
		madvise(next, bytes, MADV_NOHUGEPAGE);
	errno = saved_errno;
	if (next == MAP_FAILED)
		return -ENOMEM;
	region->memory = next;
	region->memory_bytes = bytes;
	region->records = cut(&next, live * sizeof(*region->records));
	region->homes = cut(&next, live * sizeof(*region->homes));
	region->stack_words = cut(&next, stacks * sizeof(*region->stack_words));
	region->row_keys = cut(&next, rows * sizeof(*region->row_keys));
	region->slot_owners = cut(&next, slots * sizeof(*region->slot_owners));
	region->live_index.levels[0] = cut(&next, gg_index_bytes(live, GG_INDEX_TIGHT));
	region->filter.memory = cut(&next, gg_filter_bytes(live));
	init_live(region, live);
	gg_index_init(&region->stack_index, cut(&next, gg_index_bytes(stacks, GG_INDEX_FLAT)),
	              stacks, GG_INDEX_FLAT);
	gg_index_init(&region->row_index, cut(&next, gg_index_bytes(rows, GG_INDEX_TIGHT)), rows,
	              GG_INDEX_TIGHT);
	region->frame_words = cut(&next, frames * sizeof(*region->frame_words));
	gg_index_init(&region->frame_index, cut(&next, gg_index_bytes(frames, GG_INDEX_FLAT)),
	              frames, GG_INDEX_FLAT);
	return 0;
}

int gg_region_init(struct gg_region *region, const struct gg_region_file *map,
                   const struct gg_region_options *options)
{
	int status;

	/* Other threads may ask the view meanwhile: it is never nothing. */
	_Static_assert(offsetof(struct gg_region, filter.view) == 0, "the rest follows");
	GG_REGION_INIT_VIEW(region);
	memset((uint8_t *)region + sizeof(region->filter.view), 0,
	       sizeof(*region) - sizeof(region->filter.view));
	region->next_id = 1;
	region->max_frames = options->max_frames;
	region->hash_seed = options->hash_seed != 0 ? options->hash_seed : gg_hash_random_seed();
	status = init_shared(region, map, options);
	if (status == 0)
		status = init_private(region, options);
	if (status < 0)
		return status;
	/* A reader that sees the magic sees the header. */
	gg_store_release(&region->header->magic, GG_REGION_MAGIC);
	return 0;
}

void gg_region_end(struct gg_region *region, uint64_t now_ns)
{
	gg_store_release(&region->header->end_monotonic_ns, now_ns);
}

void gg_region_done(struct gg_region *region, bool remove_file)
{
	if (region->memory != NULL)
		munmap(region->memory, region->memory_bytes);
	gg_region_file_done(&region->map, remove_file);
	*region = (struct gg_region){ 0 };
	GG_REGION_INIT_VIEW(region);
}

/* The inherited table's records, with their ids.  They only grow, and what is ready stays so. */
static int copy_table(struct gg_region *region, const struct gg_region_inherited *inherited,
                      enum gg_region_table_id id)
{
	uint32_t count = inherited->tables[id].used_count, first_count = capacities[id].first_count;

	/* Those with a meaning of their own are there. */
	if (count <= first_count)
		return 0;
	if (gg_region_take_run(region, id, count - first_count) == GG_INDEX_NONE)
		return -ENOSPC;
	memcpy(region->tables[id].base, inherited->tables[id].base,
	       (size_t)count * region->tables[id].record_bytes);
	return 0;
}

static int copy_tables(struct gg_region *region, const struct gg_region_inherited *inherited)
{
	static const enum gg_region_table_id copied[] = {
		GG_TABLE_THREADS, GG_TABLE_HEAPS,   GG_TABLE_TYPES,  GG_TABLE_STACKS,
		GG_TABLE_MODULES, GG_TABLE_STRINGS, GG_TABLE_FRAMES,
	};
	uint64_t now_ns = gg_clock_monotonic_ns();
	int status = 0;

	for (size_t i = 0; status == 0 && i < GG_COUNT(copied); i++)
		status = copy_table(region, inherited, copied[i]);
	/* None of those threads runs here. */
	for (uint32_t i = 1; status == 0 && i < region->tables[GG_TABLE_THREADS].used_count; i++) {
		struct gg_region_thread_row *row = gg_region_at(region, GG_TABLE_THREADS, i);

		row->end_ns = row->end_ns == 0 ? now_ns : row->end_ns;
	}
	return status;
}

/* Private tables that begin anew, whatever another thread was doing to them at the fork. */
static void forget(struct gg_region *region)
{
	uint64_t live = region->tables[GG_TABLE_LIVE].capacity;
	uint64_t rows = region->tables[GG_TABLE_ROWS].capacity;

	wipe(region->live_index.levels[0], gg_index_bytes(live, GG_INDEX_TIGHT));
	wipe(region->filter.memory, gg_filter_bytes(live));
	wipe(region->homes, live * sizeof(*region->homes));
	wipe(region->row_index.levels[0], gg_index_bytes(rows, GG_INDEX_TIGHT));
	memset(region->row_owners, 0, sizeof(region->row_owners));
	wipe(region->row_keys, rows * sizeof(*region->row_keys));
	for (uint32_t i = 0; i < region->tables[GG_TABLE_STACKS].used_count; i++)
		region->stack_words[i] &= ~(uint64_t)GG_REGION_STACK_ROW_MASK;
	wipe(region->slot_owners,
	     region->tables[GG_TABLE_SLOTS].capacity * sizeof(*region->slot_owners));
	region->free_head = 0;
	gg_index_init(&region->row_index, region->row_index.levels[0], rows, GG_INDEX_TIGHT);
	init_live(region, live);
}

/*
 * Another thread may have been in the midst of an adoption when this process was forked: then the
 * private tables are half made, and all begins again from what that one began with.  (Its new file
 * stays mapped here, untouched.)
 */
static const struct gg_region_inherited *begin_adoption(struct gg_region *region)
{
	struct gg_region_inherited *inherited = &region->inherited;

	/* A fork takes a thread's stores in their order: who finds it set finds the rest. */
	if (gg_load_acquire(&inherited->is_set) == 0) {
		memcpy(inherited->tables, region->tables, sizeof(inherited->tables));
		inherited->map = region->map;
		gg_store_release(&inherited->is_set, 1);
	}
	return inherited;
}

/* Before the parent's file is let go: a child of now has all that it needs in the tables. */
static void end_adoption(struct gg_region *region)
{
	gg_store_release(&region->inherited.is_set, 0);
	gg_region_file_done(&region->inherited.map, false);
}

int gg_region_adopt(struct gg_region *region, const struct gg_region_file *map,
                    const struct gg_region_options *options)
{
	const struct gg_region_inherited *inherited = begin_adoption(region);
	uint32_t live_count = inherited->tables[GG_TABLE_LIVE].used_count;
	struct gg_region_options same = *options;
	int status;

	GG_REGION_INIT_VIEW(region);
	same.max_frames = region->max_frames;
	for (int i = 0; i < GG_TABLE_COUNT; i++)
		same.capacities[i] = inherited->tables[i].capacity;
	gg_store_relaxed(&region->is_open, 0);
	status = init_shared(region, map, &same);
	if (status == 0)
		status = copy_tables(region, inherited);
	if (status == 0 && !gg_region_reach(region, GG_TABLE_ROWS, 1))
		status = -ENOSPC;
	if (status == 0 && live_count > 0 &&
	    gg_region_take_run(region, GG_TABLE_LIVE, live_count) == GG_INDEX_NONE)
		status = -ENOSPC;
	if (status < 0) {
		region->map = inherited->map; /* the new one stays the caller's */
		return status;
	}
	forget(region);
	gg_region_open(region); /* there is space: it was asked for above */
	region->live_bytes = 0;
	for (uint32_t i = 0; i < live_count; i++) {
		if (region->records[i].id != 0)
			gg_region_record_inherited(region, i);
		else
			gg_region_record_free_place(region, i);
	}
	region->header->inherited_below_id = region->next_id;
	end_adoption(region);
	gg_store_release(&region->header->magic, GG_REGION_MAGIC);
	return 0;
}

struct gg_region_wish gg_region_control(const struct gg_region *region)
{
	const struct gg_region_control *control = &region->header->control;
	struct gg_region_wish wish;

	/* Pairs with the release of who wishes. */
	wish.change_count = gg_load_acquire(&control->change_count);
	wish.interval_bytes = gg_load_relaxed(&control->interval_bytes);
	wish.active = gg_load_relaxed(&control->active) != 0;
	return wish;
}
