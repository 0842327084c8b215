/* SPDX-License-Identifier: Apache-2.0 */
/*
 * send_outline - makes a process's next body straight from the numbers in its region.
 *
 *   after a profile of the process went the long way, by a model and an extract:
 *     status = gg_send_outline_make(&outline, workspace, &source, error);
 *   at later looks:
 *     gg_region_view_read_numbers(&view, fd, path, error);
 *     status = gg_send_outline_body(outline, workspace, &look, &totals, &body, error);
 *     1: `body` is the profile, and `totals` what the receiver has once it is delivered
 *     gg_send_outline_keep(outline, &totals);
 *   gg_send_outline_free(outline);
 *
 * The long way takes some 20 000 instructions for a stack: the profile in SQLite, symbols, the
 * model, the dictionary.  All of that is the same at the next look, unless the process has new
 * stacks or modules.  So an outline keeps the dictionary as it is sent, packed, and the row of each
 * node.  A look then adds up live samples and site totals by row, subtracts what was sent, and
 * encodes the samples of the four profiles.
 *
 * Same numbers   The rows, their order, rounding, differences, and tallies are those of the long
 *                way.  gg_send_outline_make() adds up the view that the extract came from, and
 *                refuses the outline if any row or total differs.  So what the long way treats
 *                otherwise (exact counts, modules that were unloaded, damaged records) takes it.
 * Refused looks  gg_send_outline_body() returns 0 if the process has new nodes, modules or frames,
 *                if its sampling interval changed, or if its view is not of one instant.
 * Names          that become known later, such as those of JIT compilers, appear when the outline
 *                is made anew: after MAKE_AGAIN at the latest, if a frame has no module, or if a
 *                module's symbols could not be read in time.
 * Receivers      of OTLP alone.
 * Memory         some 40 bytes a stack, 4 bytes a node, and the packed dictionary.
 * Threads        one owner.
 */
#pragma once

#include "region/reader/view.h"
#include "send/send_body.h"
#include "send/sent_totals.h"

struct gg_send_outline;

/* Memory that looks share; NULL if memory runs out. */
struct gg_send_workspace;
struct gg_send_workspace *gg_send_workspace_new(void);
void gg_send_workspace_free(struct gg_send_workspace *workspace); /* NULL is fine */

struct gg_send_outline_source {
	const struct gg_send_facts *facts;
	const struct gg_extract *extract;  /* of one process, by stack, the entries not hidden */
	const struct gg_region_view *view; /* of which it was made */
	/* Returns the number of a node's stack in the model, or 0. */
	uint32_t (*stack_of)(uint32_t node, void *context);
	void *context;
	struct gg_sent_totals *totals; /* what the receiver has now; moves into the outline */
};

/* 0, with *ret_outline NULL if the process cannot have an outline; or -ENOMEM. */
GG_MUST_CHECK int gg_send_outline_make(struct gg_send_outline **ret_outline,
                                       struct gg_send_workspace *workspace,
                                       const struct gg_send_outline_source *source,
                                       struct gg_error *error);
void gg_send_outline_free(struct gg_send_outline *outline); /* NULL is fine */

struct gg_send_outline_look {
	const struct gg_send_facts *facts;
	const struct gg_region_view *view; /* of the numbers alone, or whole */
	uint64_t begin_wall_ns;            /* of the session's zero */
	int64_t now_ns;                    /* in the session's time */
};

/*
 * 1, 0 (see above), or -ENOMEM.  *ret_totals gets its rows' memory, which the caller gives to
 * gg_send_outline_keep() or frees.
 */
GG_MUST_CHECK int gg_send_outline_body(const struct gg_send_outline *outline,
                                       struct gg_send_workspace *workspace,
                                       const struct gg_send_outline_look *look,
                                       struct gg_sent_totals *ret_totals, struct gg_send_body *body,
                                       struct gg_error *error);
/* Replaces what the receiver has. */
void gg_send_outline_keep(struct gg_send_outline *outline, struct gg_sent_totals *totals);

size_t gg_send_outline_bytes(const struct gg_send_outline *outline);
