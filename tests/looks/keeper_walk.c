/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keeper_walk - the exact truth about the free memory of glibc's heaps, from inside the process.
 *
 * A chunk begins 16 bytes before its block.  Its second word has its size and three flags, of which
 * the lowest says that the chunk before it is in use.  The walk begins at the first chunk of each
 * heap, so it needs no block to begin at.
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
	STARTS_PER_PAGE = WALK_PAGE / 16 / 8,
};

/* One contiguous range of chunks. */
struct walk_heap {
	uintptr_t begin, end; /* of chunks; whole pages from `first_page` on */
	uintptr_t first_page;
	size_t page_count;
	uint32_t *holders; /* chunks in use on each page */
	uint32_t *used;    /* bytes of each page that are in use */
	uint8_t *is_resident;
	uint8_t *starts; /* a bit for each 16 bytes: a chunk in use begins there */
};

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

/* Finds the bounds of the mapping that holds the address; copies its name. */
static void mapping_of(uintptr_t address, uintptr_t *ret_begin, uintptr_t *ret_end, bool *ret_brk)
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
	for (char *line = text; line != NULL && *line != '\0';) {
		char *end = strchr(line, '\n'), *rest;
		uintptr_t first = strtoull(line, &rest, 16), last = strtoull(rest + 1, &rest, 16);

		if (end != NULL)
			*end = '\0';
		if (first <= address && address < last) {
			*ret_begin = first;
			*ret_end = last;
			*ret_brk = strstr(line, "[heap]") != NULL;
			return;
		}
		line = end == NULL ? NULL : end + 1;
	}
	fail("no mapping", address);
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
	uintptr_t begin, end;
	bool is_brk;

	mapping_of(block, &begin, &end, &is_brk);
	if (!is_brk) {
		find_arena_heap(heap, block & ~(uintptr_t)(WALK_HEAP_MAX - 1), block);
		return;
	}
	heap->begin = begin;
	heap->end = end;
	if (!leads_to(begin, block - WALK_HEADER))
		fail("the heap begins with other things", block);
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

static void use(struct walk_heap *heap, uintptr_t begin, uintptr_t end)
{
	size_t start = (begin - heap->first_page) / 16;

	heap->starts[start / 8] |= (uint8_t)(1u << start % 8);
	for (uintptr_t at = begin; at < end;) {
		size_t page = (at - heap->first_page) / WALK_PAGE;
		uintptr_t next = heap->first_page + (page + 1) * WALK_PAGE;
		uintptr_t stop = next < end ? next : end;

		heap->used[page] += (uint32_t)(stop - at);
		heap->holders[page]++;
		at = stop;
	}
}

/* Free bytes of a page; memory of the heap before its first chunk is nobody's, and not free. */
static size_t free_on(const struct walk_heap *heap, size_t page)
{
	uintptr_t begin = heap->first_page + page * WALK_PAGE, end = begin + WALK_PAGE;

	if (begin < heap->begin)
		begin = heap->begin;
	if (end > heap->end)
		end = heap->end;
	return heap->is_resident[page] ? end - begin - heap->used[page] : 0;
}

/* The equal share of the chunk [begin, end) in what is free on its pages. */
static double share_of(const struct walk_heap *heap, uintptr_t begin, uintptr_t end)
{
	size_t start = (begin - heap->first_page) / 16;
	double share = 0;

	if ((heap->starts[start / 8] & 1u << start % 8) == 0)
		fail("a listed block is no chunk in use", begin);
	for (size_t page = (begin - heap->first_page) / WALK_PAGE;
	     page <= (end - 1 - heap->first_page) / WALK_PAGE; page++)
		share += (double)free_on(heap, page) / heap->holders[page];
	return share;
}

/* --- the walk --- */

static void walk_chunks(struct walk_heap *heap, struct keeper_truth *truth)
{
	for (uintptr_t at = heap->begin; at + WALK_HEADER < heap->end;) {
		uint64_t size = word_at(at + 8) & ~(uint64_t)FLAGS;
		uintptr_t next = at + size;
		bool is_top = next >= heap->end || size == 0;

		if (is_top) {
			truth->top_bytes += heap->end - at;
			truth->free_bytes += heap->end - at;
			return;
		}
		if (next + 8 < heap->end && (word_at(next + 8) & IN_USE) == 0) {
			truth->free_bytes += size;
		} else {
			truth->used_bytes += size;
			use(heap, at, next);
		}
		at = next;
	}
}

static void walk_heap(struct walk_heap *heap, struct keeper_truth *truth)
{
	heap->first_page = heap->begin / WALK_PAGE * WALK_PAGE;
	heap->page_count = (heap->end - heap->first_page + WALK_PAGE - 1) / WALK_PAGE;
	heap->holders = (uint32_t *)map_tables(heap->page_count * sizeof(uint32_t));
	heap->used = (uint32_t *)map_tables(heap->page_count * sizeof(uint32_t));
	heap->is_resident = (uint8_t *)map_tables(heap->page_count);
	heap->starts = (uint8_t *)map_tables(heap->page_count * STARTS_PER_PAGE);
	read_residency(heap);
	truth->walked_bytes += heap->end - heap->begin;
	walk_chunks(heap, truth);
	for (size_t page = 0; page < heap->page_count; page++) {
		if (heap->holders[page] > 0)
			truth->pinned_bytes += (double)free_on(heap, page);
		else if (heap->first_page + page * WALK_PAGE >= heap->begin)
			truth->returnable_bytes += free_on(heap, page);
	}
}

static void forget_heap(struct walk_heap *heap)
{
	munmap(heap->holders, heap->page_count * sizeof(uint32_t));
	munmap(heap->used, heap->page_count * sizeof(uint32_t));
	munmap(heap->is_resident, heap->page_count);
	munmap(heap->starts, heap->page_count * STARTS_PER_PAGE);
}

enum { HEAPS_MAX = 256 };

void keeper_walk(struct keeper *keeper)
{
	static struct walk_heap heaps[HEAPS_MAX];
	size_t heap_count = 0;

	keeper->truth = (struct keeper_truth){ 0 };
	for (size_t i = 0; i < keeper->count; i++) {
		struct keeper_block *block = &keeper->blocks[i];
		uintptr_t begin = (uintptr_t)block->address - WALK_HEADER;
		size_t at = 0;

		block->pinned_bytes = 0;
		if (block->address == NULL || (word_at(begin + 8) & IS_MAPPED) != 0)
			continue;
		while (at < heap_count && (begin < heaps[at].begin || begin >= heaps[at].end))
			at++;
		if (at == heap_count) {
			if (heap_count++ == HEAPS_MAX)
				fail("too many heaps", begin);
			find_heap(&heaps[at], begin + WALK_HEADER);
			walk_heap(&heaps[at], &keeper->truth);
		}
		block->pinned_bytes = share_of(&heaps[at], begin,
		                               begin + (word_at(begin + 8) & ~(uint64_t)FLAGS));
		keeper->truth.other_pinned_bytes -= block->pinned_bytes;
	}
	keeper->truth.other_pinned_bytes += keeper->truth.pinned_bytes;
	for (size_t i = 0; i < heap_count; i++)
		forget_heap(&heaps[i]);
}
