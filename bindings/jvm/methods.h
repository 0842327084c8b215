/* SPDX-License-Identifier: Apache-2.0 */
/*
 * methods - the names, files and line tables of Java's methods, asked of the VM once each.
 *
 * Asking the VM for a name takes microseconds and allocates, and one stack has up to hundreds of
 * frames.  So what it said is kept by jmethodID.  HotSpot never gives the jmethodID of a class that
 * was unloaded to another method, so unloaded classes only cost memory: the cache empties itself
 * when it has more than GG_JVM_METHODS_KEPT methods, and classes were unloaded since it was last
 * empty.  Other VMs may reuse the number, so for them each unloading empties it.
 *
 *   gg_jvm_methods_lock(jvmti, jni, frames, count); resolves what is not known yet
 *   gg_jvm_method_frame(&frames[i], &frame);        texts that stay until the unlock
 *   gg_jvm_methods_unlock();
 *
 * Threads  any, attached to the VM and outside of it ("in native"), so that a thread that waits
 *          here does not hold up a collection.  The VM answers while no lock is held.
 * Memory   mapped, so that it is no block of the program's malloc; some 200 bytes for each method
 *          that was on a sampled stack.
 */
#pragma once

#include <geiger/geiger.h>
#include <jvmti.h>
#include <stdbool.h>
#include <stdint.h>

enum { GG_JVM_METHODS_KEPT = 50000 };

/* Makes sure that all methods of the stack are known, and locks the cache for reading. */
void gg_jvm_methods_lock(jvmtiEnv *jvmti, JNIEnv *jni, const jvmtiFrameInfo *frames, size_t count);

/*
 * The texts live until gg_jvm_methods_unlock().  False: the method is not known now, and may be
 * later.
 */
bool gg_jvm_method_frame(const jvmtiFrameInfo *from, struct geiger_frame *ret_frame);

void gg_jvm_methods_unlock(void);

/*
 * Empties the cache if it has to be, and returns how often it was emptied so far: a jmethodID that
 * was seen before may be that of another method since.
 */
uint32_t gg_jvm_methods_epoch(void);

/* Call it after a class was unloaded; is_hotspot: the VM is one that never reuses a jmethodID. */
void gg_jvm_methods_unloaded(bool is_hotspot);
