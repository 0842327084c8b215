/* SPDX-License-Identifier: Apache-2.0 */
/* sql_functions - what queries have beside SQLite's own functions; query.h lists them. */
#pragma once

#include <sqlite3.h>

/* An SQLite result. */
int gg_sql_functions_register(sqlite3 *db);
