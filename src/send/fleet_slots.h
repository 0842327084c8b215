/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fleet_slots - makes the messages of a slot (fleet/fleet_wire.h) from models of processes.
 *
 *   struct gg_slot_maker *maker;
 *
 *   gg_slot_maker_new(&maker, &facts, &span);
 *   gg_slot_maker_add(maker, model, &what);                     each model of the host
 *   gg_slot_maker_finish(maker);
 *   if (!gg_slot_maker_is_empty(maker))
 *           gg_slot_maker_body(maker, &body);                   what the queue keeps
 *   gg_slot_maker_free(maker);
 *
 * Whole numbers  A row counts samples: those allocated in [start, end), those freed in it, and
 *                those live at its end.  So live(end) = live(start) + allocated - freed, exactly.
 *                Rows of the same stack, series, size and interval are one row, whatever process
 *                they are of, because the store replaces rows with equal keys.
 * Ends           Blocks of a process that ended are live no more, but do not count as freed.  A
 *                process row counts those that run at the slot's end: 0 says that a series has
 *                ended, and has no live rows.
 * Forks          A block that several processes hold is one block: allocated by the process that
 *                allocated it, live while any of them holds it, and freed by the last one.
 * Folded         Samples that are not drawn by their size alone, and sums without samples, become
 *                folded rows: sums of a tally, by stack.  So do stacks with very many sizes, if
 *                the slot has more rows than a host should send.
 * Parts          A slot with very many rows becomes several messages, with disjoint rows.
 * Body           of a slot, for the queue: for each part the slot as gzip, and the definitions of
 *                its stacks as gzip, in the order of its stacks, both with their length in four
 *                bytes before them.  The definitions stay in the queue with the slot, so that they
 *                can be sent whenever the answer asks for them.  One body has all parts, so that a
 *                kill cannot separate them.
 * Threads        one owner.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "fleet/fleet_wire.h"
#include "format/export/extract.h"
#include "model/model.h"
#include "send/send_body.h"

enum { GG_SLOT_GZIP_LEVEL = 6 };

struct gg_slot_span {
	const char *host, *instance; /* as in struct gg_fleet_slot */
	unsigned char boot[16];
	uint64_t start_s;
	uint32_t seconds;
};

/* Allocations of a process with a stack of its model. */
struct gg_slot_allocated {
	uint32_t process, stack;
	struct gg_plain_tally tally;
	enum gg_fleet_metric metric; /* 0: they are allocations of the slot */
};

/* Equal samples of a process with a stack of its model. */
struct gg_slot_counted {
	uint32_t process, stack;
	uint64_t size;
	double gap;
	uint32_t allocated, freed, live;
};

/* A model's part in the slot. */
struct gg_slot_what {
	uint64_t zero_wall_ns; /* the wall time of the model's 0 */
	/*
	 * True: samples have times, and aggregates are those of lost history.  False: the model is
	 * a state; its live samples are live at the slot's end, and `allocated` says what is new.
	 */
	bool has_history;
	/* Without history: what was allocated in the slot, and whether processes still run. */
	const struct gg_slot_allocated *allocated;
	size_t allocated_count;
	bool is_living; /* blocks of ended processes are not live, even of those that ended last */
	/* The sender knows all of the model: a process without an end was last seen at its end. */
	bool is_finished;
	/* By process, or NULL: it ran at the last look, and has ended since, nobody knows when. */
	const bool *has_ended;
	/* Returns the share of hosts that send stacks of a service, in millionths; NULL: all. */
	uint32_t (*share_of)(const char *service, void *context);
	void *context;
	/* Samples that the model does not have, such as those of a profile of another tool. */
	const struct gg_slot_counted *counted;
	size_t counted_count;
	uint32_t only_process;   /* 0: all processes of the model */
	bool no_model_labels;    /* the facts have all labels */
	const char *kind, *heap; /* of the series; NULL: native, and malloc's heap */
};

struct gg_slot_maker;

GG_MUST_CHECK int gg_slot_maker_new(struct gg_slot_maker **ret_maker,
                                    const struct gg_send_facts *facts,
                                    const struct gg_slot_span *span);
void gg_slot_maker_free(struct gg_slot_maker *maker); /* NULL is fine */

/* The model's texts must outlive the maker.  -ENOMEM. */
GG_MUST_CHECK int gg_slot_maker_add(struct gg_slot_maker *maker, const struct gg_model *model,
                                    const struct gg_slot_what *what);
GG_MUST_CHECK int gg_slot_maker_finish(struct gg_slot_maker *maker);
/* Finds the ids of stacks of a model.  -ENOMEM. */
GG_MUST_CHECK int gg_slot_maker_stack_ids(struct gg_slot_maker *maker, const struct gg_model *model,
                                          const uint32_t *stacks, size_t count,
                                          struct gg_fleet_stack_id *ret_ids);
size_t gg_slot_maker_part_count(const struct gg_slot_maker *maker);
/* A part as messages that are not packed.  Their texts live as long as the maker.  -ENOMEM. */
GG_MUST_CHECK int gg_slot_maker_part(const struct gg_slot_maker *maker, size_t number,
                                     struct gg_fleet_slot *ret_slot,
                                     struct gg_fleet_definitions *ret_definitions);
/* There is nothing to send, as no process ran. */
bool gg_slot_maker_is_empty(const struct gg_slot_maker *maker);
/* -EFBIG: a part is larger than a message may be; -ENOMEM. */
GG_MUST_CHECK int gg_slot_maker_body(const struct gg_slot_maker *maker, struct gg_buf *body);

/* --- what the deliverer does with a body ----------------------------------------------------- */

struct gg_slot_body {
	const void *slot, *definitions; /* gzip */
	size_t slot_bytes, definitions_bytes;
};
/* Takes the next part off the bytes.  1, or 0 at the end, or -EBADMSG. */
GG_MUST_CHECK int gg_slot_body_next(struct gg_slot_body *ret_body, const char **at, size_t *length);

struct gg_slot_index_range {
	uint32_t first, last;
};

/* The share of hosts that send stacks of a service, in millionths. */
struct gg_slot_share {
	uint64_t service;
	uint32_t ppm;
};

/* A receiver's answer to a slot. */
struct gg_slot_answer {
	GG_ARRAY(struct gg_slot_index_range) unknown;
	bool has_more; /* the list was cut */
	GG_ARRAY(struct gg_slot_share) shares;
};
/* -EBADMSG: it is no answer of a fleet's receiver; -ENOMEM. */
GG_MUST_CHECK int gg_slot_answer_read(struct gg_slot_answer *ret_answer, const char *text);
void gg_slot_answer_done(struct gg_slot_answer *answer);
/* Makes the message, as gzip, with the definitions of unknown stacks alone. */
GG_MUST_CHECK int gg_slot_definitions(struct gg_buf *out, const struct gg_slot_body *body,
                                      const struct gg_slot_answer *answer);

/*
 * The resident memory of a process of a finished session at its end, or 0.  A short process may
 * have grown since its last reading.  If that is older than a tenth of its life, the maximum that
 * the kernel measured takes its place.
 */
uint64_t gg_slot_last_rss(const struct gg_model *model, uint32_t process);

/*
 * The scheme of a process row with that process; `others` is that with the others so far.  Sums of
 * the row are lower bounds if those of one of them are.
 */
uint8_t gg_slot_scheme(const struct gg_model *model, uint32_t process, uint8_t others);

/* The session's own number, the same whenever and wherever its profile is sent. */
uint64_t gg_slot_instance(const struct gg_model *model);
