/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_source - the source lines of the functions that allocated most.
 *
 * Source code is private, so the page has source lines only if the user asks for them.  The line
 * tables of the profiled program name the files, and a hostile program may name any file.  So the
 * module reads only regular files with the suffix of a programming language.
 */
#pragma once

#include "base/json.h"
#include "page/page_run.h"

/* Writes "source"; null without options->source. */
GG_MUST_CHECK int gg_page_source_write(struct gg_page_run *run, struct gg_json *json);
