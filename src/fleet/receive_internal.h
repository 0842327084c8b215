/* SPDX-License-Identifier: Apache-2.0 */
/*
 * receive_internal - the state of a receiver; shared by the files of src/fleet that receive.
 *
 * Threads  One thread answers requests, another one inserts.  `mutex` guards what both use: the
 *          pending segments, and the counters.  Everything else belongs to the first one.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/buf.h"
#include "fleet/clickhouse.h"
#include "fleet/foreign_senders.h"
#include "fleet/known_set.h"
#include "fleet/receive.h"
#include "fleet/receive_access.h"
#include "fleet/receive_scrape.h"
#include "fleet/segment.h"

struct gg_receive_pending {
	uint64_t number, bytes;
	char tenant[GG_SEGMENT_TENANT_MAX]; /* "": not read yet */
	bool is_old;                        /* an earlier receiver sealed it: `batch` may have it */
	unsigned refusal_count;             /* the store answered, and took it not */
};

struct gg_receive_counts {
	uint64_t slots, definitions, repeated; /* messages taken; repeated: had them before */
	uint64_t rows, bytes;                  /* sealed */
	uint64_t refused_bad, refused_old, refused_access, refused_large, refused_busy, failed_disk;
	/* Other agents: stored looks and spans, and profiles that change nothing. */
	uint64_t foreign_looks, foreign_spans, foreign_between, foreign_other, foreign_unclear,
		scrape_refused;
	uint64_t inserted_segments, inserted_rows, insert_errors, set_aside, skipped_by_batch;
};

/* A tenant's bytes of late, and the moment at which they were right. */
struct gg_receive_rate {
	char tenant[GG_SEGMENT_TENANT_MAX];
	double bytes;
	uint64_t at_ns;
};
enum { GG_RECEIVE_RATES = 256 };

/* How many hosts a service has: registers of a HyperLogLog for this hour and the last one. */
enum { GG_RECEIVE_REGISTERS = 256, GG_RECEIVE_SERVICES_MAX = 4096 };
struct gg_receive_service {
	uint64_t key; /* of tenant and service */
	uint32_t hour;
	uint8_t now[GG_RECEIVE_REGISTERS], before[GG_RECEIVE_REGISTERS];
};

/* A tenant of other agents' processes, and its last segment: a sign that the receiver is there. */
struct gg_receive_sign {
	char tenant[GG_SEGMENT_TENANT_MAX];
	uint64_t at_ns; /* of CLOCK_MONOTONIC */
};

struct gg_receive {
	const struct gg_receive_options *options;
	struct gg_receive_access access;
	int directory_fd;
	uint32_t receiver; /* this directory's number, forever */
	uint64_t last_number;
	uint64_t seed;             /* of hashes of messages: nobody can prepare two that collide */
	struct gg_known_set known; /* stacks and messages */
	struct gg_foreign_senders foreign;
	struct gg_clickhouse *store; /* the replica in use, of the inserting thread */
	struct gg_scraper *scraper;  /* NULL: nothing is fetched */
	struct gg_receive_rate rates[GG_RECEIVE_RATES];
	GG_ARRAY(struct gg_receive_service) services;
	GG_ARRAY(struct gg_receive_sign) signs;

	pthread_mutex_t mutex;
	pthread_cond_t has_work;
	GG_ARRAY(struct gg_receive_pending) pending; /* by number */
	uint64_t pending_bytes;
	struct gg_receive_counts counts;
	bool is_stopped;
	bool has_lost_names;       /* of stacks in `known`, which the store lacks */
	uint64_t failing_since_ns; /* of inserts; 0: the last one succeeded */
	char last_error[300];
};

/* The texts are valid during the call.  NULL: the header is missing. */
struct gg_receive_request {
	const char *method, *path, *authorization, *scope, *encoding, *content_type;
	/* Arguments of the address. */
	const char *name, *format, *units;
	const void *body;
	size_t length;
};

struct gg_receive_answer {
	unsigned status;
	unsigned retry_after_s; /* 0: none */
	bool is_metrics;
	const char *type; /* NULL: text */
	struct gg_buf body;
};

/* --- receive_accept.c ------------------------------------------------------------------------ */

/* Makes the directory, and finds what an earlier receiver left. */
GG_MUST_CHECK int gg_receive_open(struct gg_receive *receive,
                                  const struct gg_receive_options *options, struct gg_error *error);
void gg_receive_close(struct gg_receive *receive);

/*
 * Before the body is read: true if the answer is known already, such as 401.  `length` is that of
 * the head, or 0.
 */
bool gg_receive_refuse_early(struct gg_receive *receive, const struct gg_receive_request *request,
                             uint64_t length, struct gg_receive_answer *answer);
/* Always makes an answer. */
void gg_receive_request(struct gg_receive *receive, const struct gg_receive_request *request,
                        struct gg_receive_answer *answer);

/* The parts that receive_foreign.c shares. */
void gg_receive_count(struct gg_receive *receive, uint64_t *counter);
void gg_receive_answer_with(struct gg_receive_answer *answer, unsigned status, const char *text);
/* False: the answer says why not. */
bool gg_receive_seal(struct gg_receive *receive, const char *tenant,
                     const struct gg_segment *segment, struct gg_receive_answer *answer);
bool gg_receive_is_of_its_time(struct gg_receive *receive, uint64_t start_s, double seconds,
                               struct gg_receive_answer *answer);
/* Counts bytes that a tenant has sent already; its next requests wait for them. */
void gg_receive_charge(struct gg_receive *receive, const char *tenant, uint64_t bytes);
/* False: too many bytes wait for the store. */
bool gg_receive_has_queue(struct gg_receive *receive);
/* True if the receiver has the definitions of all stacks of the slot. */
bool gg_receive_knows_stacks(const struct gg_receive *receive, const char *tenant,
                             const struct gg_fleet_slot *slot);
/* Seals definitions, and remembers their stacks. */
bool gg_receive_seal_definitions(struct gg_receive *receive, const char *tenant,
                                 const struct gg_fleet_definitions *definitions,
                                 struct gg_receive_answer *answer);
/* True if the message came before; false: it did not, or it is forgotten. */
bool gg_receive_has_message(struct gg_receive *receive, const char *tenant, const void *bytes,
                            size_t length);
void gg_receive_remember_message(struct gg_receive *receive, const char *tenant, const void *bytes,
                                 size_t length);

/* --- receive_foreign.c ----------------------------------------------------------------------- */

bool gg_receive_is_foreign(const char *path);

/* True if a body without bytes is a message without profiles, as protocol buffers have it. */
bool gg_receive_may_be_empty(const struct gg_receive_request *request);
/* The bytes are without gzip. */
void gg_receive_foreign(struct gg_receive *receive, const struct gg_receive_request *request,
                        const char *tenant, const void *bytes, size_t length,
                        struct gg_receive_answer *answer);
/* Stores the profiles that the receiver has fetched. */
void gg_receive_scraped(struct gg_receive *receive);
/* Gives an answer the form that the request's agent expects. */
void gg_receive_foreign_answer(const struct gg_receive_request *request,
                               struct gg_receive_answer *answer);

/* --- receive_signs.c ------------------------------------------------------------------------- */

/* Notes that a look of that tenant was sealed. */
void gg_receive_note_sign(struct gg_receive *receive, const char *tenant);
/* Seals an empty segment for each tenant whose last one is a slot old. */
void gg_receive_send_signs(struct gg_receive *receive);

/* --- receive_insert.c ------------------------------------------------------------------------ */

/* The thread; returns when is_stopped. */
void *gg_receive_insert(void *receive);

/* --- receive_metrics.c ----------------------------------------------------------------------- */

void gg_receive_metrics(struct gg_receive *receive, struct gg_buf *out);
/* 200 or 503. */
unsigned gg_receive_health(struct gg_receive *receive, struct gg_buf *out);
