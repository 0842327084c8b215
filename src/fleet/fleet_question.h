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
#include "fleet/clickhouse.h"
#include "fleet/fleet_ids.h"
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
};

/* A series that matches. */
struct gg_fleet_scope_series {
	uint64_t id;
	const char *version;                 /* these texts belong to the scope */
	const struct gg_fleet_label *labels; /* sorted by key */
	size_t label_count;
};

/* A host's processes of one series, in the window. */
struct gg_fleet_member {
	uint32_t series; /* index in scope.series */
	uint64_t host;
	uint32_t last_slot_s, slot_count, process_count;
	bool is_selected;      /* its stacks are in the store */
	double selected_share; /* the chance of that */
	double gap_max;
	double rss_bytes, live_bytes; /* means over its slots */
	double allocated_bytes;
	double dropped_count;
	uint8_t scheme;
};

struct gg_fleet_scope {
	const struct gg_fleet_question *question;
	uint64_t service;
	GG_ARRAY(struct gg_fleet_scope_series) series;
	GG_ARRAY(uint64_t) series_ids; /* the same, as a list for statements; never empty */
	GG_ARRAY(struct gg_fleet_member) members;
	uint32_t from_s, to_s; /* the window that is read: [from_s, to_s) */
	uint32_t moment_s;     /* the slot of the moment or of the peak; 0: a window */
	uint32_t slot_count;   /* over which live memory is averaged; 1: a moment */
	bool is_latest;        /* of each host, only its latest snapshot in the window counts */
	size_t host_count;     /* that reported */
	size_t selected_count; /* of them, hosts whose stacks are in the store */
	size_t reported_count; /* of them, hosts that reported in the slot of the moment */
	double process_count, rss_bytes;
	/* Texts of the above. */
	GG_ARRAY(char *) texts;
	GG_ARRAY(struct gg_fleet_label *) label_lists;
};

/*
 * -ENOENT: no such service, version, host or label, and the advice names some that exist; -ENODATA:
 * nobody reported in that time.
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
GG_MUST_CHECK int gg_fleet_scope_ask(const struct gg_fleet_scope *scope,
                                     struct gg_clickhouse *store, int statement, uint64_t groups,
                                     struct gg_buf *reply, struct gg_error *error);

/* Fails with -EBADMSG if rows ended in the middle. */
GG_MUST_CHECK int gg_fleet_check_rows(const struct gg_clickhouse_rows *rows,
                                      struct gg_error *error);

/* Appends what a title says: "at the end (2026-11-27 02:40)", "averaged over 6 slots, ...". */
void gg_fleet_scope_describe(const struct gg_fleet_scope *scope, struct gg_buf *out);

/* Appends a time as "2026-11-27 02:40". */
void gg_fleet_append_time(uint32_t time_s, struct gg_buf *out);
