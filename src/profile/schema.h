/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema - the tables and views of a profile; docs/internals/PROFILE.md explains each column.
 *
 * The texts of the tables (src/profile/tables/) and of the views define the format.  A change that
 * readers can see raises GG_PROFILE_VERSION.
 */
#pragma once

#include "profile/tables/record_table.h"

/* All tables, in the order in which a new file gets them; ends with NULL. */
extern const struct gg_record_table *const gg_schema_tables[];
/* SQL that makes what a new file has beside tables and views: an index, and names of schemes. */
extern const char gg_schema_contents[];

/*
 * SQL for a symbol's full name without the suffixes that compilers append to copies of a function,
 * since copies are the same function (model/model_functions.c).  NULL: no symbol.
 */
#define GG_SCHEMA_FULL_NAME                                                                     \
	"case when symbol.full_name is null then symbol.function"                               \
	" when substr(symbol.full_name, 1, length(symbol.function) + 1)"                        \
	" in (symbol.function || '.', symbol.function || '@') then symbol.function"             \
	" else substr(symbol.full_name, 1, instr(symbol.full_name || ' [clone .', ' [clone .')" \
	" - 1) end"

/* Views that answer common questions in one line; "create view NAME as ...;" each. */
extern const char gg_schema_views[];

/* The page size: a sample that ends late dirties one page, and a scan reads whole pages. */
enum { GG_SCHEMA_PAGE_BYTES = 4096 };
