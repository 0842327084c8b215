/* SPDX-License-Identifier: Apache-2.0 */
/*
 * refill - hands the next list of blocks to malloc(), and cuts it where the next sample falls.
 *
 * The order matters.  A due sample is settled, and the rest behind a cut is handed, before anything
 * looks at slabs.  So the slabs see the same sequence of refills wherever lists are cut.
 */
#include "base/assert.h"
#include "malloc/arena.h"
#include "malloc/bad_free.h"
#include "malloc/guarded_blocks.h"
#include "malloc/list_link.h"
#include "malloc/remote_frees.h"
#include "malloc/sampled_slots.h"
#include "malloc/slice_map.h"
#include "malloc/thread_heap.h"

enum {
	EXTEND_BYTES = 4096, /* of a fresh slab at once, so that only what is in use is touched */
	CHECKED_LINKS = 8,   /* of a list of free blocks, for loops */
	FULL_SHARE = 8,      /* a full slab is of use again when 1/8 of it is free */
	SHORT_LISTS_FROM_BYTES = 1024, /* larger blocks are handed in short lists */
	SHORT_LIST_BYTES = 16384,      /* of all blocks of such a list, unless it has just one */
};

/*
 * A block that was freed twice is in the list twice, so that the list has a loop, and more blocks
 * were freed than are in use.
 */
static void check_free(const struct gg_malloc_slab *slab)
{
	const struct gg_malloc_block *block = slab->local_free, *seen = block;

	if (gg_unlikely(slab->countdown > slab->extended))
		gg_malloc_bad_free(block, "some block of this slab was freed twice");
	for (uint32_t i = 1; block != NULL && i <= CHECKED_LINKS; i++) {
		block = gg_malloc_link_next(block);
		if (gg_unlikely(block == seen && block != NULL))
			gg_malloc_bad_free(block, "the block was freed twice");
		if ((i & (i - 1)) == 0)
			seen = block;
	}
}

/* The queue of a class. */

static void enqueue(struct gg_malloc_supply *supply, struct gg_malloc_slab *slab)
{
	slab->state = GG_MALLOC_SLAB_QUEUED;
	slab->next = NULL;
	slab->previous = supply->last;
	if (supply->last != NULL)
		supply->last->next = slab;
	else
		supply->first = slab;
	supply->last = slab;
}

static void dequeue(struct gg_malloc_supply *supply, struct gg_malloc_slab *slab)
{
	if (slab->previous != NULL)
		slab->previous->next = slab->next;
	else
		supply->first = slab->next;
	if (slab->next != NULL)
		slab->next->previous = slab->previous;
	else
		supply->last = slab->previous;
}

/* An empty slab waits for its next use if it is the only one, and a thread may use it. */
static void put_empty(struct gg_malloc_heap *heap, struct gg_malloc_supply *supply,
                      struct gg_malloc_slab *slab)
{
	gg_assert(slab->remote == NULL && gg_malloc_slab_used(slab) == 0);
	check_free(slab);
	if (supply->empty == NULL && !heap->keeps_nothing) {
		supply->empty = slab;
		supply->empty_looks = 0;
		return;
	}
	dequeue(supply, slab);
	gg_malloc_arena_give(slab);
}

static void handle_event(struct gg_malloc_heap *heap, struct gg_malloc_slab *slab)
{
	struct gg_malloc_supply *supply = &heap->supplies[slab->class];

	/*
	 * Blocks of a full slab that a handler freed before the event took the countdown below 0;
	 * the addition makes up for that.
	 */
	if (slab->state == GG_MALLOC_SLAB_FULL) {
		slab->countdown += slab->bias;
		slab->bias = 0;
		enqueue(supply, slab);
	}
	/* The current slab stays, so that a pair of malloc() and free() never gets here twice. */
	if (slab->countdown == 0 && slab->state == GG_MALLOC_SLAB_QUEUED)
		put_empty(heap, supply, slab);
}

void gg_malloc_slab_event(struct gg_malloc_heap *heap, struct gg_malloc_slab *slab)
{
	struct gg_malloc_section outer = gg_malloc_section_begin();

	/*
	 * A handler may have come between free() and here, and allocated until the slab went back,
	 * or became empty once more.
	 */
	if (gg_likely(gg_malloc_slab_owner(slab) == (uintptr_t)heap &&
	              slab != heap->supplies[slab->class].empty))
		handle_event(heap, slab);
	gg_malloc_section_end(outer);
	if (!outer.is_nested)
		gg_malloc_heap_count_visit(heap);
}

static void put_back_remote(struct gg_malloc_heap *heap, struct gg_malloc_slab *slab,
                            struct gg_malloc_block *list)
{
	while (list != NULL) {
		struct gg_malloc_block *next = gg_malloc_link_next(list);

		gg_malloc_link_set(list, slab->local_free);
		slab->local_free = list;
		list = next;
		if (--slab->countdown == 0)
			gg_malloc_slab_event(heap, slab);
	}
}

void gg_malloc_collect_remote(struct gg_malloc_heap *heap)
{
	struct gg_malloc_section outer = gg_malloc_section_begin();
	struct gg_malloc_slab *slab = gg_malloc_take_remote_slabs(heap), *next;

	for (; slab != NULL; slab = next) {
		/* Before its list is taken: then another thread may put it into the list again. */
		next = gg_load_relaxed(&slab->remote_next);
		put_back_remote(heap, slab, gg_malloc_take_remote_blocks(slab));
	}
	gg_malloc_section_end(outer);
}

/* Slabs. */

static struct gg_malloc_slab *new_slab(unsigned class, const struct gg_malloc_heap *heap)
{
	uint32_t slices = gg_malloc_class_slices(class), bytes;
	struct gg_malloc_slab *slab = gg_malloc_arena_take(slices, GG_MALLOC_SLICE_BYTES, false);

	if (slab == NULL)
		return NULL;
	bytes = (uint32_t)gg_malloc_class_bytes(class);
	slab->local_free = NULL;
	slab->countdown = 0;
	slab->bias = 0;
	slab->extended = 0;
	slab->block_bytes = bytes;
	slab->capacity = slices * GG_MALLOC_SLICE_BYTES / bytes;
	slab->class = (uint8_t) class;
	slab->remote = NULL;
	gg_malloc_map_set_all(slab);
	/* Relaxed: see gg_malloc_has_slice(). */
	gg_store_relaxed(&slab->owner, (uintptr_t)heap);
	return slab;
}

/* Puts the next blocks of a slab, which were never in use, before a list. */
static struct gg_malloc_block *extend(struct gg_malloc_slab *slab, struct gg_malloc_block *list,
                                      uint32_t *ret_count)
{
	uint32_t bytes = slab->block_bytes, count = EXTEND_BYTES / bytes;
	char *first = gg_malloc_slab_start(slab) + (size_t)slab->extended * bytes, *p = first;

	if (count == 0)
		count = 1;
	if (count > slab->capacity - slab->extended)
		count = slab->capacity - slab->extended;
	for (uint32_t i = 1; i < count; i++, p += bytes)
		gg_malloc_link_set((struct gg_malloc_block *)p,
		                   (struct gg_malloc_block *)(p + bytes));
	gg_malloc_link_set((struct gg_malloc_block *)p, list);
	slab->extended += count;
	*ret_count = count;
	return (struct gg_malloc_block *)first;
}

/* True if so many blocks are no short list. */
static bool is_long(const struct gg_malloc_slab *slab, uint32_t count)
{
	return slab->block_bytes > SHORT_LISTS_FROM_BYTES && count > 1 &&
	       (size_t)count * slab->block_bytes > SHORT_LIST_BYTES;
}

/*
 * Takes the blocks that were freed last out of a long list.  They may be in the processor's caches
 * still, and the program writes to much of such a block.
 */
static struct gg_malloc_block *take_short_list(struct gg_malloc_slab *slab, uint32_t *ret_count)
{
	struct gg_malloc_block *list = slab->local_free, *last = list;
	uint32_t count = 1;

	for (; !is_long(slab, count + 1); count++)
		last = gg_malloc_link_next(last);
	slab->local_free = gg_malloc_link_next(last);
	gg_malloc_link_set(last, NULL);
	slab->countdown += count;
	*ret_count = count;
	return list;
}

/*
 * Takes the free blocks of a slab, except for long lists; NULL: the slab is full.  A slab whose
 * blocks are all free again is extended as well: the class lives from few blocks that come and go,
 * and longer lists need fewer refills.
 */
static struct gg_malloc_block *take_free(struct gg_malloc_slab *slab, uint32_t *ret_count)
{
	struct gg_malloc_block *list = slab->local_free;
	uint32_t count = slab->extended - slab->countdown, more = 0;

	check_free(slab);
	gg_assert(slab->bias == 0 && (list == NULL) == (count == 0));
	if (is_long(slab, count))
		return take_short_list(slab, ret_count);
	slab->local_free = NULL;
	if (slab->extended < slab->capacity &&
	    (list == NULL || (slab->countdown == 0 && !is_long(slab, count + 1))))
		list = extend(slab, list, &more);
	*ret_count = count + more;
	slab->countdown += count + more;
	return list;
}

static void make_full(struct gg_malloc_slab *slab)
{
	uint32_t share = slab->capacity / FULL_SHARE;

	gg_assert(slab->countdown == slab->capacity && slab->bias == 0);
	slab->countdown = share > 1 ? share : 1;
	slab->bias = slab->capacity - slab->countdown;
	slab->state = GG_MALLOC_SLAB_FULL;
}

/* The next list of the class, uncut. */
static struct gg_malloc_block *next_list(struct gg_malloc_heap *heap, unsigned class,
                                         uint32_t *ret_count)
{
	struct gg_malloc_supply *supply = &heap->supplies[class];
	struct gg_malloc_slab *slab;
	struct gg_malloc_block *list;

	if (gg_unlikely(gg_malloc_has_remote_slabs(heap)))
		gg_malloc_collect_remote(heap);
	for (;;) {
		slab = supply->current;
		if (gg_likely(slab != NULL)) {
			list = take_free(slab, ret_count);
			if (gg_likely(list != NULL))
				return list;
			make_full(slab);
			supply->current = NULL;
		}
		slab = supply->first;
		if (slab != NULL) {
			dequeue(supply, slab);
			/* Not its countdown: the event of another slab may be due still. */
			if (slab == supply->empty)
				supply->empty = NULL;
		} else {
			slab = new_slab(class, heap);
			if (slab == NULL)
				return NULL;
		}
		slab->state = GG_MALLOC_SLAB_CURRENT;
		supply->current = slab;
	}
}

/* Returns a list with another one behind it, and adds the number of its own blocks to *count. */
static struct gg_malloc_block *append(struct gg_malloc_block *list, struct gg_malloc_block *more,
                                      uint32_t *count)
{
	struct gg_malloc_block *last = list, *next;

	if (list == NULL)
		return more;
	for (*count += 1; (next = gg_malloc_link_next(last)) != NULL; last = next)
		*count += 1;
	gg_malloc_link_set(last, more);
	return list;
}

/* Puts the handed blocks of the current slab back, in the order in which they were handed. */
static void take_back(struct gg_malloc_heap *heap, unsigned class)
{
	struct gg_malloc_supply *supply = &heap->supplies[class];
	struct gg_malloc_slab *slab = supply->current;
	uint32_t count = supply->rest_count, rest_count = 0;

	slab->local_free = append(supply->rest, slab->local_free, &rest_count);
	slab->local_free = append(heap->handed[class], slab->local_free, &count);
	slab->countdown -= count;
	heap->handed[class] = NULL;
	supply->handed_count -= count;
	supply->rest = NULL;
	supply->rest_count = 0;
	/* Trials have no memory: the next list gets a draw of its own. */
	supply->is_due = false;
	supply->has_gap = false;
	supply->gap = 0;
}

/*
 * Without a thread no slab is current: the current slab of an orphan would stay when others have
 * freed all its blocks.
 */
static void put_away_current(struct gg_malloc_supply *supply)
{
	struct gg_malloc_slab *slab = supply->current;

	supply->current = NULL;
	if (slab->countdown == slab->capacity)
		make_full(slab);
	else
		enqueue(supply, slab);
}

/* Gives the empty slab of a queue back, if there is one. */
static void give_empty(struct gg_malloc_supply *supply)
{
	struct gg_malloc_slab *slab = supply->empty;

	if (slab == NULL)
		return;
	supply->empty = NULL;
	dequeue(supply, slab);
	gg_malloc_arena_give(slab);
}

/* Takes the blocks back that were handed; an empty slab goes to the arena. */
static void retire_current(struct gg_malloc_heap *heap, unsigned class)
{
	struct gg_malloc_supply *supply = &heap->supplies[class];
	struct gg_malloc_slab *slab = supply->current;

	if (slab == NULL)
		return;
	take_back(heap, class);
	if (slab->countdown == 0) {
		supply->current = NULL;
		gg_malloc_arena_give(slab);
	} else if (heap->keeps_nothing) {
		put_away_current(supply);
	}
}

void gg_malloc_heap_trim(struct gg_malloc_heap *heap)
{
	struct gg_malloc_section outer = gg_malloc_section_begin();

	gg_malloc_collect_remote(heap);
	for (unsigned class = 0; class < GG_MALLOC_CLASS_COUNT; class ++) {
		retire_current(heap, class);
		give_empty(&heap->supplies[class]);
	}
	gg_malloc_section_end(outer);
}

void gg_malloc_heap_retire(struct gg_malloc_heap *heap)
{
	struct gg_malloc_section outer = gg_malloc_section_begin();

	for (unsigned class = 0; class < GG_MALLOC_CLASS_COUNT; class ++) {
		struct gg_malloc_supply *supply = &heap->supplies[class];

		if (supply->empty != NULL && supply->empty_looks++ != 0)
			give_empty(supply);
		/* Not where a list was cut: the count is that of uncut lists. */
		if (supply->handed_count == supply->retire_handed_count)
			retire_current(heap, class);
		supply->retire_handed_count = supply->handed_count;
	}
	gg_malloc_section_end(outer);
}

/* Trials. */

static void draw_gap(struct gg_malloc_heap *heap, unsigned class)
{
	struct gg_malloc_supply *supply = &heap->supplies[class];
	double interval = heap->plan->class_intervals[class];

	supply->gap = gg_rng_geometric(
		&heap->rng, interval > 1 ? interval / (double)gg_malloc_class_bytes(class) : 0);
	supply->due_interval = interval > 1 ? interval : 0;
	supply->has_gap = true;
}

/* Called if the gap ends in the list, or is not drawn yet. */
static GG_APART void hand_as_far_as_sample(struct gg_malloc_heap *heap, unsigned class,
                                           struct gg_malloc_block *list, uint32_t count)
{
	struct gg_malloc_supply *supply = &heap->supplies[class];
	struct gg_malloc_block *last = list;

	if (heap->plan == NULL) {
		supply->gap = GG_MALLOC_GAP_ENDLESS;
		return;
	}
	if (!supply->has_gap)
		draw_gap(heap, class);
	if (supply->gap >= count) {
		supply->gap -= count;
		return;
	}
	heap->walked_count += supply->gap;
	supply->rest_count = count - (uint32_t)supply->gap;
	supply->is_due = true;
	supply->has_gap = false;
	if (supply->gap == 0) {
		heap->handed[class] = NULL;
		supply->rest = list;
		return;
	}
	/* Three instructions a step. */
	for (uint64_t steps = supply->gap; --steps != 0;)
		last = gg_malloc_link_next(last);
	supply->rest = gg_malloc_link_next(last);
	gg_malloc_link_set(last, NULL);
	supply->gap = 0;
}

/*
 * Hands a list of `count` blocks, as far as the next sample.  Without sampling the gap is endless,
 * so that it costs the same.
 */
static void hand(struct gg_malloc_heap *heap, unsigned class, struct gg_malloc_block *list,
                 uint32_t count)
{
	struct gg_malloc_supply *supply = &heap->supplies[class];

	heap->handed[class] = list;
	supply->rest = NULL;
	supply->rest_count = 0;
	if (gg_likely(supply->gap >= count))
		supply->gap -= count;
	else
		hand_as_far_as_sample(heap, class, list, count);
}

void gg_malloc_heap_redraw(struct gg_malloc_heap *heap)
{
	struct gg_malloc_section outer = gg_malloc_section_begin();

	for (unsigned class = 0; class < GG_MALLOC_CLASS_COUNT; class ++) {
		struct gg_malloc_supply *supply = &heap->supplies[class];
		uint32_t count = supply->rest_count;

		supply->has_gap = false;
		supply->gap = 0;
		if (heap->plan == NULL || (heap->handed[class] == NULL && supply->rest == NULL))
			continue;
		heap->handed[class] = append(heap->handed[class], supply->rest, &count);
		supply->is_due = false;
		hand(heap, class, heap->handed[class], count);
	}
	gg_malloc_section_end(outer);
}

/* The trial of the first block of `rest` has succeeded. */
static struct gg_malloc_block *take_home(struct gg_malloc_supply *supply)
{
	struct gg_malloc_block *home = supply->rest;

	gg_assert(home != NULL && supply->rest_count > 0);
	supply->rest = gg_malloc_link_next(home);
	supply->rest_count -= 1;
	supply->is_due = false;
	return home;
}

/* Hands the next list, as long as that one begins with a sample; false: there is no memory. */
static bool hand_next(struct gg_malloc_heap *heap, unsigned class)
{
	struct gg_malloc_supply *supply = &heap->supplies[class];
	struct gg_malloc_block *list = supply->rest;
	uint32_t count = supply->rest_count;

	if (list == NULL) {
		list = next_list(heap, class, &count);
		if (gg_unlikely(list == NULL))
			return false;
		supply->handed_count += count;
		heap->visit_left_bytes -= (int64_t)count * supply->current->block_bytes;
	}
	hand(heap, class, list, count);
	return true;
}

/* The block of the sample that is due now, and its interval; NULL: a signal handler had it. */
static GG_APART struct gg_malloc_block *take_due(struct gg_malloc_heap *heap, unsigned class,
                                                 double *ret_interval)
{
	struct gg_malloc_supply *supply = &heap->supplies[class];
	struct gg_malloc_section outer = gg_malloc_section_begin();
	struct gg_malloc_block *block = NULL;

	if (supply->is_due && heap->handed[class] == NULL) {
		*ret_interval = supply->due_interval;
		block = take_home(supply);
	}
	gg_malloc_section_end(outer);
	return block;
}

/* Returns the sample whose home was taken from `rest`. */
static GG_APART void *sample_home(struct gg_malloc_heap *heap, unsigned class, size_t bytes,
                                  struct gg_malloc_block *home, double due_interval)
{
	struct gg_malloc_supply *supply = &heap->supplies[class];
	struct gg_malloc_section outer = gg_malloc_section_begin();

	/* Here and not at the next call, whose way through the slow path this saves. */
	if (supply->rest != NULL && !supply->is_due && heap->handed[class] == NULL)
		hand(heap, class, supply->rest, supply->rest_count);
	gg_malloc_section_end(outer);
	/* If sampling was switched off meanwhile, the sample is dropped. */
	if (heap->plan == NULL)
		return home;
	return gg_malloc_guard_or_slot(home, class, bytes,
	                               heap->alignment_bytes != 0 ? heap->alignment_bytes : 16,
	                               due_interval);
}

/*
 * A due sample is taken before gg_malloc_heap_prepare(), in which new plans and old age of lists
 * have them drawn again.  The call came here because the sample is due, so if that were drawn again
 * it would be missing from totals.
 */
void *gg_malloc_refill(struct gg_malloc_heap *heap, unsigned class, size_t bytes)
{
	struct gg_malloc_supply *supply = &heap->supplies[class];
	struct gg_malloc_block *block = NULL, *home = NULL;
	struct gg_malloc_section outer;
	double due_interval = 0;
	bool is_handed = true;

	if (gg_unlikely(supply->is_due))
		home = take_due(heap, class, &due_interval);
	gg_malloc_heap_prepare(heap);
	if (gg_unlikely(home != NULL))
		return sample_home(heap, class, bytes, home, due_interval);
	outer = gg_malloc_section_begin();
	/* A signal handler may have got a list just now. */
	if (!supply->is_due && heap->handed[class] == NULL)
		is_handed = hand_next(heap, class);
	block = heap->handed[class];
	if (gg_likely(block != NULL)) {
		heap->handed[class] = gg_malloc_link_next(block);
	} else if (is_handed) { /* the first block of the rest is the sample */
		due_interval = supply->due_interval;
		home = take_home(supply);
	}
	gg_malloc_section_end(outer);
	if (gg_unlikely(home != NULL))
		return sample_home(heap, class, bytes, home, due_interval);
	return block;
}
