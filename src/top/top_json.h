/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top_json - prints a snapshot as one line of JSON (docs/reference/JSON.md).
 *
 * Threads  Any; it only appends to the buffer, whose `failed` says if memory ran out.
 */
#pragma once

#include "base/buf.h"
#include "top/top_snapshot.h"
#include "top/top_state.h"

/* Appends the rows that the state lets pass, in its order, at most rows_max of them (0: all). */
void gg_top_json(const struct gg_top_snapshot *snapshot, const struct gg_top_state *state,
                 size_t rows_max, struct gg_buf *out);
