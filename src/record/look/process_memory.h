/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_memory - reads another process's memory and page table while it runs.
 *
 *   struct gg_process_memory memory;
 *
 *   status = gg_process_memory_open(&memory, pid, error);
 *   gg_process_memory_close(&memory);
 *
 * The reader never stops the process and takes no lock in it.  /proc/PID/pagemap says which pages
 * are resident (record/look/residency.h), and process_vm_readv() copies memory.  A read of an
 * absent page would fault it in, so callers ask the page table first.
 *
 * Tests and the fuzzer put functions of their own into `source`, which serve a made-up image.
 *
 * Rights   both need the right to trace the process: the same user and an ancestor, or root.
 * Threads  one owner at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/* A range to copy: `bytes` bytes from `address` on, to `to`. */
struct gg_memory_range {
	uint64_t address;
	size_t bytes;
	void *to;
};

/* Serves the memory of a process. */
struct gg_memory_source {
	void *context;
	/*
	 * Reads the words of /proc/PID/pagemap for `count` pages from page number `first` on.
	 * Returns 0, or a negative errno value.  Words behind the last page of the address space
	 * are 0.
	 */
	int (*read_pages)(void *context, uint64_t first, size_t count, uint64_t *ret_words);
	/*
	 * Copies the ranges in order.  Returns how many of them it copied whole before the first
	 * that failed, or a negative errno value if it may not read the process.
	 */
	ssize_t (*read_ranges)(void *context, const struct gg_memory_range *ranges, size_t count);
};

struct gg_process_memory {
	pid_t pid;
	int pagemap;
	struct gg_memory_source source;
};

/*
 * Opens the page table of a process.  Returns 0, or a negative errno value with `error` filled.  On
 * failure there is nothing to close.
 */
int gg_process_memory_open(struct gg_process_memory *memory, pid_t pid, struct gg_error *error);

void gg_process_memory_close(struct gg_process_memory *memory);
