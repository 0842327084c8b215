/* SPDX-License-Identifier: Apache-2.0 */
/* twin - wraps the allocator's functions, counts their calls, and writes the counts at the end. */
#include "agent/twin.h"

#include "agent/journal.h"

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
	uint32_t tid;              /* that allocated it */
	struct journal_place made; /* by that call */
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
	journal_open();
	next_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
	next_calloc = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "calloc");
	next_realloc = (void *(*)(void *, size_t))dlsym(RTLD_NEXT, "realloc");
	next_free = (void (*)(void *))dlsym(RTLD_NEXT, "free");
}

static uint32_t own_tid(void)
{
	if (thread_id == 0)
		thread_id = (uint32_t)syscall(SYS_gettid);
	return thread_id;
}

static struct twin_site *site_of(uint64_t pc, uint32_t tid)
{
	for (size_t i = (pc * 31 + tid) % TWIN_SITES_MAX;; i = (i + 1) % TWIN_SITES_MAX) {
		struct twin_site *site = &counts.sites[i];

		if (site->pc == 0)
			*site = (struct twin_site){ .pc = pc, .tid = tid };
		if (site->pc == pc && site->tid == tid)
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

static void count_new(void *p, size_t bytes, uint64_t pc, struct journal_place made)
{
	uint32_t tid = own_tid();
	struct twin_site *site;

	if (p == NULL)
		return;
	lock();
	site = site_of(pc, tid);
	site->allocated_count++;
	site->allocated_bytes += bytes;
	site->live_count++;
	site->live_bytes += bytes;
	blocks[place_of((uintptr_t)p, true)] = (struct block){ (uintptr_t)p, pc, bytes, tid, made };
	unlock();
}

/* Takes the block out before the free, because afterwards another thread may get its address. */
static struct block take(void *p)
{
	struct block block = { .made = { JOURNAL_NOBODY, 0 } };
	size_t at;

	if (p == NULL)
		return block;
	lock();
	at = place_of((uintptr_t)p, false);
	if (blocks[at].address == (uintptr_t)p) {
		block = blocks[at];
		blocks[at].address = 1;
	}
	unlock();
	return block;
}

static void count_freed(const struct block *block)
{
	struct twin_site *site;

	if (block->address == 0)
		return;
	lock();
	site = site_of(block->pc, own_tid());
	site->freed_count++;
	site->freed_bytes += block->bytes;
	site = site_of(block->pc, block->tid);
	site->live_count--;
	site->live_bytes -= block->bytes;
	unlock();
}

#define CALLER ((uint64_t)(uintptr_t)__builtin_return_address(0))

static const struct journal_place nobody = { JOURNAL_NOBODY, 0 };

EXPORT void *malloc(size_t bytes)
{
	struct journal_place place;
	void *p;

	if (next_malloc == NULL)
		find_next();
	place = journal_announce(CALLER, bytes, nobody);
	p = next_malloc(bytes);
	count_new(p, bytes, CALLER, place);
	journal_complete(place, p);
	return p;
}

EXPORT void *calloc(size_t count, size_t bytes)
{
	struct journal_place place;
	void *p;

	if (next_calloc == NULL)
		find_next();
	place = journal_announce(CALLER, count * bytes, nobody);
	p = next_calloc(count, bytes);
	count_new(p, count * bytes, CALLER, place);
	journal_complete(place, p);
	return p;
}

EXPORT void *realloc(void *p, size_t bytes)
{
	struct block old = take(p);
	struct journal_place place;
	void *moved;

	if (next_realloc == NULL)
		find_next();
	place = journal_announce(CALLER, bytes, old.made);
	moved = next_realloc(p, bytes);
	/* Programs that are counted do not fail to reallocate. */
	count_freed(&old);
	count_new(moved, bytes, CALLER, place);
	journal_complete(place, moved);
	return moved;
}

EXPORT void free(void *p)
{
	struct block old = take(p);
	struct journal_place place = nobody;

	if (next_free == NULL)
		find_next();
	if (old.made.thread != JOURNAL_NOBODY)
		place = journal_announce(0, 0, old.made);
	count_freed(&old);
	next_free(p);
	journal_complete(place, NULL);
}

__attribute__((destructor)) static void write_log(void)
{
	extern const char __ehdr_start[] __attribute__((visibility("hidden")));
	const char *path = getenv("GEIGER_TWIN");
	int fd = path != NULL ? open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;

	counts.code_begin = (uintptr_t)__ehdr_start;
	counts.code_end = (uintptr_t)_DYNAMIC;
	if (path == NULL)
		return;
	if (fd < 0 || write(fd, &counts, sizeof(counts)) != sizeof(counts))
		_exit(99);
	close(fd);
}
