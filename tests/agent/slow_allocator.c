/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slow_allocator - glibc's malloc with control functions that look like jemalloc's, and are slow.
 *
 * It also has a function that allocates through the loader, as allocators do that start threads.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent/slow_allocator.h"

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *p, size_t bytes);
void __libc_free(void *p);

int mallctlnametomib(const char *name, size_t *mib, size_t *count);
int mallctlbymib(const size_t *mib, size_t count, void *old, size_t *old_bytes, const void *new,
                 size_t new_bytes);

enum { EPOCH = 1, ALLOCATED = 2 };

int slow_allocator_epochs, slow_allocator_ms, slow_allocator_wait_ms;

void *malloc(size_t bytes)
{
	return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
	return __libc_calloc(count, bytes);
}

void *realloc(void *p, size_t bytes)
{
	return __libc_realloc(p, bytes);
}

void free(void *p)
{
	__libc_free(p);
}

static long processor_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * 1000000000L + now.tv_nsec;
}

static void use_processor(int ms)
{
	long end_ns = processor_ns() + ms * 1000000L;

	while (processor_ns() < end_ns)
		;
}

int mallctlnametomib(const char *name, size_t *mib, size_t *count)
{
	if (strcmp(name, "epoch") == 0)
		mib[0] = EPOCH;
	else if (strcmp(name, "stats.allocated") == 0)
		mib[0] = ALLOCATED;
	else
		return 2;
	*count = 1;
	return 0;
}

int mallctlbymib(const size_t *mib, size_t count, void *old, size_t *old_bytes, const void *new,
                 size_t new_bytes)
{
	const struct timespec pause = { .tv_nsec = slow_allocator_wait_ms * 1000000L };
	const size_t allocated = 4711;

	(void)count, (void)new, (void)new_bytes;
	if (mib[0] == EPOCH) {
		slow_allocator_epochs++;
		nanosleep(&pause, NULL);
		use_processor(slow_allocator_ms);
	} else if (*old_bytes == sizeof(allocated)) {
		memcpy(old, &allocated, sizeof(allocated));
	}
	return 0;
}

/* The volatile pointer keeps the frame: a call at the end would be a jump. */
void *slow_allocator_call_back(size_t bytes)
{
	void *volatile p = slow_allocator_malloc(bytes);

	return p;
}

void *(*volatile slow_allocator_malloc)(size_t);
