/* SPDX-License-Identifier: Apache-2.0 */
/* arena - takes, splits, joins and purges runs of slices. */
#include "malloc/arena.h"

#include <errno.h>
#include <sys/auxv.h>

#include "base/assert.h"
#include "base/compiler.h"
#include "base/hash.h"
#include "malloc/kernel_memory.h"
#include "malloc/list_link.h"
#include "malloc/memory_limit.h"
#include "malloc/purge.h"
#include "malloc/reservation.h"
#include "malloc/slice_map.h"

enum {
	EXACT_BINS = 32, /* runs of 1 to 32 slices have a bin each; each doubling above has four */
	BIN_COUNT = EXACT_BINS + 4 * 27,
	BIN_WORDS = (BIN_COUNT + 63) / 64,
	SLOT_SLICES = 64,       /* opened for sampled slots at once: 1 MiB */
	HUGE_PAGE_SLICES = 128, /* 2 MiB */
	AGED_LOOKS = 4,         /* in each delay of purges, for runs that are old enough */
	REFUSALS_MOST = 8,      /* after so many, all memory may be locked */
	REFUSED_GIVES = 1024,   /* until the next try */
	BUFFER_SLICES = 64, /* 1 MiB: from here on, a block is a buffer whose size comes again */
	JOINED_TRIES = 16,
	PURGED_SHARE = 4, /* of what is allowed goes back with what is not */
};

struct bins {
	struct gg_malloc_slab *first[BIN_COUNT];
	uint64_t occupied[BIN_WORDS];
	size_t slice_count; /* in all runs */
};

size_t gg_malloc_page_bytes = 65536;
struct gg_malloc_lock gg_malloc_arena_lock = { .part = GG_MALLOC_PART_ARENA };

static struct bins dirty, clean;
static struct gg_malloc_reservation reservation; /* no slices: none yet */
static size_t slots_end, slots_opened;     /* slices for sampled slots: used and opened so far */
static struct gg_malloc_slab *spare_slots; /* given back unused, linked by `next` */
static size_t slices_end;                  /* the first slice that is not open; 0: none is */
static bool is_unavailable;                /* no reservation was possible */
static struct gg_malloc_slab *waiting; /* given by handlers that interrupted the lock's holder */
static bool never_empties;             /* the kernel keeps what it is given: no use to try */
static size_t used_slices;             /* of runs and slabs, for readers without the lock */
static uint32_t next_look_ms;          /* for runs that are old enough */
static uint32_t refused_gives;         /* until runs over the allowance are tried again; 0: now */

static unsigned bin_of(size_t slice_count)
{
	unsigned k;

	if (slice_count <= EXACT_BINS)
		return (unsigned)slice_count - 1;
	k = 63u - (unsigned)__builtin_clzll(slice_count);
	return EXACT_BINS + (k - 5) * 4 + (unsigned)(slice_count >> (k - 2) & 3);
}

static struct gg_malloc_slab *at(size_t slice)
{
	return &gg_malloc_map.slabs[slice];
}

static struct bins *bins_of(const struct gg_malloc_slab *run)
{
	return run->is_zero ? &clean : &dirty;
}

static void bin_insert(struct gg_malloc_slab *run)
{
	struct bins *bins = bins_of(run);
	unsigned bin = bin_of(run->slice_count);

	gg_store_relaxed(&run->owner, (uintptr_t)GG_MALLOC_OWNER_FREE);
	run->previous = NULL;
	run->next = bins->first[bin];
	if (run->next != NULL)
		run->next->previous = run;
	bins->first[bin] = run;
	bins->occupied[bin / 64] |= UINT64_C(1) << bin % 64;
	/* Relaxed: gg_malloc_arena_purge_aged() looks at it before it takes the lock. */
	gg_store_relaxed(&bins->slice_count, bins->slice_count + run->slice_count);
	gg_malloc_map_set_ends(run);
}

static void bin_remove(struct gg_malloc_slab *run)
{
	struct bins *bins = bins_of(run);
	unsigned bin = bin_of(run->slice_count);

	if (run->previous != NULL)
		run->previous->next = run->next;
	else
		bins->first[bin] = run->next;
	if (run->next != NULL)
		run->next->previous = run->previous;
	if (bins->first[bin] == NULL)
		bins->occupied[bin / 64] &= ~(UINT64_C(1) << bin % 64);
	gg_store_relaxed(&bins->slice_count, bins->slice_count - run->slice_count);
	gg_store_relaxed(&run->owner, (uintptr_t)GG_MALLOC_OWNER_NONE);
}

/*
 * The run that a slice belongs to, if it is at an end of it.  Relaxed: a thread that has just taken
 * a slab sets its entries without the lock, to the value that the ends have already.
 */
static struct gg_malloc_slab *neighbor(size_t slice)
{
	return gg_load_relaxed(&gg_malloc_map.entries[slice]);
}

/* Takes a free run of the same kind out of its bin, to join it; freed_ms is that of the larger. */
static size_t join(struct gg_malloc_slab *near, size_t slice_count, uint32_t *freed_ms)
{
	bin_remove(near);
	if (near->slice_count > slice_count)
		*freed_ms = near->freed_ms;
	return near->slice_count;
}

/* The free run of that kind before a row of slices; NULL: something else is there. */
static struct gg_malloc_slab *free_before(size_t first, bool is_zero)
{
	struct gg_malloc_slab *near = first > reservation.slots_max ? neighbor(first - 1) : NULL;

	return near != NULL && gg_malloc_slab_owner(near) == GG_MALLOC_OWNER_FREE &&
	                       near->is_zero == is_zero
	               ? near
	               : NULL;
}

/* The free run of that kind behind a row of slices that ends there. */
static struct gg_malloc_slab *free_behind(size_t end, bool is_zero)
{
	struct gg_malloc_slab *near = end < slices_end ? neighbor(end) : NULL;

	return near != NULL && gg_malloc_slab_owner(near) == GG_MALLOC_OWNER_FREE &&
	                       near->is_zero == is_zero
	               ? near
	               : NULL;
}

/* Frees a run, and joins it with its free neighbors of the same kind. */
static struct gg_malloc_slab *insert(size_t first, size_t slice_count, bool is_zero,
                                     uint32_t freed_ms)
{
	struct gg_malloc_slab *near = free_before(first, is_zero), *run;
	size_t count;

	gg_malloc_map_reset(first + slice_count - 1);
	if (near != NULL) {
		gg_malloc_map_reset(first - 1);
		count = join(near, slice_count, &freed_ms);
		first -= count;
		slice_count += count;
	}
	near = free_behind(first + slice_count, is_zero);
	if (near != NULL)
		slice_count += join(near, slice_count, &freed_ms);
	run = at(first);
	run->slice_count = (uint32_t)slice_count;
	run->is_zero = is_zero;
	run->freed_ms = freed_ms;
	bin_insert(run);
	return run;
}

/* Finds so many aligned slices in `run`.  Returns the first one, or 0 if there is no room. */
static size_t place_in(const struct gg_malloc_slab *run, size_t slice_count, size_t alignment_bytes)
{
	size_t first = gg_malloc_slab_slice(run), end = first + run->slice_count;
	uintptr_t start = (uintptr_t)gg_malloc_slab_start(run);
	uintptr_t aligned = (start + alignment_bytes - 1) & ~(alignment_bytes - 1);

	first += (aligned - start) >> GG_MALLOC_SLICE_SHIFT;
	return first < end && slice_count <= end - first ? first : 0;
}

/* A run that has room; the first one of the shortest bin. */
static struct gg_malloc_slab *find(struct bins *bins, size_t slice_count, size_t alignment_bytes,
                                   size_t *ret_first)
{
	unsigned word = bin_of(slice_count) / 64;
	uint64_t occupied = bins->occupied[word] & ~UINT64_C(0) << bin_of(slice_count) % 64;

	for (;;) {
		for (; occupied != 0; occupied &= occupied - 1) {
			unsigned bin = word * 64 + (unsigned)__builtin_ctzll(occupied);

			for (struct gg_malloc_slab *run = bins->first[bin]; run != NULL;
			     run = run->next) {
				*ret_first = place_in(run, slice_count, alignment_bytes);
				if (*ret_first != 0)
					return run;
			}
		}
		if (++word == BIN_WORDS)
			return NULL;
		occupied = bins->occupied[word];
	}
}

/* Takes [first, first + slice_count) out of a free run, and frees what is left of it. */
static struct gg_malloc_slab *carve(struct gg_malloc_slab *run, size_t first, size_t slice_count)
{
	size_t run_first = gg_malloc_slab_slice(run), run_end = run_first + run->slice_count;
	bool is_zero = run->is_zero;
	uint32_t freed_ms = run->freed_ms;
	struct gg_malloc_slab *taken = at(first);

	gg_assert(run_first <= first && first + slice_count <= run_end);
	gg_malloc_map_reach(first + slice_count - 1, reservation.slots_max, slices_end);
	bin_remove(run);
	/* First, so that neither rest is joined with it. */
	taken->slice_count = (uint32_t)slice_count;
	taken->is_zero = is_zero;
	taken->is_sampled = false;
	gg_store_relaxed(&taken->owner, (uintptr_t)GG_MALLOC_OWNER_RUN);
	gg_malloc_map_set_ends(taken);
	if (first > run_first)
		insert(run_first, first - run_first, is_zero, freed_ms);
	if (first + slice_count < run_end)
		insert(first + slice_count, run_end - first - slice_count, is_zero, freed_ms);
	return taken;
}

/* The slices of a page of the kernel; 1 if it is smaller than a slice. */
static size_t page_slices(void)
{
	return gg_malloc_page_bytes > GG_MALLOC_SLICE_BYTES
	               ? gg_malloc_page_bytes >> GG_MALLOC_SLICE_SHIFT
	               : 1;
}

/*
 * Some emulators keep the contents of memory that was given back.  Tests that with a slice that was
 * just opened.
 */
static GG_COLD bool keeps_contents(char *slice)
{
	volatile char *byte = slice;

	*byte = 1;
	if (!gg_malloc_empty_memory(slice, page_slices() << GG_MALLOC_SLICE_SHIFT) || *byte != 0) {
		*byte = 0;
		return true;
	}
	return false;
}

#ifdef GG_MALLOC_ENCODED
uintptr_t gg_malloc_link_key;

/* From the 16 random bytes that the kernel gives each process.  No list has a block yet. */
static void set_link_key(void)
{
	gg_malloc_link_key = (uintptr_t)gg_hash_random_seed();
}
#else
static void set_link_key(void)
{
}
#endif

/* Reserves address space; the lock is held. */
static GG_COLD bool start(void)
{
	gg_malloc_page_bytes = getauxval(AT_PAGESZ);
	if (is_unavailable || !gg_malloc_reserve(&reservation)) {
		is_unavailable = true;
		return false;
	}
	set_link_key();
	gg_malloc_purge_limit_bytes = gg_malloc_memory_limit_read(NULL, NULL);
	return true;
}

/* Opens more slices; the lock is held. */
static GG_COLD bool grow(size_t slice_count)
{
	size_t first, count, most;

	if (reservation.slice_max == 0 && !start())
		return false;
	first = slices_end != 0 ? slices_end : reservation.slots_max;
	most = reservation.slice_max - first;
	/* Whole pages, so that the next slices begin with one. */
	slice_count = (slice_count + page_slices() - 1) & ~(page_slices() - 1);
	if (slice_count > most)
		return false;
	count = slice_count > reservation.open_count ? slice_count : reservation.open_count;
	if (count > most)
		count = most;
	/* With little memory left, what is needed may be had. */
	while (!gg_malloc_open_slices(&reservation, first, count)) {
		if (count == slice_count)
			return false;
		count = count / 2 & ~(page_slices() - 1);
		count = count > slice_count ? count : slice_count;
	}
	if (slices_end == 0)
		never_empties = keeps_contents(gg_malloc_slab_start(at(first)));
	/* Relaxed: gg_malloc_arena_has() reads it without the lock. */
	gg_store_relaxed(&slices_end, first + count);
	insert(first, count, true, 0);
	return true;
}

/* Gives whole pages between two addresses back; a failure does no harm. */
static void empty_pages(void *start, void *end)
{
	uintptr_t mask = ~(uintptr_t)(gg_malloc_page_bytes - 1);
	char *first = (char *)(((uintptr_t)start + ~mask) & mask); /* NOLINT */
	char *last = (char *)((uintptr_t)end & mask);              /* NOLINT */

	if (first < last)
		gg_malloc_empty_memory(first, (size_t)(last - first));
}

/*
 * Empties the slabs of [first, end), which became part of a clean run, whose first slab alone is in
 * use.  Entries stay: free() of a pointer there finds an empty slab, and says so.
 */
static void empty_slabs(const struct gg_malloc_slab *run, size_t first, size_t end)
{
	size_t run_first = gg_malloc_slab_slice(run), run_end = run_first + run->slice_count;
	size_t of_page = gg_malloc_page_bytes / sizeof(*run);

	/* With the rest of the first and the last page, if that is in the run as well. */
	first = first > run_first + of_page ? first - of_page : run_first + 1;
	end = end + of_page < run_end ? end + of_page : run_end;
	empty_pages(at(first), at(end));
}

/*
 * Gives a dirty run back to the kernel; the lock is held.  Clean neighbors are emptied again as far
 * as the huge pages reach into which the run reaches.  A slice that shares its page with one in use
 * stays dirty until that is free.
 */
static bool purge_run(struct gg_malloc_slab *run)
{
	size_t run_first = gg_malloc_slab_slice(run), run_end = run_first + run->slice_count;
	size_t page_mask = ~(page_slices() - 1);
	size_t first = (run_first + ~page_mask) & page_mask, end = run_end & page_mask;
	size_t wide_first = first & ~(size_t)(HUGE_PAGE_SLICES - 1);
	size_t wide_end = (end + HUGE_PAGE_SLICES - 1) & ~(size_t)(HUGE_PAGE_SLICES - 1);
	const struct gg_malloc_slab *before = first == run_first ? free_before(first, true) : NULL;
	const struct gg_malloc_slab *behind = end == run_end ? free_behind(end, true) : NULL;

	if (first >= end)
		return true; /* not one page: the kernel refused nothing */
	if (before == NULL || gg_malloc_slab_slice(before) > wide_first)
		wide_first = before == NULL ? first : gg_malloc_slab_slice(before);
	if (behind == NULL || end + behind->slice_count < wide_end)
		wide_end = behind == NULL ? end : end + behind->slice_count;
	wide_first = (wide_first + ~page_mask) & page_mask;
	wide_end &= page_mask;
	if (never_empties ||
	    !gg_malloc_empty_memory(gg_malloc_slab_start(at(wide_first)),
	                            (wide_end - wide_first) << GG_MALLOC_SLICE_SHIFT))
		return false;
	/* Without an owner, so that free() refuses its slab inside of a longer clean run. */
	gg_store_relaxed(&carve(run, first, end - first)->owner, (uintptr_t)GG_MALLOC_OWNER_NONE);
	empty_slabs(insert(first, end - first, true, 0), first, end);
	return true;
}

/*
 * Gives free runs back to the kernel, except `kept`, until at most `allowed` slices of others are
 * left; the lock is held.  Large runs go first, as they need fewer calls.  Returns how many slices
 * went back.
 */
static size_t purge(const struct gg_malloc_slab *kept, size_t allowed)
{
	size_t before = dirty.slice_count;
	unsigned refusals = 0;

	allowed += kept != NULL ? kept->slice_count : 0;
	for (unsigned bin = BIN_COUNT; bin-- > 0 && dirty.slice_count > allowed;) {
		struct gg_malloc_slab *run, *next;

		for (run = dirty.first[bin];
		     run != NULL && dirty.slice_count > allowed && refusals < REFUSALS_MOST;
		     run = next) {
			next = run->next;
			if (kept == NULL || run != kept)
				refusals += !purge_run(run);
		}
	}
	return before - dirty.slice_count;
}

/* The clock comes round each 50 days: what would be further ahead than `most_ms` is in the past. */
static bool is_early(uint32_t now_ms, uint32_t due_ms, uint32_t most_ms)
{
	uint32_t left_ms = due_ms - now_ms;

	return left_ms != 0 && left_ms <= most_ms;
}

/* Gives those back that were freed by then; the lock is held. */
static void purge_aged(uint32_t now_ms, uint32_t delay_ms)
{
	unsigned refusals = 0;

	for (unsigned bin = 0; bin < BIN_COUNT; bin++) {
		struct gg_malloc_slab *run, *next;

		for (run = dirty.first[bin]; run != NULL && refusals < REFUSALS_MOST; run = next) {
			next = run->next;
			/* Some runs are stamped with the next look. */
			if (!is_early(now_ms, run->freed_ms + delay_ms,
			              delay_ms + delay_ms / AGED_LOOKS))
				refusals += !purge_run(run);
		}
	}
}

/* When the kernel takes nothing back, clean and dirty runs are joined at the price of zeros. */
static void make_all_dirty(void)
{
	for (unsigned bin = 0; bin < BIN_COUNT; bin++) {
		struct gg_malloc_slab *run;

		while ((run = clean.first[bin]) != NULL) {
			bin_remove(run);
			insert(gg_malloc_slab_slice(run), run->slice_count, false, 0);
		}
	}
}

/* Gives what handlers could not give; the lock is held. */
static void give_waiting(void)
{
	struct gg_malloc_slab *slab, *next;

	if (gg_likely(gg_load_relaxed(&waiting) == NULL))
		return;
	/* Acquire: pairs with the push in gg_malloc_arena_give(). */
	for (slab = gg_exchange_acq_rel(&waiting, NULL); slab != NULL; slab = next) {
		next = slab->next;
		insert(gg_malloc_slab_slice(slab), slab->slice_count, false, next_look_ms);
	}
}

static size_t slices_in_use(void)
{
	return slices_end - reservation.slots_max - dirty.slice_count - clean.slice_count;
}

/* After each change, before the lock is given: others read the number without it. */
static void give_lock(void)
{
	if (slices_end != 0)
		gg_store_relaxed(&used_slices, slices_in_use());
	gg_malloc_lock_give(&gg_malloc_arena_lock);
}

/*
 * Takes a dirty run that is too short, and slices of the clean one behind it, for a buffer.  So at
 * least half of its pages need no page fault.  NULL: none is found in a few tries.
 */
static struct gg_malloc_slab *take_joined(size_t slice_count)
{
	unsigned tries = JOINED_TRIES;

	for (unsigned bin = bin_of(slice_count); bin >= bin_of(slice_count / 2); bin--) {
		struct gg_malloc_slab *run = dirty.first[bin], *near, *taken;

		for (; run != NULL && tries > 0; run = run->next, tries--) {
			size_t first = gg_malloc_slab_slice(run), count = run->slice_count;

			near = free_behind(first + count, true);
			if (count >= slice_count || near == NULL ||
			    count + near->slice_count < slice_count)
				continue;
			taken = carve(run, first, count);
			near = carve(near, first + count, slice_count - count);
			gg_store_relaxed(&near->owner, (uintptr_t)GG_MALLOC_OWNER_NONE);
			gg_malloc_map_reset(first + count - 1);
			taken->slice_count = (uint32_t)slice_count;
			gg_malloc_map_set_ends(taken);
			return taken;
		}
	}
	return NULL;
}

struct gg_malloc_slab *gg_malloc_arena_take(size_t slice_count, size_t alignment_bytes,
                                            bool wants_zeros)
{
	int saved_errno = errno;
	struct gg_malloc_slab *run, *taken = NULL;
	size_t first, extra = alignment_bytes >> GG_MALLOC_SLICE_SHIFT;
	bool is_last_try = false;

	if (slice_count > UINT32_MAX / 2 || extra > UINT32_MAX / 2 ||
	    gg_malloc_lock_is_mine(&gg_malloc_arena_lock))
		return NULL;
	gg_malloc_lock_take(&gg_malloc_arena_lock);
	give_waiting();
	for (;;) {
		run = find(&dirty, slice_count, alignment_bytes, &first);
		if (run == NULL && slice_count >= BUFFER_SLICES && extra <= 1 && !wants_zeros)
			taken = take_joined(slice_count);
		if (taken != NULL)
			break;
		if (run == NULL)
			run = find(&clean, slice_count, alignment_bytes, &first);
		if (run != NULL) {
			taken = carve(run, first, slice_count);
			break;
		}
		/* Joined, the clean and dirty runs may be long enough. */
		if (dirty.slice_count >= slice_count && purge(NULL, 0) != 0)
			continue;
		if (grow(slice_count + extra))
			continue;
		if (is_last_try || dirty.slice_count == 0)
			break;
		is_last_try = true;
		make_all_dirty();
	}
	give_lock();
	errno = saved_errno;
	return taken;
}

/* Takes what gg_malloc_arena_give_for_slots() gave.  NULL: there is nothing of that length. */
static struct gg_malloc_slab *take_spare_slots(size_t slice_count)
{
	struct gg_malloc_slab **link = &spare_slots, *slab;

	while (*link != NULL && (*link)->slice_count != slice_count)
		link = &(*link)->next;
	slab = *link;
	if (slab != NULL)
		*link = slab->next;
	return slab;
}

void gg_malloc_arena_give_for_slots(struct gg_malloc_slab *slab)
{
	gg_malloc_lock_take(&gg_malloc_arena_lock);
	slab->next = spare_slots;
	spare_slots = slab;
	give_lock();
}

struct gg_malloc_slab *gg_malloc_arena_take_for_slots(size_t slice_count)
{
	int saved_errno = errno;
	struct gg_malloc_slab *slab;
	size_t end;

	gg_assert(slice_count <= SLOT_SLICES);
	if (gg_malloc_lock_is_mine(&gg_malloc_arena_lock))
		return NULL;
	gg_malloc_lock_take(&gg_malloc_arena_lock);
	slab = take_spare_slots(slice_count);
	end = slots_end + slice_count;
	if (slab == NULL && reservation.slice_max != 0 && end <= reservation.slots_max) {
		if (end > slots_opened &&
		    slots_opened + SLOT_SLICES <= reservation.slot_table_end &&
		    gg_malloc_open_slices(&reservation, slots_opened, SLOT_SLICES)) {
			for (size_t i = 0; i < SLOT_SLICES; i++)
				gg_malloc_map_reset(slots_opened + i);
			slots_opened += SLOT_SLICES;
		}
		if (end <= slots_opened) {
			slab = at(slots_end);
			slab->slice_count = (uint32_t)slice_count;
			slots_end = end;
		}
	}
	give_lock();
	errno = saved_errno;
	return slab;
}

size_t gg_malloc_arena_first_slice(void)
{
	return reservation.slots_max;
}

bool gg_malloc_arena_has(const void *p)
{
	/* Other memory may be behind the open slices if nothing is reserved. */
	size_t end = gg_load_relaxed(&reservation.is_limited) ? gg_load_relaxed(&slices_end)
	                                                      : reservation.slice_max;

	return gg_malloc_slice_of(p) < end;
}

void gg_malloc_arena_give(struct gg_malloc_slab *slab)
{
	int saved_errno = errno;
	const struct gg_malloc_slab *run;
	size_t allowed, slice_count = slab->slice_count;
	uint32_t now_ms;

	if (gg_malloc_slab_owner(slab) != GG_MALLOC_OWNER_RUN)
		gg_malloc_map_reset_inside(slab);
	gg_store_relaxed(&slab->owner, (uintptr_t)GG_MALLOC_OWNER_NONE);
	if (gg_unlikely(gg_malloc_lock_is_mine(&gg_malloc_arena_lock))) {
		slab->next = gg_load_relaxed(&waiting);
		/* Release: pairs with give_waiting(). */
		while (!gg_cas_acq_rel(&waiting, &slab->next, slab))
			;
		return;
	}
	now_ms = gg_malloc_purge_clock_ms();
	gg_malloc_lock_take(&gg_malloc_arena_lock);
	give_waiting();
	run = insert(gg_malloc_slab_slice(slab), slab->slice_count, false, now_ms);
	/* A buffer stays beside the allowance, but not a run that many slabs have become. */
	if (run->slice_count > gg_malloc_purge_kept_slices() || slice_count < BUFFER_SLICES)
		run = NULL;
	allowed = slice_count < BUFFER_SLICES ? gg_malloc_purge_allowance(slices_in_use())
	                                      : gg_malloc_purge_buffer_allowance(slices_in_use());
	if (dirty.slice_count - (run != NULL ? run->slice_count : 0) > allowed &&
	    (refused_gives == 0 || --refused_gives == 0) &&
	    purge(run, allowed - allowed / PURGED_SHARE) == 0)
		refused_gives = REFUSED_GIVES;
	give_lock();
	errno = saved_errno;
}

bool gg_malloc_arena_resize(struct gg_malloc_slab *slab, size_t slice_count)
{
	size_t first = gg_malloc_slab_slice(slab), count = slab->slice_count, more;
	struct gg_malloc_slab *near;
	bool is_done = true;

	if (gg_malloc_lock_is_mine(&gg_malloc_arena_lock))
		return false;
	gg_malloc_lock_take(&gg_malloc_arena_lock);
	if (slice_count < count) {
		slab->slice_count = (uint32_t)slice_count;
		gg_malloc_map_set_ends(slab);
		insert(first + slice_count, count - slice_count, false, next_look_ms);
	} else if (slice_count > count) {
		more = slice_count - count;
		near = first + count < slices_end ? neighbor(first + count) : NULL;
		is_done = near != NULL && gg_malloc_slab_owner(near) == GG_MALLOC_OWNER_FREE &&
		          near->slice_count >= more;
		if (is_done) {
			carve(near, first + count, more);
			gg_store_relaxed(&at(first + count)->owner,
			                 (uintptr_t)GG_MALLOC_OWNER_NONE);
			gg_malloc_map_reset(first + count - 1);
			slab->slice_count = (uint32_t)slice_count;
			slab->is_zero = false;
			gg_malloc_map_set_ends(slab);
		}
	}
	give_lock();
	return is_done;
}

bool gg_malloc_arena_purge(void)
{
	int saved_errno = errno;
	bool any;

	if (gg_malloc_lock_is_mine(&gg_malloc_arena_lock))
		return false;
	gg_malloc_lock_take(&gg_malloc_arena_lock);
	give_waiting();
	any = purge(NULL, 0) != 0;
	give_lock();
	errno = saved_errno;
	return any;
}

void gg_malloc_arena_set_delay(uint32_t delay_ms)
{
	gg_store_relaxed(&gg_malloc_purge_delay_ms, delay_ms);
	gg_store_relaxed(&next_look_ms, gg_malloc_purge_clock_ms());
}

void gg_malloc_arena_purge_aged(uint32_t now_ms)
{
	uint32_t delay_ms = gg_load_relaxed(&gg_malloc_purge_delay_ms);
	int saved_errno = errno;

	/* Relaxed: a thread that is late looks at its next visit. */
	if (gg_load_relaxed(&dirty.slice_count) == 0 ||
	    is_early(now_ms, gg_load_relaxed(&next_look_ms), delay_ms / AGED_LOOKS) ||
	    gg_malloc_lock_is_mine(&gg_malloc_arena_lock))
		return;
	gg_malloc_lock_take(&gg_malloc_arena_lock);
	give_waiting();
	gg_store_relaxed(&next_look_ms, now_ms + delay_ms / AGED_LOOKS);
	purge_aged(now_ms, delay_ms);
	give_lock();
	errno = saved_errno;
}

size_t gg_malloc_arena_used_bytes(void)
{
	return gg_load_relaxed(&used_slices) << GG_MALLOC_SLICE_SHIFT;
}

void gg_malloc_arena_read_totals(struct gg_malloc_arena_totals *ret_totals)
{
	*ret_totals = (struct gg_malloc_arena_totals){ 0 };
	if (gg_malloc_lock_is_mine(&gg_malloc_arena_lock))
		return;
	gg_malloc_lock_take(&gg_malloc_arena_lock);
	give_waiting();
	*ret_totals = (struct gg_malloc_arena_totals){
		.opened_bytes = (slices_end != 0 ? slices_end - reservation.slots_max : 0)
		                << GG_MALLOC_SLICE_SHIFT,
		.free_bytes = (dirty.slice_count + clean.slice_count) << GG_MALLOC_SLICE_SHIFT,
		.dirty_bytes = dirty.slice_count << GG_MALLOC_SLICE_SHIFT,
		.slot_bytes = slots_end << GG_MALLOC_SLICE_SHIFT,
	};
	give_lock();
}

/*
 * Closes the slices that were opened last and never used.  free() looks at no entry behind the
 * limit of the table, so whoever maps memory there gets it back from libc.
 */
static void close_end(void)
{
	struct gg_malloc_slab *run = slices_end != 0 ? neighbor(slices_end - 1) : NULL;
	size_t first, end = (gg_malloc_map.limit + page_slices() - 1) & ~(page_slices() - 1);

	if (run == NULL || gg_malloc_slab_owner(run) != GG_MALLOC_OWNER_FREE || !run->is_zero)
		return;
	first = gg_malloc_slab_slice(run);
	if (end <= first)
		end = (first + page_slices()) & ~(page_slices() - 1);
	if (end >= slices_end)
		return;
	bin_remove(run);
	gg_malloc_map_reset(slices_end - 1);
	run->slice_count = (uint32_t)(end - first);
	bin_insert(run);
	gg_store_relaxed(&slices_end, end);
}

void gg_malloc_arena_limit(size_t limit_bytes)
{
	if (gg_malloc_lock_is_mine(&gg_malloc_arena_lock))
		return;
	gg_malloc_lock_take(&gg_malloc_arena_lock);
	give_waiting();
	/* Before the start there is nothing; the start reads the limit. */
	if (slices_end != 0 && gg_malloc_reservation_exceeds(&reservation, limit_bytes)) {
		if (!reservation.is_limited)
			close_end();
		gg_malloc_release_reservation(&reservation, limit_bytes, slots_opened, slices_end);
	}
	give_lock();
}

static size_t count_bins(const struct bins *bins)
{
	size_t total = 0;

	for (unsigned bin = 0; bin < BIN_COUNT; bin++)
		for (const struct gg_malloc_slab *run = bins->first[bin]; run != NULL;
		     run = run->next)
			total += bins_of(run) == bins && bin_of(run->slice_count) == bin
			                 ? run->slice_count
			                 : SIZE_MAX / 2;
	return total;
}

/* free() of a pointer into a run finds a slab without an owner, or the run (slice_map.h). */
static bool is_closed_inside(const struct gg_malloc_slab *run)
{
	size_t first = gg_malloc_slab_slice(run);

	for (size_t slice = first + 1; slice < first + run->slice_count; slice++) {
		const struct gg_malloc_slab *entry = gg_malloc_map.entries[slice];
		bool is_own = entry == at(slice) || entry == run ||
		              (entry == NULL && slice >= gg_malloc_map.limit);

		if (!is_own || gg_malloc_slab_owner(at(slice)) != GG_MALLOC_OWNER_NONE)
			return false;
	}
	return true;
}

static bool is_entered_whole(const struct gg_malloc_slab *slab)
{
	size_t first = gg_malloc_slab_slice(slab);

	for (size_t slice = first; slice < first + slab->slice_count; slice++)
		if (gg_malloc_map.entries[slice] != slab)
			return false;
	return true;
}

const char *gg_malloc_arena_check(void)
{
	size_t free_count = 0, slice, count;

	for (slice = reservation.slots_max; slice < slices_end; slice += count) {
		const struct gg_malloc_slab *run = gg_malloc_map.entries[slice];
		uintptr_t owner;

		if (run != at(slice))
			return "a run whose first slice does not lead to it";
		count = run->slice_count;
		if (count == 0 || count > slices_end - slice)
			return "a run of impossible length";
		if (gg_malloc_map.entries[slice + count - 1] != run)
			return "a run whose last slice does not lead to it";
		owner = gg_malloc_slab_owner(run);
		if (owner == GG_MALLOC_OWNER_NONE)
			return "a run without an owner";
		if (owner > GG_MALLOC_OWNER_SLOTS) {
			if (!is_entered_whole(run))
				return "a slab to which not all of its slices lead";
			continue;
		}
		if (!is_closed_inside(run))
			return "a slice inside a run that leads to another slab, or to an owner";
		if (owner == GG_MALLOC_OWNER_FREE)
			free_count += count;
	}
	if (slices_end != 0 && slice != slices_end)
		return "the last run ends behind the arena";
	if (count_bins(&dirty) != dirty.slice_count || count_bins(&clean) != clean.slice_count)
		return "a run in a wrong bin";
	return free_count == dirty.slice_count + clean.slice_count ? NULL : "a free run in no bin";
}
