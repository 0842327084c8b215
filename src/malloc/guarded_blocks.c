/* SPDX-License-Identifier: Apache-2.0 */
/* guarded_blocks - the pool, and what an address in it means. */
#include "malloc/guarded_blocks.h"

#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>

#include "base/hash.h"
#include "malloc/kernel_memory.h"

enum {
	SLOT_BYTES = 32 << 10, /* the largest block of a class */
	CHECKED_BYTES = 128,   /* on each side of a block */
	FILL = 0xb7,           /* in those bytes; overflows often write 0 */
	SPACE_SHARE = 64,      /* of a limited address space */
	SLOTS_LEAST = 8,
	TAKEN_MOST = 2,   /* half of the slots are in use at most */
	RESTED_SHARE = 4, /* a quarter of the slots is used before one is used again */
};

enum guard_state {
	STATE_EMPTY, /* never used */
	STATE_CHANGING,
	STATE_LIVE,
	STATE_FREED,
	STATE_RETIRED, /* freed, and there was a report: the slot is never used again */
};

struct guarded_slot {
	uint32_t state;
	uint32_t is_reported;
	uint32_t class;
	uint64_t freed_number; /* guarded blocks so far when it was freed */
	uint64_t life;         /* guarded blocks so far when it was placed, with itself */
	uintptr_t start;       /* of the block */
	size_t bytes;          /* requested */
	uintptr_t open_begin, open_end;
	struct gg_malloc_slot sample;
};

struct gg_malloc_guard_pool gg_malloc_guard_pool;

static struct guarded_slot slots[GG_MALLOC_GUARD_SLOTS_MAX];
static uint64_t guard_share, guard_seed; /* one sample in guard_share */
static uint64_t sample_number, cursor;
static uint32_t guard_is_off; /* 1: nothing is guarded any more */
static uint64_t guarded_count, live_count, unplaced_count, fault_count;

static size_t stride_bytes(void)
{
	return SLOT_BYTES + gg_malloc_page_bytes;
}

/* The first byte that a block of the slot may have. */
static uintptr_t slot_begin(uint32_t number)
{
	return gg_malloc_guard_pool.base + gg_malloc_page_bytes + number * stride_bytes();
}

/* A limited address space has room for other things. */
static size_t slots_wanted(void)
{
	size_t count = GG_MALLOC_GUARD_SLOTS_MAX, room;
	struct rlimit64 limit;
	int saved_errno = errno;

	if (syscall(SYS_prlimit64, 0, RLIMIT_AS, NULL, &limit) == 0 && limit.rlim_cur < SIZE_MAX) {
		room = limit.rlim_cur / SPACE_SHARE / stride_bytes();
		count = room < count ? room : count;
	}
	errno = saved_errno;
	return count;
}

bool gg_malloc_guard_start(uint64_t share, uint64_t seed)
{
	size_t count, bytes;
	void *p;

	gg_malloc_page_bytes = getauxval(AT_PAGESZ); /* as the arena does at the first allocation */
	count = slots_wanted();
	if (gg_malloc_page_bytes > SLOT_BYTES || gg_malloc_guard_is_on())
		return false;
	for (; count >= SLOTS_LEAST; count /= 2) {
		bytes = gg_malloc_page_bytes + count * stride_bytes();
		p = gg_malloc_map_memory(bytes, PROT_NONE, MAP_NORESERVE);
		if (p == NULL)
			continue;
		guard_share = share;
		guard_seed = seed;
		gg_malloc_guard_pool.base = (uintptr_t)p;
		gg_malloc_guard_pool.slot_count = (uint32_t)count;
		gg_malloc_guard_pool.bytes = bytes;
		return true;
	}
	return false;
}

/* Takes the next slot that has rested.  NULL: too many are in use. */
static struct guarded_slot *take_slot(uint32_t *ret_number)
{
	uint32_t count = gg_malloc_guard_pool.slot_count;
	uint64_t now = gg_load_relaxed(&guarded_count);

	if (gg_load_relaxed(&live_count) >= count / TAKEN_MOST)
		return NULL;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t number = (uint32_t)(gg_add_relaxed(&cursor, 1) % count);
		struct guarded_slot *slot = &slots[number];
		uint32_t state = gg_load_relaxed(&slot->state);

		if (state != STATE_EMPTY && state != STATE_FREED)
			continue;
		if (state == STATE_FREED &&
		    now - gg_load_relaxed(&slot->freed_number) < count / RESTED_SHARE)
			continue;
		/* Acquire: pairs with the release of the slot's last owner. */
		if (!gg_cas_acq_rel(&slot->state, &state, STATE_CHANGING))
			continue;
		*ret_number = number;
		return slot;
	}
	return NULL;
}

struct block_place {
	uintptr_t start, open_begin, open_end;
};

/*
 * Chooses the block's place.  A right-aligned block ends as near to the slot's end as its alignment
 * allows.  False: the slot is too small for it.
 */
static bool find_place(struct block_place *ret_place, uint32_t number, size_t bytes,
                       size_t alignment_bytes, bool is_right)
{
	uintptr_t begin = slot_begin(number), end = begin + SLOT_BYTES, start;
	uintptr_t page = gg_malloc_page_bytes - 1, mask = alignment_bytes - 1;
	size_t length = bytes + (bytes == 0);

	if (length > SLOT_BYTES || alignment_bytes > SLOT_BYTES)
		return false;
	start = is_right ? (end - length) & ~mask : (begin + mask) & ~mask;
	if (start < begin || start > end - length)
		return false;
	ret_place->start = start;
	ret_place->open_begin = start & ~page;
	ret_place->open_end = (start + length + page) & ~page;
	return true;
}

/* After the pages are open: without them, the facts of the slot's last block stay true. */
static void take_place(struct guarded_slot *slot, const struct block_place *place, size_t bytes)
{
	gg_store_relaxed(&slot->start, place->start);
	gg_store_relaxed(&slot->bytes, bytes);
	gg_store_relaxed(&slot->open_begin, place->open_begin);
	gg_store_relaxed(&slot->open_end, place->open_end);
}

static void checked_ranges(const struct guarded_slot *slot, uintptr_t *ret_first,
                           uintptr_t *ret_end)
{
	uintptr_t end = slot->start + slot->bytes;

	*ret_first = slot->start - slot->open_begin > CHECKED_BYTES ? slot->start - CHECKED_BYTES
	                                                            : slot->open_begin;
	*ret_end = slot->open_end - end > CHECKED_BYTES ? end + CHECKED_BYTES : slot->open_end;
}

static void fill(const struct guarded_slot *slot)
{
	uintptr_t first, end;

	checked_ranges(slot, &first, &end);
	memset((void *)first, FILL, slot->start - first); /* NOLINT */
	memset((void *)(slot->start + slot->bytes), FILL, /* NOLINT */
	       end - slot->start - slot->bytes);
}

/* Returns the first address of a range that was written to; 0: none was. */
static uintptr_t find_written(uintptr_t first, uintptr_t end)
{
	for (uintptr_t at = first; at < end; at++)
		if (*(const unsigned char *)at != FILL) /* NOLINT */
			return at;
	return 0;
}

void *gg_malloc_guard_sample(void *home, unsigned class, size_t bytes, size_t alignment_bytes,
                             double class_interval)
{
	uint64_t chance = gg_hash_integer(gg_add_relaxed(&sample_number, 1) + 1, guard_seed);
	struct guarded_slot *slot;
	struct block_place place;
	uint32_t number, before;

	if (chance % guard_share != 0 || gg_load_relaxed(&guard_is_off) != 0)
		return NULL;
	slot = take_slot(&number);
	if (slot == NULL) {
		gg_add_relaxed(&unplaced_count, 1);
		return NULL;
	}
	before = slot->start != 0 ? STATE_FREED : STATE_EMPTY;
	if (!find_place(&place, number, bytes, alignment_bytes, (chance >> 63) != 0) ||
	    !gg_malloc_make_writable((void *)place.open_begin, /* NOLINT */
	                             place.open_end - place.open_begin)) {
		gg_store_release(&slot->state, before);
		gg_add_relaxed(&unplaced_count, 1);
		return NULL;
	}
	take_place(slot, &place, bytes);
	fill(slot);
	slot->class = class;
	slot->sample.home = home;
	slot->sample.class_interval = class_interval;
	gg_store_relaxed(&slot->life, gg_add_relaxed(&guarded_count, 1) + 1);
	gg_add_relaxed(&live_count, 1);
	/* Release: pairs with the acquires of all functions that find the block. */
	gg_store_release(&slot->state, STATE_LIVE);
	gg_malloc_slots_inform_sampled((void *)slot->start, class, bytes,
	                               &slot->sample); /* NOLINT */
	if (gg_malloc_client != NULL && gg_malloc_client->guarded != NULL)
		gg_malloc_client->guarded(number, false);
	return (void *)slot->start; /* NOLINT */
}

static bool is_used(size_t number)
{
	return number < gg_malloc_guard_pool.slot_count &&
	       gg_load_relaxed(&slots[number].start) != 0;
}

/*
 * The slot nearest to an address in the pool: the left half of a page between two slots is nearer
 * to the slot before it.  If only the other one of the two was ever used, that one.
 */
static struct guarded_slot *slot_near(uintptr_t address, uint32_t *ret_number)
{
	size_t offset = address - gg_malloc_guard_pool.base, stride = stride_bytes();
	size_t half = gg_malloc_page_bytes / 2;
	size_t number = offset < half ? 0 : (offset - half) / stride;
	size_t before = offset < stride ? 0 : (offset - gg_malloc_page_bytes) / stride;
	bool is_between = address < slot_begin((uint32_t)before) ||
	                  address >= slot_begin((uint32_t)before) + SLOT_BYTES;

	if (is_between && !is_used(number))
		number = number == before && is_used(before + 1) ? before + 1 : before;
	if (number >= gg_malloc_guard_pool.slot_count)
		number = gg_malloc_guard_pool.slot_count - 1;
	*ret_number = (uint32_t)number;
	return &slots[number];
}

static bool claim_report(struct guarded_slot *slot)
{
	uint32_t reported = 0;

	if (!gg_cas_acq_rel(&slot->is_reported, &reported, 1))
		return false;
	gg_add_relaxed(&fault_count, 1);
	return true;
}

/* The slot stays as it is from now on. */
static void retire(struct guarded_slot *slot)
{
	uint32_t freed = STATE_FREED;

	(void)!gg_cas_acq_rel(&slot->state, &freed, STATE_RETIRED);
}

static void fill_fault(const struct guarded_slot *slot, uint32_t number,
                       struct gg_malloc_fault *fault)
{
	fault->number = number;
	fault->life = gg_load_relaxed(&slot->life);
	fault->block = gg_load_relaxed(&slot->start);
	fault->bytes = gg_load_relaxed(&slot->bytes);
}

static void report(const struct gg_malloc_fault *fault)
{
	if (gg_malloc_client != NULL && gg_malloc_client->fault != NULL)
		gg_malloc_client->fault(fault);
}

static void report_free(struct guarded_slot *slot, uint32_t number, const void *p, uint32_t state)
{
	struct gg_malloc_fault fault = { .address = (uintptr_t)p };

	if (!claim_report(slot))
		return;
	retire(slot);
	fill_fault(slot, number, &fault);
	/* Another thread frees it just now. */
	fault.is_freed = state == STATE_FREED || state == STATE_RETIRED || state == STATE_CHANGING;
	fault.kind = fault.is_freed && fault.block == fault.address ? GG_MALLOC_FAULT_DOUBLE_FREE
	                                                            : GG_MALLOC_FAULT_INVALID_FREE;
	report(&fault);
}

/* Reports writes around the block that hit its own pages, and therefore did not fault. */
static void check_around(struct guarded_slot *slot, uint32_t number)
{
	struct gg_malloc_fault fault = { .kind = GG_MALLOC_FAULT_OVERFLOW, .at_free = true };
	uintptr_t first, end;

	checked_ranges(slot, &first, &end);
	fault.address = find_written(slot->start + slot->bytes, end);
	if (fault.address == 0) {
		fault.kind = GG_MALLOC_FAULT_UNDERFLOW;
		fault.address = find_written(first, slot->start);
	}
	if (fault.address == 0 || !claim_report(slot))
		return;
	fill_fault(slot, number, &fault);
	report(&fault);
}

/* Gives the pages back and closes them, by one call that leaves no moment between the two. */
static void close_pages(const struct guarded_slot *slot)
{
	size_t bytes = slot->open_end - slot->open_begin;
	int saved_errno = errno;

	if (syscall(SYS_mmap, slot->open_begin, bytes, PROT_NONE,
	            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0L) == -1)
		syscall(SYS_madvise, slot->open_begin, bytes, MADV_DONTNEED);
	errno = saved_errno;
}

void *gg_malloc_guard_free(void *p)
{
	uint32_t number, state;
	struct guarded_slot *slot = slot_near((uintptr_t)p, &number);
	void *home;

	/* Acquire: pairs with the release of the thread that allocated it. */
	state = gg_load_acquire(&slot->state);
	if (state != STATE_LIVE || gg_load_relaxed(&slot->start) != (uintptr_t)p ||
	    !gg_cas_acq_rel(&slot->state, &state, STATE_CHANGING)) {
		report_free(slot, number, p, state);
		return NULL;
	}
	check_around(slot, number);
	if (gg_malloc_client != NULL && gg_malloc_client->guarded != NULL)
		gg_malloc_client->guarded(number, true);
	gg_malloc_slots_inform_freed(p, &slot->sample);
	home = slot->sample.home;
	close_pages(slot);
	gg_store_relaxed(&slot->freed_number, gg_load_relaxed(&guarded_count));
	gg_add_relaxed(&live_count, UINT64_MAX);
	/* Release: pairs with take_slot(). */
	gg_store_release(&slot->state,
	                 gg_load_relaxed(&slot->is_reported) != 0 ? STATE_RETIRED : STATE_FREED);
	return home;
}

bool gg_malloc_guard_find(const void *p, struct gg_malloc_guarded *ret_block)
{
	uint32_t number;
	const struct guarded_slot *slot = slot_near((uintptr_t)p, &number);

	if (gg_load_acquire(&slot->state) != STATE_LIVE || slot->start != (uintptr_t)p)
		return false;
	*ret_block = (struct gg_malloc_guarded){ .home = slot->sample.home,
		                                 .bytes = slot->bytes,
		                                 .class = slot->class,
		                                 .class_interval = slot->sample.class_interval };
	return true;
}

enum gg_malloc_guard_answer gg_malloc_guard_explain(uintptr_t address,
                                                    struct gg_malloc_fault *ret_fault)
{
	struct gg_malloc_fault fault = { .address = address };
	uint32_t number, state;
	struct guarded_slot *slot = slot_near(address, &number);

	state = gg_load_acquire(&slot->state);
	fill_fault(slot, number, &fault);
	if (fault.block == 0)
		return GG_MALLOC_GUARD_FOREIGN;
	if (state == STATE_LIVE && address >= gg_load_relaxed(&slot->open_begin) &&
	    address < gg_load_relaxed(&slot->open_end)) {
		*ret_fault = fault;
		return GG_MALLOC_GUARD_LIVE;
	}
	fault.is_freed = state != STATE_LIVE;
	fault.kind = address < fault.block ? GG_MALLOC_FAULT_UNDERFLOW : GG_MALLOC_FAULT_OVERFLOW;
	/* As GWP-ASan says it: near a freed block, the free is the first thing to look at. */
	if (fault.is_freed)
		fault.kind = GG_MALLOC_FAULT_USE_AFTER_FREE;
	if (!claim_report(slot))
		return GG_MALLOC_GUARD_KNOWN;
	retire(slot);
	*ret_fault = fault;
	return GG_MALLOC_GUARD_NEW;
}

bool gg_malloc_guard_open(uintptr_t address)
{
	uintptr_t page = address & ~(uintptr_t)(gg_malloc_page_bytes - 1);

	if (gg_malloc_make_writable((void *)page, gg_malloc_page_bytes)) /* NOLINT */
		return true;
	/* The process has all mappings that it may have; one for all takes fewer. */
	gg_store_relaxed(&guard_is_off, 1);
	return gg_malloc_make_writable((void *)gg_malloc_guard_pool.base, /* NOLINT */
	                               gg_malloc_guard_pool.bytes);
}

void gg_malloc_guard_read_totals(struct gg_malloc_guard_totals *ret_totals)
{
	ret_totals->guarded_count = gg_load_relaxed(&guarded_count);
	ret_totals->live_count = gg_load_relaxed(&live_count);
	ret_totals->unplaced_count = gg_load_relaxed(&unplaced_count);
	ret_totals->fault_count = gg_load_relaxed(&fault_count);
}

void gg_malloc_guard_visit(void (*visit)(void *user, void *home, unsigned class), void *user)
{
	for (uint32_t i = 0; i < gg_malloc_guard_pool.slot_count; i++)
		if (gg_load_acquire(&slots[i].state) == STATE_LIVE)
			visit(user, slots[i].sample.home, slots[i].class);
}
