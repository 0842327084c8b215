/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collections - tells the recording which collections visited all objects of the VM's heap.
 *
 * JVMTI reports when a collection begins and ends, but not what it collected.  The VM counts its
 * full collections for jstat, in memory of its own, which is found by the table that HotSpot
 * exports for debuggers (gHotSpotVMStructs).  A collection whose end finds that count larger was a
 * full one.
 *
 * Deaths    A collection finds dead objects, and a thread of the VM reports them later.  So a full
 *           collection counts only once the first of them has come, or some time has passed, or the
 *           VM has reported them all before it ends.
 * Kinds     Serial, Parallel and G1 count full collections.  Concurrent cycles of G1 do not count.
 *           With -XX:-UsePerfData the VM has no counts.
 * Proof     ZGC and Shenandoah count pauses, several to a collection.  But each
 *           cycle that finds a tagged object dead there looks at the whole heap: a cycle without
 *           generations always, and with ZGC's generations only the old one clears weak
 *           references.  An object lives at least until a cycle that began after its last use.
 *           So the death of an object proves that such a cycle began after the object's birth.
 *           That birth is the time of the collection here, which is early rather than late.
 *           Shenandoah with generations finds the dead of the young one alone as well, so no
 *           death proves anything there.
 * Threads   any; _began() and _ended() run in the pause, so they only read memory and the clock.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Looks for the VM's count, and for its collector.  Without them, no collection is known. */
void gg_jvm_collections_find(void);

/* Notes which collections have ended, for the next function. */
void gg_jvm_collections_note_buffers(void);

/*
 * True once a collection has ended that took the allocation buffers of all threads, since
 * gg_jvm_collections_note_buffers().  False where such a collection is not known.
 */
bool gg_jvm_collections_took_buffers(void);

/* The time of CLOCK_MONOTONIC in milliseconds since the adapter joined, for object_tag.h. */
uint64_t gg_jvm_collections_ms(uint64_t monotonic_ns);

/* Call it at the death of an object that was born then, at the latest. */
void gg_jvm_collections_died(uint64_t born_ms);

void gg_jvm_collection_began(void);
void gg_jvm_collection_ended(void);

/* Call it at a sample, and at a death (`is_death`). */
void gg_jvm_collections_settle(bool is_death);

/* Call it once all deaths are reported. */
void gg_jvm_collections_settled(void);
