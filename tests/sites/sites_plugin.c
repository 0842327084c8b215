/* SPDX-License-Identifier: Apache-2.0 */
#include "sites.h"

#include <stdlib.h>

SITE_RANGE(plugin_small);
SITE_RANGE(plugin_large);

SITE_CODE(plugin_small) static void *allocate_small(size_t size)
{
	void *block = malloc(size);

	SITE_KEEP(block);
	return block;
}

SITE_CODE(plugin_large) static void *allocate_large(size_t size)
{
	void *block = malloc(size);

	SITE_KEEP(block);
	return block;
}

/* Found by dlsym(). */
extern const struct site sites_plugin[] __attribute__((visibility("default")));
extern const unsigned sites_plugin_count __attribute__((visibility("default")));

const struct site sites_plugin[] = {
	{ "plugin_small", __start_code_plugin_small, __stop_code_plugin_small, 48, 30000,
	  allocate_small, NULL },
	{ "plugin_large", __start_code_plugin_large, __stop_code_plugin_large, 4 << 20, 4,
	  allocate_large, NULL },
};
const unsigned sites_plugin_count = 2;
