/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_fleet - `geiger fleet`: the family of commands on profiles of many machines in one store. */
#include "cli/command.h"
#include "cli/fleet/fleet_verbs.h"

const struct gg_command gg_command_fleet = {
	.name = "fleet",
	.summary = "profiles of many machines in one store",
	.usage = "COMMAND [OPTION]...",
	.details = "Hosts send what their processes hold and allocate to a store, which is a\n"
		   "ClickHouse server.  These commands start a store for one machine, and ask it\n"
		   "about services, versions and hosts.  docs/FLEET.md begins with a session.\n",
	.verbs =
		(const struct gg_command *const[]){
			&gg_command_fleet_up, &gg_command_fleet_down, &gg_command_fleet_receive,
			&gg_command_fleet_schema, &gg_command_fleet_load,
			&gg_command_fleet_services, &gg_command_fleet_report,
			&gg_command_fleet_tree, &gg_command_fleet_diff, &gg_command_fleet_hosts,
			&gg_command_fleet_roll, &gg_command_fleet_rules, &gg_command_fleet_symbols,
			&gg_command_fleet_timeline, NULL },
};
