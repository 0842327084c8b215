/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fleet_coverage - in which slots of a window the memory of each sender is known.
 *
 *   status = gg_fleet_read_coverage(&scope, &store, error);
 *   mean = sum / gg_fleet_scope_slots(&scope, sender);
 *
 * An average divides a sender's sum by the slots in which its memory is known.  Those are the slots
 * that it reported, and those in which it is known to have held nothing.  All others are lacking,
 * and the sender counts there with its average.
 *
 * Own senders      A sender of geiger's says when it ends.  It held nothing from that slot up to
 *                  its next report.  Before its first report, and after its last one, it held
 *                  nothing in the slots in which another sender of its host reported: a host
 *                  that is there would report for it, too.  A slot that it missed between two
 *                  reports is lacking, whichever other senders of the host reported it.
 * Other agents     never say that a process has ended, so the rows tell when it ran: from its first
 *                  slot to its last one.  It held nothing before and after.  A slot that it
 *                  missed within is lacking.  On a host with a sender of geiger's own it follows
 *                  the rule of own senders.
 * Edges            Some slots around the window tell a sender that was silent at the window's edge
 *                  from one that did not run.  A sender that was heard within two slots of the
 *                  newest one may still run.
 * Receivers        A process of another agent that is silent has not ended if its receiver is
 *                  silent as well: nobody could have heard it.  The table `batch` has the signs
 *                  of life of receivers.
 *
 * Threads  any, each with a store of its own.
 */
#pragma once

#include "base/compiler.h"
#include "fleet/fleet_question.h"

/*
 * Reads the slots of the window, and counts those of each sender.  It may end the window before its
 * newest slot.
 */
GG_MUST_CHECK int gg_fleet_read_coverage(struct gg_fleet_scope *scope, struct gg_clickhouse *store,
                                         struct gg_error *error);
