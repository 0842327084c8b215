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
 * Kinds     The counts of Serial, Parallel and G1 are of full collections.  Those of ZGC and
 *           Shenandoah are of pauses, several to a collection, so none of these counts; neither
 *           does a concurrent cycle of G1.  With -XX:-UsePerfData the VM has no counts.
 * Threads   any; _began() and _ended() run in the pause, so they only read memory and the clock.
 */
#pragma once

#include <stdbool.h>

/* Looks for the VM's count.  Without it, the other functions do nothing. */
void gg_jvm_collections_find(void);

void gg_jvm_collection_began(void);
void gg_jvm_collection_ended(void);

/* Call it at a sample, and at a death (`is_death`). */
void gg_jvm_collections_settle(bool is_death);

/* Call it once all deaths are reported. */
void gg_jvm_collections_settled(void);
