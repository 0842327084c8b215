/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blocks - makes blocks whose content can be verified.
 *
 * A block has its size, a key, their product with a constant, and bytes that follow from the key.
 * Each free and each change of size verifies the block.  So the test finds a block that the
 * allocator gave out twice, truncated, or did not copy when it moved.
 */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "agent/torture/torture.h"

enum {
	HEAD_BYTES = 24,
	LARGE_BYTES = 4096 /* in larger blocks, every 61st byte is verified */
};

struct head {
	uint64_t bytes, key, check;
};

static unsigned char *shared[SHARED_BLOCKS];

/* The calls go through volatile pointers, so that no compiler removes them. */
static void *(*volatile call_malloc)(size_t) = malloc;
static void *(*volatile call_calloc)(size_t, size_t) = calloc;
static void *(*volatile call_realloc)(void *, size_t) = realloc;
static void *(*volatile call_reallocarray)(void *, size_t, size_t) = reallocarray;
static void (*volatile call_free)(void *) = free;

static size_t draw_size(struct dice *dice)
{
	uint64_t kind = torture_draw(dice, 1000);

	if (kind < 900)
		return HEAD_BYTES + torture_draw(dice, 400);
	if (kind < 990)
		return HEAD_BYTES + torture_draw(dice, 8000);
	return HEAD_BYTES + torture_draw(dice, 300000);
}

static uint64_t check_of(const struct head *head)
{
	return torture_mix(head->bytes, head->key);
}

static size_t step_of(size_t bytes)
{
	return bytes > LARGE_BYTES ? 61 : 1;
}

static unsigned char pattern(uint64_t key, size_t at)
{
	return (unsigned char)((key >> (at % 7 * 8)) + at);
}

/* Handlers may run here, and allocate: the thread is not inside the allocator. */
static unsigned char *fill(unsigned char *block, size_t bytes, uint64_t key)
{
	struct head head = { .bytes = bytes, .key = key };

	head.check = check_of(&head);
	torture_closed--;
	memcpy(block, &head, sizeof(head));
	for (size_t at = HEAD_BYTES; at < bytes; at += step_of(bytes))
		block[at] = pattern(key, at);
	torture_closed++;
	return block;
}

/* The bytes of [0, kept) of a block that was `head` before. */
static void verify_bytes(const unsigned char *block, const struct head *head, size_t kept)
{
	torture_closed--;
	for (size_t at = HEAD_BYTES; at < kept; at += step_of(head->bytes))
		if (block[at] != pattern(head->key, at))
			torture_fail("a block holds other bytes than were written");
	torture_closed++;
}

static struct head head_of(const unsigned char *block)
{
	struct head head;

	memcpy(&head, block, sizeof(head));
	if (head.check != check_of(&head))
		torture_fail("a block's head was overwritten");
	return head;
}

void torture_verify(const unsigned char *block)
{
	struct head head = head_of(block);

	verify_bytes(block, &head, head.bytes);
	if (malloc_usable_size((void *)(uintptr_t)block) < head.bytes)
		torture_fail("a block is smaller than was asked for");
}

static unsigned char *must(void *p)
{
	if (p == NULL)
		torture_fail("no memory");
	return p;
}

static void *aligned(size_t bytes, int form)
{
	const size_t alignment = (size_t)16 << form;
	void *p = NULL;

	if (form == 0)
		p = memalign(64, bytes);
	else if (form == 1)
		p = aligned_alloc(64, (bytes + 63) & ~(size_t)63);
	else if (posix_memalign(&p, alignment, bytes) != 0)
		torture_fail("posix_memalign");
	if ((uintptr_t)p % 64 != 0)
		torture_fail("a block is not aligned");
	return p;
}

static void *zeroed(size_t bytes)
{
	unsigned char *p = must(call_calloc(bytes / 8 + 1, 8));

	for (size_t i = 0; i < bytes; i += step_of(bytes))
		if (p[i] != 0)
			torture_fail("calloc gave what is not zero");
	return p;
}

unsigned char *torture_make(struct dice *dice)
{
	size_t bytes = draw_size(dice);
	uint64_t form = torture_draw(dice, 16), key = torture_draw(dice, 0);
	void *p;

	switch (form) {
	case 0:
		p = zeroed(bytes);
		break;
	case 1:
		p = call_realloc(NULL, bytes);
		break;
	case 2:
		p = call_reallocarray(NULL, bytes / 3 + 1, 3);
		break;
	case 3:
	case 4:
	case 5:
		p = aligned(bytes, (int)form - 3);
		break;
	default:
		p = call_malloc(bytes);
	}
	return fill(must(p), bytes, key);
}

void torture_drop(unsigned char *block)
{
	if (block == NULL)
		return;
	torture_verify(block);
	memset(block, 0x5a, HEAD_BYTES);
	call_free(block);
}

unsigned char *torture_grow(struct dice *dice, unsigned char *block)
{
	struct head head = head_of(block);
	size_t bytes = draw_size(dice);

	block = must(call_realloc(block, bytes));
	verify_bytes(block, &head, head.bytes < bytes ? head.bytes : bytes);
	return fill(block, bytes, head.key + 1);
}

unsigned char *torture_swap_shared(struct dice *dice, unsigned char *block)
{
	return __atomic_exchange_n(&shared[torture_draw(dice, SHARED_BLOCKS)], block,
	                           __ATOMIC_ACQ_REL);
}

void torture_drop_shared(void)
{
	for (int i = 0; i < SHARED_BLOCKS; i++)
		torture_drop(__atomic_exchange_n(&shared[i], NULL, __ATOMIC_ACQ_REL));
}

void torture_make_and_drop(void)
{
	unsigned char *block;

	torture_closed++;
	block = fill(must(call_malloc(100)), 100, 77);
	block = fill(must(call_realloc(block, 3000)), 3000, 78);
	torture_drop(block);
	torture_closed--;
}
