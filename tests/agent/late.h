/* SPDX-License-Identifier: Apache-2.0 */
/*
 * late - loads the agent into the calling process, as `geiger attach` does from outside.
 *
 *   struct gg_attach_request request = late_request("GEIGER_INTERVAL=1\n");
 *   struct gg_attach_result result;
 *
 *   CHECK(late_attach(&request, &result) == 0);
 *   CHECK(late_detach(&result) == 0);
 *
 * GEIGER_AGENT is the path of the agent.
 */
#pragma once

#include "abi/attach_request.h"

/* A request with these options, and the directory GEIGER_DIR if the environment has it. */
struct gg_attach_request late_request(const char *options);

/* The entries of the agent, which is loaded at the first call.  Without it they end the program. */
int late_attach(const struct gg_attach_request *request, struct gg_attach_result *ret_result);
int late_detach(struct gg_attach_result *ret_result);

/* Attaches with all variables GEIGER_... of the environment; ends the program if that fails. */
void late_attach_by_environment(void);
