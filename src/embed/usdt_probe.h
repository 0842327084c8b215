/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usdt_probe - the USDT probe, which `readelf -n` lists and bpftrace, perf and LTTng attach to.
 *
 *   geiger:allocation_sampled(heap, type, size, offset, interval, stack)
 *
 * heap and type are texts, perhaps empty.  stack is an array of 64-bit return addresses, innermost
 * first, which ends with a 0.  The probe is a nop until a tracer attaches.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* True if a tracer is attached. */
bool gg_embed_probe_is_on(void);

void gg_embed_probe(const char *heap, const char *type, size_t bytes, size_t offset,
                    uint64_t interval_bytes, const uint64_t *stack);
