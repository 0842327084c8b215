/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allocator_look - makes looks at the allocator in parts.
 *
 * Everything that steers a look is in private memory.  The file gets copies, and the only word that
 * is read from it is the number of the request, which is compared and nothing more.
 */
#include "runtime/looks/allocator_look.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/time_units.h"
#include "region/writer/scan.h"
#include "region/writer/space.h"
#include "region/writer/step.h"
#include "runtime/looks/allocator_calls.h"
#include "runtime/platform/allocator_functions.h"
#include "runtime/platform/seccomp.h"
#include "runtime/signals/signal_mask.h"
#include "unwind/walk/stack_bounds.h"

enum {
	PART_NS = 200000,       /* a part ends after the batch in which this time is over */
	SLOW_CALLS_MOST = 2,    /* successive calls that may be slow */
	ROOM_BYTES = 32 * 1024, /* of the stack, below the sample's frames */
	PROBE_COUNT = 1024,     /* records that are read to estimate how many samples are live */
	VISITED_RECORDS = 4096, /* a batch reads at most so many records, free ones among them */
	/* Samples that the allocator does not know.  A query about one may crash jemalloc. */
	NOT_OF_MALLOC = GG_REGION_SAMPLE_MAPPING | GG_REGION_SAMPLE_FOREIGN,
	OWN_PAUSE_PART = 500, /* after a look of t the next one without a request waits 500 t */
};

#define OWN_PAUSE_LEAST_NS (100 * GG_NS_PER_MS)
#define PAUSE_UNSAFE_NS    (10 * GG_NS_PER_MS)

struct gg_allocator_look gg_allocator_look;

/* The look under way.  It belongs to the thread that has set is_busy. */
static struct {
	uint32_t is_busy;
	bool is_under_way;
	uint32_t request_count;
	struct gg_region_allocator_look look;
	uint32_t next, end; /* the next group of `stride` records, and the last one + 1 */
	uint32_t slow_count;
	uint64_t spent_ns; /* processor time of the look under way */
} state;

/* The samples of a batch; static, because stacks of threads may be small. */
static struct {
	uint32_t count;
	const void *blocks[GG_ALLOCATOR_CALLS_SLABS_MOST];
	uint64_t ids[GG_ALLOCATOR_CALLS_SLABS_MOST];
	uint32_t live_indexes[GG_ALLOCATOR_CALLS_SLABS_MOST];
	struct gg_allocator_slab slabs[GG_ALLOCATOR_CALLS_SLABS_MOST];
} batch;

static struct gg_region_allocator_state *file_state(void)
{
	return &gg_process.region.header->allocator;
}

/*
 * No look without a request begins before that time is over.  Relaxed: threads that put it off at
 * once do so by nearly the same time.
 */
static void put_off(uint64_t pause_ns)
{
	uint64_t next_ns = gg_clock_monotonic_ns() + pause_ns;

	if (gg_load_relaxed(&gg_allocator_look.next_ns) < next_ns)
		gg_store_relaxed(&gg_allocator_look.next_ns, next_ns);
}

void gg_allocator_look_begin(void)
{
	struct gg_region_allocator_state *file = file_state();
	/* In a child, the flag tells that the fork interrupted a part. */
	bool is_on = gg_process.options.allocator_calls && gg_load_relaxed(&state.is_busy) == 0;

	state.is_under_way = false;
	state.look.number = 0;
	state.slow_count = 0;
	gg_store_relaxed(&gg_allocator_look.served_count, 0);
	put_off(OWN_PAUSE_LEAST_NS);
	gg_store_relaxed(&file->allocator, gg_allocator_functions.allocator);
	gg_store_relaxed(&file->flags, is_on ? 0 : GG_ALLOCATOR_LOOK_OFF);
	gg_store_release(&gg_allocator_look.is_on,
	                 is_on && gg_allocator_functions.allocator != GG_REGION_ALLOCATOR_UNKNOWN);
}

/* --- the place --- */

/* True if the pages below the frame can be used: the allocator's functions need some. */
static bool has_room(uint64_t frame)
{
	for (uint64_t below = 0; below <= ROOM_BYTES; below += GG_STACK_BOUNDS_PAGE)
		if (!gg_stack_bounds_is_readable((frame - below) & ~UINT64_C(7)))
			return false;
	return true;
}

/*
 * True if the stack proves that the thread is neither inside the allocator nor in a handler.  This
 * walk uses no stack cache, because reused frames do not count the signal frames among them.
 */
static bool is_outside(struct gg_thread_block *block)
{
	struct gg_unwind_thread walk = { .own = block->unwind.own };
	struct gg_unwind_stack stack;

	gg_unwind_capture(&walk, block->pcs, GG_COUNT(block->pcs), 0, &stack);
	if (stack.ending != GG_UNWIND_COMPLETE || stack.omitted_count != 0 ||
	    walk.stats.signal_frames != 0 || walk.stats.foreign_walks != 0)
		return false;
	for (uint32_t i = 0; i < stack.count; i++)
		if (gg_allocator_functions_have_code(stack.frames[i]))
			return false;
	return true;
}

static bool is_safe(const struct gg_thread *thread, struct gg_thread_block *block)
{
	if (gg_seccomp_is_entered() || thread->ending)
		return false;
	/* libgeiger-malloc takes no lock for its numbers. */
	return gg_allocator_functions.allocator == GG_REGION_ALLOCATOR_GEIGER ||
	       (has_room((uintptr_t)__builtin_frame_address(0)) && is_outside(block));
}

/* --- totals --- */

static void put_totals(const uint64_t *totals, uint64_t begin_ns, uint64_t span_ns)
{
	struct gg_region_allocator_state *file = file_state();
	uint64_t change_count = gg_load_relaxed(&file->totals_change_count) | 1;

	gg_store_relaxed(&file->totals_change_count, change_count);
	gg_fence_full();
	for (size_t i = 0; i < GG_ALLOCATOR_TOTAL_COUNT; i++)
		gg_store_relaxed(&file->totals[i], totals[i]);
	gg_store_relaxed(&file->totals_ns, begin_ns);
	gg_store_relaxed(&file->totals_span_ns, span_ns);
	/* Release: a reader that sees the even number sees the totals. */
	gg_store_release(&file->totals_change_count, change_count + 1);
}

static void take_totals(void)
{
	uint64_t totals[GG_ALLOCATOR_TOTAL_CAPACITY];
	uint64_t begin_ns, span_ns;

	if (state.slow_count >= SLOW_CALLS_MOST)
		return;
	for (size_t i = 0; i < GG_ALLOCATOR_TOTAL_CAPACITY; i++)
		totals[i] = GG_ALLOCATOR_TOTAL_UNKNOWN;
	begin_ns = gg_clock_monotonic_ns();
	/* Processor time: a thread that waits for its turn on a busy machine is not slow. */
	span_ns = gg_clock_thread_ns();
	gg_allocator_calls_totals(totals);
	span_ns = gg_clock_thread_ns() - span_ns;
	put_totals(totals, begin_ns, span_ns);
	state.slow_count = span_ns > GG_ALLOCATOR_LOOK_TOTALS_MOST_NS ? state.slow_count + 1 : 0;
	if (state.slow_count >= SLOW_CALLS_MOST)
		gg_store_relaxed(&file_state()->flags, GG_ALLOCATOR_LOOK_TOTALS_SLOW);
}

/* --- blocks --- */

/* The number of blocks of a look for which the region has records. */
static uint32_t capacity(void)
{
	return gg_process.region.tables[GG_TABLE_ALLOCATOR_BLOCKS].capacity / 2;
}

static uint32_t record_index(uint64_t i)
{
	return (uint32_t)(2 * i + state.look.number % 2);
}

static uint64_t draw(uint32_t i)
{
	return gg_hash_integer(i, gg_process.region.hash_seed + state.look.number);
}

/*
 * The number of records per sample that the look takes, so that the samples fit.  Most records may
 * be free, after a peak; a look of one in many records would then see few samples.
 */
static uint32_t choose_stride(uint32_t used_count)
{
	const struct gg_region *region = &gg_process.region;
	uint64_t hit_count = 0;

	if (used_count <= capacity())
		return 1;
	for (uint32_t i = 0; i < PROBE_COUNT; i++)
		hit_count += gg_load_relaxed(&region->records[draw(i) % used_count].id) != 0;
	/* A quarter more than the estimate, which is off by a tenth at times. */
	return (uint32_t)(hit_count * used_count / PROBE_COUNT * 5 / 4 / capacity()) + 1;
}

/* Begins to visit the records, in groups of `stride`. */
static void begin_blocks(uint32_t stride)
{
	uint32_t used_count = gg_load_acquire(&gg_process.region.tables[GG_TABLE_LIVE].used_count);

	state.look.stride = stride;
	state.look.block_count = state.look.torn_count = 0;
	state.next = 0;
	state.end = used_count / stride + 1;
}

/* Takes a sample of each group by chance. */
static void fill_batch(void)
{
	const struct gg_region *region = &gg_process.region;
	uint32_t stride = (uint32_t)state.look.stride;
	uint32_t end = state.end - state.next > VISITED_RECORDS ? state.next + VISITED_RECORDS
	                                                        : state.end;
	struct gg_region_sample sample;

	batch.count = 0;
	for (; state.next < end && batch.count < GG_COUNT(batch.blocks); state.next++) {
		uint64_t live_index = (uint64_t)state.next * stride + draw(state.next) % stride;

		/* The last group may have fewer records; a missing one is like a free one. */
		if (live_index >= region->tables[GG_TABLE_LIVE].used_count ||
		    !gg_region_scan_live(region, (uint32_t)live_index, &sample) ||
		    sample.heap != 0 || (sample.flags & NOT_OF_MALLOC) != 0)
			continue;
		batch.blocks[batch.count] = (const void *)(uintptr_t)sample.address;
		batch.ids[batch.count] = sample.id;
		batch.live_indexes[batch.count++] = (uint32_t)live_index;
	}
}

/* True if the slab was that of a live sample while it was read. */
static bool is_valid(uint32_t i)
{
	const struct gg_allocator_slab *slab = &batch.slabs[i];
	const struct gg_region_sample *record = &gg_process.region.records[batch.live_indexes[i]];

	/* Ids never come back, so this one was live all the time. */
	return gg_load_acquire(&record->id) == batch.ids[i] && slab->bytes > 0 &&
	       slab->free_count < slab->region_count && slab->region_count <= UINT32_MAX;
}

static bool make_space(uint32_t record_count)
{
	struct gg_region *region = &gg_process.region;
	uint32_t used = gg_load_relaxed(&region->tables[GG_TABLE_ALLOCATOR_BLOCKS].used_count);

	return record_count <= used ||
	       gg_region_space_take_run(region, GG_TABLE_ALLOCATOR_BLOCKS, record_count - used) !=
	               GG_INDEX_NONE;
}

static void put_block(uint32_t i, uint64_t now_ns)
{
	struct gg_region_allocator_block *record = gg_region_at(
		&gg_process.region, GG_TABLE_ALLOCATOR_BLOCKS,
		record_index(state.look.block_count));
	const struct gg_region_allocator_block block = {
		.sample = batch.ids[i],
		.address = (uintptr_t)batch.blocks[i],
		.time_ns = now_ns,
		.slab_bytes = batch.slabs[i].bytes,
		.region_count = (uint32_t)batch.slabs[i].region_count,
		.free_count = (uint32_t)batch.slabs[i].free_count,
		.slab_address = gg_allocator_calls_slab_address(batch.blocks[i], &batch.slabs[i]),
	};

	gg_put_words(record, &block, sizeof(block));
	gg_store_release(&record->look, state.look.number);
	state.look.block_count++;
}

/*
 * Looks at the samples of a batch.  False: the allocator refuses, or the region has no space.
 */
static bool take_batch(void)
{
	uint64_t now_ns = gg_clock_monotonic_ns();

	if (batch.count == 0)
		return true;
	/* More samples are live than estimated: begin again with fewer of them. */
	if (state.look.block_count + batch.count > capacity()) {
		begin_blocks((uint32_t)state.look.stride * 2);
		return true;
	}
	if (!gg_allocator_calls_slabs(batch.blocks, batch.count, batch.slabs) ||
	    !make_space(record_index(state.look.block_count + batch.count - 1) + 1))
		return false;
	gg_fence_acquire();
	for (uint32_t i = 0; i < batch.count; i++)
		if (is_valid(i))
			put_block(i, now_ns);
		else
			state.look.torn_count++;
	return true;
}

/* --- looks --- */

static struct gg_region_allocator_look *file_look(void)
{
	return &file_state()->looks[state.look.number % 2];
}

/* Publishes the look; `end_ns` 0: it is not complete. */
static void put_look(uint64_t end_ns)
{
	struct gg_region_allocator_look *file = file_look();

	state.look.end_ns = 0;
	gg_put_words(file, &state.look, sizeof(state.look));
	gg_store_release(&file->end_ns, end_ns);
}

static void begin_look(void)
{
	uint64_t number = state.look.number + 1;

	gg_allocator_calls_prepare();
	state.is_under_way = true;
	state.spent_ns = 0;
	state.request_count = gg_load_relaxed(&gg_process.region.header->control.look_count);
	state.look = (struct gg_region_allocator_look){ .number = number };
	/* Before the other words change: a reader must not take the old look for complete. */
	gg_store_release(&file_look()->end_ns, 0);
	state.look.begin_ns = gg_clock_monotonic_ns();
	state.next = state.end = 0;
	take_totals();
	if (!gg_allocator_calls_has_slabs())
		return;
	begin_blocks(choose_stride(
		gg_load_acquire(&gg_process.region.tables[GG_TABLE_LIVE].used_count)));
	put_look(0);
}

static void end_look(bool is_complete)
{
	if (is_complete)
		put_look(gg_clock_monotonic_ns());
	state.is_under_way = false;
	gg_store_release(&gg_allocator_look.served_count, state.request_count);
}

/* Returns whether the look ended. */
static bool make_part(uint64_t begin_ns)
{
	if (!state.is_under_way)
		begin_look();
	while (state.next < state.end) {
		fill_batch();
		if (!take_batch()) {
			end_look(false);
			return true;
		}
		if (gg_clock_monotonic_ns() - begin_ns > PART_NS)
			return false;
	}
	end_look(true);
	return true;
}

static void make_timed_part(void)
{
	uint64_t begin_ns = gg_clock_monotonic_ns(), cpu_ns = gg_clock_thread_ns(), pause_ns;
	bool is_ended;

	/* Another thread may have completed the look meanwhile. */
	if (!gg_allocator_look_is_due(begin_ns))
		return;
	is_ended = make_part(begin_ns);
	state.spent_ns += gg_clock_thread_ns() - cpu_ns;
	pause_ns = state.spent_ns * OWN_PAUSE_PART;
	if (is_ended)
		put_off(pause_ns > OWN_PAUSE_LEAST_NS ? pause_ns : OWN_PAUSE_LEAST_NS);
}

void gg_allocator_look_continue(struct gg_thread *thread, struct gg_thread_block *block)
{
	uint32_t free_now = 0;
	sigset_t before;
	int cancel;

	gg_assert(gg_load_relaxed(&thread->inside) != 0);
	if (!is_safe(thread, block)) {
		gg_add_relaxed(&file_state()->postponed_count, 1);
		put_off(PAUSE_UNSAFE_NS);
		return;
	}
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	gg_signal_mask_block(&before);
	/* Acquire, release: a part continues what the last one left. */
	if (gg_cas_acq_rel(&state.is_busy, &free_now, 1)) {
		make_timed_part();
		gg_store_release(&state.is_busy, 0);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_setcancelstate(cancel, NULL);
}
