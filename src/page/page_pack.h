/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_pack - gzip, which browsers decompress natively, and base64, which HTML can hold.
 */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"

/* Compresses the JSON with gzip. */
GG_MUST_CHECK int gg_page_pack(const struct gg_buf *json, struct gg_buf *packed,
                               struct gg_error *error);
/* Appends the bytes as base64. */
void gg_page_base64(const void *bytes, size_t length, struct gg_buf *out);
