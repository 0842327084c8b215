/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_series - memory over time, and the lifetimes of blocks.
 */
#pragma once

#include "base/json.h"
#include "page/page_run.h"

/* Writes "series". */
GG_MUST_CHECK int gg_page_series_write(struct gg_page_run *run, struct gg_json *json);

/* Writes "before_series" of a comparison, unscaled; null if that profile has no history. */
GG_MUST_CHECK int gg_page_series_write_before(struct gg_page_run *run, struct gg_json *json);
/* Writes "lifetimes". */
GG_MUST_CHECK int gg_page_lifetimes_write(struct gg_page_run *run, struct gg_json *json);
