/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usdt_probe - what tracers can attach to (USDT, seen by `readelf -n`, bpftrace, perf and LTTng):
 *
 *   geiger:allocation_sampled(heap, type, size, offset, interval, stack)
 *
 * heap and type are texts ("" where there is none); stack is where the return addresses are, innermost
 * first, an array of 64-bit words that ends with a 0.  A nop until somebody attaches.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Is anybody attached? */
bool gg_embed_probe_is_on(void);

void gg_embed_probe(const char *heap, const char *type, size_t bytes, size_t offset,
                    uint64_t interval_bytes, const uint64_t *stack);
