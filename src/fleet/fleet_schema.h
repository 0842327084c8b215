/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fleet_schema - the tables of a fleet, and how an older store gets them.
 *
 *   gg_fleet_schema_print("default", NULL, &text, error);            what --apply would run
 *   gg_fleet_schema_apply(&store, "default", NULL, &count, error);
 *   gg_fleet_schema_check(&store, "default", error);                 before every question
 *
 * Migrations are a list that only grows: each has a number and one statement, and a store keeps
 * the largest number that it has seen in its table `schema`.  A statement adds; none renames or
 * removes.  docs/FLEET.md, "Tables", says what columns mean.
 *
 * Threads  any, each with a store of its own.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/error.h"
#include "fleet/clickhouse.h"

/* The largest number of a migration: the version of the tables that this program knows. */
uint32_t gg_fleet_schema_version(void);

/*
 * Appends all statements, each with its ";" and a newline.  `cluster`: the tables are replicated,
 * and made on every server of the cluster; NULL: a single server.
 */
GG_MUST_CHECK int gg_fleet_schema_print(const char *tenant, const char *cluster, struct gg_buf *out,
                                        struct gg_error *error);

/* Runs the statements that the store has not seen.  *ret_count: their number. */
GG_MUST_CHECK int gg_fleet_schema_apply(struct gg_clickhouse *store, const char *tenant,
                                        const char *cluster, size_t *ret_count,
                                        struct gg_error *error);

/* -ENOENT: the store lacks tables; -EPROTO: it has those of a newer geiger. */
GG_MUST_CHECK int gg_fleet_schema_check(struct gg_clickhouse *store, const char *tenant,
                                        struct gg_error *error);
