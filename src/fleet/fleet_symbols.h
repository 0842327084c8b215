/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fleet_symbols - names the frames of a store whose senders had no symbols.
 *
 *   const struct gg_fleet_symbols_plan plan = { .tenant = "default", .files = files,
 *                                               .file_count = 1 };
 *   GG_CLEANUP(gg_fleet_symbolized_done) struct gg_fleet_symbolized result = { 0 };
 *
 *   gg_fleet_symbolize(&store, &plan, &result, error);
 *
 * A host that runs stripped programs sends the build-ids and addresses of its frames.  One machine
 * that has the debug information of these builds gives the frames of all hosts their names.
 *
 * Which frames  Those with a build-id that have no name, or only that of an address
 *               (base/address_name.h).  Frames of interpreters have the names of their sender.
 * Never wrong   A file names the frames of its own build-id alone (symbol/symbol.h).
 * Limits        Senders choose build-ids and paths.  So nothing but regular files is opened
 *               (symbol/elf/sysroot_path.h), of paths below a root alone if there is one.  A run
 *               asks debuginfod a limited number of times, for a limited time, and for files of
 *               limited size.  After a failure it asks no more; a file that is too large or too
 *               slow is no failure.  Each run asks for the modules in another order, so no module
 *               takes all requests for ever.
 * Order         A row of `symbol` with the largest time stays.  These rows have the last time there
 *               is, so a sender without symbols does not replace them; the next run may.
 * Repeats       A run that was killed, or that runs twice at once, writes the same rows again.
 * Threads       one; it forks workers.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/compiler.h"
#include "fleet/clickhouse.h"
#include "symbol/symbol.h"

struct gg_fleet_symbols_plan {
	const char *tenant;
	const char *const *files; /* programs, libraries or debug files, by whatever name */
	size_t file_count;
	const char *const *debug_dirs; /* as in struct gg_symbol_options; ends with NULL; or NULL */
	const char *root;     /* paths of senders lead to files below this folder alone; NULL: / */
	bool offline;         /* no debuginfod */
	unsigned fetch_count; /* requests to debuginfod, at most */
	double fetch_seconds; /* all requests together, at most; a fifth of it for one */
	uint64_t fetch_bytes; /* of a file, at most; eight times as many for all files */
	bool is_dry_run;      /* finds names and writes none */
};

/* A module with frames that had no name. */
struct gg_fleet_symbolized_module {
	char *path;     /* as the host saw it */
	char *build_id; /* hexadecimal */
	size_t frame_count, named_count;
	enum gg_symbol_status status;
	char *text; /* advice; "": nothing is missing */
};

struct gg_fleet_symbolized {
	GG_ARRAY(struct gg_fleet_symbolized_module) modules; /* those with most frames first */
	size_t frame_count, named_count;
	unsigned fetch_count;   /* requests to debuginfod */
	bool has_failed_fetch;  /* it did not answer, so the run sent no more requests */
	size_t unfetched_count; /* requests that the limits, or that failure, did not allow */
};

/* -ENOENT: the store has no tables.  A module without a file is no error. */
GG_MUST_CHECK int gg_fleet_symbolize(struct gg_clickhouse *store,
                                     const struct gg_fleet_symbols_plan *plan,
                                     struct gg_fleet_symbolized *result, struct gg_error *error);
void gg_fleet_symbolized_done(struct gg_fleet_symbolized *result);
