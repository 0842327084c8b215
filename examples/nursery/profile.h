/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile - all that the collector and the interpreter have to do with geiger.
 *
 *   the nursery        is a struct geiger_bump: samples are drawn as objects are born (heap.h)
 *   a collection       tells which sampled objects moved, were promoted or died (profile_collected)
 *   the interpreter    tells the Scheme frames of a sample's stack (vm.h, vm_frames)
 *
 * Without a recorder, without geiger_start() and without on_sample nothing is recorded, and what is
 * drawn costs a few nanoseconds each 512 KiB.  Compiled with GEIGER_DISABLED nothing of geiger is
 * left.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <geiger/bump.h>
#include <geiger/geiger.h>

struct heap;

struct profile_options {
	bool off;                /* draw nothing */
	uint64_t interval_bytes; /* mean sampling interval; 0: that of the recording, or 512 KiB */
	enum geiger_scheme scheme; /* GEIGER_BERNOULLI is 0 */
	uint64_t seed;             /* 0: random */
	void (*on_sample)(void *user, const struct geiger_bump_sample *sample); /* or NULL */
	void *on_sample_user;
	/*
	 * The Scheme frames of the moment, as geiger_heap_set_frame_provider() wants them; NULL:
	 * none.
	 */
	size_t (*frames)(void *user, struct geiger_frame *frames, size_t capacity);
	void *frames_user;
};

struct profile {
	uint32_t heap; /* geiger's number of it */
};

void profile_init(struct heap *heap, const struct profile_options *options);
void profile_done(struct heap *heap);

/* After everything reachable was copied, while the old copies still say where to. */
void profile_collected(struct heap *heap, bool major);
