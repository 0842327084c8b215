/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_why - the rows that add up to the RSS of each process, like `geiger why`.
 *
 * The tables come from the profile, because looks are no part of what a page adds up.
 */
#pragma once

#include "base/json.h"
#include "page/page_run.h"

/* Writes "why". */
void gg_page_why_write(const struct gg_page_run *run, struct gg_json *json);
