/* SPDX-License-Identifier: Apache-2.0 */
/*
 * send_body - one process's profile as the body of a request, in the form of a receiver.
 *
 *   const struct gg_send_facts facts = { .receiver = &receiver, .service = "redis" };
 *   struct gg_send_body body = { 0 };
 *
 *   status = gg_send_body_make(&body, &facts, extract, identity, error);
 *   ... gg_send_body_item(&body, owner) ...
 *   gg_send_body_done(&body);
 *
 * Form       OTLP is what `geiger export --format otlp` writes, and the other forms carry what
 *            --format pprof writes, both without labels of samples: receivers make a series of
 *            each, and rows are sums of all threads (gg_extract_make_by_stack()).
 * Labels     service.name, host.name, process.pid, and the labels of the user.  Pyroscope and
 *            Parca get service_name, host, pid and the labels with underscores: their names have
 *            letters, digits and underscores.  The pid keeps processes apart, because receivers
 *            take means of live memory within a series.
 * Pyroscope  the body for /ingest declares live memory a state (average) and allocated memory an
 *            amount (sum), so that Pyroscope scales neither.
 * Threads    one owner at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/error.h"
#include "format/export/export.h"
#include "send/receiver.h"
#include "send/send_queue.h"

enum { GG_SEND_LABELS_MAX = 64 };

/* Facts that all bodies share.  An all-zero struct with a receiver is valid. */
struct gg_send_facts {
	const struct gg_receiver *receiver;
	const char *service; /* NULL: the program's name */
	const char *host;    /* unless the profile knows it; NULL: unknown */
	struct gg_export_attribute labels[GG_SEND_LABELS_MAX];
	size_t label_count;
	bool no_gzip;
};

struct gg_send_body {
	struct gg_buf bytes, target, about;
	const char *type;
	bool is_gzip;
};

/* Returns the user's label with that key, or NULL. */
const char *gg_send_facts_label(const struct gg_send_facts *facts, const char *key);

/*
 * `extract` has rows of one process, at least one, and its window.  `identity` is any number but 0
 * that this profile alone has.
 */
GG_MUST_CHECK int gg_send_body_make(struct gg_send_body *body, const struct gg_send_facts *facts,
                                    const struct gg_extract *extract, uint64_t identity,
                                    struct gg_error *error);
/*
 * Makes the outline of all bodies of that process: only receivers of OTLP have one.  The labels are
 * those of gg_send_body_make(); *about gets what messages say of it.
 */
struct gg_otlp_outline;
GG_MUST_CHECK int gg_send_body_outline(struct gg_otlp_outline *ret_outline,
                                       const struct gg_send_facts *facts,
                                       const struct gg_extract *extract, uint32_t *ret_slots,
                                       struct gg_buf *about, struct gg_error *error);
struct gg_send_item gg_send_body_item(const struct gg_send_body *body, const char *owner);
void gg_send_body_done(struct gg_send_body *body);
