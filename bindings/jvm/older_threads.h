/* SPDX-License-Identifier: Apache-2.0 */
/*
 * older_threads - the threads that ran when the adapter joined, and which of them have come to a
 * sample point since.
 *
 * The VM puts the sample point into a thread's allocation buffer when the thread gets the buffer.
 * So the rest of the one that a thread has when the adapter joins is not sampled, not even at an
 * interval of 1.  Its next sample point is one that the VM drew before, 512 KiB away on average.
 * The profile lacks what the thread allocates before that one, and readers of the region have to
 * know that.
 *
 *   gg_jvm_older_threads_prepare();
 *   (enable ThreadStart and ThreadEnd)
 *   gg_jvm_older_threads_mark(vm, jvmti);
 *   (enable the samples)
 *   gg_jvm_older_threads_begin(first_counts);
 *
 * Interval If it is not finer than the VM's own, a collection that has taken all buffers suffices:
 *          the older sample points are as good as new ones then.  This does not hold if a thread's
 *          first event is no sample (vm.c): the thread's mark alone tells then that it has come.
 * Marks    Each of these threads gets a mark in its JVMTI local storage.  The VM's own threads do
 *          not: they hardly allocate, and would never come to a sample point.
 * Ended    A thread that ends with its mark is counted as such.
 * Virtual  A virtual thread allocates in the buffer of its carrier, whose mark the event does not
 *          show.  But a carrier without an event and without a start since the join is an older
 *          thread, so its first event counts, whichever thread it is of.
 * Threads  any.
 */
#pragma once

#include <jvmti.h>
#include <stdbool.h>

/* A join begins: no thread is older yet. */
void gg_jvm_older_threads_prepare(void);

/* Counts and marks the threads that are not known to have started since. */
void gg_jvm_older_threads_mark(JavaVM *vm, jvmtiEnv *jvmti);

/* The samples are enabled.  `first_counts`: the first event of each older thread is a sample. */
void gg_jvm_older_threads_begin(bool first_counts);

/* Call it at each sample, and with jni NULL at each death. */
void gg_jvm_older_threads_look(jvmtiEnv *jvmti, JNIEnv *jni);

/* Call it in a thread that starts, whose buffers are all new, or that ends. */
void gg_jvm_older_threads_started(jvmtiEnv *jvmti);
void gg_jvm_older_threads_ended(jvmtiEnv *jvmti);
