/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object_events - finds a sample before its object goes, and closes it afterwards.
 *
 * geiger_freed() closes the sample at an address.  Once an object has moved, another thread may
 * have a sample at the old address, which must stay: the id tells the two apart.
 *
 * Threads  any.
 */
#pragma once

#include <stdint.h>

struct gg_embed_sample_id {
	uint64_t key; /* of the object */
	uint64_t id;  /* 0: the object is no sample */
};

struct gg_embed_sample_id gg_embed_find_sample(uint32_t heap, const void *object);

/* Does nothing if that sample is closed already, whatever is at the address now. */
void gg_embed_close_sample(struct gg_embed_sample_id sample);
