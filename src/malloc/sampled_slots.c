/* SPDX-License-Identifier: Apache-2.0 */
/* sampled_slots - claims and frees slots. */
#include "malloc/sampled_slots.h"

#include "base/assert.h"
#include "malloc/arena.h"
#include "malloc/class_sampling.h"
#include "malloc/kernel_memory.h"
#include "malloc/purge.h"
#include "malloc/slice_map.h"

enum {
	SLOT_ALIGNMENT = 64,
	SLOTS_MAX = GG_MALLOC_SLICE_BYTES / SLOT_ALIGNMENT,
	SLOT_WORDS = SLOTS_MAX / 64,
	TABLES_BYTES = 65536,   /* mapped at once */
	SLOT_REFUSALS_MOST = 8, /* in one look: the memory may be locked */
};

/* A slab of slots; it stands among the tables below, and is found by the slab's local_free. */
struct slots {
	struct gg_malloc_slab *slab;
	struct slots *next; /* of the class; all are kept for ever */
	uint64_t taken[SLOT_WORDS];
	uint64_t used[SLOT_WORDS]; /* taken at some time since the last look of a purge */
	/* The holder of the arena's lock has these. */
	uint64_t idle[SLOT_WORDS]; /* free at the last look */
	uint64_t dirty_pages;      /* that were in use since they went back, by their numbers */
	uint32_t capacity;
	struct gg_malloc_slot slot[];
};

struct class_slots {
	struct slots *first; /* pushed to, never taken from */
	struct slots *open;  /* where a free slot was seen last */
	int64_t free_count;  /* in all slabs; claimed before a slot is searched */
};

static struct class_slots classes[GG_MALLOC_CLASS_COUNT];
static uint64_t live_count, dropped_count;
static uint32_t last_look_ms; /* of gg_malloc_slots_purge_aged() */

/* The structs of all slabs, one behind the other.  With few samples most of them are short. */
struct tables {
	uint64_t used_bytes; /* more than TABLES_BYTES if a table found no room */
	char memory[TABLES_BYTES - 64] __attribute__((aligned(64)));
};
static struct tables *newest_tables;
_Static_assert(sizeof(struct slots) + SLOTS_MAX * sizeof(struct gg_malloc_slot) <=
                       sizeof(newest_tables->memory),
               "the longest table has room");

static size_t slot_bytes(unsigned class)
{
	size_t bytes = gg_malloc_class_bytes(class);

	return (bytes + SLOT_ALIGNMENT - 1) & ~(size_t)(SLOT_ALIGNMENT - 1);
}

static struct slots *slots_of(const struct gg_malloc_slab *slab)
{
	return (struct slots *)slab->local_free; /* NOLINT */
}

static uint32_t number_of(const struct gg_malloc_slab *slab, const void *p)
{
	return (uint32_t)((size_t)((const char *)p - gg_malloc_slab_start(slab)) /
	                  slab->block_bytes);
}

static void *address_of(const struct slots *slots, uint32_t number)
{
	return gg_malloc_slab_start(slots->slab) + (size_t)number * slots->slab->block_bytes;
}

/* Returns memory that is all 0, and stays for ever.  NULL: no memory. */
static void *take_table(size_t bytes)
{
	/* Acquire: pairs with the exchange below.  The memory is all 0 for everyone. */
	struct tables *tables = gg_load_acquire(&newest_tables), *new;
	uint64_t at;

	bytes = (bytes + 63) & ~(size_t)63;
	for (;;) {
		if (tables != NULL) {
			at = gg_add_relaxed(&tables->used_bytes, bytes);
			if (at + bytes <= sizeof(tables->memory))
				return tables->memory + at;
		}
		new = gg_malloc_map_memory(sizeof(*new), PROT_READ | PROT_WRITE, 0);
		if (new == NULL)
			return NULL;
		if (gg_cas_acq_rel(&newest_tables, &tables, new))
			tables = new;
		else
			gg_malloc_unmap_memory(new, sizeof(*new));
	}
}

/* Adds a slab of slots to a class.  NULL: no memory. */
static GG_COLD struct slots *add_slots(unsigned class)
{
	struct gg_malloc_slab *slab;
	size_t bytes = slot_bytes(class), slices = gg_malloc_class_slices(class), count;
	struct slots *new, *first;

	slab = gg_malloc_arena_take_for_slots(slices);
	if (slab == NULL)
		return NULL;
	count = slices * GG_MALLOC_SLICE_BYTES / bytes;
	gg_assert(count <= SLOTS_MAX);
	new = take_table(sizeof(*new) + count * sizeof(new->slot[0]));
	if (new == NULL) {
		gg_malloc_arena_give_for_slots(slab);
		return NULL;
	}
	new->slab = slab;
	new->capacity = (uint32_t)count;
	slab->block_bytes = (uint32_t)bytes;
	slab->class = (uint8_t) class;
	slab->capacity = (uint32_t)count;
	slab->local_free = (struct gg_malloc_block *)(void *)new;
	gg_store_relaxed(&slab->owner, (uintptr_t)GG_MALLOC_OWNER_SLOTS);
	gg_malloc_map_set_all(slab);
	first = gg_load_relaxed(&classes[class].first);
	/* Release: pairs with the acquire in find_slot(). */
	do
		new->next = first;
	while (!gg_cas_acq_rel(&classes[class].first, &first, new));
	gg_store_release(&classes[class].open, new);
	gg_add_relaxed(&classes[class].free_count, (int64_t)count);
	return new;
}

/* Takes a slot of this slab.  False: all are taken. */
static bool take_slot(struct slots *slots, uint32_t *ret_number)
{
	for (uint32_t word = 0; word * 64 < slots->capacity; word++) {
		uint32_t count = slots->capacity - word * 64;
		uint64_t usable = count >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << count) - 1;
		uint64_t taken = gg_load_relaxed(&slots->taken[word]);

		while ((taken & usable) != usable) {
			uint64_t bit = ~taken & usable;

			bit &= ~bit + 1;
			/* Acquire: pairs with the release of the slot's last owner. */
			if (gg_cas_acq_rel(&slots->taken[word], &taken, taken | bit)) {
				*ret_number = word * 64 + (uint32_t)__builtin_ctzll(bit);
				/* Relaxed: a purge that misses it sees that the slot is taken. */
				if ((gg_load_relaxed(&slots->used[word]) & bit) == 0)
					gg_or_relaxed(&slots->used[word], bit);
				return true;
			}
		}
	}
	return false;
}

/* One of the slots that exist is claimed by free_count, so the search ends. */
static struct slots *find_slot(struct class_slots *class, uint32_t *ret_number)
{
	struct slots *slots = gg_load_acquire(&class->open);

	for (;;) {
		if (slots == NULL)
			slots = gg_load_acquire(&class->first);
		if (take_slot(slots, ret_number))
			break;
		slots = slots->next;
	}
	if (gg_load_relaxed(&class->open) != slots)
		gg_store_release(&class->open, slots);
	return slots;
}

/* Claims a free slot of a class, and adds slots if all are taken. */
static bool claim(unsigned class)
{
	int64_t *free_count = &classes[class].free_count;
	int64_t count = gg_load_relaxed(free_count);

	for (;;) {
		if (count > 0) {
			if (gg_cas_acq_rel(free_count, &count, count - 1))
				return true;
		} else {
			if (add_slots(class) == NULL)
				return false;
			count = gg_load_relaxed(free_count);
		}
	}
}

void gg_malloc_slots_inform_sampled(void *p, unsigned class, size_t bytes,
                                    struct gg_malloc_slot *slot)
{
	const struct gg_malloc_client *client = gg_malloc_client;
	struct gg_draw draw = gg_malloc_draw_of(slot->class_interval, class, bytes);

	if (client != NULL && client->sampled_in_slot != NULL)
		client->sampled_in_slot(p, bytes, &draw, &slot->note);
	else if (client != NULL && client->sampled != NULL)
		client->sampled(p, bytes, &draw);
}

void gg_malloc_slots_inform_freed(void *p, struct gg_malloc_slot *slot)
{
	const struct gg_malloc_client *client = gg_malloc_client;

	if (client != NULL && client->freed_in_slot != NULL)
		client->freed_in_slot(p, &slot->note);
	else if (client != NULL && client->freed != NULL)
		client->freed(p);
}

static GG_COLD void drop(void)
{
	const struct gg_malloc_client *client = gg_malloc_client;

	gg_add_relaxed(&dropped_count, 1);
	if (client != NULL && client->dropped != NULL)
		client->dropped();
}

void *gg_malloc_slots_sample(void *home, unsigned class, size_t bytes, double class_interval)
{
	struct slots *slots;
	uint32_t number;
	void *p;

	if (!claim(class)) {
		drop();
		return home;
	}
	slots = find_slot(&classes[class], &number);
	slots->slot[number].home = home;
	slots->slot[number].class_interval = class_interval;
	gg_add_relaxed(&live_count, 1);
	p = address_of(slots, number);
	gg_malloc_slots_inform_sampled(p, class, bytes, &slots->slot[number]);
	return p;
}

struct gg_malloc_slot *gg_malloc_slots_find(struct gg_malloc_slab *slab, const void *p)
{
	return &slots_of(slab)->slot[number_of(slab, p)];
}

bool gg_malloc_slots_is_taken(const struct gg_malloc_slab *slab, const void *p)
{
	uint32_t number = number_of(slab, p);

	/* Relaxed: the caller has the block, or had it. */
	return (gg_load_relaxed(&slots_of(slab)->taken[number / 64]) >> number % 64 & 1) != 0;
}

void *gg_malloc_slots_release(struct gg_malloc_slab *slab, void *p)
{
	struct slots *slots = slots_of(slab);
	uint32_t number = number_of(slab, p);
	void *home = slots->slot[number].home;

	/* Before the slot is free: another thread may get it then. */
	gg_malloc_slots_inform_freed(p, &slots->slot[number]);
	gg_add_relaxed(&live_count, UINT64_MAX);
	/* Release: pairs with take_slot(). */
	gg_and_acq_rel(&slots->taken[number / 64], ~(UINT64_C(1) << number % 64));
	gg_add_release(&classes[slab->class].free_count, 1);
	return home;
}

/* The whole pages of a slab, of at least 4 KiB, so that there are at most 64. */
struct pages {
	size_t offset; /* of the first page in the slab */
	uint32_t count;
};

static struct pages pages_of(const struct gg_malloc_slab *slab)
{
	size_t mask = gg_malloc_page_bytes - 1, bytes = gg_malloc_run_bytes(slab);
	size_t offset = -(uintptr_t)gg_malloc_slab_start(slab) & mask;

	return (struct pages){
		.offset = offset,
		.count = offset < bytes ? (uint32_t)((bytes - offset) / gg_malloc_page_bytes) : 0,
	};
}

/* The pages that a slot has a part of. */
static uint64_t pages_of_slot(const struct slots *slots, const struct pages *pages, uint32_t number)
{
	size_t begin = (size_t)number * slots->slab->block_bytes,
	       end = begin + slots->slab->block_bytes;
	size_t first = begin > pages->offset ? (begin - pages->offset) / gg_malloc_page_bytes : 0;
	size_t last = end > pages->offset ? (end - 1 - pages->offset) / gg_malloc_page_bytes : 0;

	if (end <= pages->offset || first >= pages->count)
		return 0;
	if (last >= pages->count)
		last = pages->count - 1;
	return ~UINT64_C(0) >> (63 - (last - first)) << first;
}

/* The pages that have a part of one of the slots. */
static uint64_t pages_of_slots(const struct slots *slots, const struct pages *pages,
                               const uint64_t numbers[SLOT_WORDS])
{
	uint64_t found = 0;

	for (uint32_t word = 0; word * 64 < slots->capacity; word++)
		for (uint64_t bits = numbers[word]; bits != 0; bits &= bits - 1)
			found |= pages_of_slot(slots, pages,
			                       word * 64 + (uint32_t)__builtin_ctzll(bits));
	return found;
}

static void free_slots(struct slots *slots, uint32_t first, uint32_t count)
{
	for (uint32_t i = first; i < first + count; i++)
		/* Release: pairs with take_slot(). */
		gg_and_acq_rel(&slots->taken[i / 64], ~(UINT64_C(1) << i % 64));
}

/* Claims slots as samples do, so that the search for a free slot always ends. */
static bool claim_slots(struct slots *slots, uint32_t first, uint32_t count)
{
	int64_t *free_count = &classes[slots->slab->class].free_count;
	int64_t left = gg_load_relaxed(free_count);

	do
		if (left < (int64_t)count)
			return false;
	while (!gg_cas_acq_rel(free_count, &left, left - count));
	for (uint32_t i = first; i < first + count; i++) {
		uint64_t bit = UINT64_C(1) << i % 64;
		uint64_t taken = gg_load_relaxed(&slots->taken[i / 64]);

		while ((taken & bit) == 0)
			/* Acquire: pairs with the release of the slot's last owner. */
			if (gg_cas_acq_rel(&slots->taken[i / 64], &taken, taken | bit))
				break;
		if ((taken & bit) == 0)
			continue;
		free_slots(slots, first, i - first);
		gg_add_release(free_count, (int64_t)count);
		return false;
	}
	return true;
}

/* Gives pages [first, end) back.  False: a sample was faster, or the kernel keeps them. */
static bool purge_pages(struct slots *slots, const struct pages *pages, uint32_t first,
                        uint32_t end)
{
	size_t begin_byte = pages->offset + first * gg_malloc_page_bytes,
	       end_byte = pages->offset + end * gg_malloc_page_bytes;
	uint32_t slot = (uint32_t)(begin_byte / slots->slab->block_bytes);
	uint32_t slot_end = (uint32_t)((end_byte - 1) / slots->slab->block_bytes) + 1;
	bool is_done;

	if (slot_end > slots->capacity)
		slot_end = slots->capacity;
	if (!claim_slots(slots, slot, slot_end - slot))
		return false;
	is_done = gg_malloc_empty_memory(gg_malloc_slab_start(slots->slab) + begin_byte,
	                                 end_byte - begin_byte);
	free_slots(slots, slot, slot_end - slot);
	gg_add_release(&classes[slots->slab->class].free_count, (int64_t)(slot_end - slot));
	return is_done;
}

/* A look at all slabs. */
struct slot_look {
	bool at_once; /* however young pages are */
	bool any;     /* memory went back */
	uint32_t refusals;
};

static void purge_slab(struct slots *slots, struct slot_look *look)
{
	struct pages pages = pages_of(slots->slab);
	uint64_t used[SLOT_WORDS], busy[SLOT_WORDS], ripe;

	for (uint32_t word = 0; word < SLOT_WORDS; word++) {
		uint64_t taken = gg_load_relaxed(&slots->taken[word]);

		used[word] = gg_load_relaxed(&slots->used[word]);
		if (used[word] != 0)
			used[word] = gg_exchange_acq_rel(&slots->used[word], 0);
		busy[word] = look->at_once ? taken : taken | used[word] | ~slots->idle[word];
		slots->idle[word] = ~taken;
	}
	slots->dirty_pages |= pages_of_slots(slots, &pages, used);
	if (slots->dirty_pages == 0)
		return;
	ripe = slots->dirty_pages & ~pages_of_slots(slots, &pages, busy);
	for (uint32_t i = 0, end; i < pages.count; i = end) {
		for (end = i; end < pages.count && (ripe >> end & 1) != 0; end++)
			;
		if (end == i) {
			end++;
			continue;
		}
		if (!purge_pages(slots, &pages, i, end)) {
			look->refusals++;
			continue;
		}
		slots->dirty_pages &= ~(~UINT64_C(0) >> (63 - (end - 1 - i)) << i);
		look->any = true;
	}
}

static GG_COLD bool purge_all(bool at_once)
{
	struct slot_look look = { .at_once = at_once };

	if (gg_malloc_lock_is_mine(&gg_malloc_arena_lock))
		return false;
	gg_malloc_lock_take(&gg_malloc_arena_lock);
	for (unsigned class = 0; class < GG_MALLOC_CLASS_COUNT; class ++) {
		struct slots *slots = gg_load_acquire(&classes[class].first);

		for (; slots != NULL && look.refusals < SLOT_REFUSALS_MOST; slots = slots->next)
			purge_slab(slots, &look);
	}
	gg_malloc_lock_give(&gg_malloc_arena_lock);
	return look.any;
}

bool gg_malloc_slots_purge(void)
{
	return purge_all(true);
}

void gg_malloc_slots_purge_aged(uint32_t now_ms)
{
	uint32_t delay_ms = gg_load_relaxed(&gg_malloc_purge_delay_ms);
	uint32_t last_ms = gg_load_relaxed(&last_look_ms);

	/* One thread looks, and the next look finds what was idle for a whole delay. */
	if (gg_load_relaxed(&newest_tables) == NULL || now_ms - last_ms < delay_ms ||
	    !gg_cas_acq_rel(&last_look_ms, &last_ms, now_ms))
		return;
	purge_all(false);
}

void gg_malloc_slots_read_totals(struct gg_malloc_slots_totals *ret_totals)
{
	ret_totals->live_count = gg_load_relaxed(&live_count);
	ret_totals->dropped_count = gg_load_relaxed(&dropped_count);
}

void gg_malloc_slots_visit(void (*visit)(void *user, struct gg_malloc_slab *slab, void *p,
                                         const struct gg_malloc_slot *slot),
                           void *user)
{
	for (unsigned class = 0; class < GG_MALLOC_CLASS_COUNT; class ++) {
		struct slots *slots = gg_load_acquire(&classes[class].first);

		for (; slots != NULL; slots = slots->next)
			for (uint32_t i = 0; i < slots->capacity; i++)
				if ((gg_load_acquire(&slots->taken[i / 64]) >> i % 64 & 1) != 0)
					visit(user, slots->slab, address_of(slots, i),
					      &slots->slot[i]);
	}
}
