/* SPDX-License-Identifier: Apache-2.0 */
/*
 * retention_lists - cleans the agents' lists of regions to retain (region/retention.h).
 */
#pragma once

#include <stdbool.h>

/* True if this is the name of such a list. */
bool gg_retention_is_name(const char *name);

/* Removes the list if the user owns it and all regions that it names are gone. */
void gg_retention_clean(int directory, const char *name);
