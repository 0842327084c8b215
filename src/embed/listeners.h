/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listeners - who in the program hears of each sample.
 *
 * A slot a listener, each with a count of its changes, odd while it is being changed: who reads a slot
 * calls what it read only if the count is the same before and after.
 *
 * Full     GG_EMBED_LISTENERS: -ENOSPC.
 * Threads  any; changes take a lock, calls do not.
 */
#pragma once

#include "embed/public.h"

enum { GG_EMBED_LISTENERS = 8 };

/* Calls every listener with the event. */
void gg_embed_tell(const struct geiger_event *event);
