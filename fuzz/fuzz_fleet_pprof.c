/* SPDX-License-Identifier: Apache-2.0 */
/* Hostile profiles of pprof through a receiver's parser (fleet_any.h). */
#include "fleet_any.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fleet_any(FLEET_PPROF, data, size);
}
