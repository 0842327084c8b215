/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vm - what the adapter needs of this process's Java VM.
 *
 * Bias     Before JDK 25 the VM's sampler loses the distance to the next sample point where a
 *          thread allocates objects outside of its buffer (JDK-8356372).  Then small objects are
 *          sampled up to 42 % too often, and large arrays up to 21 % too rarely.  The marks of a
 *          thread are not visible from outside, so nothing can correct that.  Samples of these VMs
 *          carry GEIGER_SAMPLE_BIASED: their sums have no confidence interval.
 * Threads  any; a second gg_jvm_begin() waits for the first.
 */
#pragma once

#include <jvmti.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	GG_JVM_LEAST_VERSION = JVMTI_VERSION_11,
	GG_JVM_UNBIASED_RELEASE = 25, /* the first with the corrected sampler */
	/* The VM's own sampling interval until somebody sets it (JEP 331). */
	GG_JVM_DEFAULT_INTERVAL_BYTES = 512 << 10
};

/*
 * Begins to sample the VM.  `is_live`: it runs already, and the calling thread is attached to it.
 * NULL, or the reason why it cannot be sampled, a text that stays.
 */
const char *gg_jvm_begin(JavaVM *vm, bool is_live);

/*
 * True if a gg_jvm_begin() for the recording of now succeeded, until the first sample after a
 * detach.  It waits for a begin that is under way.
 */
bool gg_jvm_is_begun(void);
