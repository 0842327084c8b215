/* SPDX-License-Identifier: Apache-2.0 */
/* sql_functions - registers geiger's SQL functions; sql_query.h lists them. */
#pragma once

#include <stdbool.h>

#include <sqlite3.h>

/*
 * Registers the functions for a profile.  is_lacking: samples are missing, so upper ends are NULL.
 * Returns an SQLite result code.
 */
int gg_sql_functions_register(sqlite3 *db, bool is_lacking);

/* Registers the functions of sql_pinned.h; NULL removes them. */
struct gg_sql_pinned;
int gg_sql_pinned_register(sqlite3 *db, const struct gg_sql_pinned *pinned);
