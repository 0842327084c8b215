/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker - resolves one module in a process of its own, so that a hostile file cannot harm the
 * caller.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "symbol/symbol.h"

/* Memory that all workers of a run share with their parent. */
struct gg_worker_shared {
	/*
	 * Not 0: debuginfod did not answer a worker, so the other workers need not wait for it.
	 * Relaxed: a worker that sees it late waits once more.
	 */
	uint32_t network_is_down;

	/*
	 * The requests to debuginfod that workers have begun, or were about to begin when they saw
	 * the limit.  Relaxed: the sum alone counts, and the parent loads it after the last worker
	 * was reaped.
	 */
	uint32_t request_count;

	/* The sizes of the files that debuginfod gave to workers.  Relaxed: as request_count. */
	uint64_t fetched_bytes;

	/*
	 * Not 0: a worker has written to the cache, so the cache may have to be trimmed.  Relaxed:
	 * the parent loads it after the last worker was reaped.
	 */
	uint32_t cache_grew;

	/*
	 * For each module, the number of addresses that are done.  Its worker adds and the parent
	 * loads, both relaxed: the number is only for display and orders nothing.
	 */
	uint64_t done_counts[];
};

struct gg_worker_task {
	const struct gg_symbol_module *module;
	const struct gg_symbol_options *options; /* its cache_dir is set; "": no cache */
	const uint64_t *addresses;               /* ascending, each once */
	size_t address_count;
	bool without_dwarf; /* the first worker died while it read the DWARF */
	struct gg_worker_shared *shared;
	uint64_t *done_count; /* the module's, in shared */
};

/*
 * Resolves the task's module and writes a blob (symbol/resolve/blob.h) to the pipe.  Does not
 * return.
 */
_Noreturn void gg_worker_run(const struct gg_worker_task *task, int pipe_fd);
