/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/twin.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

struct block {
	uintptr_t address; /* 0: free, 1: was in use */
	uint64_t pc;
	size_t bytes;
};

static struct twin_log counts;
static struct block blocks[TWIN_BLOCKS_MAX * 2];
static int held;
static _Thread_local uint32_t thread_id __attribute__((tls_model("initial-exec")));

static void *(*next_malloc)(size_t);
static void *(*next_calloc)(size_t, size_t);
static void *(*next_realloc)(void *, size_t);
static void (*next_free)(void *);

static void lock(void)
{
	while (__atomic_exchange_n(&held, 1, __ATOMIC_ACQUIRE) != 0)
		syscall(SYS_sched_yield);
}

static void unlock(void)
{
	__atomic_store_n(&held, 0, __ATOMIC_RELEASE);
}

static void find_next(void)
{
	next_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
	next_calloc = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "calloc");
	next_realloc = (void *(*)(void *, size_t))dlsym(RTLD_NEXT, "realloc");
	next_free = (void (*)(void *))dlsym(RTLD_NEXT, "free");
}

static struct twin_site *site_of(uint64_t pc)
{
	if (thread_id == 0)
		thread_id = (uint32_t)syscall(SYS_gettid);
	for (size_t i = (pc * 31 + thread_id) % TWIN_SITES_MAX;; i = (i + 1) % TWIN_SITES_MAX) {
		struct twin_site *site = &counts.sites[i];

		if (site->pc == 0)
			*site = (struct twin_site){ .pc = pc, .tid = thread_id };
		if (site->pc == pc && site->tid == thread_id)
			return site;
	}
}

static size_t place_of(uintptr_t address, bool is_new)
{
	size_t at = address / 16 * 0x9e3779b1u % (TWIN_BLOCKS_MAX * 2);

	for (size_t tries = 0; tries < TWIN_BLOCKS_MAX; tries++) {
		uintptr_t there = blocks[at].address;

		if (there == address || (is_new && there <= 1))
			return at;
		if (there == 0)
			break;
		at = (at + 1) % (TWIN_BLOCKS_MAX * 2);
	}
	counts.dropped_count++;
	return 0;
}

static void count_new(void *p, size_t bytes, uint64_t pc)
{
	struct twin_site *site;

	if (p == NULL)
		return;
	lock();
	site = site_of(pc);
	site->allocated_count++;
	site->allocated_bytes += bytes;
	blocks[place_of((uintptr_t)p, true)] = (struct block){ (uintptr_t)p, pc, bytes };
	unlock();
}

/* Before the block can be somebody else's. */
static struct block take(void *p)
{
	struct block block = { 0 };
	size_t at;

	if (p == NULL)
		return block;
	lock();
	at = place_of((uintptr_t)p, false);
	block = blocks[at];
	if (block.address == (uintptr_t)p)
		blocks[at].address = 1;
	unlock();
	return block;
}

static void count_freed(const struct block *block)
{
	struct twin_site *site;

	if (block->address == 0)
		return;
	lock();
	site = site_of(block->pc);
	site->freed_count++;
	site->freed_bytes += block->bytes;
	unlock();
}

#define CALLER ((uint64_t)(uintptr_t)__builtin_return_address(0))

EXPORT void *malloc(size_t bytes)
{
	void *p;

	if (next_malloc == NULL)
		find_next();
	p = next_malloc(bytes);
	count_new(p, bytes, CALLER);
	return p;
}

EXPORT void *calloc(size_t count, size_t bytes)
{
	void *p;

	if (next_calloc == NULL)
		find_next();
	p = next_calloc(count, bytes);
	count_new(p, count * bytes, CALLER);
	return p;
}

EXPORT void *realloc(void *p, size_t bytes)
{
	struct block old = take(p);
	void *moved;

	if (next_realloc == NULL)
		find_next();
	moved = next_realloc(p, bytes);
	/* Programs that are counted do not fail to reallocate. */
	count_freed(&old);
	count_new(moved, bytes, CALLER);
	return moved;
}

EXPORT void free(void *p)
{
	struct block old = take(p);

	if (next_free == NULL)
		find_next();
	count_freed(&old);
	next_free(p);
}

__attribute__((destructor)) static void write_log(void)
{
	extern const char __ehdr_start[] __attribute__((visibility("hidden")));
	const char *path = getenv("GEIGER_TWIN");
	int fd = path != NULL ? open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;

	counts.code_begin = (uintptr_t)__ehdr_start;
	counts.code_end = (uintptr_t)_DYNAMIC;
	if (fd < 0 || write(fd, &counts, sizeof(counts)) != sizeof(counts))
		_exit(99);
	close(fd);
}
