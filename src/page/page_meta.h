/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_meta - the profiled processes, the totals, and what readers should know before they start.
 */
#pragma once

#include "base/json.h"
#include "page/page_run.h"

/* Writes "meta". */
GG_MUST_CHECK int gg_page_meta_write(struct gg_page_run *run, struct gg_json *json);
