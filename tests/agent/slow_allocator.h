/* SPDX-License-Identifier: Apache-2.0 */
/* slow_allocator - the functions that tests call beside malloc(). */
#pragma once

#include <stddef.h>

/* How often the epoch was advanced, and what that takes: processor time, and time to wait. */
extern int slow_allocator_epochs;
extern int slow_allocator_ms, slow_allocator_wait_ms;

/* Calls slow_allocator_malloc, which the caller sets to its malloc(), from inside the allocator. */
void *slow_allocator_call_back(size_t bytes);
extern void *(*volatile slow_allocator_malloc)(size_t bytes);
