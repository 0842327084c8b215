/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fleet_question - the part of a fleet that a question is about: service, versions, hosts, times.
 *
 *   struct gg_fleet_question question = { .tenant = "default", .service = "checkout" };
 *   struct gg_fleet_scope scope;
 *
 *   gg_fleet_scope_of(&scope, &store, &question, error);
 *   ... scope.series, scope.members, scope.moment ...
 *   gg_fleet_scope_done(&scope);
 *
 * A scope is what the question means in this store: the series that match, the window of slots, and
 * what each host sent in it.  Every later statement takes its values from the scope.
 *
 * Senders  The column `host` of the tables is the id of a sender.  A host is a machine, known by
 *          its name, and each recording on it is a sender of its own.  A sender's row of `process`
 *          with no processes says that the sender has ended.
 * Moments  Of each sender its latest slot in the window counts, so a series that is not in it has
 *          ended.
 * Sums     Allocated and freed memory is also that of processes which ended within a slot: no
 *          process of theirs ran at its end, and their row of `process` says what they allocated.
 * Windows  Live memory of a sender is averaged over the slots in which it is known
 *          (fleet_coverage.c).  The newest slot does not count if a sender that ran in the slot
 *          before is missing in it.
 * Draws    Each hour draws senders anew.  A window in which a sender's stacks are there in one slot
 *          and not in another has no set of drawn hosts, so it is refused, unless the question
 *          joins the draws of its hours (fleet_draws.h).
 *
 * Threads  any, each with a store of its own.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/compiler.h"
#include "base/error.h"
#include "base/map.h"
#include "fleet/clickhouse.h"
#include "fleet/fleet_ids.h"
#include "fleet/fleet_retention.h"
#include "query/query.h"

/* The time of live memory. */
enum gg_fleet_when {
	GG_FLEET_AT_END,  /* the last snapshot of each host */
	GG_FLEET_AT_TIME, /* the last one before a moment */
	GG_FLEET_AT_PEAK, /* at the slot in which the service held most */
	GG_FLEET_AVERAGE, /* over all slots of a window */
};

struct gg_fleet_question {
	const char *tenant, *service;
	const char *version;                 /* NULL: all */
	const char *host;                    /* NULL: all */
	const struct gg_fleet_label *labels; /* all of them must match */
	size_t label_count;
	enum gg_fleet_when when;
	enum gg_metric metric;     /* live, allocated, or freed */
	uint32_t since_s, until_s; /* the window; 0 and UINT32_MAX: no end */
	uint32_t slot_length_s;    /* a snapshot counts for twice that long */
	bool by_slot;              /* every slot is shown on its own; nothing is averaged */
	bool joins_draws;          /* each hour is extended to all hosts on its own */
	bool is_part;              /* an hour of a larger window, which may be empty */
};

/* A series that matches. */
struct gg_fleet_scope_series {
	uint64_t id;
	const char *version;                 /* these texts belong to the scope */
	const struct gg_fleet_label *labels; /* sorted by key */
	size_t label_count;
};

/* A machine. */
struct gg_fleet_host {
	uint64_t id; /* gg_fleet_host_id() of its name; that of its sender if the name is unknown */
};

/* A snapshot counts for so many slots. */
enum { GG_FLEET_SNAPSHOT_SLOTS = 2 };

/*
 * A question looks so many slots beyond its window for processes of other agents, which never say
 * that they end.  A process that is silent at an end of the window, and that long beyond it, counts
 * as one that did not run then.
 */
enum { GG_FLEET_AROUND_SLOTS = 6 };

/* A sender's processes of one series, in the window. */
struct gg_fleet_member {
	uint32_t series; /* index in scope.series */
	uint32_t host;   /* index in scope.hosts */
	uint64_t sender;
	uint32_t last_slot_s;    /* the last slot that is counted */
	uint32_t last_running_s; /* the last one at whose end a process ran; 0: none did */
	double process_count;    /* the mean over the sender's slots */
	bool is_selected;        /* its stacks are in the store */
	bool is_redrawn;         /* in some slots they are, and in others they are not */
	bool is_certain;         /* the chance of that was 1 */
	double selected_share;   /* the chance of that */
	double gap_max;
	double rss_bytes, live_bytes; /* means over the sender's slots */
	double allocated_bytes;
	double dropped_count;
	bool lacks_objects; /* sums are lower bounds, for another reason than dropped samples */
};

/* The rollups and raw rows that together hold a question's window, each row once. */
struct gg_fleet_cover {
	GG_ARRAY(uint64_t) hours, days; /* their begins */
	uint32_t raw_from_s, raw_to_s;  /* all slots that they do not hold; empty: no raw rows */
};

struct gg_fleet_scope {
	const struct gg_fleet_question *question;
	uint64_t service;
	GG_ARRAY(struct gg_fleet_scope_series) series;
	GG_ARRAY(uint64_t) series_ids; /* the same, as a list for statements; never empty */
	bool has_all_series;           /* of the service, so that statements need no list */
	GG_ARRAY(struct gg_fleet_member) members;
	GG_ARRAY(struct gg_fleet_host) hosts;
	struct gg_map series_of; /* id -> index in series */
	struct gg_map host_of;   /* sender -> index in hosts */
	/* The slots of the window in which a sender's memory is known; empty: a moment. */
	GG_ARRAY(uint32_t) covered_counts;
	struct gg_map sender_of; /* sender -> index in covered_counts */
	uint32_t from_s, to_s;   /* the window that is read: [from_s, to_s) */
	uint32_t moment_s;       /* the slot of the moment or of the peak; 0: a window */
	uint32_t start_s;        /* the begin that reports name; 0: from_s */
	uint32_t slot_count;     /* of the window; 1: a moment */
	bool is_redrawn; /* senders were drawn anew within the window; selected: in some slot */
	bool is_latest;  /* of each sender, only its latest slot in the window counts */
	bool with_ended; /* slots count in which a process ended: it allocated, and holds nothing */
	size_t host_count;     /* that have a process */
	size_t selected_count; /* of them, hosts whose stacks are in the store */
	size_t reported_count; /* of them, hosts that reported in the slot of the moment */
	size_t lacking_count;  /* of them, hosts with a sender that lacks slots of the window */
	/* Processes of other agents that count as ended, since they are silent at the end. */
	size_t ended_count;
	size_t sender_count, selected_sender_count;
	size_t certain_sender_count; /* of them, senders whose stacks are always sent */
	struct gg_map certain;       /* these senders */
	double process_count, rss_bytes;
	GG_ARRAY(uint32_t) slots; /* of a window, sorted */
	struct gg_fleet_floors floors;
	/*
	 * Rollups and raw rows that statements read.  NULL: raw rows of the whole window.  A copy
	 * of the scope has it (fleet_model.c); nobody frees it here.
	 */
	const struct gg_fleet_cover *cover;
	/* Texts of the above. */
	GG_ARRAY(char *) texts;
	GG_ARRAY(struct gg_fleet_label *) label_lists;
};

/*
 * -ENOENT: no such service, version, host or label, and the advice names some that exist; -ENODATA:
 * nobody reported in that time, or no stacks of that time are in the store; -ENOTSUP: the hosts
 * were drawn anew within the window.
 */
GG_MUST_CHECK int gg_fleet_scope_of(struct gg_fleet_scope *scope, struct gg_clickhouse *store,
                                    const struct gg_fleet_question *question,
                                    struct gg_error *error);
void gg_fleet_scope_done(struct gg_fleet_scope *scope);

/*
 * Runs a statement about a scope.  `groups`: as in fleet_statements.c; ignored by others.  `reply`
 * gets the rows.
 */
enum { GG_FLEET_NO_GROUPS = 0, GG_FLEET_EACH_HOST = 1 };
/* Like GG_FLEET_EACH_HOST, but all senders whose stacks are always sent are one group. */
#define GG_FLEET_CERTAIN_APART UINT64_MAX
GG_MUST_CHECK int gg_fleet_scope_ask(const struct gg_fleet_scope *scope,
                                     struct gg_clickhouse *store, int statement, uint64_t groups,
                                     struct gg_buf *reply, struct gg_error *error);

/* The id of the host of a sender; 0: the sender is not in the scope. */
uint64_t gg_fleet_scope_host(const struct gg_fleet_scope *scope, uint64_t sender);

/*
 * The host of a sender, as an index in scope->hosts.  A sender whose row in `host` is on its way
 * counts as a host.  -ENOMEM.
 */
GG_MUST_CHECK int gg_fleet_scope_find_host(struct gg_fleet_scope *scope, uint64_t sender,
                                           uint32_t *ret_host);

/* The slots over which the memory of a sender is averaged; at least 1. */
double gg_fleet_scope_slots(const struct gg_fleet_scope *scope, uint64_t sender);

/* True if the window begins before the raw rows that are still there. */
bool gg_fleet_is_beyond_raw(const struct gg_fleet_scope *scope);

/* Reads which host each sender of the window is on.  Part of gg_fleet_scope_of(). */
GG_MUST_CHECK int gg_fleet_scope_read_hosts(struct gg_fleet_scope *scope,
                                            struct gg_clickhouse *store, struct gg_error *error);

/*
 * Reads the slots of the window, and counts those of each sender (fleet_coverage.c).  It may end
 * the window before its newest slot.  Part of gg_fleet_scope_of().
 */
GG_MUST_CHECK int gg_fleet_read_coverage(struct gg_fleet_scope *scope, struct gg_clickhouse *store,
                                         struct gg_error *error);

/* Reads a row of GG_FLEET_PROCESSES after its first two columns; numbers are sums over slots. */
struct gg_fleet_member gg_fleet_read_member(struct gg_clickhouse_rows *rows,
                                            uint32_t *ret_covered_s);

/* Fails with -EBADMSG if rows ended in the middle. */
GG_MUST_CHECK int gg_fleet_check_rows(const struct gg_clickhouse_rows *rows,
                                      struct gg_error *error);

/* Appends what a title says: "at the end (2026-11-27 02:40)", "averaged over 6 slots, ...". */
void gg_fleet_scope_describe(const struct gg_fleet_scope *scope, struct gg_buf *out);

/* Appends a time as "2026-11-27 02:40". */
void gg_fleet_append_time(uint32_t time_s, struct gg_buf *out);

/*
 * Seconds by which the server's tables are behind those of other replicas; 0: they are not, have no
 * replicas, or the user may not know.
 */
uint64_t gg_fleet_delay_seconds(struct gg_clickhouse *store, const char *tenant);
