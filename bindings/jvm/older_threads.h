/* SPDX-License-Identifier: Apache-2.0 */
/*
 * older_threads - the threads that ran when the adapter joined, and which of them have come to a
 * sample point since.
 *
 * The VM puts the sample point into a thread's allocation buffer when the thread gets the buffer.
 * So the rest of the one that a thread has when the adapter joins is not sampled, not even at an
 * interval of 1.  Its next sample point is one that the VM drew before, 512 KiB away on average.
 * Until each such thread has had an event, the profile lacks an unknown part of what they allocate,
 * and readers of the region have to know that.
 *
 * Interval If it is not finer than the VM's own, a collection that has taken all buffers suffices:
 *          the older sample points are as good as new ones then.
 * Marks    Each of these threads gets a mark in its JVMTI local storage.  The VM's own threads do
 *          not: they hardly allocate, and would keep figures uncertain for ever.
 * Virtual  A virtual thread allocates in the buffer of its carrier, whose mark the event does not
 *          show.  So the carrier counts as older until the next collection.
 * Threads  any.
 */
#pragma once

#include <jvmti.h>
#include <stdbool.h>
#include <stdint.h>

/* Counts and marks the threads.  Call it before events are enabled; `is_live`: there are some. */
void gg_jvm_older_threads_begin(JavaVM *vm, jvmtiEnv *jvmti, bool is_live);

/* Call it at each sample and each death. */
void gg_jvm_older_threads_look(jvmtiEnv *jvmti, bool is_sample);

/* Call it when a thread starts: its buffers are all new. */
void gg_jvm_older_threads_started(void);
