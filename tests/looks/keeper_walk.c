/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keeper_walk - the exact truth about the free memory of glibc's heaps, from inside the process.
 *
 * A chunk begins 16 bytes before its block.  Its second word has its size and three flags, of which
 * the lowest says that the chunk before it is in use.  A chunk keeps the memory from its second
 * word up to the second word of the next chunk, its extent.  The walk begins at the first chunk of
 * each heap, so it needs no block to begin at.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "keeper.h"

enum {
	WALK_PAGE = 4096,
	WALK_HEAP_MAX = 64 << 20,
	WALK_HEADER = 16,
	IN_USE = 1,
	IS_MAPPED = 2,
	FLAGS = 7,
	STATE_MIN = 0x800, /* an arena's state is larger, and smaller than STATE_MAX */
	STATE_MAX = 0x1000,
	STARTS_PER_PAGE = WALK_PAGE / 16,
	WORD = 8,
};

/* A heap: whole pages from first_page on, with chunks in [begin, end). */
struct walk_heap {
	uintptr_t first_page, begin, end;
	size_t page_count;
	uint32_t *used;       /* bytes of each page that chunks in use keep */
	uint32_t *other;      /* bytes of each page that are no chunk's */
	uint8_t *is_resident; /* of each page */
	double *shares;       /* for each 16 bytes: what the chunk pins that begins there */
	double nobodys_share; /* what memory pins that is no chunk's */
	uintptr_t before;     /* the chunk in use before the place of the walk; 0: none */
};

/* A chunk in use that pins nothing has this; what is no chunk in use has 0. */
#define PINS_NOTHING 1e-9

static uint64_t word_at(uintptr_t address)
{
	uint64_t word;

	memcpy(&word, (const void *)address, sizeof(word));
	return word;
}

static void *map_tables(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
	                    0);

	if (memory == MAP_FAILED)
		abort();
	return memory;
}

static void fail(const char *why, uintptr_t address)
{
	dprintf(STDERR_FILENO, "keeper: %s at %#zx\n", why, (size_t)address);
	abort();
}

/* --- where heaps are --- */

/* True if sizes lead from `at` to `target`. */
static bool leads_to(uintptr_t at, uintptr_t target)
{
	for (unsigned steps = 0; at < target && steps < 10000000; steps++) {
		uint64_t size = word_at(at + 8) & ~(uint64_t)FLAGS;

		if (size < 32 || size % 16 != 0 || size > WALK_HEAP_MAX)
			return false;
		at += size;
	}
	return at == target;
}

static char *read_maps(void)
{
	static char text[1 << 20];
	int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	size_t length = 0;
	ssize_t part;

	while (length < sizeof(text) - 1 &&
	       (part = read(file, text + length, sizeof(text) - 1 - length)) > 0)
		length += (size_t)part;
	close(file);
	text[length] = '\0';
	return text;
}

/*
 * Finds the bounds of the memory of brk().  In a forked child it has several mappings: the kernel
 * does not merge what the parent had with what the child added.
 */
static void find_brk(uintptr_t *ret_begin, uintptr_t *ret_end)
{
	*ret_begin = *ret_end = 0;
	for (char *line = read_maps(), *end; *line != '\0'; line = end + 1) {
		char *rest;
		uintptr_t first = strtoull(line, &rest, 16), last = strtoull(rest + 1, &rest, 16);

		end = strchr(line, '\n');
		if (end == NULL)
			return;
		*end = '\0';
		if (strstr(line, "[heap]") == NULL)
			continue;
		if (*ret_begin == 0)
			*ret_begin = first;
		*ret_end = last;
	}
}

/* The heap of an arena begins with its arena, its size and, in the first one, the arena's state. */
static void find_arena_heap(struct walk_heap *heap, uintptr_t base, uintptr_t block)
{
	uintptr_t state = word_at(base), chunk = block - WALK_HEADER;

	heap->end = base + word_at(base + 16);
	if (state - base >= STATE_MIN) {
		heap->begin = base + 48; /* a later heap, without a state */
		if (!leads_to(heap->begin, chunk))
			heap->begin = base + 32;
	} else {
		heap->begin = state + STATE_MIN;
		while (heap->begin < state + STATE_MAX && !leads_to(heap->begin, chunk))
			heap->begin += 16;
	}
	if (!leads_to(heap->begin, chunk))
		fail("no first chunk before the block", block);
}

static void find_heap(struct walk_heap *heap, uintptr_t block)
{
	*heap = (struct walk_heap){ 0 };
	find_brk(&heap->begin, &heap->end);
	heap->first_page = heap->begin;
	if (block >= heap->begin && block < heap->end)
		return;
	heap->first_page = block & ~(uintptr_t)(WALK_HEAP_MAX - 1);
	find_arena_heap(heap, heap->first_page, block);
}

/* --- pages --- */

static void read_residency(struct walk_heap *heap)
{
	int file = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);

	for (size_t i = 0; i < heap->page_count; i++) {
		uint64_t entry = 0;

		if (pread(file, &entry, sizeof(entry),
		          (off_t)((heap->first_page / WALK_PAGE + i) * sizeof(entry))) !=
		    (ssize_t)sizeof(entry))
			fail("no residency", heap->first_page + i * WALK_PAGE);
		heap->is_resident[i] = (uint8_t)(entry >> 63);
	}
	close(file);
}

/* Adds the memory [begin, end) to a sum of each page. */
static void add_to_pages(const struct walk_heap *heap, uint32_t *sums, uintptr_t begin,
                         uintptr_t end)
{
	for (uintptr_t at = begin; at < end;) {
		size_t page = (at - heap->first_page) / WALK_PAGE;
		uintptr_t next = heap->first_page + (page + 1) * WALK_PAGE;
		uintptr_t stop = next < end ? next : end;

		sums[page] += (uint32_t)(stop - at);
		at = stop;
	}
}

static double *share_at(const struct walk_heap *heap, uintptr_t chunk)
{
	return &heap->shares[(chunk - heap->first_page) / 16];
}

/* --- the walk --- */

static void give(struct walk_heap *heap, uintptr_t chunk, double bytes)
{
	if (chunk == 0)
		heap->nobodys_share += bytes;
	else
		*share_at(heap, chunk) += bytes;
}

static bool is_resident_at(const struct walk_heap *heap, uintptr_t address)
{
	return heap->is_resident[(address - heap->first_page) / WALK_PAGE] != 0;
}

/* The gap [begin, end) lies between two chunks in use, or other memory; its ends pin its pages. */
static void share_gap(struct walk_heap *heap, uintptr_t begin, uintptr_t end, uintptr_t after)
{
	uintptr_t first_end = (begin / WALK_PAGE + 1) * WALK_PAGE;
	uintptr_t last_begin = end / WALK_PAGE * WALK_PAGE;
	double bytes = (double)(end - begin);

	if (first_end > last_begin) {
		if (is_resident_at(heap, begin)) {
			give(heap, heap->before, bytes / 2);
			give(heap, after, bytes / 2);
		}
		return;
	}
	if (is_resident_at(heap, begin))
		give(heap, heap->before, (double)(first_end - begin));
	if (is_resident_at(heap, end))
		give(heap, after, (double)(end - last_begin));
}

static void walk_chunks(struct walk_heap *heap, struct keeper_truth *truth)
{
	uintptr_t gap = 0;

	for (uintptr_t at = heap->begin;;) {
		uint64_t size = word_at(at + WORD) & ~(uint64_t)FLAGS;
		uintptr_t begin = at + WORD, next = at + size;

		if (next >= heap->end) { /* the top */
			truth->top_bytes += heap->end - begin;
			if (begin % WALK_PAGE != 0 && is_resident_at(heap, begin))
				give(heap, heap->before, (double)(WALK_PAGE - begin % WALK_PAGE));
			return;
		}
		if (size < 32) { /* a mark at the end of older memory */
			if (gap != 0)
				share_gap(heap, gap, begin, 0);
			add_to_pages(heap, heap->other, begin, size == 0 ? heap->end : next + WORD);
			heap->before = gap = 0;
			if (size == 0)
				return;
		} else if ((word_at(next + WORD) & IN_USE) == 0) {
			truth->free_bytes += size;
			gap = begin;
		} else {
			*share_at(heap, at) = PINS_NOTHING;
			add_to_pages(heap, heap->used, begin, next + WORD);
			if (gap != 0)
				share_gap(heap, gap, begin, at);
			heap->before = at;
			gap = 0;
		}
		at = next;
	}
}

/* Adds up pages; each free byte of the heap is pinned or returnable, or not resident. */
static void add_pages(const struct walk_heap *heap, struct keeper_truth *truth)
{
	for (size_t page = 0; page < heap->page_count; page++) {
		uint32_t kept = heap->used[page] + heap->other[page];

		if (!heap->is_resident[page])
			continue;
		truth->used_bytes += heap->used[page];
		if (kept > 0)
			truth->pinned_bytes += WALK_PAGE - kept;
		else
			truth->returnable_bytes += WALK_PAGE;
	}
}

static void walk_heap(struct walk_heap *heap, struct keeper_truth *truth)
{
	heap->page_count = (heap->end - heap->first_page) / WALK_PAGE;
	heap->used = (uint32_t *)map_tables(heap->page_count * sizeof(uint32_t));
	heap->other = (uint32_t *)map_tables(heap->page_count * sizeof(uint32_t));
	heap->is_resident = (uint8_t *)map_tables(heap->page_count);
	heap->shares = (double *)map_tables(heap->page_count * STARTS_PER_PAGE * sizeof(double));
	read_residency(heap);
	truth->walked_bytes += heap->end - heap->first_page;
	add_to_pages(heap, heap->other, heap->first_page, heap->begin + WORD);
	walk_chunks(heap, truth);
	add_pages(heap, truth);
}

static void forget_heap(struct walk_heap *heap)
{
	munmap(heap->used, heap->page_count * sizeof(uint32_t));
	munmap(heap->other, heap->page_count * sizeof(uint32_t));
	munmap(heap->is_resident, heap->page_count);
	munmap(heap->shares, heap->page_count * STARTS_PER_PAGE * sizeof(double));
}

enum { HEAPS_MAX = 256 };

struct walk {
	struct walk_heap heaps[HEAPS_MAX];
	size_t heap_count;
};

/* The heap that holds the chunk, which is walked if it has not been. */
static struct walk_heap *heap_of(struct walk *walk, uintptr_t chunk, struct keeper_truth *truth)
{
	struct walk_heap *heap = walk->heaps;

	for (; heap < walk->heaps + walk->heap_count; heap++)
		if (chunk >= heap->first_page && chunk < heap->end)
			return heap;
	if (walk->heap_count++ == HEAPS_MAX)
		fail("too many heaps", chunk);
	find_heap(heap, chunk + WALK_HEADER);
	walk_heap(heap, truth);
	return heap;
}

void keeper_walk(struct keeper *keeper)
{
	static struct walk walk;
	uintptr_t begin, end;

	keeper->truth = (struct keeper_truth){ 0 };
	walk.heap_count = 0;
	find_brk(&begin, &end);
	if (begin != end)
		heap_of(&walk, begin, &keeper->truth);
	for (size_t i = 0; i < keeper->count; i++) {
		struct keeper_block *block = &keeper->blocks[i];
		uintptr_t chunk = (uintptr_t)block->address - WALK_HEADER;

		block->pinned_bytes = 0;
		if (block->address == NULL)
			continue;
		if ((word_at(chunk + WORD) & IS_MAPPED) != 0)
			continue;
		block->pinned_bytes = *share_at(heap_of(&walk, chunk, &keeper->truth), chunk);
		if (block->pinned_bytes == 0)
			fail("a listed block is no chunk in use", chunk);
		keeper->truth.other_pinned_bytes -= block->pinned_bytes;
	}
	keeper->truth.other_pinned_bytes += keeper->truth.pinned_bytes;
	for (size_t i = 0; i < walk.heap_count; i++)
		forget_heap(&walk.heaps[i]);
}
