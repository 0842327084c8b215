/* SPDX-License-Identifier: Apache-2.0 */
/*
 * foreign_senders - which processes other agents push, and what they last said.
 *
 *   status = gg_foreign_senders_open(&senders, directory_fd, error);
 *   sender = gg_foreign_senders_get(&senders, key, 0);
 *   if (start_s >= sender->until_s) ...                  the first profile after that slot
 *           gg_foreign_senders_note(&senders, sender, start_s + seconds);
 *   gg_foreign_senders_done(&senders);
 *
 * Slots     Agents push every few seconds.  The store adds up all live rows of a sender and slot,
 *           so a slot takes one profile of a process.  The file `looks` in the receiver's directory
 *           has the slot of the last one, so that a receiver that was killed takes no second one.
 * Counters  What a process allocated since its start is known by stack, size and interval.  The
 *           difference to the last look is exact in samples.  A counter that shrank or vanished is
 *           another process's or another agent's, so nothing is counted then.
 * Memory    COUNTERS_MOST counters of 24 bytes, of all processes together.  Beyond that, those of
 *           other processes of the tenant that has most are forgotten, and the next look at them
 *           counts no allocations.
 * Tenants   Large tenants leave some places free, so that small ones always find one.
 * Threads   one owner.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/compiler.h"
#include "base/error.h"
#include "base/map.h"

/* Samples of a stack, size and interval since the process's start. */
struct gg_foreign_counter {
	uint64_t key;
	uint64_t ever;
	uint32_t live;
};

struct gg_foreign_counters {
	GG_ARRAY(struct gg_foreign_counter); /* by key, once they are sorted */
};

/* How an agent counts what its process allocates. */
enum gg_foreign_way { GG_FOREIGN_UNKNOWN, GG_FOREIGN_DIFFERENCES, GG_FOREIGN_TOTALS };

struct gg_foreign_sender {
	uint64_t key;
	uint64_t until_s; /* the end of the last slot that has a look; 0: none */
	uint64_t delta_s; /* the end of the last span whose allocations were stored */
	enum gg_foreign_way way;
	bool has_counters;
	struct gg_foreign_counters counters; /* at the last look */
};

enum { GG_FOREIGN_TENANTS = 1024 /* by the upper ten bits of keys; two may share a number */ };

struct gg_foreign_senders {
	int directory_fd, fd;
	uint64_t logged_count; /* notes in the file */
	size_t counter_count;  /* of all senders */
	uint32_t tenant_counts[GG_FOREIGN_TENANTS];
	size_t tenant_counters[GG_FOREIGN_TENANTS]; /* counters of the senders of each */
	uint64_t pruned_ns;                         /* when senders were forgotten last; 0: never */
	/* Forgotten senders may have looks before it, so none is taken there any more. */
	uint64_t floor_s;
	struct gg_map by_key;
	struct {
		GG_ARRAY(struct gg_foreign_sender);
	} list;
};

/* Reads the notes of an earlier receiver. */
GG_MUST_CHECK int gg_foreign_senders_open(struct gg_foreign_senders *senders, int directory_fd,
                                          struct gg_error *error);
void gg_foreign_senders_done(struct gg_foreign_senders *senders);

/*
 * The key of a sender: equal tenants have equal upper bits, so that no tenant can take the places
 * of all others.
 */
uint64_t gg_foreign_sender_key(const char *tenant, uint64_t sender_id);
/*
 * NULL: memory is out, or there are too many.  If so, senders whose last slot ended before
 * `least_s` are forgotten, once a minute at most; 0: never.  Valid until the next call.
 */
struct gg_foreign_sender *gg_foreign_senders_get(struct gg_foreign_senders *senders, uint64_t key,
                                                 uint64_t least_s);
/* Notes on the disk that the sender's look for the slot that ends then is taken. */
GG_MUST_CHECK int gg_foreign_senders_note(struct gg_foreign_senders *senders,
                                          struct gg_foreign_sender *sender, uint64_t until_s);

void gg_foreign_counters_sort(struct gg_foreign_counters *counters);
/* NULL: it is not there. */
const struct gg_foreign_counter *gg_foreign_counters_find(
	const struct gg_foreign_counters *counters, uint64_t key);
/* True if each of `before` is there, and no smaller. */
bool gg_foreign_counters_grew(const struct gg_foreign_counters *counters,
                              const struct gg_foreign_counters *before);
/* Takes the array; if the counters are too many, it leaves the array and remembers nothing. */
void gg_foreign_senders_keep(struct gg_foreign_senders *senders, struct gg_foreign_sender *sender,
                             struct gg_foreign_counters *counters);
