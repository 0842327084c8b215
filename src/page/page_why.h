/* SPDX-License-Identifier: Apache-2.0 */
/* page_why - the rows that add up to the RSS of each process, like `geiger why`. */
#pragma once

#include "base/json.h"
#include "page/page_run.h"

/* Fills run->why.  Each run needs gg_page_why_done(), even if this function failed. */
GG_MUST_CHECK int gg_page_why_find(struct gg_page_run *run);
void gg_page_why_done(struct gg_page_run *run);

/* Writes "why" and "why_missed", and in a comparison "why_before". */
void gg_page_why_write(const struct gg_page_run *run, struct gg_json *json);
