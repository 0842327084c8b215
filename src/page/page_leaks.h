/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_leaks - the memory that was live at the end, and whether it grows, like `geiger leaks`.
 */
#pragma once

#include "base/json.h"
#include "page/page_run.h"

/* Writes "leaks". */
GG_MUST_CHECK int gg_page_leaks_write(struct gg_page_run *run, struct gg_json *json);
