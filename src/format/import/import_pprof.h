/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import_pprof - the samples of a profile.proto in memory, for importers that convert to it.
 *
 *   status = gg_import_pprof_bytes(import, bytes, length);
 *
 * Threads  one owner.
 */
#pragma once

#include "format/import/import.h"

/* Adds the samples of a profile.proto that is not compressed.  Errors have offsets in it. */
GG_MUST_CHECK int gg_import_pprof_bytes(struct gg_import *import, const uint8_t *bytes,
                                        size_t length);

/*
 * True for labels that say of which process a sample is.  Others, such as tcmalloc's
 * guarded_status, may tell samples of one process apart.
 */
bool gg_import_pprof_is_of_process(const char *key, size_t length);
