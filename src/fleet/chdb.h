/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chdb - ClickHouse inside this process, by libchdb, for a store without a server.
 *
 *   struct gg_chdb *engine;
 *
 *   gg_chdb_open(&engine, "/var/lib/geiger", error);
 *   is_good = gg_chdb_run(engine, query, length, &reply);    false: `reply` says why
 *   gg_chdb_close(engine);
 *
 * Library   GEIGER_CHDB names it, or it is in one of the usual folders.  It is loaded by its open
 *           file, and only if the hash of that file is that of chdb_pin.h.  Hashing takes seconds,
 *           so DIR/libchdb has the identity of the file that had the right hash last.
 * One       libchdb allows one folder for each process.  More calls of gg_chdb_open() for the same
 *           folder get the same engine.  DIR/lock keeps other processes away.
 * Exit      A process that loaded the library must end by gg_fast_exit().
 * Threads   any; statements run one after the other.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/error.h"

struct gg_chdb;

/*
 * -ENOENT: there is no library; -ENOTSUP: it is another one than chdb_pin.h has, or cannot be
 * loaded; -EBUSY: another process has the folder, or this process has another one.
 */
GG_MUST_CHECK int gg_chdb_open(struct gg_chdb **ret_engine, const char *directory,
                               struct gg_error *error);
void gg_chdb_close(struct gg_chdb *engine);
const char *gg_chdb_directory(const struct gg_chdb *engine);

/* Appends the reply, or ClickHouse's complaint and returns false.  reply->failed: no memory. */
bool gg_chdb_run(struct gg_chdb *engine, const void *text, size_t length, struct gg_buf *reply);
