/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema - the tables of a profile as SQL text; docs/internals/PROFILE.md explains each column.
 *
 * The texts define the format.  A change that readers can see raises GG_PROFILE_VERSION.
 */
#pragma once

#include <stdint.h>

extern const char gg_schema_tables[];

/* The texts of tables in files of earlier versions; the last entry has no name. */
struct gg_schema_older {
	uint32_t version; /* the last version with this text */
	const char *table;
	const char *create; /* text after "create table "; NULL: no such table */
};
extern const struct gg_schema_older gg_schema_older[];

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
