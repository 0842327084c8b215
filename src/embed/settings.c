/* SPDX-License-Identifier: Apache-2.0 */
#include "embed/settings.h"

struct gg_embed_settings gg_embed_settings = {
	.change_count = 1,
	.interval_bytes = (uint64_t)GG_SAMPLER_DEFAULT_INTERVAL,
};
