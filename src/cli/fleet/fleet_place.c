/* SPDX-License-Identifier: Apache-2.0 */
/* fleet_place - finds the store that a verb of `geiger fleet` asks. */
#include <stdlib.h>

#include "cli/fleet/fleet_verbs.h"
#include "fleet/store_server.h"

#define AT(field) offsetof(struct gg_fleet_place, field)

const struct gg_option gg_cli_fleet_place_options[] = {
	{ "store", 0, GG_OPTION_TEXT, AT(store), "URL|DIR",
	  "the store (GEIGER_FLEET_STORE, or this machine's)" },
	{ "tenant", 0, GG_OPTION_TEXT, AT(tenant), "NAME",
	  "whose data: a database of the store (default)" },
	GG_OPTIONS_END,
};

int gg_cli_fleet_open(const struct gg_fleet_place *place, struct gg_clickhouse *ret_store,
                      struct gg_error *error)
{
	const char *named = place->store;

	if (named == NULL)
		named = getenv("GEIGER_FLEET_STORE");
	if (named == NULL || named[0] == '\0')
		named = "http://127.0.0.1:8123";
	return gg_store_open(ret_store, named, error);
}

const char *gg_cli_fleet_tenant(const struct gg_fleet_place *place)
{
	return place->tenant != NULL ? place->tenant : "default";
}
