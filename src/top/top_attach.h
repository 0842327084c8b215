/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top_attach - runs `geiger attach` for `geiger top`, which draws meanwhile.
 *
 *   struct gg_top_attach *attach = gg_top_attach_start(4711);
 *
 *   if (gg_top_attach_has_ended(attach, &is_attached, message))
 *           gg_top_attach_free(attach);
 *
 * An attach may take ten seconds, and it borrows a thread of another process.  A process of its own
 * does it, which the end of the screen does not interrupt.
 *
 * Threads  One.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "top/top_state.h"

struct gg_top_attach;

/* NULL: it could not be started. */
struct gg_top_attach *gg_top_attach_start(uint32_t pid);
uint32_t gg_top_attach_pid(const struct gg_top_attach *attach);
/* True once it has ended.  If it did not attach, `message` says why. */
bool gg_top_attach_has_ended(struct gg_top_attach *attach, bool *ret_is_attached,
                             char message[GG_TOP_MESSAGE_MAX]);
/* An attach that runs goes on.  NULL is fine. */
void gg_top_attach_free(struct gg_top_attach *attach);
