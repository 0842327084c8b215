/* SPDX-License-Identifier: Apache-2.0 */
/* bytes_in_use - the allocator's own count of bytes in use, at the moment of an attach. */
#pragma once

#include <stdint.h>

#include "region/layout.h"

struct gg_bytes_in_use {
	int64_t bytes; /* GG_REGION_OLDER_UNKNOWN_BYTES: nobody states it */
	enum gg_region_in_use_source source;
};

/*
 * Calls the allocator, so the calling thread must not be inside it.  After gg_real_find() and
 * gg_allocator_functions_find().
 */
struct gg_bytes_in_use gg_bytes_in_use_read(void);
