/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import_any - imports hostile bytes, for the fuzz targets of all importers.
 *
 * The importer may refuse the bytes with an error that has an offset.  In both cases, the
 * profile in memory must be whole afterwards.
 */
#pragma once

#include "format/import/import.h"

int import_any(const struct gg_importer *importer, const uint8_t *data, size_t size);
