/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inherited - the samples that a forked process inherited from its parent.
 */
#pragma once

#include "record/process/target.h"

/* For a new target: finds the ancestor and adds the inherited samples, if the process has any. */
GG_MUST_CHECK int gg_inherited_take(struct gg_target *target, struct gg_error *error);
