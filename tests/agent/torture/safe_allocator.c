/* SPDX-License-Identifier: Apache-2.0 */
/*
 * safe_allocator - is an allocator that works at any instruction, without a lock.
 *
 * Handlers and children of a bare clone() may call it anywhere.  It has one list of free blocks for
 * each power of two, which is a stack with a count against the ABA problem.  Unlike in
 * bump_allocator, addresses come back soon.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

extern void *memalign(size_t alignment, size_t bytes);
extern size_t malloc_usable_size(void *p);

#define EXPORT      __attribute__((visibility("default")))
#define ARENA_BYTES (UINT64_C(1) << 36) /* of addresses */

enum {
	CLASS_FIRST = 6, /* 64 bytes, the head included */
	CLASS_LAST = 30,
	ADDRESS_BITS = 42, /* of an offset into the arena */
};

#define ADDRESS_MASK ((UINT64_C(1) << ADDRESS_BITS) - 1)

/* The head before each block.  In a free block, `next` is the offset of another one, or 0. */
struct head {
	uint64_t next;
	uint64_t size_class;
};

static uint64_t arena_start; /* 0: none yet */
static uint64_t arena_used = 64;
static uint64_t free_blocks[CLASS_LAST + 1]; /* an offset; above it, changes */

static uint64_t arena(void)
{
	uint64_t start = __atomic_load_n(&arena_start, __ATOMIC_ACQUIRE), none = 0;
	void *mapping;

	if (start != 0)
		return start;
	mapping = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE,
	               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (mapping == MAP_FAILED)
		abort();
	if (!__atomic_compare_exchange_n(&arena_start, &none, (uint64_t)(uintptr_t)mapping, false,
	                                 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		munmap(mapping, ARENA_BYTES);
	return __atomic_load_n(&arena_start, __ATOMIC_ACQUIRE);
}

static struct head *at_offset(uint64_t offset)
{
	return (struct head *)(uintptr_t)(arena() + offset);
}

static uint64_t changed(uint64_t old, uint64_t offset)
{
	return ((old >> ADDRESS_BITS) + 1) << ADDRESS_BITS | offset;
}

static struct head *pop(int size_class)
{
	uint64_t top = __atomic_load_n(&free_blocks[size_class], __ATOMIC_ACQUIRE);
	struct head *head;

	do {
		if ((top & ADDRESS_MASK) == 0)
			return NULL;
		head = at_offset(top & ADDRESS_MASK);
	} while (!__atomic_compare_exchange_n(
		&free_blocks[size_class], &top,
		changed(top, __atomic_load_n(&head->next, __ATOMIC_RELAXED)), false,
		__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
	return head;
}

static void push(struct head *head)
{
	uint64_t *list = &free_blocks[head->size_class];
	uint64_t top = __atomic_load_n(list, __ATOMIC_RELAXED);

	do
		__atomic_store_n(&head->next, top & ADDRESS_MASK, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(list, &top,
	                                    changed(top, (uint64_t)(uintptr_t)head - arena()),
	                                    false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
}

/*
 * Takes a block, which with its head is aligned to its size.  Blocks of memalign() have a second
 * head.
 */
static void *take(size_t bytes)
{
	int size_class = CLASS_FIRST;
	struct head *head;

	while (size_class <= CLASS_LAST && ((size_t)1 << size_class) - sizeof(struct head) < bytes)
		size_class++;
	if (size_class > CLASS_LAST) {
		errno = ENOMEM;
		return NULL;
	}
	head = pop(size_class);
	if (head == NULL) {
		arena();
		head = at_offset(__atomic_fetch_add(&arena_used, UINT64_C(1) << size_class,
		                                    __ATOMIC_RELAXED));
		head->size_class = (uint64_t)size_class;
	}
	return head + 1;
}

EXPORT void *malloc(size_t bytes)
{
	return take(bytes);
}

EXPORT void *calloc(size_t count, size_t bytes)
{
	size_t total;
	void *p;

	if (__builtin_mul_overflow(count, bytes, &total))
		total = SIZE_MAX;
	p = take(total);
	return p == NULL ? NULL : memset(p, 0, total);
}

/* An aligned block has a head that leads back: its class is the distance to the real one. */
static struct head *head_of(void *p)
{
	struct head *head = (struct head *)p - 1;

	if (head->size_class > CLASS_LAST)
		head = (struct head *)(void *)((uint8_t *)head - head->size_class);
	return head;
}

EXPORT void free(void *p)
{
	if (p != NULL)
		push(head_of(p));
}

EXPORT size_t malloc_usable_size(void *p)
{
	struct head *head;

	if (p == NULL)
		return 0;
	head = head_of(p);
	return (size_t)((uint8_t *)head + ((size_t)1 << head->size_class) - (uint8_t *)p);
}

EXPORT void *realloc(void *p, size_t bytes)
{
	size_t old = malloc_usable_size(p);
	void *moved;

	if (p != NULL && bytes <= old && bytes >= old / 2)
		return p;
	moved = take(bytes);
	if (p != NULL && moved != NULL) {
		memcpy(moved, p, old < bytes ? old : bytes);
		free(p);
	}
	return moved;
}

EXPORT void *memalign(size_t alignment, size_t bytes)
{
	uint8_t *p, *aligned;

	if (bytes > SIZE_MAX - 2 * alignment)
		return NULL;
	p = take(bytes + alignment + 2 * CLASS_LAST + sizeof(struct head));
	if (p == NULL)
		return NULL;
	aligned = p + 2 * sizeof(struct head) + alignment - 1;
	aligned -= (uintptr_t)aligned % alignment;
	((struct head *)(void *)aligned)[-1].size_class = (uint64_t)(aligned - p);
	return aligned;
}

EXPORT void *aligned_alloc(size_t alignment, size_t bytes)
{
	return memalign(alignment, bytes);
}

EXPORT int posix_memalign(void **ret_p, size_t alignment, size_t bytes)
{
	void *p = memalign(alignment, bytes);

	if (p == NULL)
		return ENOMEM;
	*ret_p = p;
	return 0;
}
