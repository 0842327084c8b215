/* SPDX-License-Identifier: Apache-2.0 */
/* Hostile files through this importer (import_any.h). */
#include "import_any.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return import_any(&gg_importer_pypy, data, size);
}
