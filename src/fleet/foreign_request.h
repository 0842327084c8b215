/* SPDX-License-Identifier: Apache-2.0 */
/*
 * foreign_request - the requests by which other agents send profiles: which profiles they have, and
 * with which labels.
 *
 *   struct gg_foreign_request request = { 0 };
 *
 *   status = gg_foreign_request_push(&request, bytes, length, is_json, error);
 *   for (size_t i = 0; i < request.items.count; i++)
 *           ... request.items.items[i].bytes, .labels ...
 *   gg_foreign_request_done(&request);
 *
 * Push    Pyroscope's PushRequest, as protocol buffers or JSON: series with labels, each with
 *         profile.proto files.
 * Ingest  Pyroscope's older POST /ingest?name=app{key=value}: a profile.proto as the body, or as
 *         the part `profile` of multipart/form-data.
 * Delta   Allocations count from the start of the process (Go), or from the last profile on.  A
 *         label __delta__="false" of a push, and `"cumulative": false` of the part
 *         sample_type_config, say that the agent has already taken the difference.
 * Hostile Every length is checked.  Labels are texts without zero bytes.
 * Memory  Items point into the bytes, or into buffers that the request owns.
 * Threads one owner.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/compiler.h"
#include "base/error.h"
#include "fleet/fleet_ids.h"

enum {
	GG_FOREIGN_LABELS_MAX = 60,
	GG_FOREIGN_TEXT_MAX = 2048,
	GG_FOREIGN_ITEMS_MAX = 256,
};

struct gg_foreign_item {
	const void *bytes; /* a profile.proto, perhaps as gzip */
	size_t length;
	const struct gg_fleet_label *labels;
	size_t label_count;
	bool is_delta;
};

struct gg_foreign_request {
	GG_ARRAY(struct gg_foreign_item) items;
	GG_ARRAY(void *) owned;
	bool is_other; /* ingest: it has no profile.proto, and nothing to store */
};

/* -EBADMSG: the request is damaged, or beyond a limit; -ENOMEM. */
GG_MUST_CHECK int gg_foreign_request_push(struct gg_foreign_request *ret_request, const void *bytes,
                                          size_t length, bool is_json, struct gg_error *error);

/* The address and the head of a request for /ingest.  NULL: missing. */
struct gg_foreign_ingest {
	const char *name, *format, *units, *content_type;
};
GG_MUST_CHECK int gg_foreign_request_ingest(struct gg_foreign_request *ret_request,
                                            const struct gg_foreign_ingest *ingest,
                                            const void *bytes, size_t length,
                                            struct gg_error *error);
void gg_foreign_request_done(struct gg_foreign_request *request);
