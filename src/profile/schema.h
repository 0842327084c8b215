/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema - the tables of a profile as SQL text; docs/internals/PROFILE.md explains each column.
 *
 * The texts are the format: a change of what a reader sees raises GG_PROFILE_VERSION.
 */
#pragma once

#include <stdint.h>

extern const char gg_schema_tables[];

/* What a table was in files of earlier versions; ends with a row without a name. */
struct gg_schema_older {
	uint32_t version; /* the last one that had it so */
	const char *table;
	const char *create; /* behind "create table "; NULL: there was none */
};
extern const struct gg_schema_older gg_schema_older[];

/*
 * A symbol's full name without what compilers append to the copies that they make of a function, which are
 * that function (model/model_functions.c).  NULL where there is no symbol.
 */
#define GG_SCHEMA_FULL_NAME                                                                     \
	"case when symbol.full_name is null then symbol.function"                               \
	" when substr(symbol.full_name, 1, length(symbol.function) + 1)"                        \
	" in (symbol.function || '.', symbol.function || '@') then symbol.function"             \
	" else substr(symbol.full_name, 1, instr(symbol.full_name || ' [clone .', ' [clone .')" \
	" - 1) end"

/* Views that answer common questions in one line; "create view NAME as ...;" each. */
extern const char gg_schema_views[];

/* What a sample that ends late dirties, and what a scan reads at once. */
enum { GG_SCHEMA_PAGE_BYTES = 4096 };
