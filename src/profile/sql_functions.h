/* SPDX-License-Identifier: Apache-2.0 */
/* sql_functions - registers geiger's SQL functions; sql_query.h lists them. */
#pragma once

#include <sqlite3.h>

/* Returns an SQLite result code. */
int gg_sql_functions_register(sqlite3 *db);
