/* SPDX-License-Identifier: Apache-2.0 */
/*
 * large_rows - makes one part of its RSS large on purpose, and waits.
 *
 *   large_rows PART    prints "KEY BYTES" lines with what it knows of itself, then "ready".  It
 *                      ends when its standard input does
 *   large_rows         lists the parts
 *
 * Exit status: 77 if the kernel cannot do what the part needs.
 */
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

enum {
	MIB = 1 << 20,
	PART_BYTES = 64 * MIB,
	PAGE_BYTES = 4096,
	HUGE_PAGE_BYTES = 2 * MIB,
	CANNOT = 77,
};

static void say(const char *key, size_t bytes)
{
	printf("%s %zu\n", key, bytes);
}

static void cannot(const char *why)
{
	printf("%s\n", why);
	exit(CANNOT);
}

/* Writes to one byte of each `step` bytes. */
static void touch(volatile char *memory, size_t bytes, size_t step)
{
	for (size_t at = 0; at < bytes; at += step)
		memory[at] = 1;
}

static char *map(size_t bytes, int protection)
{
	char *memory = mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		cannot("mmap fails");
	return memory;
}

/* --- memory that is not malloc's --- */

static void direct(void)
{
	touch(map(PART_BYTES, PROT_READ | PROT_WRITE), PART_BYTES, PAGE_BYTES);
	say("mapped", PART_BYTES);
}

/* The kernel joins mappings of malloc() with those of the program beside them. */
static void joined(void)
{
	for (size_t at = 0; at < PART_BYTES; at += 2 * (size_t)MIB) {
		char *block = malloc(MIB);

		if (block == NULL)
			cannot("malloc fails");
		touch(block, MIB, PAGE_BYTES);
		touch(block + MIB - 1, 1, 1); /* on a page of its own */
		touch(map(MIB, PROT_READ | PROT_WRITE), MIB, PAGE_BYTES);
	}
	say("live", PART_BYTES / 2);
	say("mapped", PART_BYTES / 2);
}

static void code(void)
{
	touch(map(PART_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC), PART_BYTES, PAGE_BYTES);
	say("mapped", PART_BYTES);
}

static void named(void)
{
	char *memory = map(PART_BYTES, PROT_READ | PROT_WRITE);

#ifdef PR_SET_VMA
	if (prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, memory, (size_t)PART_BYTES, "row cache") != 0)
		cannot("this kernel has no names for anonymous mappings");
#else
	cannot("these headers have no names for anonymous mappings");
#endif
	touch(memory, PART_BYTES, PAGE_BYTES);
	say("named", PART_BYTES);
}

static void lazy_free(void)
{
	char *memory = map(PART_BYTES, PROT_READ | PROT_WRITE);

	touch(memory, PART_BYTES, PAGE_BYTES);
	if (madvise(memory, PART_BYTES, MADV_FREE) != 0)
		cannot("madvise(MADV_FREE) fails");
	say("lazy-free", PART_BYTES);
}

/* Huge pages, each of which has a single byte that the program wrote. */
static void huge(void)
{
	char *memory = map(PART_BYTES + HUGE_PAGE_BYTES, PROT_READ | PROT_WRITE);
	uintptr_t aligned = ((uintptr_t)memory + HUGE_PAGE_BYTES - 1) &
	                    ~(uintptr_t)(HUGE_PAGE_BYTES - 1);

	memory += aligned - (uintptr_t)memory;
	if (madvise(memory, PART_BYTES, MADV_HUGEPAGE) != 0)
		cannot("this kernel has no transparent huge pages");
	touch(memory, PART_BYTES, HUGE_PAGE_BYTES);
	say("mapped", PART_BYTES);
}

static void shared(void)
{
	int file = memfd_create("large_rows", MFD_CLOEXEC);
	char *memory;

	if (file < 0 || ftruncate(file, PART_BYTES) != 0)
		cannot("memfd_create() fails");
	memory = mmap(NULL, PART_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (memory == MAP_FAILED)
		cannot("mmap of a memfd fails");
	touch(memory, PART_BYTES, PAGE_BYTES);
	say("shared", PART_BYTES);
}

/* Returns a mapping of a file of PART_BYTES in the working directory. */
static char *map_file(void)
{
	char text[PAGE_BYTES];
	int file = open("mapped", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	char *memory;

	memset(text, 'x', sizeof(text));
	for (size_t at = 0; file >= 0 && at < PART_BYTES; at += sizeof(text))
		if (write(file, text, sizeof(text)) != (ssize_t)sizeof(text))
			cannot("the disk is full");
	memory = mmap(NULL, PART_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
	if (memory == MAP_FAILED)
		cannot("mmap of a file fails");
	return memory;
}

static void file_read(void)
{
	volatile const char *memory = map_file();
	size_t sum = 0;

	for (size_t at = 0; at < PART_BYTES; at += PAGE_BYTES)
		sum += (size_t)memory[at];
	if (sum != (size_t)(PART_BYTES / PAGE_BYTES) * 'x')
		cannot("the file has other bytes");
	say("files", PART_BYTES);
}

static void file_written(void)
{
	touch(map_file(), PART_BYTES, PAGE_BYTES);
	say("data", PART_BYTES);
}

static char zeros[PART_BYTES];

static void data(void)
{
	touch(zeros, PART_BYTES, PAGE_BYTES);
	say("data", PART_BYTES);
}

/* --- threads --- */

static pthread_barrier_t barrier;

/* Starts threads that end when the process does; returns when each has called `run`. */
static void start_threads(unsigned count, void *(*run)(void *))
{
	pthread_barrier_init(&barrier, NULL, count + 1);
	for (unsigned i = 0; i < count; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, run, NULL) != 0)
			cannot("pthread_create() fails");
	}
	pthread_barrier_wait(&barrier);
}

static void *stay(void)
{
	pthread_barrier_wait(&barrier);
	for (;;)
		pause();
	return NULL;
}

enum { STACK_THREADS = 50 };

static void *touch_stack(void *unused)
{
	char local[MIB];

	(void)unused;
	touch(local, sizeof(local), PAGE_BYTES);
	return stay();
}

static void stacks(void)
{
	start_threads(STACK_THREADS, touch_stack);
	say("threads", STACK_THREADS + 1);
	say("stacks", (size_t)STACK_THREADS * MIB);
}

/* --- malloc --- */

enum {
	BLOCK_BYTES = 1000,
	KEPT_EVERY = 64,
	ARENA_THREADS = 16,
	ARENA_BYTES = 20 * MIB,
	CACHED_EACH = 7, /* blocks of a size that a thread's cache holds */
	CACHED_SIZES = 64,
};

/* Allocates `bytes` in blocks, then frees all but each KEPT_EVERYth; returns what it keeps. */
static size_t peak_then_trough(size_t bytes)
{
	size_t count = bytes / BLOCK_BYTES, kept = 0;
	char **blocks = (char **)map(count * sizeof(*blocks), PROT_READ | PROT_WRITE);

	for (size_t i = 0; i < count; i++) {
		blocks[i] = malloc(BLOCK_BYTES);
		memset(blocks[i], 1, BLOCK_BYTES);
	}
	for (size_t i = 0; i < count; i++) {
		if (i % KEPT_EVERY == 0)
			kept += BLOCK_BYTES;
		else
			free(blocks[i]);
	}
	munmap(blocks, count * sizeof(*blocks));
	return kept;
}

static void heap(void)
{
	say("live", peak_then_trough(PART_BYTES));
}

static void *use_arena(void *unused)
{
	(void)unused;
	peak_then_trough(ARENA_BYTES);
	return stay();
}

static void arenas(void)
{
	mallopt(M_ARENA_MAX, ARENA_THREADS + 1);
	start_threads(ARENA_THREADS, use_arena);
	say("threads", ARENA_THREADS + 1);
	say("peak", (size_t)ARENA_THREADS * ARENA_BYTES);
}

/* All of it is free, on top of the heap. */
static void top(void)
{
	enum { COUNT = PART_BYTES / BLOCK_BYTES };
	static char *blocks[COUNT];

	mallopt(M_TRIM_THRESHOLD, 2 * PART_BYTES);
	for (size_t i = 0; i < COUNT; i++) {
		blocks[i] = malloc(BLOCK_BYTES);
		memset(blocks[i], 1, BLOCK_BYTES);
	}
	for (size_t i = 0; i < COUNT; i++)
		free(blocks[i]);
	say("returnable", PART_BYTES);
}

static void *fill_cache(void *unused)
{
	char *blocks[CACHED_SIZES][CACHED_EACH];

	(void)unused;
	for (size_t size = 0; size < CACHED_SIZES; size++)
		for (size_t i = 0; i < CACHED_EACH; i++) {
			blocks[size][i] = malloc(size * 16 + 8);
			memset(blocks[size][i], 1, size * 16 + 8);
		}
	for (size_t size = 0; size < CACHED_SIZES; size++)
		for (size_t i = 0; i < CACHED_EACH; i++)
			free(blocks[size][i]);
	return stay();
}

static void caches(void)
{
	size_t bytes = 0;

	for (size_t size = 0; size < CACHED_SIZES; size++)
		bytes += CACHED_EACH * (size * 16 + 32);
	start_threads(STACK_THREADS, fill_cache);
	say("threads", STACK_THREADS + 1);
	say("caches", STACK_THREADS * bytes);
}

static void untouched(void)
{
	static char *volatile memory;

	memory = calloc(4, PART_BYTES);
	if (memory == NULL)
		cannot("calloc() fails");
	say("live-not-resident", (size_t)4 * PART_BYTES);
}

/* Live blocks of all sizes, every byte of which is written. */
static void live(void)
{
	size_t bytes = 0;

	for (size_t i = 0; bytes < PART_BYTES; i++) {
		size_t size = 16 + i * 7919 % 2000;
		char *block = malloc(size);

		memset(block, 1, size);
		bytes += size;
	}
	say("live", bytes);
}

/* Needs swap space, and a kernel that takes MADV_PAGEOUT. */
static void swap(void)
{
	char *memory = malloc(PART_BYTES), line[256];
	size_t swapped = 0;
	FILE *file;

	memset(memory, 1, PART_BYTES);
#ifdef MADV_PAGEOUT
	madvise((char *)(((uintptr_t)memory + PAGE_BYTES - 1) & ~(uintptr_t)(PAGE_BYTES - 1)),
	        PART_BYTES - PAGE_BYTES, MADV_PAGEOUT);
#endif
	file = fopen("/proc/self/status", "re");
	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
		if (strncmp(line, "VmSwap:", 7) == 0)
			swapped = strtoul(line + 7, NULL, 10) * 1024;
	if (swapped < PART_BYTES / 2)
		cannot("this machine has no swap space");
	say("swap", swapped);
}

static const struct {
	const char *name;
	void (*make)(void);
} parts[] = {
	{ "arenas", arenas },
	{ "caches", caches },
	{ "code", code },
	{ "data", data },
	{ "direct", direct },
	{ "joined", joined },
	{ "file-read", file_read },
	{ "file-written", file_written },
	{ "heap", heap },
	{ "huge", huge },
	{ "lazy-free", lazy_free },
	{ "live", live },
	{ "named", named },
	{ "shared", shared },
	{ "stacks", stacks },
	{ "swap", swap },
	{ "top", top },
	{ "untouched", untouched },
};

int main(int argc, char **argv)
{
	bool is_found = false;
	char byte;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (argc < 2)
			printf("%s\n", parts[i].name);
		else if (strcmp(argv[1], parts[i].name) == 0) {
			is_found = true;
			parts[i].make();
		}
	}
	if (argc < 2)
		return 0;
	if (!is_found)
		return 2;
	printf("ready\n");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	return 0;
}
