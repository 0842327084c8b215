/* SPDX-License-Identifier: Apache-2.0 */
/*
 * intern - assigns dense ids, from 1 on, to keys.
 *
 * A key is a string of bytes.  One buffer stores all keys; each costs 8 more bytes, and 16 to 32 in
 * the map.
 *
 * Lifetime  all-zero is empty; gg_intern_done() frees.
 * Threads   One thread at a time.
 */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "base/map.h"

struct gg_intern {
	struct gg_map map;   /* hash of the key -> id - 1 */
	struct gg_buf bytes; /* all keys */
	struct gg_buf ends;  /* uint64_t each: where key id - 1 ends in bytes */
	uint32_t count;
};

void gg_intern_done(struct gg_intern *intern);

/* The id of the key, or 0. */
uint32_t gg_intern_find(struct gg_intern *intern, const void *key, size_t length);

/* Adds a new key, whose id is count + 1.  0, -ENOMEM, or -ENOSPC at 2^32 - 1 keys. */
GG_MUST_CHECK int gg_intern_add(struct gg_intern *intern, const void *key, size_t length);
