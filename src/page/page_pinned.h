/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_pinned - the functions whose live blocks keep free memory, like `geiger report --metric
 * pinned`.
 */
#pragma once

#include "base/json.h"
#include "page/page_run.h"

/* Writes "pinned": null if no look saw memory around blocks. */
GG_MUST_CHECK int gg_page_pinned_write(struct gg_page_run *run, struct gg_json *json);
