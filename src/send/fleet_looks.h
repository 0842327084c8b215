/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fleet_looks - what looks at profiles and looks at regions share, when they are for a fleet.
 *
 * Threads  one owner.
 */
#pragma once

#include "send/fleet_slots.h"
#include "send/sender_internal.h"

/* The share of hosts that send stacks of a service, as the receiver's last answer says. */
uint32_t gg_sender_fleet_share(const char *service, void *sender);
/* The user's host.name, the recorded name (or NULL), or this machine's. */
const char *gg_sender_fleet_host(const struct sender *sender, const char *recorded);

/*
 * Makes one slot of the model, puts it into the queue, and notes `totals`, which get the body's
 * number and the slot's end.  The caller frees them.
 */
GG_MUST_CHECK int gg_sender_fleet_send(struct sender *sender, struct seen_process *seen,
                                       const struct gg_model *model,
                                       const struct gg_slot_what *what,
                                       const struct gg_slot_span *span,
                                       struct gg_sent_totals *totals);
/* A queue without room is no failure: a later look sends what this one could not. */
GG_MUST_CHECK int gg_sender_fleet_end(struct sender *sender, struct seen_process *seen, int status);
