/* SPDX-License-Identifier: Apache-2.0 */
/*
 * send_reply - what a receiver's reply says about a body.
 *
 *   gg_send_reply_read(&reply, true, &answer);
 *
 * A reply of OTLP with status 200 may reject a part (partial_success), as protocol buffers or as
 * JSON.  Such a body must not be sent again.  The statuses 429 and 503 ask to send the body later,
 * with Retry-After.  502 and 504 are a proxy's: it may have passed the body on, so the body is in
 * doubt.  All others reject it.
 *
 * Hostile   The reply may be anything.  A body that the parser cannot read rejects nothing.
 * Threads   any; pure functions.
 */
#pragma once

#include <stdbool.h>

#include "send/http_reply.h"
#include "send/send_queue.h"

/* `reply` has a status.  `is_otlp`: its body may tell of a partial success. */
void gg_send_reply_read(const struct gg_http_reply *reply, bool is_otlp,
                        struct gg_send_answer *ret_answer);

/*
 * Changes the answer to a rejection if the reply is a page of HTML: servers with a page for people
 * answer so to each path that they do not know, with status 200.
 */
void gg_send_reply_refuse_page(const struct gg_http_reply *reply, struct gg_send_answer *answer);
