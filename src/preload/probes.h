/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probes - USDT probes, which `readelf -n` lists and bpftrace, perf and SystemTap attach to.
 *
 *   otel_memory:alloc(ptr, size, weighted_bytes)   a sample; it stands for weighted_bytes
 *   otel_memory:free(ptr)                          the free of a sample
 *   geiger:sample(ptr, size, id, stack, type, offset, usable)   beside alloc, with everything known
 *
 * A probe is a nop until a tracer attaches.  The tracer increments the probe's semaphore, so no
 * argument is computed while nobody listens.
 */
#pragma once

#include <stdint.h>

#include "region/writer/record.h"

void gg_probe_alloc(const struct gg_allocation *sample, uint64_t id);
void gg_probe_free(void *p);
