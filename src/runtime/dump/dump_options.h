/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump_options - reads the dumps that the environment asks for (docs/AGENT.md, "Dumps").
 *
 * If no GEIGER_DUMP variable asks for one, the triggers that gg_dump_trigger_set() received before
 * stay: those of other profilers' options.
 */
#pragma once

#include "runtime/environment.h"

/* Call it after gg_environment_read(). */
void gg_dump_options_read(struct gg_environment *options);
