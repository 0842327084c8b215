/* SPDX-License-Identifier: Apache-2.0 */
/* model_heirs - finds the processes of a model that held inherited blocks without a sample. */
#pragma once

#include "model/model.h"
#include "profile/unseen_heirs.h"

/*
 * Finds the heirs among the selected processes (is_in by process; NULL: all).  -ENOMEM.  After a
 * failure there is nothing to free.
 */
GG_MUST_CHECK int gg_model_heirs_find(struct gg_unseen_heirs *ret_heirs,
                                      const struct gg_model *model, const uint8_t *is_in);
