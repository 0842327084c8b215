/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frames - the addresses that stand for Java's frames in the region, and the types of allocations.
 *
 * The objects between two samples push everything else out of the processor's cache.  So a sample
 * costs as many fetches from memory as it touches lines of memory, and the names of its methods are
 * most of these.  This table has one line of memory for each frame: the address that the region
 * gave the frame when it was first seen (gg_agent_functions.frame).  The names are not read again.
 *
 * The innermost frame also has the type that it allocated last.  JNI tells whether the class of an
 * object is that one, which costs a tenth of asking the VM for the name of the class.  A frame that
 * allocates objects of many classes, such as Arrays.copyOf(), stops to remember them.
 *
 *   struct gg_jvm_stack stack;
 *
 *   gg_jvm_frames_find(jvmti, jni, found, count, &stack);
 *   type = gg_jvm_frames_type(jvmti, jni, klass, &stack);
 *
 * Lifetime  Another generation of the recording has other addresses, so it empties the table.  So
 *           does a cache of methods that was emptied (methods.h).
 * Classes   are remembered by weak references, which are never deleted: so none can become one to
 *           another class between a look at the table and the question to JNI.  Their number is
 *           limited, as each costs the collector a few nanoseconds.  The limit is for the life of
 *           the VM: after many attaches, or with many classes that come and go, new frames remember
 *           no class, and their types cost a name each.
 * Threads   any, as for methods.h.  The VM answers while no lock is held.
 * Memory    mapped; 32 to 64 bytes for each frame that was on a sampled stack.
 */
#pragma once

#include <jvmti.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GG_JVM_FRAMES_MAX = 512, GG_JVM_CLASSES_KEPT = 8192, GG_JVM_TYPE_BYTES = 256 };

struct gg_jvm_stack {
	uint64_t pcs
		[GG_JVM_FRAMES_MAX]; /* innermost first; frames without an address are left out */
	uint32_t pc_count;
	uint32_t generation; /* of the recording */
	jvmtiFrameInfo innermost;
	/* The innermost frame allocated an object of this class last; klass NULL: not known. */
	jweak klass;
	uint16_t type;
};

/* Finds the addresses of at most GG_JVM_FRAMES_MAX frames.  New frames are given one. */
void gg_jvm_frames_find(jvmtiEnv *jvmti, JNIEnv *jni, const jvmtiFrameInfo *frames, size_t count,
                        struct gg_jvm_stack *ret_stack);

/* Writes the name of the class.  False: the VM does not tell. */
bool gg_jvm_frames_class_name(jvmtiEnv *jvmti, jclass klass, char name[GG_JVM_TYPE_BYTES]);

/* The number of the class's name among the region's types; 0: none. */
uint16_t gg_jvm_frames_type(jvmtiEnv *jvmti, JNIEnv *jni, jclass klass,
                            const struct gg_jvm_stack *stack);
