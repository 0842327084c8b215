/* SPDX-License-Identifier: Apache-2.0 */
/* page_tables - the rows of the reports for the whole run. */
#pragma once

#include "base/json.h"
#include "page/page_run.h"

/* Writes "tables". */
GG_MUST_CHECK int gg_page_tables_write(struct gg_page_run *run, struct gg_json *json);
