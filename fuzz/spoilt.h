/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spoilt - a small region, and what a fuzzer makes of it.
 *
 * An input is a list of changes: 4 bytes where, 1 byte how many (1 to 8), and those bytes.  So a
 * fuzzer gets behind the header without having to find a whole file.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Writes the region anew and applies the changes; its descriptor, which stays ours. */
int spoilt_region(const uint8_t *data, size_t size);

/* Applies more of them to what is there. */
void spoilt_more(const uint8_t *data, size_t size);
