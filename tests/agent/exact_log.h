/* SPDX-License-Identifier: Apache-2.0 */
/* exact_log - what the threads of exact_program called; it survives a kill. */
#pragma once

#include <stdint.h>

enum { EXACT_LOG_THREADS = 3, EXACT_LOG_LEAST = 16, EXACT_LOG_MOST = EXACT_LOG_LEAST + 1023 };

struct exact_log_thread {
	uint32_t tid, padding;
	uint64_t malloc_begun, malloc_done, free_begun, free_done;
	uint64_t padding2[3];
};

struct exact_log {
	struct exact_log_thread threads[EXACT_LOG_THREADS];
};
