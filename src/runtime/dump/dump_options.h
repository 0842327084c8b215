/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump_options - which dumps the environment asks for: GEIGER_DUMP and GEIGER_DUMP_..., docs/AGENT.md, "Dumps".
 *
 * If none of them is set, what gg_dump_trigger_set() was told before stays (other profilers' options).
 */
#pragma once

#include "runtime/environment.h"

/* After gg_environment_read(). */
void gg_dump_options_read(struct gg_environment *options);
