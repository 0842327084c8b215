/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the fuzz targets of the importers share: hostile bytes through one of them, into a profile
 * in memory, which must be whole afterwards, whether or not the importer was content.
 */
#pragma once

#include "format/import/import.h"

int import_any(const struct gg_importer *importer, const uint8_t *data, size_t size);
