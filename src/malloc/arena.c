/* SPDX-License-Identifier: Apache-2.0 */
/* arena - takes, splits, joins and purges runs of slices. */
#include "malloc/arena.h"

#include <errno.h>
#include <sys/sysinfo.h>

#include "base/assert.h"
#include "base/compiler.h"
#include "malloc/kernel_memory.h"

enum {
	EXACT_BINS = 32, /* runs of 1 to 32 slices have a bin each; each doubling above has four */
	BIN_COUNT = EXACT_BINS + 4 * 27,
	BIN_WORDS = (BIN_COUNT + 63) / 64,
	OPEN_SLICES = 4096,  /* 64 MiB */
	SLOT_SLICES = 64,    /* opened for sampled slots at once: 1 MiB */
	SLOT_SHARE = 16,     /* one slice in so many is for sampled slots */
	DIRTY_SLICES = 1024, /* 16 MiB */
	DIRTY_SHARE = 8,
	OS_PAGE_BYTES = 4096,
};
#define RESERVATION_BYTES_MIN ((size_t)64 << 20)
#define RESERVATION_BYTES     ((size_t)64 << 30)
#define RESERVATION_BYTES_MAX ((size_t)8 << 40)
#define RESERVATION_ALIGNMENT ((size_t)2 << 20)

_Static_assert(sizeof(struct gg_malloc_slab) == 128, "two cache lines");

struct bins {
	struct gg_malloc_slab *first[BIN_COUNT];
	uint64_t occupied[BIN_WORDS];
	size_t slice_count; /* in all runs */
};

struct gg_malloc_map gg_malloc_map;
struct gg_malloc_lock gg_malloc_arena_lock = { .part = GG_MALLOC_PART_ARENA };

static struct bins dirty, clean;
static size_t slice_max;               /* slices of the reservation; 0: none yet */
static size_t slots_end, slots_opened; /* slices for sampled slots: used and opened so far */
static size_t slots_max;               /* the first slice that is not for sampled slots */
static bool is_unavailable;            /* no reservation was possible */
static struct gg_malloc_slab *waiting; /* given by handlers that interrupted the lock's holder */

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

/* The two ends of a run lead to its slab. */
static void set_ends(struct gg_malloc_slab *run)
{
	size_t first = gg_malloc_slab_slice(run);

	/* Relaxed: see gg_malloc_has_slice(). */
	gg_store_relaxed(&gg_malloc_map.entries[first], run);
	gg_store_relaxed(&gg_malloc_map.entries[first + run->slice_count - 1], run);
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
	bins->slice_count += run->slice_count;
	set_ends(run);
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
	bins->slice_count -= run->slice_count;
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

/* Frees a run, and joins it with its free neighbors of the same kind. */
static void insert(size_t first, size_t slice_count, bool is_zero)
{
	struct gg_malloc_slab *near = first > slots_max ? neighbor(first - 1) : NULL;
	struct gg_malloc_slab *run;

	if (near != NULL && gg_malloc_slab_owner(near) == GG_MALLOC_OWNER_FREE &&
	    near->is_zero == is_zero) {
		bin_remove(near);
		first -= near->slice_count;
		slice_count += near->slice_count;
	}
	near = first + slice_count < gg_malloc_map.limit ? neighbor(first + slice_count) : NULL;
	if (near != NULL && gg_malloc_slab_owner(near) == GG_MALLOC_OWNER_FREE &&
	    near->is_zero == is_zero) {
		bin_remove(near);
		slice_count += near->slice_count;
	}
	run = at(first);
	run->slice_count = (uint32_t)slice_count;
	run->is_zero = is_zero;
	bin_insert(run);
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
	struct gg_malloc_slab *taken = at(first);

	gg_assert(run_first <= first && first + slice_count <= run_end);
	bin_remove(run);
	/* First, so that neither rest is joined with it. */
	taken->slice_count = (uint32_t)slice_count;
	taken->is_zero = is_zero;
	taken->is_sampled = false;
	gg_store_relaxed(&taken->owner, (uintptr_t)GG_MALLOC_OWNER_RUN);
	set_ends(taken);
	if (first > run_first)
		insert(run_first, first - run_first, is_zero);
	if (first + slice_count < run_end)
		insert(first + slice_count, run_end - first - slice_count, is_zero);
	return taken;
}

static void *align(void *p, size_t bytes)
{
	return (void *)(((uintptr_t)p + bytes - 1) & ~(uintptr_t)(bytes - 1)); /* NOLINT */
}

static bool make_writable(void *start, void *end)
{
	char *first = (char *)((uintptr_t)start & ~(uintptr_t)(OS_PAGE_BYTES - 1)); /* NOLINT */

	return gg_malloc_make_writable(first, (size_t)((char *)end - first));
}

/* Reserves address space; the lock is held. */
static GG_COLD bool reserve(void)
{
	size_t bytes = RESERVATION_BYTES, memory;
	size_t slices, slab_bytes, entry_bytes;
	struct sysinfo machine;
	char *p;

	/* Not sysconf(), which opens files in some versions of libc. */
	memory = sysinfo(&machine) == 0 ? (size_t)machine.totalram * machine.mem_unit : 0;
	while (bytes < 4 * memory && bytes < RESERVATION_BYTES_MAX)
		bytes *= 2;
	for (;; bytes /= 2) {
		slices = bytes >> GG_MALLOC_SLICE_SHIFT;
		slab_bytes = slices * sizeof(struct gg_malloc_slab);
		entry_bytes = slices * sizeof(struct gg_malloc_slab *);
		p = gg_malloc_map_memory(slab_bytes + entry_bytes + bytes + RESERVATION_ALIGNMENT,
		                         PROT_NONE, MAP_NORESERVE);
		if (p != NULL)
			break;
		if (bytes <= RESERVATION_BYTES_MIN)
			return false;
	}
	gg_malloc_map.slabs = (struct gg_malloc_slab *)p;
	gg_malloc_map.entries = (struct gg_malloc_slab **)(p + slab_bytes);
	gg_malloc_map.base = (uintptr_t)align(p + slab_bytes + entry_bytes, RESERVATION_ALIGNMENT);
	if (!make_writable(gg_malloc_map.entries, gg_malloc_map.entries + slices)) {
		gg_malloc_unmap_memory(p, slab_bytes + entry_bytes + bytes + RESERVATION_ALIGNMENT);
		return false;
	}
	slots_max = slices / SLOT_SHARE;
	slice_max = slices;
	return true;
}

static bool open_slices(size_t first, size_t count)
{
	char *base = (char *)gg_malloc_map.base; /* NOLINT */

	return make_writable(at(first), at(first + count)) &&
	       make_writable(base + (first << GG_MALLOC_SLICE_SHIFT),
	                     base + ((first + count) << GG_MALLOC_SLICE_SHIFT));
}

/* Opens more slices; the lock is held. */
static GG_COLD bool grow(size_t slice_count)
{
	size_t first, count = slice_count > OPEN_SLICES ? slice_count : OPEN_SLICES;

	if (slice_max == 0 && (is_unavailable || !reserve())) {
		is_unavailable = true;
		return false;
	}
	first = gg_malloc_map.limit != 0 ? gg_malloc_map.limit : slots_max;
	if (count > slice_max - first)
		count = slice_max - first;
	if (count < slice_count || !open_slices(first, count))
		return false;
	/* Relaxed: see gg_malloc_has_slice(). */
	gg_store_relaxed(&gg_malloc_map.limit, first + count);
	insert(first, count, true);
	return true;
}

/* Gives all free runs back to the kernel; the lock is held. */
static bool purge(void)
{
	bool any = dirty.slice_count != 0;

	for (unsigned bin = 0; bin < BIN_COUNT; bin++) {
		struct gg_malloc_slab *run;

		while ((run = dirty.first[bin]) != NULL) {
			size_t first = gg_malloc_slab_slice(run), count = run->slice_count;
			bool is_gone = gg_malloc_empty_memory(gg_malloc_slab_start(run),
			                                      count << GG_MALLOC_SLICE_SHIFT);

			if (!is_gone)
				return any;
			bin_remove(run);
			insert(first, count, true);
		}
	}
	return any;
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
		insert(gg_malloc_slab_slice(slab), slab->slice_count, false);
	}
}

static size_t slices_in_use(void)
{
	return gg_malloc_map.limit - slots_max - dirty.slice_count - clean.slice_count;
}

struct gg_malloc_slab *gg_malloc_arena_take(size_t slice_count, size_t alignment_bytes)
{
	int saved_errno = errno;
	struct gg_malloc_slab *run, *taken = NULL;
	size_t first, extra = alignment_bytes >> GG_MALLOC_SLICE_SHIFT;

	if (slice_count > UINT32_MAX / 2 || extra > UINT32_MAX / 2 ||
	    gg_malloc_lock_is_mine(&gg_malloc_arena_lock))
		return NULL;
	gg_malloc_lock_take(&gg_malloc_arena_lock);
	give_waiting();
	for (;;) {
		run = find(&dirty, slice_count, alignment_bytes, &first);
		if (run == NULL)
			run = find(&clean, slice_count, alignment_bytes, &first);
		if (run != NULL) {
			taken = carve(run, first, slice_count);
			break;
		}
		/* Joined, the clean and dirty runs may be long enough. */
		if (dirty.slice_count >= slice_count && purge())
			continue;
		if (!grow(slice_count + extra))
			break;
	}
	gg_malloc_lock_give(&gg_malloc_arena_lock);
	errno = saved_errno;
	return taken;
}

struct gg_malloc_slab *gg_malloc_arena_take_for_slots(size_t slice_count)
{
	int saved_errno = errno;
	struct gg_malloc_slab *slab = NULL;
	size_t end;

	gg_assert(slice_count <= SLOT_SLICES);
	if (gg_malloc_lock_is_mine(&gg_malloc_arena_lock))
		return NULL;
	gg_malloc_lock_take(&gg_malloc_arena_lock);
	end = slots_end + slice_count;
	if (slice_max != 0 && end <= slots_max) {
		if (end > slots_opened && slots_opened + SLOT_SLICES <= slots_max &&
		    open_slices(slots_opened, SLOT_SLICES))
			slots_opened += SLOT_SLICES;
		if (end <= slots_opened) {
			slab = at(slots_end);
			slab->slice_count = (uint32_t)slice_count;
			slots_end = end;
		}
	}
	gg_malloc_lock_give(&gg_malloc_arena_lock);
	errno = saved_errno;
	return slab;
}

size_t gg_malloc_arena_first_slice(void)
{
	return slots_max;
}

void gg_malloc_arena_set_entries(struct gg_malloc_slab *slab)
{
	size_t first = gg_malloc_slab_slice(slab);

	for (size_t i = 0; i < slab->slice_count; i++)
		gg_store_relaxed(&gg_malloc_map.entries[first + i], slab);
}

void gg_malloc_arena_give(struct gg_malloc_slab *slab)
{
	int saved_errno = errno;

	gg_store_relaxed(&slab->owner, (uintptr_t)GG_MALLOC_OWNER_NONE);
	if (gg_unlikely(gg_malloc_lock_is_mine(&gg_malloc_arena_lock))) {
		slab->next = gg_load_relaxed(&waiting);
		/* Release: pairs with give_waiting(). */
		while (!gg_cas_acq_rel(&waiting, &slab->next, slab))
			;
		return;
	}
	gg_malloc_lock_take(&gg_malloc_arena_lock);
	give_waiting();
	insert(gg_malloc_slab_slice(slab), slab->slice_count, false);
	if (dirty.slice_count > DIRTY_SLICES + slices_in_use() / DIRTY_SHARE)
		purge();
	gg_malloc_lock_give(&gg_malloc_arena_lock);
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
		set_ends(slab);
		insert(first + slice_count, count - slice_count, false);
	} else if (slice_count > count) {
		more = slice_count - count;
		near = first + count < gg_malloc_map.limit ? neighbor(first + count) : NULL;
		is_done = near != NULL && gg_malloc_slab_owner(near) == GG_MALLOC_OWNER_FREE &&
		          near->slice_count >= more;
		if (is_done) {
			carve(near, first + count, more);
			gg_store_relaxed(&at(first + count)->owner,
			                 (uintptr_t)GG_MALLOC_OWNER_NONE);
			slab->slice_count = (uint32_t)slice_count;
			slab->is_zero = false;
			set_ends(slab);
		}
	}
	gg_malloc_lock_give(&gg_malloc_arena_lock);
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
	any = purge();
	gg_malloc_lock_give(&gg_malloc_arena_lock);
	errno = saved_errno;
	return any;
}

void gg_malloc_arena_read_totals(struct gg_malloc_arena_totals *ret_totals)
{
	*ret_totals = (struct gg_malloc_arena_totals){ 0 };
	if (gg_malloc_lock_is_mine(&gg_malloc_arena_lock))
		return;
	gg_malloc_lock_take(&gg_malloc_arena_lock);
	give_waiting();
	*ret_totals = (struct gg_malloc_arena_totals){
		.opened_bytes = (gg_malloc_map.limit - (gg_malloc_map.limit != 0 ? slots_max : 0))
		                << GG_MALLOC_SLICE_SHIFT,
		.free_bytes = (dirty.slice_count + clean.slice_count) << GG_MALLOC_SLICE_SHIFT,
		.dirty_bytes = dirty.slice_count << GG_MALLOC_SLICE_SHIFT,
		.slot_bytes = slots_end << GG_MALLOC_SLICE_SHIFT,
	};
	gg_malloc_lock_give(&gg_malloc_arena_lock);
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

const char *gg_malloc_arena_check(void)
{
	size_t free_count = 0, slice, count;

	if (gg_malloc_map.limit == 0)
		return NULL;
	for (slice = slots_max; slice < gg_malloc_map.limit; slice += count) {
		const struct gg_malloc_slab *run = gg_malloc_map.entries[slice];

		if (run != at(slice))
			return "a run whose first slice does not lead to it";
		count = run->slice_count;
		if (count == 0 || count > gg_malloc_map.limit - slice)
			return "a run of impossible length";
		if (gg_malloc_map.entries[slice + count - 1] != run)
			return "a run whose last slice does not lead to it";
		if (gg_malloc_slab_owner(run) == GG_MALLOC_OWNER_NONE)
			return "a run without an owner";
		if (gg_malloc_slab_owner(run) == GG_MALLOC_OWNER_FREE)
			free_count += count;
	}
	if (slice != gg_malloc_map.limit)
		return "the last run ends behind the arena";
	if (count_bins(&dirty) != dirty.slice_count || count_bins(&clean) != clean.slice_count)
		return "a run in a wrong bin";
	return free_count == dirty.slice_count + clean.slice_count ? NULL : "a free run in no bin";
}
