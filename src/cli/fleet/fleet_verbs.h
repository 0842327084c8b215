/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fleet_verbs - the verbs of `geiger fleet`, and the options that they share.
 */
#pragma once

#include "cli/command.h"
#include "fleet/clickhouse.h"

extern const struct gg_command gg_command_fleet_up;
extern const struct gg_command gg_command_fleet_down;
extern const struct gg_command gg_command_fleet_diff;
extern const struct gg_command gg_command_fleet_hosts;
extern const struct gg_command gg_command_fleet_load;
extern const struct gg_command gg_command_fleet_report;
extern const struct gg_command gg_command_fleet_receive;
extern const struct gg_command gg_command_fleet_roll;
extern const struct gg_command gg_command_fleet_rules;
extern const struct gg_command gg_command_fleet_schema;
extern const struct gg_command gg_command_fleet_services;
extern const struct gg_command gg_command_fleet_symbols;
extern const struct gg_command gg_command_fleet_timeline;
extern const struct gg_command gg_command_fleet_tree;

/* Which store, and whose data in it. */
struct gg_fleet_place {
	const char *store;  /* an address, or the directory of `geiger fleet up` */
	const char *tenant; /* a database of the store */
};

/* --store, --tenant */
extern const struct gg_option gg_cli_fleet_place_options[];

/*
 * Opens the store of --store, or else of the variable GEIGER_FLEET_STORE, or else the server on
 * this machine at its usual port; the caller ends it by gg_clickhouse_done().
 */
GG_MUST_CHECK int gg_cli_fleet_open(const struct gg_fleet_place *place,
                                    struct gg_clickhouse *ret_store, struct gg_error *error);
/* The tenant of --tenant, or "default". */
const char *gg_cli_fleet_tenant(const struct gg_fleet_place *place);
