/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_diff - two profiles side by side: functions like `geiger diff`, and one tree of both.
 */
#pragma once

#include "base/json.h"
#include "page/page_run.h"

/* Writes "diff", which is null unless the run compares two profiles. */
GG_MUST_CHECK int gg_page_diff_write(struct gg_page_run *run, struct gg_json *json);
