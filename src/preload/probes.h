/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probes - what tracers can attach to: USDT, seen by `readelf -n`, bpftrace, perf and SystemTap.
 *
 *   otel_memory:alloc(ptr, size, weighted_bytes)   a sample; it stands for so many bytes
 *   otel_memory:free(ptr)                          a sample is freed
 *   geiger:sample(ptr, size, id, stack, type, offset, usable)   beside alloc, for richer consumers
 *
 * A probe is a nop until somebody attaches; the tracer counts up its semaphore, so nothing is
 * computed for nobody.
 */
#pragma once

#include <stdint.h>

#include "region/writer/record.h"

void gg_probe_alloc(const struct gg_allocation *sample, uint64_t id);
void gg_probe_free(void *p);
