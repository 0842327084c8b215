/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listeners - functions of the program that receive each sample.
 *
 * Each slot has a count of its changes, which is odd during a change.  A reader calls what it read
 * only if the count was even and is the same before and after.
 *
 * Full     GG_EMBED_LISTENERS listeners; one more gets -ENOSPC
 * Threads  any; changes take a lock, and calls do not
 */
#pragma once

#include "embed/public.h"

enum { GG_EMBED_LISTENERS = 8 };

/* Calls every listener with the event. */
void gg_embed_listeners_call(const struct geiger_event *event);
